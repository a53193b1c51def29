"""The environment of a dispatcher: webhooks, a receiver for them, and events."""

import asyncio
import os
import secrets
import ssl
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import aiohttp
import trustme
from pydantic import SecretStr

from bench.events import key_of, publishing, renamed
from bench.scale import SEED
from bench.setup import Servers, unique_name
from common.contracts.events import RegistryEvent, encode_event, routing_key
from common.contracts.topology import EVENTS_EXCHANGE
from common.contracts.webhooks import Webhook, WebhookFilter, WebhookId
from common.messaging.publisher import Publisher
from common.mongo import Database, connected, database
from local_stack import ports
from local_stack.processes import Process, Program
from local_stack.run_files import sealing_key
from local_stack.system import Service, System
from webhook_store.indexes import make_indexes
from webhook_store.secrets import SecretKeys, new_secret
from webhook_store.webhooks import Registration, Registrations

#: Addresses of this machine, each of which is a host to the dispatcher and to TLS.
HOSTS = tuple(f"127.0.1.{number}" for number in range(1, 51))
WEBHOOKS = 200
#: Webhooks per event unless stated otherwise.
FAN_OUT = 10
#: Webhooks of one owner, each on another host.
_PER_OWNER = 10
#: Seconds until the receiver listens.
_READY = 30.0
#: Unconfirmed events in flight to the broker.
_MAX_IN_FLIGHT = 50


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiving process."""

    port: int
    ca_file: Path

    def url(self, number: int, path: str) -> str:
        """Returns the URL of the webhook of this number."""
        return f"https://{HOSTS[number % len(HOSTS)]}:{self.port}{path}"

    async def latencies(self) -> list[float]:
        """Returns milliseconds from event to receipt, of the deliveries since the last call."""
        context = ssl.create_default_context(cafile=self.ca_file)
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.get(self.url(0, "/")) as response,
        ):
            found: list[float] = await response.json(content_type=None)
            return found


@dataclass
class Environment:
    """A system without a dispatcher, with a database and a virtual host of its own."""

    system: System
    receiver: Receiver
    db: Database
    _registrations: Registrations
    _publisher: Publisher
    _revisions: dict[str, int] = field(default_factory=dict)

    async def subscribe(self, filters: Sequence[WebhookFilter | None], *, path: str = "/") -> None:
        """Creates a webhook with each filter, spread over hosts and owners."""
        for number, wanted in enumerate(filters):
            owner, host = f"owner {number // _PER_OWNER} of {path}", HOSTS[number % len(HOSTS)]
            webhook = new_webhook(owner, self.receiver.url(number, path), host, wanted)
            registered = Registration(webhook, new_secret(secrets.token_bytes))
            await self._registrations.create(registered, call_id=uuid.uuid4(), limit=1000)

    def event(self, vat: str, *, occurred_at: datetime | None = None) -> RegistryEvent:
        """Returns the next change of a company."""
        revision = self._revisions[vat] = self._revisions.get(vat, 0) + 1
        return renamed(vat, revision, occurred_at or datetime.now(UTC))

    async def publish(self, event: RegistryEvent) -> None:
        """Publishes an event; returns when the broker has confirmed it."""
        await self._publisher.publish(
            encode_event(event),
            exchange=EVENTS_EXCHANGE,
            routing_key=routing_key(event.type, event.country),
        )

    async def publish_all(self, events: Sequence[RegistryEvent]) -> None:
        for first in range(0, len(events), _MAX_IN_FLIGHT):
            await asyncio.gather(*map(self.publish, events[first : first + _MAX_IN_FLIGHT]))

    async def start_dispatcher(self, name: str = "dispatcher") -> Service:
        service = self.system.start("dispatcher", name=name)
        await asyncio.to_thread(service.wait_until_ready)
        return service

    async def attempts(self) -> int:
        """Returns the number of recorded attempts."""
        return await self.db["attempts"].estimated_document_count()

    async def until_recorded(self, attempts: int) -> None:
        async with asyncio.timeout(300):
            while await self.attempts() < attempts:  # noqa: ASYNC110 (polled)
                await asyncio.sleep(0.05)


def filters_by_company(fan_out: int) -> list[WebhookFilter]:
    """Returns the filters of all webhooks: each company's events are for `fan_out` of them."""
    return [WebhookFilter(companies=(key_of(number // fan_out),)) for number in range(WEBHOOKS)]


def new_webhook(owner: str, url: str, host: str, wanted: WebhookFilter | None) -> Webhook:
    now = datetime.now(UTC)
    return Webhook(
        id=WebhookId(f"wh_{uuid.uuid4().hex}"),
        owner=owner,
        url=url,
        host=host,
        events=("company.*",),
        filter=wanted,
        description=None,
        created_at=now,
        updated_at=now,
    )


@asynccontextmanager
async def environment(own: Servers) -> AsyncIterator[Environment]:
    """Starts the environment; its dispatchers end with the body."""
    name = unique_name()
    folder = own.folder / name
    folder.mkdir()
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(_receiving(folder))
        own.management.create_vhost(name)
        stack.callback(own.management.delete_vhost, name)
        amqp_url = f"{own.broker.amqp_url}/{name}"
        client = await stack.enter_async_context(
            connected(own.mongo.url, name="bench", operation_timeout=timedelta(seconds=60))
        )
        stack.push_async_callback(client.drop_database, name)
        db = database(client, name)
        await make_indexes(db)
        publisher = await stack.enter_async_context(publishing(amqp_url))
        keys = sealing_key(folder)
        settings = {
            "WEBHOOKS_DB": name,
            "WEBHOOK_SECRET_KEYS": keys,
            "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEBHOOK_EXTRA_CA_FILE": str(receiver.ca_file),
        }
        system = System(folder, amqp_url, own.mongo.url, settings)
        stack.push_async_callback(asyncio.to_thread, system.close)
        sealing = SecretKeys.parse(SecretStr(keys), random_bytes=secrets.token_bytes)
        registrations = Registrations(db, sealing, Random(SEED))
        yield Environment(system, receiver, db, registrations, publisher)


@asynccontextmanager
async def _receiving(folder: Path) -> AsyncIterator[Receiver]:
    authority, ca_file, certificate = trustme.CA(), folder / "ca.pem", folder / "receiver.pem"
    authority.cert_pem.write_to_path(ca_file)
    authority.issue_cert(*HOSTS).private_key_and_cert_chain_pem.write_to_path(certificate)
    [port] = ports.free_ports(1)
    command = [sys.executable, "-m", "bench.deliveries.receiver", str(certificate), str(port)]
    pythonpath = {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = Process(Program("receiver", [*command, *HOSTS], folder / "receiver.log", pythonpath))

    def listens() -> bool:
        return not ports.is_free(port, HOSTS[-1])

    try:
        await asyncio.to_thread(process.wait_until, listens, seconds=_READY)
        yield Receiver(port, ca_file)
    finally:
        process.stop()
