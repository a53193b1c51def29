"""Parsing of a batch body: many lookups, each with its own errors.

A member of the wrong type, such as a number for a text, invalidates the whole body. An invalid
value, such as a number of seven digits, fails that lookup alone.
"""

from typing import Any

import orjson

from common.contracts.failures import FieldError
from common.contracts.lookup import LookupRequest
from gateway.domain.problems import InvalidBody, Problem
from gateway.domain.query import INCLUDE, SEARCH_PARAMETERS, parse_lookup
from gateway.domain.reading import COUNTRY, Parameters

LOOKUPS = "lookups"
MAX_LOOKUPS = 100

_TEXTS = (COUNTRY, *SEARCH_PARAMETERS)
FIELDS = (*_TEXTS, INCLUDE)

_MAX_NAME_LENGTH = 100


def parse_batch(body: bytes) -> list[LookupRequest | Problem]:
    """Each lookup in order, or its problem; raises InvalidBody with every error."""
    lookups = _lookups(body)
    faults = [fault for place, lookup in enumerate(lookups) for fault in _faults(place, lookup)]
    if faults:
        raise _faulty(faults)
    return [_parsed(lookup) for lookup in lookups]


def _lookups(body: bytes) -> list[Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidBody("the body is not JSON") from None
    if not isinstance(document, dict):
        raise InvalidBody("the body is not a JSON object")
    faults = [_unknown("", name, (LOOKUPS,)) for name in document if name != LOOKUPS]
    lookups = document.get(LOOKUPS)
    if not isinstance(lookups, list) or not 1 <= len(lookups) <= MAX_LOOKUPS:
        faults.append(_fault(LOOKUPS, f"give a list of 1 to {MAX_LOOKUPS} lookups"))
    if faults or not isinstance(lookups, list):
        raise _faulty(faults)
    return lookups


def _faults(place: int, lookup: object) -> list[FieldError]:
    """Errors of a list member that is not a lookup."""
    path = f"{LOOKUPS}[{place}]"
    if not isinstance(lookup, dict):
        return [_fault(path, "give an object")]
    faults = [_unknown(f"{path}.", name, FIELDS) for name in lookup if name not in FIELDS]
    faults += [
        _fault(f"{path}.{name}", "give a string")
        for name in _TEXTS
        if not isinstance(lookup.get(name), str | None)
    ]
    if not _is_include(lookup.get(INCLUDE)):
        faults.append(_fault(f"{path}.{INCLUDE}", "give a list of strings"))
    return faults


def _is_include(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, str | None)


def _parsed(lookup: dict[str, Any]) -> LookupRequest | Problem:
    try:
        return parse_lookup(_parameters(lookup)).request
    except Problem as problem:
        return problem


def _parameters(lookup: dict[str, Any]) -> Parameters:
    """The lookup as the parameters of a query string; null members are omitted."""
    texts = {name: lookup[name] for name in _TEXTS if lookup.get(name) is not None}
    include = lookup.get(INCLUDE)
    if include is not None and include != []:
        texts[INCLUDE] = include if isinstance(include, str) else ",".join(include)
    return {name: (text,) for name, text in texts.items()}


def _unknown(path: str, name: str, known: tuple[str, ...]) -> FieldError:
    message = f"unknown field; the fields are {', '.join(known)}"
    return _fault(path + name[:_MAX_NAME_LENGTH], message)


def _fault(parameter: str, message: str) -> FieldError:
    return FieldError(parameter=parameter, message=message)


def _faulty(faults: list[FieldError]) -> InvalidBody:
    return InvalidBody("the request body is invalid", errors=tuple(faults))
