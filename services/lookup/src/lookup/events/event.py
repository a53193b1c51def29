"""Public events of stored changes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from common.contracts.company import CompanyKey, ProductionUnit
from common.contracts.events import (
    Change,
    EventCompany,
    EventData,
    EventType,
    RegistryEvent,
    encode_event,
    event_id,
    rfc3339,
)
from common.contracts.traces import TraceContext
from lookup.store.documents import Document


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event before it has a revision and an id."""

    type: EventType
    changes: tuple[Change, ...] = ()
    unit: ProductionUnit | None = None


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """An event that is stored in the same transaction as its change, and published afterwards."""

    id: str
    #: None for an event about a webhook.
    company: CompanyKey | None
    revision: int
    type: EventType
    #: The number of the production unit that changed, if one did.
    unit: str | None
    occurred_at: datetime
    #: The public event as JSON: the bytes that every receiver gets.
    body: bytes
    #: The owner of the webhook that the event is about.
    owner: str | None = None


def events_of_change(
    key: CompanyKey,
    core: bytes | None,
    *,
    revision: int,
    pending_events: Iterable[PendingEvent],
    at: datetime,
) -> Iterator[OutboxEvent]:
    """The events of one stored change; `core` is the company after it, None if it was removed."""
    company = None if core is None else _company(core, revision)
    for pending_event in pending_events:
        unit = None if pending_event.unit is None else pending_event.unit.number
        event = RegistryEvent(
            id=event_id(key.country, key.vat, revision, pending_event.type, unit),
            type=pending_event.type,
            occurred_at=rfc3339(at),
            country=key.country,
            vat=key.vat,
            revision=revision,
            data=EventData(
                company=company, changes=pending_event.changes, production_unit=pending_event.unit
            ),
        )
        yield OutboxEvent(event.id, key, revision, event.type, unit, at, encode_event(event))


def _company(core: bytes, revision: int) -> EventCompany:
    return EventCompany.model_validate({**orjson.loads(core), "revision": revision})


def outbox_document(event: OutboxEvent, trace: TraceContext | None) -> Document:
    """Returns the outbox row of an event that is not yet published."""
    return {
        **({} if trace is None else trace.fields()),
        **({} if event.owner is None else {"owner": event.owner}),
        "_id": event.id,
        "company": event.company,
        "revision": event.revision,
        "type": event.type.value,
        "unit": event.unit,
        "occurred_at": event.occurred_at,
        "body": event.body,
        "published_at": None,
    }
