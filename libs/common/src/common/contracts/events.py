"""Events of the registers, and their feed between gateway and lookup service."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

import orjson
from pydantic import Field

from common.contracts.accounts import AnnualAccounts
from common.contracts.company import Company, CompanyKeyText, Country, ProductionUnit
from common.contracts.contract import Contract, Timestamp
from common.contracts.watchlists import WatchlistId


def rfc3339(moment: datetime) -> str:
    """Returns a time in UTC as in every public message: `2026-03-02T05:00:00Z`, to the second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


#: The namespace of event ids. Never change it: the same change must keep its id.
EVENT_NAMESPACE = UUID("6f1c2c0e-5a1b-5e0f-9a52-8d3f4f1f7c11")

#: Collection of the webhooks database with one document per event that became deliveries; `_id` is
#: the event's id. The dispatcher writes it, and the outbox reads it (ADR 0018).
RECEIPTS = "receipts"


class EventType(StrEnum):
    COMPANY_CREATED = "company.created"
    COMPANY_UPDATED = "company.updated"
    COMPANY_STATUS_CHANGED = "company.status_changed"
    COMPANY_REMOVED = "company.removed"
    COMPANY_ACCOUNTS_PUBLISHED = "company.accounts_published"
    OWNERS_CHANGED = "owners.changed"
    PRODUCTION_UNIT_CREATED = "production_unit.created"
    PRODUCTION_UNIT_UPDATED = "production_unit.updated"
    PRODUCTION_UNIT_ENDED = "production_unit.ended"
    EINVOICING_CHANGED = "einvoicing.changed"
    WEBHOOK_TEST = "webhook.test"
    WEBHOOK_FAILING = "webhook.failing"
    WEBHOOK_DISABLED = "webhook.disabled"

    @property
    def patterns(self) -> tuple[str, str, str]:
        """The patterns that select this type: itself, its family such as `company.*`, and `*`."""
        return self.value, f"{self.partition('.')[0]}.*", "*"


class Change(Contract):
    """One field's old and new value; field is a dotted path, and a list is given whole.

    Of a list of more than 100 entries only those that differ are given: old has the entries that
    are no longer in it, and new those that were not in it before.
    """

    field: str
    old: Any = None
    new: Any = None
    #: True if only the entries that differ are given; absent otherwise.
    partial: bool = Field(default=False, exclude_if=lambda is_partial: not is_partial)

    def public(self) -> dict[str, Any]:
        """Returns the members of the change in an event."""
        members = dict(self)
        if not self.partial:
            del members["partial"]
        return members


class EventCompany(Company):
    """The company as it is after the change."""

    revision: int


class EventWebhook(Contract):
    """The webhook that an event is about."""

    id: str
    url: str
    description: str | None = None
    #: RFC 3339, UTC, `Z`.
    disabled_at: str | None = None
    disabled_reason: str | None = None


class FailedDelivery(Contract):
    """The last attempt of a delivery that fails."""

    delivery_id: str
    event_id: str
    event_type: EventType
    attempt: int
    response_code: int | None
    #: Cause in one word.
    error: str


class EventData(Contract):
    """The contents of an event: a company with its changes, or a webhook."""

    company: EventCompany | None = None
    changes: tuple[Change, ...] = ()
    production_unit: ProductionUnit | None = None
    #: The annual accounts that were published.
    accounts: AnnualAccounts | None = None
    #: Only in events about a webhook, which have none of the above.
    webhook: EventWebhook | None = None
    delivery: FailedDelivery | None = None


class RegistryEvent(Contract):
    """A registry event: the same JSON for receivers and for the broker."""

    id: str
    type: EventType
    #: RFC 3339, UTC, `Z`.
    occurred_at: str
    #: Absent, like `vat` and `revision`, in events of webhooks only.
    country: Country | None = None
    vat: str | None = None
    revision: int | None = None
    data: EventData | None = None
    #: True if the event is invented and was requested by the webhook's owner; absent otherwise.
    test: bool = False


def encode_event(event: RegistryEvent) -> bytes:
    """Returns the bytes to store, to send over the broker and to POST in every attempt."""
    public = event.model_dump(mode="json", exclude={"data"})
    if not event.test:
        del public["test"]
    public["data"] = {} if event.data is None else _public_data(event.data)
    return orjson.dumps(public)


def _public_data(data: EventData) -> dict[str, Any]:
    if data.webhook is not None:
        of_webhook = {"webhook"} if data.delivery is None else {"webhook", "delivery"}
        return data.model_dump(mode="json", include=of_webhook)
    public = data.model_dump(mode="json", exclude={"webhook", "delivery"})
    for part in ("production_unit", "accounts"):
        if public[part] is None:
            del public[part]
    return public


def event_id(  # noqa: PLR0913 (the parts of an id)
    country: Country,
    vat: str,
    revision: int,
    event_type: EventType,
    unit: str | None = None,
    *,
    number: int = 0,
) -> str:
    """Returns the deterministic event id: the same change always has the same id.

    `number` tells the events apart that one change of a long list became.
    """
    name = f"{country}|{vat}|{revision}|{event_type}|{unit or ''}"
    return str(uuid5(EVENT_NAMESPACE, f"{name}|{number}" if number else name))


def routing_key(event_type: EventType, country: Country | None) -> str:
    """Returns an event's key in the topic exchange: `dk.company.updated`, `none.webhook.test`."""
    return f"{country or 'none'}.{event_type}"


#: Maximum number of events in a page.
MAX_EVENTS = 500


class FeedFilter(Contract):
    """Selects events; an empty list matches all, and every list must match."""

    types: tuple[EventType, ...] = ()
    countries: tuple[Country, ...] = ()
    companies: tuple[CompanyKeyText, ...] = ()
    #: Joined with `companies` by *or*. The gateway replaces them by companies.
    watchlists: tuple[WatchlistId, ...] = ()


class FeedRequest(Contract):
    """The next events of one reader."""

    #: The API key's owner, who alone sees the events of their webhooks.
    owner: str
    #: The position up to which the reader has read; None starts at the oldest event kept.
    after: int | None = None
    #: Without `after`, starts with the first event published at this time or later.
    since: Timestamp | None = None
    #: Starts at the end instead: no event, and the position of the newest.
    latest: bool = False
    #: Starts with the newest events that match instead, up to `limit` of them in their order.
    recent: bool = False
    filter: FeedFilter = FeedFilter()
    #: The position to read up to; None is the newest. It bounds the read with many companies, too.
    until: int | None = None
    #: Requests only the companies of the events, all of those that one read covers.
    companies_only: bool = False
    limit: int = Field(ge=1, le=MAX_EVENTS)


class FeedEvent(Contract):
    """An event of the feed, with its position."""

    position: int
    #: Possibly one that a newer release has added.
    type: str
    #: The public event as JSON, the bytes that a webhook receives.
    body: bytes


class FeedPage(Contract):
    """Events after a position, in order, and the position from which to continue."""

    events: tuple[FeedEvent, ...] = ()
    #: With `companies_only`: the companies of events up to `position`; None from an earlier
    #: release.
    companies: tuple[CompanyKeyText, ...] | None = None
    #: The position to continue from: events up to it are in this page or did not match.
    position: int
    #: True if the feed continues after `position`. With a filter a page may be empty nevertheless.
    has_more: bool = False
    #: True if events after the requested position have expired; `position` is then the oldest
    #: from which reading can go on.
    expired: bool = False


class EventRequest(Contract):
    """One event by its id."""

    owner: str
    #: Unvalidated path segment.
    id: str


class EventReply(Contract):
    """A single event that was requested by its id."""

    #: The public event as JSON.
    body: bytes


class OwnerEvent(Contract):
    """An event about a webhook, to be published for its owner."""

    owner: str
    event: RegistryEvent


class OwnerEventStored(Contract):
    """The event will be published; storing it again changes nothing."""


class PublishedEvent(Contract):
    """The properties of a published event that filters select by."""

    #: Possibly one that a newer release has added.
    type: str
    #: None in events about a webhook, which are for its owner only.
    company: CompanyKeyText | None = None
    owner: str | None = None


class FeedNotice(Contract):
    """Broadcast to gateways when events were published, and at intervals without events."""

    #: The newest position.
    position: int
    #: The events after the previous notice's position.
    events: tuple[PublishedEvent, ...] = ()
