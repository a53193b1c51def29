"""Companies that fit filters, over HTTP: the lists of both countries are merged into one."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any, Final, TypeVar

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import Field, PlainValidator, ValidationInfo

from common.contracts.company import CompanyKey, Country, Status
from common.contracts.find import (
    MAX_FOUND,
    Between,
    Code,
    Facet,
    FindPosition,
    FindReply,
    FindRequest,
    FindSort,
    Has,
)
from common.contracts.watchlists import WatchlistId
from common.domain.countries import FORMATS
from common.domain.known_values import (
    MAX_NEAREST,
    digits,
    forms_named,
    is_known,
    nearest_values,
    sharing,
)
from common.domain.numbers import InvalidIdentifier, read_company
from common.domain.sentences import nearest
from common.domain.times import read_day
from common.domain.written import plain_name, read_postal_code
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import (
    Invalid,
    Parameters,
    Query,
    boolean,
    choice,
    context_of,
    listed,
    listed_countries,
    number,
    once,
    single,
)
from gateway.http.responses import json_response, with_left_out
from gateway.lookups.codes import (
    WORDS_OF,
    Stored,
    StoredCodes,
    code_of,
    codes_meant,
    is_words,
    near_words,
)
from gateway.lookups.lookup import CACHE_CONTROL
from gateway.lookups.protected import ProtectedCompanies
from gateway.lookups.terms import NAME_LENGTH
from gateway.lookups.watched import FindWatched, watchlist_id
from gateway.problems import Problem

FIND_PATH = "/api/companies"

#: Companies of a page, unless another number is requested.
DEFAULT_FOUND: Final = 20
_ANY: Final = "any"

_INDUSTRY: Final = re.compile(r"[0-9]{1,2}|[0-9]{2}\.?[0-9]{1,4}")
_AMOUNT: Final = re.compile(r"[-−]?(?:0|[1-9][0-9]{0,14})")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_RANGE: Final = re.compile(r"[0-9]+-[0-9]+")
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,7}")
CURSOR: Final = r"^[A-Za-z0-9_-]{4,400}$"

#: The lists of known values, and the forms of a value.
_PARTS: Final = {"industry": "industries", "municipality": "municipalities", "form": "forms"}
_HINTS: Final = {
    "industry": "must be an industry code or its beginning, such as 62 or 62.010",
    "municipality": "must be the name or the code of a municipality as addresses have it",
    "form": "must be the code of a legal form as companies have it, such as 80 or AS",
}

E = TypeVar("E", bound=StrEnum)


def _hinted(hint: str, near: Sequence[str]) -> Invalid:
    return Invalid(hint + (f"; did you mean {' or '.join(near)}?" if near else ""))


def _members(members: type[E], hint: str = "must be of ") -> Callable[[Sequence[str]], Any]:
    def read(values: Sequence[str]) -> tuple[E, ...]:
        given = listed(values)
        known = tuple(members)
        if unknown := [each for each in given if each not in known]:
            raise _hinted(hint + ", ".join(known), nearest(unknown[0], known, count=3))
        return tuple(members(each) for each in given)

    return read


_some_statuses = _members(Status, f"must be {_ANY} or of ")


def read_statuses(values: Sequence[str]) -> tuple[Status, ...]:
    """Returns the statuses of a filter; none for any. Raises Invalid."""
    return () if listed(values) == (_ANY,) else _some_statuses(values)


def _owner(values: Sequence[str], info: ValidationInfo) -> CompanyKey:
    countries = info.data.get("country", tuple(Country))
    try:
        owner = read_company(single(values), countries[0] if len(countries) == 1 else None)
    except InvalidIdentifier as invalid:
        raise Invalid(f"must be a company such as dk:12345678 ({invalid})") from None
    if owner.country not in countries:
        raise Invalid(f"needs country={owner.country}, the register of both")
    return owner


def _countries(fields: Mapping[str, Any]) -> tuple[Country, ...]:
    owner = fields.get("owned_by")
    countries: tuple[Country, ...] = fields.get("country", tuple(Country))
    return (owner.country,) if owner and "country" in fields else countries


def _count(values: Sequence[str], info: ValidationInfo) -> int:
    value = single(values)
    if not _COUNT.fullmatch(value):
        raise Invalid("must be a whole number of at most 8 digits")
    if int(value) < (info.data.get("min_employees") or 0):
        raise Invalid("must not be less than employees_min")
    return int(value)


def _amount(value: str) -> int:
    if not _AMOUNT.fullmatch(value):
        raise Invalid("must be a whole number of at most 15 digits, such as 10000000 or -1")
    return int(value.replace("−", "-"))


def _years(values: Sequence[str]) -> tuple[str, ...]:
    years = listed(values)
    if not all(map(_YEAR.fullmatch, years)):
        raise Invalid("must be a year such as 2025")
    return years


def _words(value: str) -> str:
    text = plain_name(value)
    if not text:
        raise Invalid("must not be empty")
    shortest, longest = NAME_LENGTH
    if not shortest <= len(text) <= longest:
        raise Invalid(f"must be {shortest} to {longest} characters")
    return text


def _known(name: str) -> PlainValidator:
    def read(values: Sequence[str], info: ValidationInfo) -> tuple[str, ...]:
        countries, stored = _countries(info.data), context_of(info)["stored"]
        found = [
            code for value in listed(values) for code in _meant(name, value, countries, stored)
        ]
        return tuple(dict.fromkeys(map(digits, found) if name == "industry" else found))

    return PlainValidator(read)


def _meant(name: str, value: str, countries: tuple[Country, ...], stored: Stored) -> Sequence[str]:
    known = _PARTS[name]
    is_code = name != "industry" or _INDUSTRY.fullmatch(value) is not None
    if name == "form" and (forms := forms_named(value, countries)):
        return forms
    if is_code and is_known(known, value, countries):
        return (value,)
    if is_code and is_known(known, value):
        raise Invalid(f"no company in {', '.join(countries)} has {value}")
    if name not in WORDS_OF or not is_words(value):
        raise _hinted(_HINTS[name], nearest_values(known, value, countries))
    if codes := codes_meant(name, value, stored):
        return codes
    raise _hinted(
        f"{_HINTS[name]}; GET /api/codes/{WORDS_OF[name]} lists them",
        near_words(name, value, stored) or nearest_values(known, value, countries),
    )


def _postal_codes(values: Sequence[str], info: ValidationInfo) -> tuple[Between, ...]:
    countries = _countries(info.data)
    found = []
    for value in listed(values):
        ends = value.split("-") if _RANGE.fullmatch(value) else [value]
        codes = [
            next((code for each in countries if (code := read_postal_code(end, each))), "")
            for end in ends
        ]
        if not all(codes) or codes[-1] < codes[0]:
            raise Invalid("must be four digits, or a range such as 1000-1499")
        found.append(Between(first=codes[0], last=codes[-1]))
    return tuple(found)


def _day(value: str) -> str:
    day = read_day(value)
    if day is None:
        raise Invalid("must be a day such as 2026-01-31")
    return day


def _day_from(first: str) -> PlainValidator:
    def read(values: Sequence[str], info: ValidationInfo) -> str:
        day = _day(single(values))
        if day < (info.data.get(first) or ""):
            raise Invalid(f"must not be before {first}")
        return day

    return PlainValidator(read)


_sort_named = choice(FindSort, f"must be {', '.join(FindSort)}")


def _sort(values: Sequence[str], info: ValidationInfo) -> FindSort:
    sort = _sort_named(single(values))
    if sort is FindSort.RELEVANCE and "q" not in context_of(info)["parameters"]:
        raise Invalid("relevance needs q")
    return sort


def _stated_by(country: Country) -> PlainValidator:
    def read(values: Sequence[str], info: ValidationInfo) -> bool:
        value = boolean(values)
        if country not in _countries(info.data):
            raise Invalid(f"only the {FORMATS[country].nation} register says it")
        return value

    return PlainValidator(read)


class Registers(Query):
    """The registers of a list: without a country both, or that of the owner."""

    country: Annotated[tuple[Country, ...], PlainValidator(listed_countries)] = tuple(Country)
    owned_by: Annotated[CompanyKey | None, PlainValidator(_owner)] = None

    @property
    def countries(self) -> tuple[Country, ...]:
        """The countries whose companies are requested."""
        return _countries(dict(self))


def countries_of(parameters: Parameters) -> tuple[Country, ...]:
    """Returns the countries of a list; both if its query is invalid."""
    try:
        return Registers.parse(parameters).countries
    except Problem:
        return tuple(Country)


class Filters(Registers):
    """The filters of a list or of a copy, by the names of the fields of a `FindRequest`.

    Validators need the context `stored`, the texts of codes, if a filter has words.
    """

    min_employees: Annotated[int | None, PlainValidator(_count)] = Field(
        None, alias="employees_min"
    )
    max_employees: Annotated[int | None, PlainValidator(_count)] = Field(
        None, alias="employees_max"
    )
    min_revenue: Annotated[int | None, once(_amount)] = None
    max_equity: Annotated[int | None, once(_amount)] = None
    accounts_years: Annotated[tuple[str, ...], PlainValidator(_years)] = Field(
        (), alias="accounts_year"
    )
    accounts_late: Annotated[bool | None, PlainValidator(boolean)] = None
    words: Annotated[str | None, once(_words)] = Field(None, alias="q")
    industries: Annotated[tuple[str, ...], _known("industry")] = Field((), alias="industry")
    municipalities: Annotated[tuple[str, ...], _known("municipality")] = Field(
        (), alias="municipality"
    )
    cities: Annotated[tuple[str, ...], PlainValidator(listed)] = Field((), alias="city")
    postal_codes: Annotated[tuple[Between, ...], PlainValidator(_postal_codes)] = Field(
        (), alias="postal_code"
    )
    forms: Annotated[tuple[str, ...], _known("form")] = Field((), alias="form")
    founded_from: Annotated[str | None, once(_day)] = None
    founded_to: Annotated[str | None, _day_from("founded_from")] = None
    ended_from: Annotated[str | None, once(_day)] = None
    ended_to: Annotated[str | None, _day_from("ended_from")] = None
    status_since_from: Annotated[str | None, once(_day)] = None
    status_since_to: Annotated[str | None, _day_from("status_since_from")] = None
    has: Annotated[tuple[Has, ...], PlainValidator(_members(Has))] = ()
    vat_registered: Annotated[bool | None, _stated_by(Country.NO)] = None
    advertising_protected: Annotated[bool | None, _stated_by(Country.DK)] = None
    sort: Annotated[FindSort | None, PlainValidator(_sort)] = None
    statuses: Annotated[tuple[Status, ...] | None, PlainValidator(read_statuses)] = Field(
        None, alias="status"
    )

    def request(
        self, country: Country, *, statuses: tuple[Status, ...], **fields: Any
    ) -> FindRequest:
        """Returns the request for companies of one country, with further `fields`.

        Without `status` they have one of the statuses; they have ended if there is `ended_…`, and
        have any status if there is `status_since_…`.
        """
        ended = _between(self.ended_from, self.ended_to)
        since = _between(self.status_since_from, self.status_since_to)
        given = {
            **dict(self),
            "country": country,
            "owned_by": self.owned_by and self.owned_by.vat,
            "founded": _between(self.founded_from, self.founded_to),
            "ended": ended,
            "status_since": since,
            "sort": self.sort or (FindSort.RELEVANCE if self.words else FindSort.NAME),
            "statuses": (Status.ENDED,) if ended else () if since else statuses,
        }
        if self.statuses is not None:
            given["statuses"] = self.statuses
        return FindRequest(**{**given, **fields})


def _between(first: str | None, last: str | None) -> Between | None:
    return Between(first=first, last=last) if first or last else None


def _after(values: Sequence[str], info: ValidationInfo) -> FindPosition:
    value = single(values)
    default = FindSort.RELEVANCE if info.data.get("words") else FindSort.NAME
    # If the sort is invalid, the cursor may be of any.
    sorts = (info.data["sort"] or default,) if "sort" in info.data else FindSort
    for sort in sorts:
        if (position := read_cursor(value, sort)) is not None:
            return position
    raise Invalid("must be the cursor of an earlier answer with the same sort")


class _FindQuery(Filters):
    watchlist: Annotated[WatchlistId | None, once(watchlist_id)] = None
    limit: Annotated[int, number(1, MAX_FOUND)] = DEFAULT_FOUND
    after: Annotated[FindPosition | None, PlainValidator(_after)] = None
    facets: Annotated[tuple[Facet, ...], PlainValidator(_members(Facet))] = ()


def parse_find(
    parameters: Parameters, stored: Stored
) -> tuple[tuple[FindRequest, ...], WatchlistId | None]:
    """Returns the requested page of a list, for each country, and the watchlist of its companies.

    `stored` has the texts of codes, if a filter has words. Without `status` the companies of a
    watchlist have any: a portfolio has bankrupt ones. Raises InvalidParameter.
    """
    query = _FindQuery.parse(parameters, stored=stored)
    statuses = (Status.ACTIVE,) if query.watchlist is None else ()
    requests = tuple(query.request(each, statuses=statuses) for each in query.countries)
    return requests, query.watchlist


def cursor_of(position: FindPosition, sort: FindSort) -> str:
    """Returns the cursor of the page after a company."""
    parts = [sort, position.key, position.country, position.number]
    return urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


def read_cursor(text: str, sort: FindSort) -> FindPosition | None:
    """Returns the position of a cursor; None if it is of another sort, or no cursor."""
    if not re.fullmatch(CURSOR, text):
        return None
    try:
        parts = orjson.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        its_sort, key, country, number = parts
        is_key = isinstance(key, str if sort.field == FindSort.NAME else int)
        if its_sort != sort or not is_key or number not in range(1 << 32):
            return None
        is_relevance = sort is FindSort.RELEVANCE
        if isinstance(key, int) and not (0 if is_relevance else -(1 << 63)) <= key < 1 << 64:
            return None
        return FindPosition(key=key, country=Country(country), number=number)
    except (ValueError, TypeError):
        return None


def find_handler(finds: FindWatched, codes: StoredCodes, protected: ProtectedCompanies) -> Handler:
    """Returns the handler of lists; a client may reuse a page for a minute, as a company."""

    async def find(request: web.Request) -> web.Response:
        context, parameters = request[REQUEST_CONTEXT], parameters_of(request)
        countries = countries_of(parameters)
        stored = await codes.explaining(parameters, countries, caller=context.caller)
        requests, watchlist = parse_find(parameters, stored)
        if protected.are_left_out(context):
            replies, left_out = await protected.find(finds, requests, watchlist, context)
            return with_left_out(json_response(document(requests, replies)), left_out)
        replies = await finds(requests, watchlist, context)
        return json_response(document(requests, replies), cache_control=CACHE_CONTROL)

    return find


def document(requests: Sequence[FindRequest], replies: Sequence[FindReply]) -> bytes:
    """Returns the public answer (`CompanyList`): one page of the lists of all countries.

    The requests differ in their countries only.
    """
    query = requests[0]
    found = sorted(
        chain.from_iterable(reply.companies for reply in replies),
        key=lambda company: _place(company.position, query.sort),
    )
    page = found[: query.limit]
    has_more = len(found) > len(page) or any(reply.has_more for reply in replies)
    last = page[-1].position if page and has_more else None
    parts = [
        b'{"companies":[%b]' % b",".join(company.body for company in page if company.body),
        b'"total":%d' % sum(reply.total for reply in replies),
        b'"cursor":%b' % orjson.dumps(last and cursor_of(last, query.sort)),
    ]
    pairs = zip(requests, replies, strict=True)
    none_in = [request.country for request, reply in pairs if not reply.total]
    if none_in and len(none_in) < len(requests):
        parts.append(b'"none_in":%b' % orjson.dumps(none_in))
    facets = _facets(requests, replies)
    if query.facets:
        parts.append(b'"facets":%b' % orjson.dumps(facets))
    if ambiguous := list(_ambiguous(query, facets)):
        parts.append(b'"ambiguous":%b' % orjson.dumps(ambiguous))
    if meant := list(_meant_values(replies)):
        parts.append(b'"did_you_mean":%b' % orjson.dumps(meant))
    return b",".join(parts) + b"}"


def _ambiguous(
    query: FindRequest, facets: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    counted = [each["value"] for each in facets.get(Facet.MUNICIPALITY, ())]
    for parameter, names in (("municipality", query.municipalities), ("facets", counted)):
        for name in names:
            if codes := sharing(name):
                yield {"parameter": parameter, "value": name, "codes": codes}


def _meant_values(replies: Sequence[FindReply]) -> Iterator[dict[str, Any]]:
    """Yields the values that no register has, with the nearest of all."""
    for parameter, values in replies[0].unknown.items():
        for value in values:
            near = [reply.unknown.get(parameter, {}).get(value) for reply in replies]
            found = {each for some in near for each in some or ()}
            if found and None not in near:
                names = nearest(value, found, count=MAX_NEAREST) or sorted(found)[:MAX_NEAREST]
                yield {"parameter": parameter, "value": value, "near": names}


def _place(position: FindPosition, sort: FindSort) -> Any:
    return position.order(sort), position.country, position.number


def _facets(
    requests: Sequence[FindRequest], replies: Sequence[FindReply]
) -> dict[str, list[dict[str, Any]]]:
    answers = list(zip((request.country for request in requests), replies, strict=True))
    return {facet.value: _counts(facet, answers) for facet in requests[0].facets}


def _counts(facet: Facet, answers: Sequence[tuple[Country, FindReply]]) -> list[dict[str, Any]]:
    found: dict[str, list[Code]] = {}
    for country, reply in answers:
        texts = reply.texts.get(facet, {})
        for value, count in reply.facets.get(facet, {}).items():
            code = code_of(country, facet, value, texts.get(value), count)
            found.setdefault(value, []).append(code)
    counts = [
        {
            "value": value,
            "count": sum(code.companies or 0 for code in codes),
            "text": _joined(code.text for code in codes),
            "text_en": _joined(code.text_en for code in codes),
        }
        for value, codes in found.items()
    ]
    return sorted(counts, key=lambda one: (-one["count"], one["value"]))


def _joined(texts: Iterable[str | None]) -> str | None:
    return " / ".join(dict.fromkeys(filter(None, texts))) or None
