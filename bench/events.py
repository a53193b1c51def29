"""Events of invented companies: from the outbox to the broker, and clients that wait for them."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import aiohttp
import orjson

from bench.figures import Figure, at_least, at_most, percentile_99
from bench.processes import Used
from bench.scale import SEED, Scale
from bench.setup import empty_system, pids_of
from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    Change,
    EventCompany,
    EventData,
    EventType,
    RegistryEvent,
    encode_event,
    event_id,
)
from common.leases import StoredLeases
from common.messaging.connection import supervised
from common.messaging.publisher import Publisher
from common.mongo import Database, connected, database
from dispatcher.queues import delivery_topology
from ingest.records.records import CompanyRecord
from ingest.records.source import parse
from ingest.registers.brreg.sync import NO_ENTITIES
from local_stack.system import Service, System
from register_samples import companies_no
from register_store.documents import EVENT_BATCHES, OUTBOX
from register_store.events import OutboxEvent, outbox_document

_TIMEOUT = timedelta(seconds=30)


def vat_of(company: int) -> str:
    """Returns the registration number of the company of this number."""
    return f"{310_000_000 + company}"


def key_of(company: int) -> CompanyKey:
    return CompanyKey(Country.NO, vat_of(company))


def renamed(vat: str, revision: int, occurred_at: datetime) -> RegistryEvent:
    """Returns the event of a renamed company of ordinary size."""
    company = _company().model_copy(update={"vat": vat, "revision": revision})
    change = Change(field="name", old="PRØVE AS", new=company.name)
    return RegistryEvent(
        id=event_id(Country.NO, vat, revision, EventType.COMPANY_UPDATED),
        type=EventType.COMPANY_UPDATED,
        occurred_at=occurred_at.isoformat().replace("+00:00", "Z"),
        country=Country.NO,
        vat=vat,
        revision=revision,
        data=EventData(company=company, changes=(change,)),
    )


@cache
def _company() -> EventCompany:
    """Returns an invented company with an address."""
    for document in companies_no(100):
        record = parse(NO_ENTITIES.parse, document, date(2026, 11, 2))
        assert isinstance(record, CompanyRecord)
        company = EventCompany.model_validate({**orjson.loads(record.core), "revision": 1})
        if company.address is not None:
            return company
    raise AssertionError("the sample register has companies")


@asynccontextmanager
async def publishing(amqp_url: str) -> AsyncIterator[Publisher]:
    """Connects a publisher; the exchange of events has the dispatcher's queue."""
    async with supervised(amqp_url, name="bench", random=Random(SEED)) as connection:
        publisher = Publisher(
            connection,
            topology=delivery_topology(),
            timeout=_TIMEOUT,
        )
        await connection.add(publisher)
        async with asyncio.timeout(_TIMEOUT.total_seconds()):
            while not connection.ready:  # noqa: ASYNC110 (nothing announces it)
                await asyncio.sleep(0.01)
        yield publisher


# --- From the outbox to the broker

#: Events a second: from a backlog, and at a steady rate.
_GOAL, _STEADY = 2_000, 500
#: Events of one insert, as an import stores them.
_STORED = 1_000
#: Seconds between two inserts at a steady rate, and of the first ones, which do not count: the
#: publisher is idle when they begin.
_EVERY = 0.02
_WARM_UP = 1.0


def measure_publishing(scale: Scale) -> list[Figure]:
    """Returns the figures of publishing to the dispatcher's queue without a consumer."""
    with empty_system() as system:
        return asyncio.run(_figures(system, scale))


async def _figures(system: System, scale: Scale) -> list[Figure]:
    async with (
        connected(system.mongo_url, name="bench", operation_timeout=_TIMEOUT) as client,
        publishing(system.amqp_url),
    ):
        register = database(client, "register")
        backlog = await _backlog(system, register, scale.published_events)
        delays = await _delays(register, rate=_STEADY, seconds=scale.publishing_seconds)
    return [
        at_least("events published from a backlog", backlog.rate, "/s", _GOAL),
        *(
            Figure(f"processor time of an event, {process}", each, "µs")
            for process, each in backlog.used.items()
        ),
        at_most(f"from the commit to the broker at {_STEADY}/s, p99", delays, "ms", 200),
    ]


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events a second, and the processor time of each in microseconds by process."""

    rate: float
    used: Mapping[str, float]


async def _backlog(system: System, register: Database, count: int) -> Backlog:
    """Returns the figures of a backlog: another process has the lease until all is stored."""
    lease = StoredLeases(register, holder="bench")
    await lease.take("outbox", span=timedelta(hours=1))
    await asyncio.to_thread(system.start("ingest").wait_until_ready)
    events = outbox_rows(range(count), revision=1)
    for first in range(0, count, _STORED):
        await register[OUTBOX].insert_many(events[first : first + _STORED], ordered=False)
    used = Used(pids_of(system))
    await lease.give_up("outbox")
    await _until_published(register)
    costs = {name: each / count * 1e6 for name, each in used.seconds().items()}
    batches = await register[EVENT_BATCHES].find(sort=[("_id", 1)]).to_list(None)
    seconds = (batches[-1]["at"] - batches[0]["at"]).total_seconds()
    return Backlog((count - batches[0]["count"]) / seconds, costs)


async def _delays(register: Database, *, rate: int, seconds: float) -> float:
    """Returns the 99th percentile in milliseconds, from the insert's reply to the confirm."""
    inserts, uncounted = int((_WARM_UP + seconds) / _EVERY), int(_WARM_UP / _EVERY)
    size = int(rate * _EVERY)
    rows = [outbox_rows(range(n * size, (n + 1) * size), revision=n + 2) for n in range(inserts)]
    stored: dict[int, datetime] = {}
    started = time.monotonic()
    for number, documents in enumerate(rows):
        await asyncio.sleep(started + number * _EVERY - time.monotonic())
        await register[OUTBOX].insert_many(documents, ordered=False)
        stored[number + 2] = datetime.now(UTC)
    await _until_published(register)
    found = register[OUTBOX].find(
        {"revision": {"$gt": 1 + uncounted}}, {"revision": 1, "published_at": 1}
    )
    delays = [(one["published_at"] - stored[one["revision"]]) async for one in found]
    return percentile_99([max(0.0, each.total_seconds() * 1000) for each in delays])


async def _until_published(register: Database) -> None:
    # Polled seldom: each poll costs processor time that is measured.
    while await register[OUTBOX].find_one({"published_at": None}, {"_id": 1}):  # noqa: ASYNC110
        await asyncio.sleep(0.25)


def outbox_rows(companies: Sequence[int], *, revision: int) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    documents = []
    for company in companies:
        event = renamed(vat_of(company), revision, now)
        key, body = key_of(company), encode_event(event)
        row = OutboxEvent(event.id, key, revision, event.type, None, now, body)
        documents.append(outbox_document(row, None))
    return documents


# --- Clients that wait

#: Maximum seconds that a request waits.
_WAIT = 30


def measure_feed(scale: Scale) -> list[Figure]:
    """Yields the processor time of gateway and lookup service while clients wait."""
    with empty_system(max_event_readers=str(scale.waiting_clients)) as system:
        key = system.issue_key("bench")
        services = [system.start(module) for module in ("lookup", "gateway")]
        for service in services:
            service.wait_until_ready()
        url = f"{system.base_url}/api/events"
        return asyncio.run(_waiting(services, url, key, scale))


async def _waiting(services: Sequence[Service], url: str, key: str, scale: Scale) -> list[Figure]:
    _, gateway = services
    clients, figures = scale.waiting_clients, []
    idle = await _cores(services, scale.waiting_seconds)
    urls = {"requests": f"{url}?wait={_WAIT}&after=latest", "streams": f"{url}/stream"}
    for label, address in urls.items():
        async with aiohttp.ClientSession(
            headers={"X-API-Key": key},
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        ) as session:
            tasks = [asyncio.create_task(_read(session, address)) for _ in range(clients)]
            await _until_readers(gateway, clients)
            used = await _cores(services, scale.waiting_seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        # Until the service notices their end they count as readers, of which a key has a maximum.
        await _until_readers(gateway, 0)
        name = f"{clients:,} waiting {label}, processor time above none"
        figures.append(at_most(name, (used - idle) * 100, "% of a core", 5))
    return figures


async def _read(session: aiohttp.ClientSession, url: str) -> None:
    """Reads one answer after the other; a busy service may refuse some of many concurrent ones."""
    while True:
        try:
            async with session.get(url, raise_for_status=True) as response:
                async for _ in response.content:
                    pass
        except aiohttp.ClientError:
            await asyncio.sleep(1)


async def _until_readers(gateway: Service, count: int) -> None:
    """Returns when this many clients wait."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            async with session.get(f"{gateway.admin_url}/metrics") as response:
                lines = (await response.text()).splitlines()
            if f"event_readers {count}.0" in lines:
                return
            await asyncio.sleep(0.2)


async def _cores(services: Sequence[Service], seconds: float) -> float:
    """Returns the cores that the services use together."""
    used = Used({str(each.admin_port): each.process.pid for each in services})
    await asyncio.sleep(seconds)
    return sum(used.cores().values())
