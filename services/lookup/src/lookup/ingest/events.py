"""Public events made from what a change is to be told as."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    EventCompany,
    EventData,
    EventType,
    RegistryEvent,
    encode_event,
    event_id,
    rfc3339,
)
from lookup.ingest.changes import PendingEvent


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """An event that goes out once what it tells of is stored, in the same transaction."""

    id: str
    company: CompanyKey
    revision: int
    type: EventType
    #: The number of the production unit that it tells of, if it does.
    unit: str | None
    occurred_at: datetime
    #: The public event as JSON, the bytes that every receiver gets.
    body: bytes


def announce(
    key: CompanyKey,
    core: bytes | None,
    *,
    revision: int,
    pending_events: Iterable[PendingEvent],
    at: datetime,
) -> Iterator[OutboxEvent]:
    """The events of one stored change; `core` is the company after it, None when it is gone."""
    country, _, vat = key.partition(":")
    company = None if core is None else _company(core, revision)
    for occurrence in pending_events:
        unit = None if occurrence.unit is None else occurrence.unit.number
        event = RegistryEvent(
            id=event_id(Country(country), vat, revision, occurrence.type, unit),
            type=occurrence.type,
            occurred_at=rfc3339(at),
            country=Country(country),
            vat=vat,
            revision=revision,
            data=EventData(
                company=company, changes=occurrence.changes, production_unit=occurrence.unit
            ),
        )
        yield OutboxEvent(event.id, key, revision, event.type, unit, at, encode_event(event))


def _company(core: bytes, revision: int) -> EventCompany:
    return EventCompany.model_validate({**orjson.loads(core), "revision": revision})
