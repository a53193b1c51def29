"""Delivery pipeline, from published events to receivers.

Webhooks are made and events published by the libraries that the registry and the lookup service
use; the dispatchers are real processes.
"""

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import aio_pika

from common.contracts.company import Country
from common.contracts.events import EventType, RegistryEvent, encode_event, event_id, routing_key
from common.contracts.failures import Unavailable
from common.contracts.topology import DEAD_LETTERS_QUEUE, EVENTS_EXCHANGE
from common.contracts.webhooks import Webhook
from common.messaging.publisher import Publisher
from common.mongo import Database, connected, database
from local_stack.certificates import certificates
from local_stack.system import Service, System
from tests.builders.webhooks import a_webhook, encoded_key, secret_keys
from tests.delivery.broker import a_publisher, connections
from tests.delivery.receiver import Receiver, receiving
from tests.delivery.waiting import SOON, eventually
from webhook_store.deliveries import delivery_id
from webhook_store.indexes import make_indexes
from webhook_store.secrets import new_secret
from webhook_store.webhooks import Registration, Registrations

#: A schedule of seconds, so that a test sees in moments what takes hours; and limits that a busy
#: machine does not reach, for within its lease nothing may be posted twice.
HASTE = {
    "webhook_retry_delays": "PT0.2S,PT0.3S,PT0.4S,PT0.5S",
    "webhook_post_timeout": "PT15S",
    "webhook_connect_timeout": "PT10S",
    "webhook_lease": "PT20S",
    "webhook_requeue_interval": "PT0.2S",
    "webhook_requeue_grace": "PT1S",
    "webhook_requeue_cooldown": "PT2S",
    "shutdown_grace": "PT15S",
}
#: For a killed dispatcher: its leases expire soon.
SHORT_LEASE = {
    "webhook_post_timeout": "PT6S",
    "webhook_connect_timeout": "PT6S",
    "webhook_lease": "PT8S",
}

COMPANY = "12345674"


def an_event(
    revision: int | None = 1, *, vat: str | None = COMPANY, **fields: Any
) -> RegistryEvent:
    """An event that occurs now."""
    kind = fields.get("type", EventType.COMPANY_UPDATED)
    return RegistryEvent(
        **{
            "id": event_id(Country.DK, vat or "", revision or 0, kind),
            "type": kind,
            "occurred_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "country": Country.DK,
            "vat": vat,
            "revision": revision,
            **fields,
        }
    )


@dataclass
class Pipeline:
    system: System
    receiver: Receiver
    webhooks_db: Database
    registrations: Registrations
    publisher: Publisher

    async def webhook(self, path: str, **fields: Any) -> Webhook:
        """A webhook at a path of the receiver, which knows its secret."""
        secret = new_secret(secrets.token_bytes)
        webhook = a_webhook(url=self.receiver.url(path), host="127.0.0.1", **fields)
        registered = Registration(webhook, secret)
        await self.registrations.create(registered, call_id=uuid.uuid4(), limit=1000)
        self.receiver.trust(path, secret.get_secret_value())
        return webhook

    async def webhooks(
        self, paths: Sequence[str], *, of_many_owners: bool = False, **fields: Any
    ) -> list[Webhook]:
        """Webhooks at these paths, all of one owner or each of its own."""
        owners = [{"owner": f"owner of {path}"} if of_many_owners else {} for path in paths]
        given = zip(paths, owners, strict=True)
        return [await self.webhook(path, **{**owner, **fields}) for path, owner in given]

    async def publish(self, *events: RegistryEvent) -> None:
        """Returns when the broker has them; like the outbox it tries until then."""
        for event in events:
            await eventually(partial(self._is_published, event), bool)

    async def _is_published(self, event: RegistryEvent) -> bool:
        key = routing_key(event.type, event.country)
        with suppress(Unavailable):
            await self.publisher.publish(
                encode_event(event), exchange=EVENTS_EXCHANGE, routing_key=key
            )
            return True
        return False

    async def dispatcher(self, name: str = "dispatcher", **settings: str) -> Service:
        """A running dispatcher in haste."""
        service = self.system.start("dispatcher", name=name, **{**HASTE, **settings})
        await asyncio.to_thread(service.wait_until_ready)
        return service

    async def kill(self, service: Service) -> None:
        await asyncio.to_thread(service.process.kill)

    async def row(self, event: RegistryEvent, webhook: Webhook) -> dict[str, Any]:
        """The delivery of an event to a webhook, as it is now."""
        found = await self.webhooks_db["deliveries"].find_one(
            {"_id": delivery_id(event.id, webhook.id)}
        )
        return found or {}

    async def until_row(
        self, event: RegistryEvent, webhook: Webhook, *, seconds: float = SOON, **fields: Any
    ) -> dict[str, Any]:
        """The row as soon as these fields have these values."""
        return await eventually(
            lambda: self.row(event, webhook),
            lambda row: row.items() >= fields.items(),
            seconds=seconds,
        )

    async def dead_letters(self) -> int:
        async with await aio_pika.connect(self.system.amqp_url) as connection:
            channel = await connection.channel()
            declared = await channel.declare_queue(DEAD_LETTERS_QUEUE, passive=True)
            return declared.declaration_result.message_count or 0


@asynccontextmanager
async def pipeline(
    folder: Path,
    *,
    amqp_url: str,
    mongo_url: str,
    webhooks_db: str,
) -> AsyncIterator[Pipeline]:
    """A pipeline without a dispatcher."""
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(receiving(certificates(folder / "receiver")))
        client = await stack.enter_async_context(
            connected(mongo_url, name="test", operation_timeout=timedelta(seconds=30))
        )
        webhooks = database(client, webhooks_db)
        await make_indexes(webhooks)
        [connection] = await stack.enter_async_context(connections(amqp_url, "test"))
        system = System(
            folder,
            amqp_url,
            mongo_url,
            {
                "WEBHOOKS_DB": webhooks_db,
                "WEBHOOK_SECRET_KEYS": f"k1:{encoded_key('k1')}",
                "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8",
                "WEBHOOK_EXTRA_CA_FILE": str(receiver.ca_file),
            },
        )
        stack.push_async_callback(asyncio.to_thread, system.close)
        registrations = Registrations(
            webhooks, secret_keys("k1", random_bytes=secrets.token_bytes), Random(1)
        )
        yield Pipeline(system, receiver, webhooks, registrations, await a_publisher(connection))
