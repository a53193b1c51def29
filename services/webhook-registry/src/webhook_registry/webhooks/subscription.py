"""The subscription of a webhook: patterns of event types, a filter of companies, custom headers."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from common.contracts.company import Company, CompanyKey, Country, ProductionUnit
from common.contracts.events import EventType
from common.contracts.webhooks import WebhookFilter
from common.domain.known_values import is_known, nearest_values
from common.domain.nearest import did_you_mean, nearest, unknown_names
from webhook_registry.replies import Wrong
from webhook_store.webhooks.headers import MAX_HEADERS, comparable, is_reserved

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
        raise Wrong('give a list of at least one pattern, such as ["company.updated"] or ["*"]')
    for number, pattern in enumerate(value):
        if not isinstance(pattern, str) or pattern not in PATTERNS:
            raise Wrong(
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
        raise Wrong(f"give null or an object with any of {', '.join(WebhookFilter.model_fields)}")
    for name, message in unknown_names("field", value, tuple(WebhookFilter.model_fields)):
        raise Wrong(message, at=f".{name}")
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
        raise Wrong(f"none of them is in {', '.join(countries)}", at=".companies")
    for part in ("forms", "municipalities"):
        for number, value in enumerate(getattr(limits, part)):
            if is_known(part, value) and not is_known(part, value, countries):
                message = f"no company in {', '.join(countries)} has {value}"
                raise Wrong(message, at=f".{part}[{number}]")


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
        raise Wrong(f"give a list of at most {MAX_TEXTS} texts", at=f".{part}")
    for number, text in enumerate(value):
        at = f".{part}[{number}]"
        if not isinstance(text, str):
            raise Wrong(hint, at=at)
        if not pattern.fullmatch(text) or not is_known(part, text):
            found = nearest(text, FIELDS) if part == "fields" else nearest_values(part, text)
            raise Wrong(hint + (f"; did you mean {' or '.join(found)}?" if found else ""), at=at)
    return tuple(dict.fromkeys(value))


def _countries(value: object) -> tuple[Country, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Wrong('give a list, such as ["dk"]', at=".countries")
    codes = [country.lower() if isinstance(country, str) else country for country in value]
    for number, country in enumerate(codes):
        if country not in tuple(Country):
            raise Wrong(f"give one of {', '.join(Country)}", at=f".countries[{number}]")
    return tuple(dict.fromkeys(Country(country) for country in codes))


def _companies(value: object) -> tuple[CompanyKey, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_COMPANIES:
        raise Wrong(f"give a list of at most {MAX_COMPANIES} companies", at=".companies")
    keys = []
    for number, company in enumerate(value):
        key = CompanyKey.read(company) if isinstance(company, str) else None
        if key is None:
            raise Wrong(
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
        raise Wrong(f"give a list of at most {MAX_TEXTS} ids of watchlists", at=".watchlists")
    for number, one in enumerate(value):
        if not isinstance(one, str) or not _WATCHLIST.fullmatch(one):
            hint = "give the id of a watchlist; GET /api/watchlists lists yours"
            raise Wrong(hint, at=f".watchlists[{number}]")
    return tuple(dict.fromkeys(value))


#: RFC 9110, 5.1: a token.
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: Visible ASCII with inner spaces, which all intermediaries parse alike.
_HEADER_VALUE = re.compile(r"[!-~]([ -~]{0,1022}[!-~])?")


def read_headers(value: object) -> Mapping[str, str]:
    """Returns the headers of a new webhook; raises Wrong, never with a value."""
    headers = _read_headers(value, _is_header_value)
    return {} if headers is None else headers


def read_header_changes(value: object) -> Mapping[str, str | None] | None:
    """Returns a merge patch, in which null removes one header or all; raises Wrong."""
    return _read_headers(value, lambda content: content is None or _is_header_value(content))


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
        raise Wrong(f"a webhook has at most {MAX_HEADERS} headers; remove one with null")
    return names, new


def _is_header_value(content: object) -> bool:
    return isinstance(content, str) and _HEADER_VALUE.fullmatch(content) is not None


def _read_headers(value: object, is_valid: Callable[[object], bool]) -> dict[str, Any] | None:
    if value is None:
        return None
    # A webhook may have that many, and all of them may be replaced by others.
    removed = list(value.values()).count(None) if isinstance(value, dict) else 0
    if not isinstance(value, dict) or max(removed, len(value) - removed) > MAX_HEADERS:
        raise Wrong(f"give an object of at most {MAX_HEADERS} header names with their values")
    for name, content in value.items():
        at = f".{name[:100]}"
        if not _HEADER_NAME.fullmatch(name):
            raise Wrong("give names of letters, digits and -, at most 100 characters", at=at)
        if content is not None and is_reserved(name):
            raise Wrong("this header is set by the service, by HTTP or by proxies", at=at)
        if not is_valid(content):
            raise Wrong("give a value of 1 to 1024 visible ASCII characters", at=at)
    if len({comparable(name) for name in value}) < len(value):
        raise Wrong("give each name once; upper and lower case are the same, and so are - and _")
    return value
