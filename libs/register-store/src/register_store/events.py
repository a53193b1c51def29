"""Public events of stored changes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from common.contracts.company import CompanyKey
from common.contracts.contract import TraceContext
from common.contracts.events import Change, EventType, event_id, rfc3339
from register_store.documents import Document, completed


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event before it has a revision and an id."""

    type: EventType
    changes: tuple[Change, ...] = ()
    #: The production unit that changed: its stored JSON, parsed.
    unit: Mapping[str, Any] | None = None
    #: Its place among the events of one change to a long list.
    number: int = 0
    #: The annual accounts that were published, as stored JSON.
    accounts: bytes | None = None


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
    #: The changes that the event tells of.
    changes: tuple[Change, ...] = ()


def events_of_change(
    key: CompanyKey,
    core: bytes | None,
    *,
    revision: int,
    pending_events: Iterable[PendingEvent],
    at: datetime,
) -> Iterator[OutboxEvent]:
    """The events of one stored change; `core` is the company after it, None if it was removed.

    Its stored JSON is spliced into the events; `RegistryEvent` describes the whole.
    """
    company = b"null" if core is None else b'%b,"revision":%d}' % (completed(core)[:-1], revision)
    for pending in pending_events:
        unit = None if pending.unit is None else pending.unit["number"]
        data = {
            "company": orjson.Fragment(company),
            "changes": [change.public() for change in pending.changes],
            # Which unit is the main one depends on the others, so an event says nothing of it.
            **({} if pending.unit is None else {"production_unit": {**pending.unit, "main": None}}),
            **({} if pending.accounts is None else {"accounts": orjson.Fragment(pending.accounts)}),
        }
        identity = event_id(
            key.country, key.vat, revision, pending.type, unit, number=pending.number
        )
        event = {
            "id": identity,
            "type": pending.type,
            "occurred_at": rfc3339(at),
            "country": key.country,
            "vat": key.vat,
            "revision": revision,
            "data": data,
        }
        yield OutboxEvent(
            identity,
            key,
            revision,
            pending.type,
            unit,
            at,
            orjson.dumps(event),
            changes=pending.changes,
        )


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
