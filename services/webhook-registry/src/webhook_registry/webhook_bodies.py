"""Bodies of requests about webhooks and their deliveries: models with error texts of our own.

Each field is read by its validator. Every error is reported with a hint; no text is pydantic's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple, Self

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
)

from common.contracts.company import Company, CompanyKey, Country, ProductionUnit
from common.contracts.events import EventType
from common.contracts.failures import FieldError
from common.contracts.webhook_api import FilterWords
from common.contracts.webhooks import WebhookFilter, WebhookStatus
from common.domain.known_values import forms_named, is_known, nearest_values
from common.domain.numbers import InvalidIdentifier, read_company
from common.domain.sentences import did_you_mean, nearest, unknown_names
from common.domain.times import read_time
from common.domain.written import read_country
from webhook_registry.replies import InvalidValue, Rejected, invalid_body
from webhook_registry.urls import Destination, read_destination
from webhook_store.headers import MAX_HEADERS, comparable, is_reserved

MAX_DESCRIPTION_LENGTH = 500
#: Maximum age of recoverable deliveries.
RECOVERABLE = timedelta(days=30)
MAX_COMPANIES = 1000
#: Maximum entries of each other part of a filter.
MAX_TEXTS = 100

#: Fields that changes may have: of companies, their production units and their lists.
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


def read_object(body: bytes, *, required: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    """Returns the body's object; raises Rejected for missing and unknown fields."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise invalid_body("the body is not JSON") from None
    if not isinstance(document, dict):
        raise invalid_body("the body is not a JSON object")
    faults = [(name, "is required") for name in required if name not in document]
    faults += unknown_names("field", document, tuple(known))
    if faults:
        raise invalid_fields(*faults)
    return document


def invalid_fields(*faults: tuple[str, str]) -> Rejected:
    """Returns the refusal of a body; `faults` are the paths of invalid fields, with hints."""
    errors = (FieldError(parameter=name, message=message) for name, message in faults)
    return invalid_body("the request body is invalid", *errors)


class Body(BaseModel):
    """A request body, whose fields raise InvalidValue; null is a value like others."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    @classmethod
    def parse(cls, body: bytes, words: Sequence[FilterWords] = ()) -> Self:
        """Returns the body; raises Rejected with every error. `words` are those of its filter."""
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        document = read_object(body, required=required, known=tuple(cls.model_fields))
        try:
            return cls.model_validate(document, context=words)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False, include_input=False)
        wrong = [(str(error["loc"][0]), error["ctx"]["error"]) for error in errors]
        raise invalid_fields(*((name + error.at, str(error)) for name, error in wrong))


def _read_events(value: object) -> tuple[str, ...]:
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


class _Entries(NamedTuple):
    """A part of a filter, which is a list of texts."""

    #: The hint for what is no list, or a longer one.
    shape: str
    most: float
    #: Returns the values of a text, given those of other parts; none if it has no meaning.
    read: Callable[[str, "_Given"], Sequence[Any]]
    #: The hint for an invalid entry, and values that it may mean.
    hint: str
    nearest: Callable[[str, "_Given"], Sequence[str]] = lambda _text, _given: ()


class _Given(NamedTuple):
    """The context that decides how a part is read."""

    countries: tuple[Country, ...]
    words: Sequence[FilterWords]

    def explained(self, part: str, text: str) -> FilterWords | None:
        """Returns the words of a part."""
        return next((one for one in self.words if (one.part, one.words) == (part, text)), None)


def _country(text: str, _given: _Given) -> Sequence[Country]:
    country = read_country(text)
    return () if country is None else (country,)


def _company(text: str, given: _Given) -> Sequence[CompanyKey]:
    only = given.countries[0] if len(given.countries) == 1 else None
    try:
        return (read_company(text, only),)
    except InvalidIdentifier as invalid:
        raise InvalidValue(f"{_COMPANY_HINT} ({invalid})") from None


def _texts(part: str, pattern: str, hint: str) -> _Entries:
    compiled = re.compile(pattern)

    def read(text: str, given: _Given) -> Sequence[str]:
        if part == "forms" and (forms := forms_named(text, given.countries)):
            return forms
        if compiled.fullmatch(text) and is_known(part, text):
            return (text,)
        explained = given.explained(part, text)
        return () if explained is None else explained.codes

    def near(text: str, given: _Given) -> Sequence[str]:
        if part == "fields":
            return nearest(text, FIELDS)
        explained = given.explained(part, text)
        return (explained and explained.near) or nearest_values(part, text, given.countries)

    return _Entries(f"give a list of at most {MAX_TEXTS} texts", MAX_TEXTS, read, hint, near)


_COMPANY_HINT: Final = "give country and registration number, such as dk:12345674 or no:123456785"


_WATCHLIST = re.compile("wl_[0-9a-f]{32}")
_PARTS: Final = {
    "countries": _Entries(
        'give a list, such as ["dk"]', float("inf"), _country, f"give one of {', '.join(Country)}"
    ),
    "companies": _Entries(
        f"give a list of at most {MAX_COMPANIES} companies",
        MAX_COMPANIES,
        _company,
        _COMPANY_HINT,
    ),
    "watchlists": _Entries(
        f"give a list of at most {MAX_TEXTS} ids of watchlists",
        MAX_TEXTS,
        lambda text, _given: (text,) if _WATCHLIST.fullmatch(text) else (),
        "give the id of a watchlist; GET /api/watchlists lists yours",
    ),
    "forms": _texts(
        "forms",
        r"\S{1,10}",
        "give the code or the name of a legal form, such as 80, AS or ApS",
    ),
    "industries": _texts(
        "industries",
        r"[0-9]{1,2}|[0-9]{2}\.?[0-9]{1,4}",
        "give an industry code or its beginning, such as 62 or 62.010, or words such as software",
    ),
    "municipalities": _texts(
        "municipalities",
        r"\S(.{0,98}\S)?",
        "give the name or the code of a municipality as addresses have it",
    ),
    "fields": _texts(
        "fields",
        rf"({'|'.join(sorted(FIELDS))})(\.[a-z_]{{1,40}}){{0,3}}",
        "give a field of a company, such as name or address.street",
    ),
}


def _read_part(name: str, value: object, other: _Given) -> tuple[Any, ...]:
    part = _PARTS[name]
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > part.most:
        raise InvalidValue(part.shape, at=f".{name}")
    read: dict[Any, None] = {}
    for number, given in enumerate(value):
        at = f".{name}[{number}]"
        try:
            read |= dict.fromkeys(_read_entry(part, given, other))
        except InvalidValue as invalid:
            raise InvalidValue(str(invalid), at=at) from None
        if len(read) > part.most:
            message = f"its words mean too many codes; a list has at most {part.most}"
            raise InvalidValue(message, at=at)
    return tuple(read)


def _read_entry(part: _Entries, given: object, other: _Given) -> Sequence[Any]:
    if not isinstance(given, str):
        raise InvalidValue(part.hint)
    entries = part.read(given, other)
    if not entries:
        found = part.nearest(given, other)
        raise InvalidValue(part.hint + (f"; did you mean {' or '.join(found)}?" if found else ""))
    return entries


def _read_fields(value: object) -> tuple[str, ...]:
    try:
        return _read_part("fields", value, _Given(tuple(Country), ()))
    except InvalidValue as invalid:
        raise InvalidValue(str(invalid), at=invalid.at.removeprefix(".fields")) from None


def _read_filter(value: object, info: ValidationInfo) -> WebhookFilter | None:
    if value is None:
        return None
    names = tuple(WebhookFilter.model_fields)
    if not isinstance(value, dict):
        raise InvalidValue(f"give null or an object with any of {', '.join(names)}")
    for name, message in unknown_names("field", value, names):
        raise InvalidValue(message, at=f".{name}")
    other = _Given(tuple(Country), info.context or ())
    read = {"countries": _read_part("countries", value.get("countries"), other)}
    other = other._replace(countries=read["countries"] or tuple(Country))
    return WebhookFilter(**{name: _read_part(name, given, other) for name, given in value.items()})


def merged_filter(
    before: WebhookFilter | None, given: WebhookFilter | None
) -> WebhookFilter | None:
    """Returns the filter after a merge patch (RFC 7396); None if it restricts nothing.

    Raises InvalidValue for parts that exclude one another: values that no company of the countries
    has.
    """
    if given is None:
        return None
    parts = {name: getattr(given, name) for name in given.model_fields_set}
    after = (before or WebhookFilter()).model_copy(update=parts)
    countries = after.countries
    followed = after.companies if countries and not after.watchlists else ()
    if followed and not any(one.country in countries for one in followed):
        raise InvalidValue(f"none of them is in {', '.join(countries)}", at=".companies")
    for part in ("forms", "municipalities") if countries else ():
        for number, value in enumerate(getattr(after, part)):
            if is_known(part, value) and not is_known(part, value, countries):
                message = f"no company in {', '.join(countries)} has {value}"
                raise InvalidValue(message, at=f".{part}[{number}]")
    return after if after != WebhookFilter() else None


#: RFC 9110, 5.1: a token.
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: Visible ASCII with inner spaces, which all intermediaries parse alike.
_HEADER_VALUE = re.compile(r"[!-~]([ -~]{0,1022}[!-~])?")


def _read_headers(value: object, *, may_remove: bool = False) -> dict[str, Any] | None:
    if value is None:
        return None
    # A webhook may have that many, and all of them may be replaced by others.
    removed = list(value.values()).count(None) if isinstance(value, dict) else 0
    if not isinstance(value, dict) or max(removed, len(value) - removed) > MAX_HEADERS:
        raise InvalidValue(
            f"give an object of at most {MAX_HEADERS} header names with their values"
        )
    for name, content in value.items():
        # No error shows a value, which may be a password.
        at = f".{name[:100]}"
        if not _HEADER_NAME.fullmatch(name):
            raise InvalidValue("give names of letters, digits and -, at most 100 characters", at=at)
        if content is not None and is_reserved(name):
            raise InvalidValue("this header is set by the service, by HTTP or by proxies", at=at)
        is_text = isinstance(content, str) and _HEADER_VALUE.fullmatch(content)
        if not is_text and not (may_remove and content is None):
            raise InvalidValue("give a value of 1 to 1024 visible ASCII characters", at=at)
    if len({comparable(name) for name in value}) < len(value):
        raise InvalidValue(
            "give each name once; upper and lower case are the same, and so are - and _"
        )
    return value


def merged_headers(
    before: Sequence[str], given: Mapping[str, str | None] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the names after a merge patch, and the headers among them with new values.

    Raises InvalidValue for more headers than a webhook may have.
    """
    if given is None:
        return (), {}
    replaced = {comparable(name) for name in given}
    new = {name: value for name, value in given.items() if value is not None}
    names = (*(name for name in before if comparable(name) not in replaced), *new)
    if len(names) > MAX_HEADERS:
        raise InvalidValue(f"a webhook has at most {MAX_HEADERS} headers; remove one with null")
    return names, new


def _read_description(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InvalidValue("give a string or null")
    if value is not None and len(value) > MAX_DESCRIPTION_LENGTH:
        raise InvalidValue(f"give at most {MAX_DESCRIPTION_LENGTH} characters")
    return value


def _read_status(value: object) -> WebhookStatus:
    for status in WebhookStatus:
        if value == status:
            return status
    raise InvalidValue(f"give one of {', '.join(WebhookStatus)}")


def _read_event_type(value: object) -> EventType:
    for event_type in EventType:
        if value == event_type:
            return event_type
    raise InvalidValue("give an event type; GET /api/event-types lists them")


def _read_time(value: object) -> datetime:
    time = read_time(value) if isinstance(value, str) else None
    if time is not None:
        return time
    raise InvalidValue("give a time with its offset as in RFC 3339, such as 2026-03-02T05:00:00Z")


Url = Annotated[Destination, PlainValidator(read_destination)]
Events = Annotated[tuple[str, ...], PlainValidator(_read_events)]
Fields = Annotated[tuple[str, ...], PlainValidator(_read_fields)]
Description = Annotated[str | None, PlainValidator(_read_description)]
Time = Annotated[datetime, PlainValidator(_read_time)]


class NewWebhook(Body):
    """A webhook to create."""

    url: Url
    events: Events
    #: None if it restricts nothing.
    filter: Annotated[
        WebhookFilter | None,
        PlainValidator(lambda value, info: merged_filter(None, _read_filter(value, info))),
    ] = None
    description: Description = None
    headers: Annotated[
        Mapping[str, str], PlainValidator(lambda value: _read_headers(value) or {})
    ] = Field(default={}, repr=False)


class WebhookChanges(Body):
    """Changes of a webhook; fields that are not set stay unchanged, and so do parts of `filter`."""

    url: Annotated[Destination | None, PlainValidator(read_destination)] = None
    events: Events = ()
    filter: Annotated[WebhookFilter | None, PlainValidator(_read_filter)] = None
    description: Description = None
    #: A value of None removes one header; None removes all.
    headers: Annotated[
        Mapping[str, str | None] | None,
        PlainValidator(lambda value: _read_headers(value, may_remove=True)),
    ] = Field(default=None, repr=False)
    status: Annotated[WebhookStatus | None, PlainValidator(_read_status)] = None


class ExampleRequest(Body):
    """A test event to send."""

    type: Annotated[EventType, PlainValidator(_read_event_type)] = EventType.WEBHOOK_TEST


class Window(Body):
    """Range of `occurred_at` to recover, both ends inclusive."""

    since: Time
    until: Annotated[
        datetime | None, PlainValidator(lambda value: None if value is None else _read_time(value))
    ] = None

    def until_now(self, now: datetime) -> tuple[datetime, datetime]:
        """Returns both ends, capped at `now`; raises Rejected for an empty or too old window."""
        if self.since < now - RECOVERABLE:
            earliest = (now - RECOVERABLE).strftime("%Y-%m-%dT%H:%M:%SZ")
            hint = f"give a time at most 30 days back: {earliest} or later"
            raise invalid_fields(("since", hint))
        until = min(self.until or now, now)
        if self.since >= until:
            raise invalid_fields(("since", "give a time before until and before now"))
        # Events have times in whole seconds, so `since` is truncated to its second.
        return self.since.replace(microsecond=0), until
