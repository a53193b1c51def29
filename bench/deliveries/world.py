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
from functools import cache
from pathlib import Path
from random import Random

import aiohttp
import trustme
from pydantic import SecretStr

from bench.servers import Servers
from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    Change,
    EventCompany,
    EventData,
    EventType,
    RegistryEvent,
    encode_event,
    event_id,
    routing_key,
)
from common.contracts.topology import EVENTS_EXCHANGE
from common.contracts.webhooks import Webhook, WebhookFilter, WebhookId
from common.messaging.connection import supervised
from common.messaging.delivery_topology import delivery_topology
from common.messaging.publisher import Publisher
from common.mongo import Database, connected, database
from local_stack import ports
from local_stack.processes import Process, Program
from local_stack.run_files import sealing_key
from local_stack.system import Service, System
from lookup.ingest.reading import parse
from lookup.ingest.records import CompanyRecord
from lookup.registers.brreg.sources import NO_ENTITIES
from register_samples import companies_no
from webhook_store.indexes import make_indexes
from webhook_store.models import Registered
from webhook_store.registrations import Registrations
from webhook_store.secrets import SecretKeys, new_secret

#: Addresses of this machine, each of which is a host to the dispatcher and to TLS.
HOSTS = tuple(f"127.0.1.{number}" for number in range(1, 51))
WEBHOOKS = 200
#: Webhooks of one owner, each on another host.
_OF_AN_OWNER = 10

#: Seconds for a message, or for a process to be there.
_SOON = 30.0
#: Maximum unconfirmed events in flight to the broker.
_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Listener:
    """The receiving process."""

    port: int
    ca_file: Path

    def url(self, number: int, path: str) -> str:
        """Of the webhook of this number: they are spread over the hosts."""
        return f"https://{HOSTS[number % len(HOSTS)]}:{self.port}{path}"

    async def ages(self) -> list[float]:
        """Milliseconds from event to receipt of the events received since the last call."""
        context = ssl.create_default_context(cafile=self.ca_file)
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.get(self.url(0, "/")) as response,
        ):
            found: list[float] = await response.json(content_type=None)
            return found


@dataclass
class World:
    """A system without a dispatcher, with its own database and virtual host."""

    system: System
    listener: Listener
    db: Database
    _registrations: Registrations
    _publisher: Publisher
    _revisions: dict[str, int] = field(default_factory=dict)

    async def webhooks(
        self, subscriptions: Sequence[WebhookFilter | None], *, path: str = "/"
    ) -> None:
        """Makes a webhook for each of them, spread over hosts and owners."""
        now = datetime.now(UTC)
        for number, wanted in enumerate(subscriptions):
            url = self.listener.url(number, path)
            webhook = Webhook(
                id=WebhookId(f"wh_{uuid.uuid4().hex}"),
                owner=f"owner {number // _OF_AN_OWNER} of {path}",
                url=url,
                host=HOSTS[number % len(HOSTS)],
                events=("company.*",),
                filter=wanted,
                description=None,
                created_at=now,
                updated_at=now,
            )
            registered = Registered(webhook, new_secret(secrets.token_bytes))
            await self._registrations.create(registered, call_id=uuid.uuid4(), limit=1000)

    def event(self, vat: str, *, occurred_at: datetime | None = None) -> RegistryEvent:
        """The next change of a company."""
        revision = self._revisions[vat] = self._revisions.get(vat, 0) + 1
        return an_event(vat, revision, occurred_at or datetime.now(UTC))

    async def publish(self, event: RegistryEvent) -> None:
        """Returns when the broker has it."""
        await self._publisher.publish(
            encode_event(event),
            exchange=EVENTS_EXCHANGE,
            routing_key=routing_key(event.type, event.country),
        )

    async def publish_all(self, events: Sequence[RegistryEvent]) -> None:
        for first in range(0, len(events), _AT_ONCE):
            await asyncio.gather(*map(self.publish, events[first : first + _AT_ONCE]))

    async def dispatcher(self, name: str = "dispatcher", **settings: str) -> Service:
        """A process that is ready."""
        service = self.system.start("dispatcher", name=name, **settings)
        await asyncio.to_thread(service.wait_until_ready)
        return service

    async def recorded(self, count: int, *, seconds: float = 300) -> None:
        """Returns when so many attempts are recorded."""
        async with asyncio.timeout(seconds):
            attempts = self.db["attempts"]
            while await attempts.estimated_document_count() < count:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


def groups(size: int) -> list[WebhookFilter]:
    """Subscriptions of all the webhooks: each company's events are for `size` of them."""
    return [WebhookFilter(companies=(key_of(number // size),)) for number in range(WEBHOOKS)]


def vat_of(group: int) -> str:
    """The company of a group."""
    return f"{310_000_000 + group}"


def key_of(group: int) -> CompanyKey:
    return CompanyKey(Country.NO, vat_of(group))


def an_event(vat: str, revision: int, occurred_at: datetime) -> RegistryEvent:
    """A company of ordinary size was renamed."""
    company = _company().model_copy(update={"vat": vat, "revision": revision})
    kind = EventType.COMPANY_UPDATED
    return RegistryEvent(
        id=event_id(Country.NO, vat, revision, kind),
        type=kind,
        occurred_at=occurred_at.isoformat().replace("+00:00", "Z"),
        country=Country.NO,
        vat=vat,
        revision=revision,
        data=EventData(
            company=company, changes=(Change(field="name", old="PRØVE AS", new=company.name),)
        ),
    )


@cache
def _company() -> EventCompany:
    """An invented company with an address."""
    for document in companies_no(100, 1):
        record = parse(NO_ENTITIES.parse, document)
        if isinstance(record, CompanyRecord) and record.company.address is not None:
            return EventCompany(**record.company.model_dump(), revision=1)
    raise AssertionError("the sample register has companies")


def size_of_an_event() -> int:
    """Bytes that are posted."""
    return len(encode_event(an_event(vat_of(0), 1, datetime.now(UTC))))


@asynccontextmanager
async def world(own: Servers, folder: Path) -> AsyncIterator[World]:
    """A world without a dispatcher; dispatchers started in it end with it."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    async with AsyncExitStack() as stack:
        listener = await stack.enter_async_context(_listening(folder / name))
        own.management.create_vhost(name)
        stack.callback(own.management.delete_vhost, name)
        amqp_url = f"{own.broker.amqp_url}/{name}"
        client = await stack.enter_async_context(
            connected(own.mongo.url, name="bench", operation_timeout=timedelta(seconds=60))
        )
        stack.push_async_callback(client.drop_database, name)
        db = database(client, name)
        await make_indexes(db)
        link = await stack.enter_async_context(supervised(amqp_url, name="bench", random=Random(1)))
        publisher = Publisher(
            link,
            topology=delivery_topology(),
            new_id=lambda: uuid.uuid4().hex,
            timeout=timedelta(seconds=_SOON),
        )
        await link.add(publisher)
        await link.until_ready(_SOON)
        keys = sealing_key(folder / name)
        settings = {
            "WEBHOOKS_DB": name,
            "WEBHOOK_SECRET_KEYS": keys,
            "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEBHOOK_EXTRA_CA_FILE": str(listener.ca_file),
        }
        system = System(folder / name, amqp_url, own.mongo.url, settings)
        stack.push_async_callback(asyncio.to_thread, system.close)
        sealing = SecretKeys.parse(SecretStr(keys), random_bytes=secrets.token_bytes)
        yield World(system, listener, db, Registrations(db, sealing, Random(1)), publisher)


@asynccontextmanager
async def _listening(folder: Path) -> AsyncIterator[Listener]:
    ca_file, certificate = await asyncio.to_thread(_certified, folder)
    [port] = ports.free_ports(1)
    program = Program(
        "receiver",
        [
            *(sys.executable, "-m", "bench.deliveries.receiver"),
            *(str(certificate), str(port), *HOSTS),
        ],
        folder / "receiver.log",
        {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    process = Process(program)
    try:
        listener = Listener(port, ca_file)
        await asyncio.to_thread(
            process.wait_until, lambda: not ports.is_free(port, HOSTS[-1]), seconds=_SOON
        )
        yield listener
    finally:
        process.stop()


def _certified(folder: Path) -> tuple[Path, Path]:
    """An authority, and the key and certificate that it issued for the hosts."""
    folder.mkdir(parents=True)
    authority = trustme.CA()
    ca_file, certificate = folder / "ca.pem", folder / "receiver.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    issued = authority.issue_cert(*HOSTS)
    issued.private_key_and_cert_chain_pem.write_to_path(str(certificate))
    return ca_file, certificate
