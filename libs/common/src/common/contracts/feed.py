"""The event feed between lookup service and gateway: published events in one total order."""

from pydantic import Field

from common.contracts.company import CompanyKeyText, Country
from common.contracts.contract import Contract, Timestamp
from common.contracts.events import EventType, RegistryEvent
from common.contracts.watchlists import WatchlistId

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
