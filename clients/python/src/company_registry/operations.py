"""The operations of the service: each function builds a request and the reader of its answer."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final, Generic, TypeVar, get_args
from urllib.parse import quote

from pydantic import ValidationError

from company_registry.arguments import day, day_or_moment, moment, parts, texts
from company_registry.errors import InvalidResponse, error_of
from company_registry.group_models import Group
from company_registry.http import Request, Steps
from company_registry.models import (
    AccountsPage,
    Code,
    CodeList,
    Codes,
    Company,
    CompanyFilter,
    CompanyPage,
    Country,
    EinvoicingPage,
    Event,
    EventPage,
    Facet,
    FindSort,
    Format,
    HistoryPage,
    Include,
    Model,
    OwnerPage,
    RegisterSource,
    RegisterSources,
    RolePage,
    SearchType,
    Suggestion,
    SuggestionPage,
    UnitPage,
)
from company_registry.retries import Retries, exchange, retry_after
from company_registry.webhook_models import EventType, EventTypes, Key

T = TypeVar("T")
M = TypeVar("M", bound=Model)

_ALL: Final = CompanyFilter()


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A request, and the function that reads the body of its successful response."""

    request: Request
    read: Callable[[bytes], T]


def perform(operation: Operation[T], retries: Retries) -> Steps[T]:
    """Sends the request and reads its answer; raises ApiError, NoResponse or InvalidResponse."""
    response = yield from exchange(operation.request, retries)
    if response.status >= 400:
        raise error_of(response, retry_after=retry_after(response.headers))
    try:
        return operation.read(response.content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the body"
        raise InvalidResponse(
            f"{operation.request.path} answered with a document that this client cannot read "
            f"({place}: {fault['msg']}); is the URL that of the service?"
        ) from None


def lookup(
    country: Country,
    term: str,
    *,
    by: SearchType = "vat",
    include: Iterable[Include] = (),
    as_of: date | None = None,
) -> Operation[Company]:
    """Finds the company with a registration number, or another identifier, name or address.

    `term` is of the type `by`. `include` adds owners, roles, production units, e-invoicing or
    alternatives. `as_of` requests the company, its owners and roles at the end of a day. Raises
    CompanyNotFound, and InvalidParameter for a day before the company is known.
    """
    check_type(by)
    query = {"country": country, "q": term, "include": ",".join(parts(include))}
    query |= {"as_of": day("as_of", as_of)}
    return Operation(get(f"/api/{by}", query), Company.model_validate_json)


#: Names of the registers for types of terms that have another name here.
_TYPES_MEANT: Final = {"cvr": "vat", "orgnr": "vat", "p": "produ", "pnr": "produ", "gln": "ean"}


def check_type(by: str) -> None:
    """Raises ValueError for an unknown type of a term, with the one that is meant."""
    known = get_args(SearchType)
    if by not in known:
        meant = _TYPES_MEANT.get(by.casefold())
        hint = f"; did you mean {meant}?" if meant else ""
        raise ValueError(f"by must be one of {', '.join(known)}, not {by!r}{hint}")


def lookup_document(  # noqa: PLR0913 (named options)
    country: Country,
    term: str,
    *,
    by: SearchType = "vat",
    include: Iterable[Include] = (),
    as_of: date | None = None,
    format: Format = "json",
) -> Operation[bytes]:
    """Returns the answer of `lookup` as sent, in JSON or XML. Raises CompanyNotFound."""
    check_type(by)
    query = {"country": country, "q": term, "include": ",".join(parts(include))}
    query |= {"as_of": day("as_of", as_of), "format": format}
    return Operation(get(f"/api/{by}", query), lambda body: body)


def search(country: Country, text: str, *, include: Iterable[Include] = ()) -> Operation[Company]:
    """Finds a company by any identifier, name or address, with up to five alternatives.

    `match.type` of the answer is the inferred type of the text. Raises CompanyNotFound.
    """
    wanted = ",".join(dict.fromkeys([*parts(include), "alternatives"]))
    query = {"country": country, "search": text, "include": wanted}
    return Operation(get("/api", query), Company.model_validate_json)


def production_unit_page(
    country: Country, vat: str, *, after: str | None = None, limit: int = 100
) -> Operation[UnitPage]:
    """A page of a company's production units, the main one first; `after` is a page's cursor.

    Raises CompanyNotFound.
    """
    return _page_of("production_units", UnitPage, country, vat, after, limit)


def einvoicing_page(
    country: Country, vat: str, *, after: str | None = None, limit: int = 100
) -> Operation[EinvoicingPage]:
    """A page of a company's e-invoicing identifiers, its own before those of its units.

    `after` is a page's cursor. Raises CompanyNotFound.
    """
    return _page_of("einvoicing", EinvoicingPage, country, vat, after, limit)


def owner_page(
    country: Country, vat: str, *, after: str | None = None, limit: int = 100
) -> Operation[OwnerPage]:
    """A page of a company's owners; `after` is a page's cursor. Raises CompanyNotFound."""
    return _page_of("owners", OwnerPage, country, vat, after, limit)


def role_page(
    country: Country, vat: str, *, after: str | None = None, limit: int = 100
) -> Operation[RolePage]:
    """A page of the roles in a company; `after` is a page's cursor. Raises CompanyNotFound."""
    return _page_of("roles", RolePage, country, vat, after, limit)


def group(country: Country, vat: str, *, levels: int = 5) -> Operation[Group]:
    """The owners and subsidiaries of a company, over 1 to 10 levels. Raises CompanyNotFound."""
    path = f"/api/companies/{segment(country)}/{segment(vat)}/group"
    return Operation(get(path, {"levels": str(levels)}), Group.model_validate_json)


def history_page(
    country: Country,
    vat: str,
    *,
    after: str | None = None,
    limit: int = 100,
    since: date | datetime | None = None,
) -> Operation[HistoryPage]:
    """A page of what a company did; `after` is a page's cursor. Raises CompanyNotFound.

    `since` is a day or a time; what happened then or later follows.
    """
    text = day_or_moment("since", since)
    page = _page_of("history", HistoryPage, country, vat, after, limit)
    given = (*page.request.query, *((("since", text),) if text else ()))
    return replace(page, request=replace(page.request, query=given))


def accounts_page(
    country: Country, vat: str, *, after: str | None = None, limit: int = 100
) -> Operation[AccountsPage]:
    """A page of a company's annual accounts; `after` is a page's cursor. Raises CompanyNotFound."""
    return _page_of("accounts", AccountsPage, country, vat, after, limit)


def _page_of(  # noqa: PLR0913 (the parts of a request)
    part: str, page: type[M], country: Country, vat: str, after: str | None, limit: int
) -> Operation[M]:
    path = f"/api/companies/{segment(country)}/{segment(vat)}/{part}"
    query = {"limit": str(limit), "after": after or ""}
    return Operation(get(path, query), page.model_validate_json)


def find_page(
    filter: CompanyFilter = _ALL,
    *,
    sort: FindSort | None = None,
    facets: Iterable[Facet] = (),
    limit: int = 20,
    after: str | None = None,
) -> Operation[CompanyPage]:
    """Returns a page of the companies that fit a filter, with the number of all; at most 100.

    `after` is the cursor of the page before, None for the first page; it belongs to the filter and
    to `sort`, which is `name` unless given, or `relevance` with `q`. `facets` adds the number of
    companies for each value of these fields.
    """
    query = filter_query(filter)
    query |= {"sort": sort or "", "facets": ",".join(texts(facets))}
    query |= {"limit": str(limit), "after": after or ""}
    return Operation(get("/api/companies", query), CompanyPage.model_validate_json)


def codes(kind: CodeList, *, countries: Iterable[Country] = ()) -> Operation[tuple[Code, ...]]:
    """Returns the codes that companies have in a field, with their texts; of both registers."""
    query = {"country": ",".join(texts(countries))}
    request = get(f"/api/codes/{segment(kind)}", query)
    return Operation(request, lambda body: Codes.model_validate_json(body).codes)


def filter_query(filter: CompanyFilter) -> dict[str, str]:
    """Returns the query parameters of a filter, those that are empty included."""
    given = CompanyFilter.model_validate(filter)
    return {name: _text(value) for name, value in given if value is not None}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def suggest(
    country: Country | Sequence[Country],
    text: str,
    *,
    limit: int = 10,
    status: Sequence[str] = (),
) -> Operation[tuple[Suggestion, ...]]:
    """Returns the companies that a partly typed name may mean, best first; at most 20.

    They are of one register or of both, and of any status unless some are given.
    """
    page = suggestion_page(country, text, limit=limit, status=status)
    return Operation(page.request, lambda body: page.read(body).suggestions)


def suggestion_page(
    country: Country | Sequence[Country],
    text: str,
    after: str | None = None,
    *,
    limit: int = 10,
    status: Sequence[str] = (),
) -> Operation[SuggestionPage]:
    """Returns a page of the companies that a partly typed name may mean; at most 20.

    `after` is the cursor of the page before, None for the first page. Pages may be shorter than
    `limit`; the last one has no cursor. Pages of both registers have none.
    """
    query = {
        "country": ",".join(texts(country)),
        "q": text,
        "limit": str(limit),
        "after": after or "",
    }
    query |= {"status": ",".join(texts(status))}
    return Operation(get("/api/suggest", query), SuggestionPage.model_validate_json)


def registers() -> Operation[tuple[RegisterSource, ...]]:
    """Returns how fresh each source of the registers is, by name."""
    return Operation(
        get("/api/registers"), lambda body: RegisterSources.model_validate_json(body).sources
    )


def me() -> Operation[Key]:
    """Returns the key that requests are made with: its owner, scopes and rate."""
    return Operation(get("/api/me"), Key.model_validate_json)


def event_page(  # noqa: PLR0913 (named options)
    after: str | None = None,
    *,
    types: Iterable[str] = (),
    countries: Iterable[Country] = (),
    companies: Iterable[str] = (),
    watchlists: Iterable[str] = (),
    limit: int = 100,
    wait: int = 0,
    since: datetime | None = None,
) -> Operation[EventPage]:
    """Returns the events that follow a cursor, oldest first; at most `limit`.

    `after` is the cursor of an earlier page, `latest` for the end, or None for `since`, else for
    the oldest event that is kept. `since` is a time; events published then or later follow.
    The filters are words of a webhook (`company.*`), `<country>:<number>` and ids of watchlists;
    none matches all. `wait` is in seconds, up to 30: an empty page is held until an
    event arrives. Raises CursorExpired, WatchlistNotFound.
    """
    query = {
        "after": after or "",
        "since": "" if after else moment("since", since),
        "types": ",".join(texts(types)),
        "countries": ",".join(texts(countries)),
        "companies": ",".join(texts(companies)),
        "watchlist": ",".join(texts(watchlists)),
        "limit": str(limit),
        "wait": str(wait) if wait else "",
    }
    request = replace(get("/api/events", query), held=wait)
    return Operation(request, EventPage.model_validate_json)


def get_event(event_id: str) -> Operation[Event]:
    """Returns the event with an id. Raises EventNotFound."""
    return Operation(get(f"/api/events/{segment(event_id)}"), Event.model_validate_json)


def event_types() -> Operation[tuple[EventType, ...]]:
    """Returns the types of events, each with the JSON Schema of its body."""
    return Operation(
        get("/api/event-types"), lambda body: EventTypes.model_validate_json(body).event_types
    )


def get(path: str, query: dict[str, str] | None = None) -> Request:
    """Returns the operation of a GET; parameters without a value are omitted."""
    given = tuple((name, value) for name, value in (query or {}).items() if value)
    return Request("GET", path, query=given)


def idempotency(key: str | None) -> dict[str, str]:
    """Returns the caller's key, or a new one: it makes the request safe to repeat."""
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def segment(text: str) -> str:
    """Returns a path segment with any text, percent-encoded."""
    # `.` and `..` are removed from paths even when they are encoded.
    return quote(text, safe="").replace(".", "%2E") or "%20"
