"""Operations of many requests: any number of lookups, and an endless feed of events."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from company_registry.arguments import parts
from company_registry.errors import (
    ApiError,
    InternalError,
    InvalidResponse,
    NoResponse,
    RateLimited,
    error_of,
    problem_error,
)
from company_registry.http import (
    Item,
    Outcome,
    Request,
    Response,
    Sleep,
    Steps,
    Stream,
)
from company_registry.models import (
    AnnualAccounts,
    Company,
    CompanyFilter,
    Country,
    EinvoicingEntry,
    Event,
    FindSort,
    HistoryEntry,
    Include,
    Owner,
    ProductionUnit,
    Role,
    SearchType,
)
from company_registry.operations import (
    Operation,
    accounts_page,
    check_type,
    einvoicing_page,
    event_page,
    find_page,
    history_page,
    owner_page,
    perform,
    production_unit_page,
    role_page,
)
from company_registry.retries import FAILED, REFUSED, Retries, exchange, retry_after
from company_registry.watchlist_operations import watched_page

T = TypeVar("T")

#: Lookups in one request.
MAX_LOOKUPS: Final = 100

#: Errors after which a lookup is repeated.
_TIMEOUT: Final = "lookup_timeout"
TRANSIENT: Final = ("service_unavailable", _TIMEOUT, "batch_too_large", "rate_limited")

#: The status of a request whose terms together are too long, and of one that a proxy gave up.
_BODY_TOO_LARGE: Final = 413
_TIMED_OUT: Final = 504

#: Companies of a list in one request.
_FOUND: Final = 100
#: Companies of one page of a watchlist.
_WATCHED: Final = 10_000

#: Events in one request.
_PAGE: Final = 100

_QUOTA = re.compile(r'"(?P<name>[^"]*)";q=(?P<count>[0-9]{1,9});w=(?P<window>[0-9]{1,9})')
_LEFT = re.compile(r'"[^"]*";r=(?P<left>[0-9]{1,9});t=(?P<reset>[0-9]{1,9})')


@dataclass(frozen=True, slots=True)
class Lookup:
    """One lookup of a batch; with `by` None the type of the term is inferred."""

    country: Country
    term: str
    by: SearchType | None = "vat"
    include: tuple[Include, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for an unknown type of the term."""
        if self.by is not None:
            check_type(self.by)

    @property
    def fields(self) -> dict[str, Any]:
        """The lookup in the body of a request."""
        fields: dict[str, Any] = {"country": self.country, self.by or "search": self.term}
        return fields | ({"include": list(parts(self.include))} if self.include else {})


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A lookup with its company or, if it failed, its error."""

    lookup: Lookup
    company: Company | None
    error: ApiError | None

    @property
    def is_transient(self) -> bool:
        """True if the lookup failed, but may succeed when it is repeated."""
        return self.error is not None and self.error.code in TRANSIENT


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate limit as the service states it: requests in a window of seconds."""

    #: `key` for the rate of a key.
    name: str
    count: int
    window: int


@dataclass(frozen=True, slots=True)
class Pace:
    """The maximum number of lookups in the next request, and the seconds until it may be sent."""

    size: int = MAX_LOOKUPS
    wait: float = 0
    #: None as long as the service has not stated it.
    rate: Rate | None = None
    #: Lookups that its window still lets through, and the seconds until the next one.
    available: int = 0
    reset: float = 0
    #: True if the wait is for a service that cannot answer, and not for the rate.
    is_outage: bool = False

    @classmethod
    def after(cls, response: Response, share: float = 1) -> "Pace":
        """Returns the pace after a response; the rate limit counts each lookup of a request.

        `share` is the part of the rate that may be used: the rest is left to others.
        """
        quota = _QUOTA.match(response.headers.get("ratelimit-policy", ""))
        left = _LEFT.match(response.headers.get("ratelimit", ""))
        if quota is None or left is None:
            return cls()
        rate = Rate(quota["name"], int(quota["count"]), int(quota["window"]))
        kept = rate.count - int(rate.count * share)
        size = max(1, min(MAX_LOOKUPS, rate.count - kept))
        available, reset = max(0, int(left["left"]) - kept), float(left["reset"])
        return cls(size, 0 if available >= size else reset, rate, available, reset)


OnPace = Callable[[Pace], None]


def told(stream: Stream[T], share: float, on_pace: OnPace) -> Stream[T]:
    """Yields a stream, and calls `on_pace` before each of its waits and its further requests."""
    outcome: Outcome | None = None
    pace, is_first, is_refused = Pace(), True, False
    while True:
        try:
            step = stream.send(outcome)
        except StopIteration:
            return
        if isinstance(step, Sleep):
            # Any other wait is one for records, or for a request, that failed.
            is_for_rate = is_refused or step.seconds <= pace.wait
            on_pace(replace(pace, wait=step.seconds, is_outage=not is_for_rate))
        elif isinstance(step, Request):
            pace = replace(pace, wait=0)
            if not is_first:
                on_pace(pace)
            is_first, is_refused = False, False
        outcome = yield step
        if isinstance(outcome, Response):
            pace, is_refused = Pace.after(outcome, share), outcome.status == REFUSED


class CursorStore(Protocol):
    """Storage of an event reader's cursor."""

    def load(self) -> str | None:
        """Returns the cursor saved last; None before the first."""

    def save(self, cursor: str) -> None:
        """Keeps the cursor; the events before it are done."""


@dataclass(frozen=True, slots=True)
class FileCursor:
    """A cursor in a file, replaced as a whole."""

    path: Path

    def load(self) -> str | None:
        """Returns the saved cursor; None if there is none."""
        try:
            return self.path.read_text().strip() or None
        except FileNotFoundError:
            return None

    def save(self, cursor: str) -> None:
        """Replaces the cursor in one step: a crash leaves the old one or the new one."""
        written = self.path.with_name(f"{self.path.name}.new")
        written.write_text(f"{cursor}\n")
        written.replace(self.path)


_NO_END: Final = "a page of the service leads to itself"


def following(cursor: str | None, before: str | None) -> str | None:
    """Returns the cursor of a page, behind that of the page before; raises InvalidResponse.

    A page that leads to itself would be read for ever.
    """
    if cursor is not None and cursor == before:
        raise InvalidResponse(_NO_END)
    return cursor


class _Page(Protocol):
    """A page of a list."""

    @property
    def cursor(self) -> str | None: ...


P = TypeVar("P", bound=_Page)


def _entries(
    retries: Retries,
    page_after: Callable[[str | None], Operation[P]],
    listed: Callable[[P], Iterable[T] | None],
) -> Stream[T]:
    cursor: str | None = None
    while True:
        page = yield from perform(page_after(cursor), retries)
        yield from map(Item, listed(page) or ())
        cursor = following(page.cursor, cursor)
        if cursor is None:
            return


def production_units(retries: Retries, country: Country, vat: str) -> Stream[ProductionUnit]:
    """Yields all production units of a company, page by page, the main one first.

    Raises CompanyNotFound.
    """
    return _entries(
        retries,
        lambda after: production_unit_page(country, vat, after=after),
        lambda page: page.production_units,
    )


def einvoicing(retries: Retries, country: Country, vat: str) -> Stream[EinvoicingEntry]:
    """Yields all e-invoicing identifiers of a company, page by page, its own first.

    Raises CompanyNotFound.
    """
    return _entries(
        retries,
        lambda after: einvoicing_page(country, vat, after=after),
        lambda page: page.einvoicing,
    )


def owners(retries: Retries, country: Country, vat: str) -> Stream[Owner]:
    """Yields all owners of a company, page by page; none also if the register cannot say.

    Raises CompanyNotFound.
    """
    return _entries(
        retries, lambda after: owner_page(country, vat, after=after), lambda page: page.owners
    )


def roles(retries: Retries, country: Country, vat: str) -> Stream[Role]:
    """Yields all roles in a company, page by page. Raises CompanyNotFound."""
    return _entries(
        retries, lambda after: role_page(country, vat, after=after), lambda page: page.roles
    )


def history(
    retries: Retries, country: Country, vat: str, *, since: date | datetime | None = None
) -> Stream[HistoryEntry]:
    """Yields what a company did, newest first, page by page. Raises CompanyNotFound.

    `since` is a day or a time; what happened then or later is yielded.
    """
    return _entries(
        retries,
        lambda after: history_page(country, vat, after=after, since=since),
        lambda page: page.history,
    )


def accounts(retries: Retries, country: Country, vat: str) -> Stream[AnnualAccounts]:
    """Yields a company's annual accounts, newest first, page by page. Raises CompanyNotFound."""
    return _entries(
        retries,
        lambda after: accounts_page(country, vat, after=after),
        lambda page: page.annual_accounts,
    )


def find(
    retries: Retries, filter: CompanyFilter | None = None, *, sort: FindSort | None = None
) -> Stream[Company]:
    """Yields all companies that fit a filter, page by page, as `find_page` sorts them."""
    cursor: str | None = None
    while True:
        operation = find_page(filter or CompanyFilter(), sort=sort, limit=_FOUND, after=cursor)
        page = yield from perform(operation, retries)
        yield from map(Item, page.companies)
        cursor = following(page.cursor, cursor)
        if cursor is None:
            return


def watched(retries: Retries, watchlist_id: str) -> Stream[str]:
    """Yields all companies of a watchlist, `<country>:<registration number>`, page by page."""
    cursor: str | None = None
    while True:
        operation = watched_page(watchlist_id, after=cursor, limit=_WATCHED)
        page = yield from perform(operation, retries)
        yield from map(Item, page.companies)
        cursor = following(page.cursor, cursor)
        if cursor is None:
            return


def events(  # noqa: PLR0913 (named options)
    retries: Retries,
    after: str | None = None,
    *,
    types: Sequence[str] = (),
    countries: Sequence[Country] = (),
    companies: Sequence[str] = (),
    watchlists: Sequence[str] = (),
    cursor: CursorStore | None = None,
    since: datetime | None = None,
    wait: int = 20,
    count: int | None = None,
    until_now: bool = False,
    on_outage: Callable[[NoResponse | ApiError, float], None] | None = None,
) -> Stream[Event]:
    """Iterates over events in order, for ever unless told otherwise, through outages.

    Begins after the cursor that `cursor` has stored, else after `after` (`latest` for the end),
    else with the events published at `since` or later, else with the oldest that is kept.
    The cursor is saved when the caller asks for more, so a reader that is killed
    sees the events of its last page again: deduplicate by `id`.
    `wait` is in seconds: how long the service holds a request until something happens.
    Ends after `count` events, and with `until_now` after the last event that there is.

    `on_outage` is called with each failure and the seconds until the next attempt. With
    `until_now` an outage is raised after the client's retries: the next run goes on.
    Raises CursorExpired, whose `oldest` is a cursor to go on with, and other refusals.
    """
    place = (cursor.load() if cursor is not None else None) or after
    # Each failure of an endless reader is seen here, not after four attempts.
    tries = retries if until_now else replace(retries, attempts=1)
    failures, held = 0, 0
    while count is None or count > 0:
        asked = event_page(
            place,
            types=types,
            countries=countries,
            companies=companies,
            watchlists=watchlists,
            since=since,
            # A page never exceeds the count: its cursor is that of the last event given.
            limit=_PAGE if count is None else min(count, _PAGE),
            wait=held,
        )
        try:
            page = yield from perform(asked, tries)
        except (NoResponse, ApiError) as error:
            if until_now or (isinstance(error, ApiError) and not passes(error)):
                raise
            failures, held = failures + 1, 0
            pause = _pause(retries, failures, error)
            if on_outage is not None:
                on_outage(error, pause)
            yield Sleep(pause)
            continue
        # Only a service that answers may hold a request: a silent one shows within the timeout.
        failures, held = 0, 0 if until_now else wait
        for event in page.events:
            yield Item(event)
        count = None if count is None else count - len(page.events)
        if page.cursor == place and (page.events or page.has_more):
            raise InvalidResponse(_NO_END)
        if page.cursor != place:
            place = page.cursor
            if cursor is not None:
                cursor.save(place)
        if until_now and not page.has_more:
            return


def passes(error: ApiError) -> bool:
    """Returns True for an outage, also of a proxy in front of the service, and for a rate limit."""
    return error.status in FAILED or isinstance(error, RateLimited | InternalError)


def _pause(retries: Retries, failures: int, error: NoResponse | ApiError) -> float:
    asked = error.retry_after if isinstance(error, ApiError) else None
    return max(asked or 0.0, retries.backoff(failures))


class _Result(Protocol):
    @property
    def error(self) -> ApiError | None:
        """The reason why the item failed."""

    @property
    def is_transient(self) -> bool:
        """True if the item failed, but may succeed when it is repeated."""


S = TypeVar("S")
R = TypeVar("R", bound=_Result)


@dataclass(slots=True)
class Bulk(Generic[S, R]):
    """Items in any number, sent in requests of up to 100 at the pace of the rate limit.

    A service that answers too late gets half as many in the next request, and twice as many after
    a request that it answers in time.
    """

    retries: Retries
    request: Callable[[Sequence[S]], Request]
    read: Callable[[Response, Sequence[S]], Iterator[R]]
    #: The result of an item that has failed.
    failed: Callable[[S, ApiError], R]
    #: The part of the rate that may be used.
    share: float = 1
    #: Items that the service answers in time.
    _size: int = field(init=False, default=MAX_LOOKUPS)

    def results(self, items: Iterable[S]) -> Stream[R]:
        """Yields the result of each item, in order, as they arrive."""
        waiting = iter(items)
        pace = Pace()
        while chunk := list(itertools.islice(waiting, pace.size)):
            if pace.wait:
                yield Sleep(pace.wait)
            results, pace = yield from self._chunk(chunk)
            for result in results:
                yield Item(result)

    def _chunk(self, items: Sequence[S]) -> Steps[tuple[list[R], Pace]]:
        """Sends items until each has a result, again only those that failed.

        An item is sent as often as a request, and all end after as many requests in a row of which
        nothing was done: items that were not sent by then have the error of the last one.
        """
        results: dict[int, R] = {}
        left, sent, failures = list(range(len(items))), Counter[int](), 0
        while True:
            part, left = left[: self._size], left[self._size :]
            answers, pace = yield from self._posted([items[place] for place in part])
            results.update(zip(part, answers, strict=True))
            sent.update(part)
            failed = [place for place in part if results[place].is_transient]
            failures = failures + 1 if len(failed) == len(part) else 0
            # Behind those that were not sent: one of them may be what takes too long.
            left += [place for place in failed if sent[place] < self.retries.attempts]
            if failures >= self.retries.attempts and (error := answers[-1].error):
                results = {place: self.failed(items[place], error) for place in left} | results
                left = []
            if not left:
                return [results[place] for place in range(len(items))], pace
            wait = 0 if pace.available >= len(left[: self._size]) else pace.wait
            if wait := max(wait, self.retries.backoff(max(1, failures)) if failed else 0):
                yield Sleep(wait)

    def _adapt(self, sent: int, results: Sequence[R]) -> None:
        if any(each.error is not None and each.error.code == _TIMEOUT for each in results):
            self._size = max(1, min(self._size, sent) // 2)
        elif sent >= self._size:
            self._size = min(MAX_LOOKUPS, 2 * self._size)

    def _posted(self, items: Sequence[S]) -> Steps[tuple[list[R], Pace]]:
        final = (_TIMED_OUT,) if len(items) > 1 else ()
        response = yield from exchange(self.request(items), self.retries, final)
        pace = Pace.after(response, self.share)
        if response.status == REFUSED and len(items) > pace.size:
            # The whole quota is smaller than these: no waiting helps.
            return (yield from self._in_parts(items, pace.size, pace))
        if response.status == _BODY_TOO_LARGE:
            if len(items) == 1:
                return [self.failed(items[0], error_of(response))], Pace()
            return (yield from self._in_parts(items, -(-len(items) // 2), pace))
        if response.status in final:
            self._size = -(-len(items) // 2)
            return (yield from self._in_parts(items, self._size, pace))
        if response.status >= 400:
            raise error_of(response, retry_after=retry_after(response.headers))
        results = list(self.read(response, items))
        self._adapt(len(items), results)
        return results, pace

    def _in_parts(self, items: Sequence[S], size: int, pace: Pace) -> Steps[tuple[list[R], Pace]]:
        results: list[R] = []
        for first in range(0, len(items), size):
            if pace.wait:
                yield Sleep(pace.wait)
            part, pace = yield from self._posted(items[first : first + size])
            results += part
        return results, pace


def batch(
    retries: Retries, lookups: Iterable[Lookup], *, on_pace: OnPace | None = None
) -> Stream[BatchResult]:
    """Yields the result of each of any number of lookups, in order, as they arrive.

    Split into requests of up to 100 lookups, paced by the rate limit that the service states.
    `on_pace` is called with the pace before each wait and each further request.
    """
    results = Bulk(
        retries,
        lambda chunk: Request(
            "POST", "/api/batch", body={"lookups": [each.fields for each in chunk]}
        ),
        _results,
        lambda lookup, error: BatchResult(lookup, None, error),
    ).results(lookups)
    return results if on_pace is None else told(results, 1, on_pace)


def _results(response: Response, lookups: Sequence[Lookup]) -> Iterator[BatchResult]:
    try:
        results = json.loads(response.content)["results"]
        for lookup, result in zip(lookups, results, strict=True):
            problem = result.get("problem")
            if problem is None:
                yield BatchResult(lookup, Company.model_validate(result["company"]), None)
            else:
                yield BatchResult(lookup, None, problem_error(problem, status=problem["status"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidResponse("the answer to a batch is not one result per lookup") from None
