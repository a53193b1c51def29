"""Parsing of the event feed's query string, and its cursors."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType
from common.contracts.feed import MAX_EVENTS, FeedFilter, FeedRequest
from common.contracts.watchlists import MAX_READ, WatchlistId
from common.domain.nearest import did_you_mean
from common.domain.written import read_country
from gateway.http.parameters import Parameters, Reading

AFTER, SINCE, TYPES, COUNTRIES, COMPANIES = "after", "since", "types", "countries", "companies"
WATCHLIST = "watchlist"
LIMIT, WAIT = "limit", "wait"
LAST_EVENT_ID = "Last-Event-ID"

#: `after` for a reader of all that is kept.
OLDEST = "oldest"
#: `after` for a reader that starts at the end.
LATEST = "latest"
#: `after` for a page of the newest events.
RECENT = "recent"
DEFAULT_LIMIT = 100
#: Events that a stream reads at once.
STREAM_LIMIT = 100
#: Seconds.
MAX_WAIT = 30
MAX_COMPANIES = 100

#: A position in hexadecimal: cursors sort as text.
_CURSOR = re.compile(r"[0-9a-f]{12}")
_WATCHLIST = re.compile("wl_[0-9a-f]{32}")


class EventsQuery(NamedTuple):
    """A valid request for a page of events, and how long to wait for the first event."""

    request: FeedRequest
    #: Seconds to wait for an event.
    wait: int


def write_cursor(position: int) -> str:
    """Returns the cursor of a position: 12 hexadecimal digits, so that cursors sort as text."""
    return f"{position:012x}"


def parse_events(parameters: Parameters, *, owner: str) -> EventsQuery:
    """Returns the request for a page; raises InvalidParameter."""
    reading = _EventsReading(parameters)
    reading.words = f"{OLDEST}, {LATEST} or {RECENT}"
    given, since = reading.single(AFTER), reading.since()
    recent = given == RECENT
    after, latest = reading.start(AFTER, None if recent else given)
    limits = reading.filter()
    limit = reading.number(LIMIT, 1, MAX_EVENTS, DEFAULT_LIMIT)
    wait = reading.number(WAIT, 0, MAX_WAIT, 0)
    reading.check()
    request = FeedRequest(
        owner=owner,
        after=after,
        since=since,
        latest=latest,
        recent=recent,
        filter=limits,
        limit=limit,
    )
    return EventsQuery(request, wait)


def parse_stream(parameters: Parameters, *, last_event_id: str | None, owner: str) -> FeedRequest:
    """Returns the request for a stream, by default from the end; raises InvalidParameter."""
    reading = _EventsReading(parameters)
    since = reading.since()
    begin = LATEST if since is None else OLDEST
    after, latest = reading.start(AFTER, reading.single(AFTER) or begin)
    if last_event_id is not None:
        # A client that connects again sends the query of its first request.
        since = None
        after, latest = reading.start(LAST_EVENT_ID, last_event_id)
    limits = reading.filter()
    reading.check()
    return FeedRequest(
        owner=owner, after=after, since=since, latest=latest, filter=limits, limit=STREAM_LIMIT
    )


#: Each event type, each family (`company.*`), and `*`.
_PATTERNS = frozenset(pattern for event_type in EventType for pattern in event_type.patterns)


class _EventsReading(Reading):
    #: The words that a reader may start with besides a cursor.
    words = f"{OLDEST} or {LATEST}"

    def since(self) -> datetime | None:
        """Returns the time to start at, in UTC; None if absent, or if invalid."""
        value = self.single(SINCE)
        if value is None:
            return None
        if AFTER in self.parameters:
            self.invalid(SINCE, f"cannot be given beside {AFTER}")
        try:
            # A query decodes + as a space.
            moment = datetime.fromisoformat(value[:10] + value[10:].replace(" ", "+"))
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        self.invalid(SINCE, "must be a time with its offset, such as 2026-03-02T05:00:00Z")
        return None

    def start(self, name: str, value: str | None) -> tuple[int | None, bool]:
        """Returns the position to read after, and whether to start at the end."""
        if value is None or value in (OLDEST, LATEST):
            return None, value == LATEST
        if not _CURSOR.fullmatch(value):
            self.invalid(name, f"must be the cursor of an earlier answer, {self.words}")
            return None, False
        return int(value, 16), False

    def filter(self) -> FeedFilter:
        return FeedFilter(
            types=self._types(),
            countries=self._countries(),
            companies=self._companies(),
            watchlists=self._watchlists(),
        )

    def _types(self) -> tuple[EventType, ...]:
        chosen: dict[EventType, None] = {}
        for pattern in self._list(TYPES):
            matching = [event_type for event_type in EventType if pattern in event_type.patterns]
            if not matching:
                self.invalid(
                    TYPES,
                    "must be a comma-separated list of event types (GET /api/event-types lists "
                    "them), families such as company.*, or *" + did_you_mean(pattern, _PATTERNS),
                )
                return ()
            chosen |= dict.fromkeys(matching)
        return tuple(chosen)

    def _countries(self) -> tuple[Country, ...]:
        found = [read_country(value) for value in self._list(COUNTRIES)]
        known = tuple(dict.fromkeys(country for country in found if country is not None))
        if None in found:
            self.invalid(COUNTRIES, f"must be a comma-separated list of {', '.join(Country)}")
        return known

    def _companies(self) -> tuple[CompanyKey, ...]:
        keys = [CompanyKey.read(value) for value in self._list(COMPANIES)]
        known = tuple(dict.fromkeys(key for key in keys if key is not None))
        if len(keys) > MAX_COMPANIES or None in keys:
            self.invalid(
                COMPANIES,
                f"must be a comma-separated list of at most {MAX_COMPANIES} companies, each its "
                "country and registration number, such as dk:12345674,no:123456785",
            )
        return known

    def _watchlists(self) -> tuple[WatchlistId, ...]:
        given = self._list(WATCHLIST)
        if len(given) > MAX_READ or not all(map(_WATCHLIST.fullmatch, given)):
            self.invalid(
                WATCHLIST,
                f"must be a comma-separated list of at most {MAX_READ} ids of watchlists; "
                "GET /api/watchlists lists yours",
            )
        return tuple(dict.fromkeys(map(WatchlistId, given)))

    def _list(self, name: str) -> list[str]:
        value = self.single(name)
        return [] if value is None else [part.strip() for part in value.split(",")]
