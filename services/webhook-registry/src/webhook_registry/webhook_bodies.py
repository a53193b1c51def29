"""Bodies of requests about webhooks and their deliveries; every error is reported with a hint."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import orjson

from common.contracts.company import Company, CompanyKey, Country, ProductionUnit
from common.contracts.events import EventType
from common.contracts.failures import FieldError
from common.contracts.webhooks import WebhookFilter, WebhookStatus
from common.domain.known_values import is_known, nearest_values
from common.domain.sentences import did_you_mean, nearest, unknown_names
from webhook_registry.replies import InvalidValue, Rejected, invalid_body
from webhook_registry.urls import Destination, read_destination
from webhook_store.headers import MAX_HEADERS, comparable, is_reserved

MAX_COMPANIES = 1000
#: Maximum entries of each other part of a filter.
MAX_TEXTS = 100

#: Fields that changes may have: of companies and their production units, and lists beside them.
FIELDS: Final = frozenset(
    {
        *Company.model_fields,
        *ProductionUnit.model_fields,
        "company",
        "owners",
        "roles",
        "einvoicing",
    }
)

#: Patterns: each event type, each family (`company.*`), and `*`.
PATTERNS = frozenset(pattern for event_type in EventType for pattern in event_type.patterns)


def read_events(value: object) -> tuple[str, ...]:
    """Returns the patterns without duplicates; raises Wrong."""
    if not isinstance(value, list) or not value:
        raise InvalidValue(
            'give a list of at least one pattern, such as ["company.updated"] or ["*"]'
        )
    for number, pattern in enumerate(value):
        if not isinstance(pattern, str) or pattern not in PATTERNS:
            raise InvalidValue(
                "give an event type (GET /api/event-types lists them), a family such as "
                "company.*, or *"
                + (did_you_mean(pattern, PATTERNS) if isinstance(pattern, str) else ""),
                at=f"[{number}]",
            )
    return tuple(dict.fromkeys(value))


def read_filter(value: object) -> WebhookFilter | None:
    """Returns a filter with only the given parts set; None for null. Raises Wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidValue(
            f"give null or an object with any of {', '.join(WebhookFilter.model_fields)}"
        )
    for name, message in unknown_names("field", value, tuple(WebhookFilter.model_fields)):
        raise InvalidValue(message, at=f".{name}")
    return WebhookFilter(**{name: _part(name, given) for name, given in value.items()})


def _part(name: str, value: object) -> tuple[str, ...]:
    match name:
        case "countries":
            return _countries(value)
        case "companies":
            return _companies(value)
        case "watchlists":
            return _watchlists(value)
        case _:
            return _texts(name, value)


def read_new_filter(value: object) -> WebhookFilter | None:
    """Returns the filter of a new webhook; None if it restricts nothing. Raises Wrong."""
    return merged_filter(None, read_filter(value))


def merged_filter(
    before: WebhookFilter | None, given: WebhookFilter | None
) -> WebhookFilter | None:
    """Returns the filter after a merge patch (RFC 7396): parts that are not given stay.

    Raises Wrong for a filter whose parts exclude one another.
    """
    if given is None:
        return None
    parts = {name: getattr(given, name) for name in given.model_fields_set}
    after = (before or WebhookFilter()).model_copy(update=parts)
    _check_countries(after)
    return after if after != WebhookFilter() else None


def _check_countries(limits: WebhookFilter) -> None:
    """Raises Wrong for values that no company of the filter's countries has."""
    countries = limits.countries
    if not countries:
        return
    followed = limits.companies and not limits.watchlists
    if followed and not any(one.country in countries for one in limits.companies):
        raise InvalidValue(f"none of them is in {', '.join(countries)}", at=".companies")
    for part in ("forms", "municipalities"):
        for number, value in enumerate(getattr(limits, part)):
            if is_known(part, value) and not is_known(part, value, countries):
                message = f"no company in {', '.join(countries)} has {value}"
                raise InvalidValue(message, at=f".{part}[{number}]")


#: The other parts of a filter: the pattern of each text, and the hint for an invalid one.
_TEXTS: Final = {
    "forms": (
        re.compile(r"\S{1,10}"),
        "give the code of a legal form as companies have it, such as 80 or AS",
    ),
    "industries": (
        re.compile(r"[0-9]{1,2}|[0-9]{2}\.?[0-9]{1,4}"),
        "give an industry code or its beginning, such as 62 or 62.010",
    ),
    "municipalities": (
        re.compile(r"\S(.{0,98}\S)?"),
        "give the name or the code of a municipality as addresses have it",
    ),
    "fields": (
        re.compile(rf"({'|'.join(sorted(FIELDS))})(\.[a-z_]{{1,40}}){{0,3}}"),
        "give a field of a company, such as name or address.street",
    ),
}


def _texts(part: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    pattern, hint = _TEXTS[part]
    if not isinstance(value, list) or len(value) > MAX_TEXTS:
        raise InvalidValue(f"give a list of at most {MAX_TEXTS} texts", at=f".{part}")
    for number, text in enumerate(value):
        at = f".{part}[{number}]"
        if not isinstance(text, str):
            raise InvalidValue(hint, at=at)
        if not pattern.fullmatch(text) or not is_known(part, text):
            found = nearest(text, FIELDS) if part == "fields" else nearest_values(part, text)
            raise InvalidValue(
                hint + (f"; did you mean {' or '.join(found)}?" if found else ""), at=at
            )
    return tuple(dict.fromkeys(value))


def _countries(value: object) -> tuple[Country, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidValue('give a list, such as ["dk"]', at=".countries")
    codes = [country.lower() if isinstance(country, str) else country for country in value]
    for number, country in enumerate(codes):
        if country not in tuple(Country):
            raise InvalidValue(f"give one of {', '.join(Country)}", at=f".countries[{number}]")
    return tuple(dict.fromkeys(Country(country) for country in codes))


def _companies(value: object) -> tuple[CompanyKey, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_COMPANIES:
        raise InvalidValue(f"give a list of at most {MAX_COMPANIES} companies", at=".companies")
    keys = []
    for number, company in enumerate(value):
        key = CompanyKey.read(company) if isinstance(company, str) else None
        if key is None:
            raise InvalidValue(
                "give country and registration number, such as dk:12345674 or no:123456785",
                at=f".companies[{number}]",
            )
        keys.append(key)
    return tuple(dict.fromkeys(keys))


_WATCHLIST = re.compile("wl_[0-9a-f]{32}")


def _watchlists(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_TEXTS:
        raise InvalidValue(
            f"give a list of at most {MAX_TEXTS} ids of watchlists", at=".watchlists"
        )
    for number, one in enumerate(value):
        if not isinstance(one, str) or not _WATCHLIST.fullmatch(one):
            hint = "give the id of a watchlist; GET /api/watchlists lists yours"
            raise InvalidValue(hint, at=f".watchlists[{number}]")
    return tuple(dict.fromkeys(value))


#: RFC 9110, 5.1: a token.
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: Visible ASCII with inner spaces, which all intermediaries parse alike.
_HEADER_VALUE = re.compile(r"[!-~]([ -~]{0,1022}[!-~])?")


def read_headers(value: object) -> Mapping[str, str]:
    """Returns the headers of a new webhook; raises Wrong, never with a value."""
    headers = _headers(value, _is_header_value)
    return {} if headers is None else headers


def read_header_changes(value: object) -> Mapping[str, str | None] | None:
    """Returns a merge patch, in which null removes one header or all; raises Wrong."""
    return _headers(value, lambda content: content is None or _is_header_value(content))


def merged_headers(
    before: Sequence[str], given: Mapping[str, str | None] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the names after a merge patch, and the headers among them with new values.

    Raises Wrong for more headers than a webhook may have.
    """
    if given is None:
        return (), {}
    replaced = {comparable(name) for name in given}
    new = {name: value for name, value in given.items() if value is not None}
    names = (*(name for name in before if comparable(name) not in replaced), *new)
    if len(names) > MAX_HEADERS:
        raise InvalidValue(f"a webhook has at most {MAX_HEADERS} headers; remove one with null")
    return names, new


def _is_header_value(content: object) -> bool:
    return isinstance(content, str) and _HEADER_VALUE.fullmatch(content) is not None


def _headers(value: object, is_valid: Callable[[object], bool]) -> dict[str, Any] | None:
    if value is None:
        return None
    # A webhook may have that many, and all of them may be replaced by others.
    removed = list(value.values()).count(None) if isinstance(value, dict) else 0
    if not isinstance(value, dict) or max(removed, len(value) - removed) > MAX_HEADERS:
        raise InvalidValue(
            f"give an object of at most {MAX_HEADERS} header names with their values"
        )
    for name, content in value.items():
        at = f".{name[:100]}"
        if not _HEADER_NAME.fullmatch(name):
            raise InvalidValue("give names of letters, digits and -, at most 100 characters", at=at)
        if content is not None and is_reserved(name):
            raise InvalidValue("this header is set by the service, by HTTP or by proxies", at=at)
        if not is_valid(content):
            raise InvalidValue("give a value of 1 to 1024 visible ASCII characters", at=at)
    if len({comparable(name) for name in value}) < len(value):
        raise InvalidValue(
            "give each name once; upper and lower case are the same, and so are - and _"
        )
    return value


T = TypeVar("T")
Fields = Mapping[str, Any]

MAX_DESCRIPTION_LENGTH = 500

#: Maximum age of recoverable deliveries.
RECOVERABLE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Changes:
    """A webhook to create, or changes of one; fields that are not `given` stay unchanged.

    Parts that are not set in `filter` stay unchanged as well.
    """

    given: Collection[str]
    destination: Destination | None
    events: tuple[str, ...]
    filter: WebhookFilter | None
    description: str | None
    #: A value of None removes one header; None removes all.
    headers: Mapping[str, str | None] | None = field(repr=False)
    status: WebhookStatus | None

    @property
    def fields(self) -> dict[str, Any]:
        """Returns the given fields of a `Webhook`, except its status and those that are merged."""
        fields: dict[str, Any] = {
            name: getattr(self, name) for name in ("events", "description") if name in self.given
        }
        if self.destination is not None:
            fields |= {"url": self.destination.url, "host": self.destination.host}
        return fields


@dataclass(frozen=True, slots=True)
class Window:
    """Range of `occurred_at`, both ends inclusive."""

    since: datetime
    until: datetime


def read_draft(body: bytes) -> Changes:
    """Returns the webhook to create, with all its fields; raises Rejected with every error."""
    optional = ("filter", "description", "headers")
    fields = read_fields(body, required=("url", "events"), optional=optional)
    given = ("url", "events", *optional)
    return _changes(fields, given, filter_=read_new_filter, headers=read_headers)


def read_changes(body: bytes) -> Changes:
    """Returns the changes; raises Rejected with every error."""
    optional = ("url", "events", "filter", "description", "headers", "status")
    fields = read_fields(body, required=(), optional=optional)
    return _changes(fields, frozenset(fields), filter_=read_filter, headers=read_header_changes)


def _changes(
    fields: Fields,
    given: Collection[str],
    *,
    filter_: Callable[[object], WebhookFilter | None],
    headers: Callable[[object], Mapping[str, str | None] | None],
) -> Changes:
    read = Reader(fields)
    changes = Changes(
        given=given,
        destination=read("url", read_destination),
        events=read("events", read_events) or (),
        filter=read("filter", filter_),
        description=read("description", read_description),
        headers=read("headers", headers),
        status=read("status", _status),
    )
    if read.faults:
        raise faulty(read.faults)
    return changes


def read_test(body: bytes) -> EventType:
    """Returns the type of the requested test event; raises Rejected with every error."""
    if not body:
        return EventType.WEBHOOK_TEST
    read = Reader(read_fields(body, required=(), optional=("type",)))
    event_type = read("type", _event_type)
    if read.faults:
        raise faulty(read.faults)
    return event_type or EventType.WEBHOOK_TEST


def read_window(body: bytes, *, now: datetime) -> Window:
    """Returns the window to recover, capped at `now`; raises Rejected with every error."""
    fields = read_fields(body, required=("since",), optional=("until",))
    read = Reader(fields)
    since, until = read("since", _moment), read("until", _moment_or_none)
    if since is None or read.faults:
        raise faulty(read.faults)
    if since < now - RECOVERABLE:
        earliest = (now - RECOVERABLE).strftime("%Y-%m-%dT%H:%M:%SZ")
        raise faulty([_fault("since", f"give a time at most 30 days back: {earliest} or later")])
    window = Window(since, min(until or now, now))
    if window.since >= window.until:
        raise faulty([_fault("since", "give a time before until and before now")])
    # Events have times in whole seconds, so `since` is truncated to its second.
    return replace(window, since=window.since.replace(microsecond=0))


class Reader:
    """Reads fields one by one and collects their errors."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.faults: list[FieldError] = []

    def __call__(self, name: str, parse: Callable[[object], T]) -> T | None:
        """Reads one field; None when absent or invalid."""
        if name not in self._fields:
            return None
        try:
            return parse(self._fields[name])
        except InvalidValue as wrong:
            self.faults.append(_fault(name + wrong.at, str(wrong)))
            return None


def read_fields(body: bytes, *, required: tuple[str, ...], optional: tuple[str, ...]) -> Fields:
    """Returns the members of the body's object.

    Required fields must exist and unknown ones are refused, by Rejected.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise invalid_body("the body is not JSON") from None
    if not isinstance(document, dict):
        raise invalid_body("the body is not a JSON object")
    faults = [_fault(name, "is required") for name in required if name not in document]
    known = (*required, *optional)
    faults += [_fault(*found) for found in unknown_names("field", document, known)]
    if faults:
        raise faulty(faults)
    return document


def read_description(value: object) -> str | None:
    """Returns a description, or None for null; raises Wrong."""
    if value is not None and not isinstance(value, str):
        raise InvalidValue("give a string or null")
    if value is not None and len(value) > MAX_DESCRIPTION_LENGTH:
        raise InvalidValue(f"give at most {MAX_DESCRIPTION_LENGTH} characters")
    return value


def _status(value: object) -> WebhookStatus:
    for status in WebhookStatus:
        if value == status:
            return status
    raise InvalidValue(f"give one of {', '.join(WebhookStatus)}")


def _event_type(value: object) -> EventType:
    for event_type in EventType:
        if value == event_type:
            return event_type
    raise InvalidValue("give an event type; GET /api/event-types lists them")


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidValue("give a time with its offset as in RFC 3339, such as 2026-03-02T05:00:00Z")


def _moment_or_none(value: object) -> datetime | None:
    return None if value is None else _moment(value)


def _fault(parameter: str, message: str) -> FieldError:
    return FieldError(parameter=parameter, message=message)


def faulty(faults: list[FieldError]) -> Rejected:
    """Returns the refusal of a body with these invalid fields."""
    return invalid_body("the request body is invalid", *faults)
