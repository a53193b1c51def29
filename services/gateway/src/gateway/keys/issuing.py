"""What a new key may do: what its request asks for, and never more than the key that creates it."""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from common.contracts.failures import FieldError
from common.domain.sentences import did_you_mean, unknown_names
from common.domain.times import read_time
from common.runtime.public_port.rates import SECONDS, Rate
from gateway.access.keys import ApiKey, PresentedKey, Scope, hash_of
from gateway.http.responses import invalid_body
from gateway.problems import Forbidden

MAX_NAME: Final = 100
MAX_ORIGINS: Final = 20
MAX_RATE: Final = 999_999_999
#: Seconds for which a replaced key goes on: a day unless given, thirty days at most.
OVERLAP: Final = 86_400
MAX_OVERLAP: Final = 30 * OVERLAP

_FIELDS: Final = ("name", "scopes", "expires_at", "rate", "origins", "visitor_rate")
_RATE_FIELDS: Final = {"count", "window_seconds"}
_HOST: Final = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
#: As browsers send it. A page under development is at localhost, without TLS.
_ORIGIN: Final = re.compile(
    rf"(https://{_HOST}|http://(localhost|127\.0\.0\.1))(:[1-9][0-9]{{0,4}})?"
)
_MAX_ORIGIN: Final = 261

_Faults = list[tuple[str, str]]


class NewKey(NamedTuple):
    """What the body of a creation asks for."""

    name: str
    scopes: frozenset[Scope]
    #: None, of these three: as the creator's, or of a visitor's as the settings have it.
    expires_at: datetime | None = None
    rate: Rate | None = None
    visitor_rate: Rate | None = None
    origins: tuple[str, ...] = ()


def new_secret() -> PresentedKey:
    """Returns a random id with a random secret."""
    return PresentedKey(id=secrets.token_hex(12), secret=secrets.token_urlsafe(32))


def read_new_key(document: dict[str, Any], *, now: datetime) -> NewKey:
    """Returns what a JSON object asks for; raises InvalidBody that names each wrong member."""
    faults = unknown_names("field", document, _FIELDS)
    origins = _origins(document.get("origins"), faults)
    # A publishable key has this scope alone.
    given = document.get("scopes", [Scope.LOOKUP] if origins else None)
    wanted = NewKey(
        name=_name(document.get("name"), faults),
        scopes=_scopes(given, faults),
        expires_at=_expiry(document.get("expires_at"), now, faults),
        rate=_rate("rate", document.get("rate"), faults),
        visitor_rate=_rate("visitor_rate", document.get("visitor_rate"), faults),
        origins=origins,
    )
    if wanted.origins and wanted.scopes - {Scope.LOOKUP}:
        faults.append(("scopes", "a key with origins is public and may have lookup alone"))
    if wanted.visitor_rate and not document.get("origins"):
        faults.append(("visitor_rate", "is of keys with origins; give rate"))
    if faults:
        raise invalid_body(faults)
    return wanted


def read_overlap(document: dict[str, Any]) -> int:
    """Returns the seconds for which a replaced key goes on; raises InvalidBody."""
    faults = unknown_names("field", document, ("overlap_seconds",))
    seconds = document.get("overlap_seconds", OVERLAP)
    if type(seconds) is not int or not 0 <= seconds <= MAX_OVERLAP:
        faults.append(("overlap_seconds", f"give a whole number from 0 to {MAX_OVERLAP}"))
    if faults:
        raise invalid_body(faults)
    return int(seconds)


def created(wanted: NewKey, creator: ApiKey, new: PresentedKey, *, now: datetime) -> ApiKey:
    """Returns the key that is asked for, of the creator's owner and with its limits."""
    return ApiKey(
        id=new.id,
        secret_hash=hash_of(new.secret),
        name=wanted.name,
        owner=creator.owner,
        scopes=wanted.scopes,
        created_at=now,
        expires_at=wanted.expires_at or creator.expires_at,
        rate=wanted.rate or creator.rate,
        origins=wanted.origins,
        visitor_rate=wanted.visitor_rate,
        created_by=creator.id,
    )


def replaced(key: ApiKey, creator: ApiKey, new: PresentedKey, *, now: datetime) -> ApiKey:
    """Returns the key that takes the place of another."""
    return replace(
        key,
        id=new.id,
        secret_hash=hash_of(new.secret),
        created_at=now,
        created_by=creator.id,
        ended_by=None,
    )


def check_rights(key: ApiKey, creator: ApiKey, *, default: Rate) -> None:
    """Raises Forbidden if a key may do more than the one that creates it.

    `default` is the rate of keys without one.
    """
    errors = tuple(FieldError(parameter=name, message=text) for name, text in _excess(
        key, creator, default
    ))  # fmt: skip
    if errors:
        text = "a key creates none with more rights than its own"
        raise Forbidden(f"{text}: {errors[0].message}", errors=errors)


def _excess(key: ApiKey, creator: ApiKey, default: Rate) -> Iterator[tuple[str, str]]:
    if lacking := sorted(key.scopes - creator.scopes):
        yield "scopes", f"your key lacks the scope {', '.join(lacking)}"
    if creator.expires_at and (key.expires_at is None or key.expires_at > creator.expires_at):
        yield "expires_at", "your key expires earlier"
    most = creator.rate or default
    for name, rate in (("rate", key.rate or default), ("visitor_rate", key.visitor_rate)):
        if rate is not None and _allowed_within(most.window, rate) > most.count:
            yield name, f"your key has {most}"


def _allowed_within(window: int, rate: Rate) -> int:
    """Returns the requests that a rate allows in a window of another length."""
    return rate.count * max(1, window // rate.window)


def _name(value: object, faults: _Faults) -> str:
    text = value.strip() if isinstance(value, str) else ""
    # A line break would split a row of `keys list`.
    if not 1 <= len(text) <= MAX_NAME or not text.isprintable():
        faults.append(("name", f"give one line of 1 to {MAX_NAME} characters"))
    return text


def _scopes(value: object, faults: _Faults) -> frozenset[Scope]:
    names = tuple(map(str, Scope))
    if not isinstance(value, list) or not value or len(value) > len(names):
        faults.append(("scopes", f"give a list of {', '.join(names)}"))
        return frozenset()
    strange = [each for each in value if each not in names]
    if strange:
        text = strange[0] if isinstance(strange[0], str) else ""
        hint = did_you_mean(text, names)
        faults.append(("scopes", f"must be of {', '.join(names)}{hint}"))
        return frozenset()
    return frozenset(map(Scope, value))


def _expiry(value: object, now: datetime, faults: _Faults) -> datetime | None:
    if value is None:
        return None
    moment = read_time(value) if isinstance(value, str) else None
    if moment is None or moment <= now:
        text = "must be a time to come as in RFC 3339, such as 2027-01-01T00:00:00Z"
        faults.append(("expires_at", text))
    return moment


def _rate(name: str, value: object, faults: _Faults) -> Rate | None:
    if value is None:
        return None
    windows = tuple(SECONDS.values())
    if isinstance(value, dict) and value.keys() == _RATE_FIELDS:
        count, window = value["count"], value["window_seconds"]
        if type(count) is int and 1 <= count <= MAX_RATE and window in windows:
            return Rate(count, int(window))
    shown = ", ".join(map(str, windows[:-1]))
    text = f"give an object of count and window_seconds, which is {shown} or {windows[-1]}"
    faults.append((name, text))
    return None


def _origins(value: object, faults: _Faults) -> tuple[str, ...]:
    if value is None or value == []:
        return ()
    given: Sequence[object] = value if isinstance(value, list) else ()
    found = tuple(each.lower() for each in given if isinstance(each, str))
    are_right = all(len(each) <= _MAX_ORIGIN and _ORIGIN.fullmatch(each) for each in found)
    if not given or len(found) != len(given) or len(found) > MAX_ORIGINS or not are_right:
        text = "give a list of up to 20 origins of pages, such as https://www.example.com"
        faults.append(("origins", text))
        return ()
    return tuple(dict.fromkeys(found))
