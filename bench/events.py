"""Events of invented companies, and their publisher."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from functools import cache
from random import Random

import orjson

from bench.scale import SEED
from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    Change,
    EventCompany,
    EventData,
    EventType,
    RegistryEvent,
    event_id,
)
from common.messaging.connection import supervised
from common.messaging.publisher import Publisher
from dispatcher.queues import delivery_topology
from ingest.records.records import CompanyRecord
from ingest.records.source import parse
from ingest.registers.brreg.sources import NO_ENTITIES
from register_samples import companies_no

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
