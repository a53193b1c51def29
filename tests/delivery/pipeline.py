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
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from common.contracts.company import Country
from common.contracts.events import EventType, RegistryEvent, encode_event, event_id, routing_key
from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE
from common.contracts.webhooks import Webhook, encode_for
from common.messaging.connection import supervised
from common.messaging.publisher import Publisher
from common.mongo import Database, connected, database
from dispatcher.queues import delivery_topology
from local_stack.system import Service, System
from tests.builders.webhooks import a_webhook, encoded_key, secret_keys
from tests.delivery.receiver import Receiver, receiving
from tests.delivery.waiting import SOON, eventually, until_connected
from webhook_store.indexes import make_indexes
from webhook_store.webhooks.models import Registered, delivery_id
from webhook_store.webhooks.registrations import Registrations
from webhook_store.webhooks.secrets import new_secret

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

    async def webhook(self, path: str, *, host: str = "127.0.0.1", **fields: Any) -> Webhook:
        """A webhook at one of the receiver's paths."""
        [webhook] = await self.webhooks([path], host=host, **fields)
        return webhook

    async def webhook_at(self, url: str, **fields: Any) -> Webhook:
        """A webhook at any URL."""
        webhook = a_webhook(url=url, host=urlsplit(url).hostname, **fields)
        registered = Registered(webhook, new_secret(secrets.token_bytes))
        await self.registrations.create(registered, call_id=uuid.uuid4(), limit=1000)
        return webhook

    async def webhooks(
        self,
        paths: Sequence[str],
        *,
        host: str = "127.0.0.1",
        of_many_owners: bool = False,
        **fields: Any,
    ) -> list[Webhook]:
        """Webhooks at these paths, all of one owner or each of its own."""
        made = []
        for path in paths:
            owner = {"owner": f"owner of {path}"} if of_many_owners else {}
            url = self.receiver.url(path, host=host)
            secret = new_secret(secrets.token_bytes)
            webhook = a_webhook(url=url, host=host, **{**owner, **fields})
            await self.registrations.create(
                Registered(webhook, secret), call_id=uuid.uuid4(), limit=1000
            )
            self.receiver.trust(path, secret.get_secret_value())
            made.append(webhook)
        return made

    async def publish(self, *events: RegistryEvent) -> None:
        """Returns when the broker has them; like the outbox it tries until then."""
        for event in events:
            await self._publish(encode_event(event), event)

    async def publish_for(self, webhook: Webhook, event: RegistryEvent) -> None:
        await self._publish(encode_for(webhook.id, event), event)

    async def _publish(self, message: bytes, event: RegistryEvent) -> None:
        async def is_published() -> bool:
            with suppress(Unavailable):
                await self.publisher.publish(
                    message,
                    exchange=EVENTS_EXCHANGE,
                    routing_key=routing_key(event.type, event.country),
                )
                return True
            return False

        await eventually(is_published, bool, seconds=60)

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

    async def state_of(self, webhook: Webhook) -> dict[str, Any]:
        found = await self.webhooks_db["webhooks"].find_one({"_id": webhook.id})
        return found or {}


@asynccontextmanager
async def pipeline(
    folder: Path,
    *,
    amqp_url: str,
    mongo_url: str,
    webhooks_db: str,
    hosts: Sequence[str] = ("127.0.0.1",),
) -> AsyncIterator[Pipeline]:
    """A pipeline without a dispatcher."""
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(receiving(folder, hosts=hosts))
        client = await stack.enter_async_context(
            connected(mongo_url, name="test", operation_timeout=timedelta(seconds=30))
        )
        webhooks = database(client, webhooks_db)
        await make_indexes(webhooks)
        connection = await stack.enter_async_context(
            supervised(amqp_url, name="test", random=Random(1))
        )
        publisher = Publisher(
            connection,
            topology=delivery_topology(),
            timeout=timedelta(seconds=SOON),
        )
        await connection.add(publisher)
        await until_connected(connection)
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
        yield Pipeline(system, receiver, webhooks, registrations, publisher)
