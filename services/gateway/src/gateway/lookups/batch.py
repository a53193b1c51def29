"""Parsing of a batch body: many lookups, each with its own errors.

Whatever is wrong with one lookup, such as an unknown field, a number for a text or a registration
number of seven digits, fails that lookup alone.
"""

from typing import Any

import orjson

from common.contracts.failures import FieldError
from common.contracts.lookup import LookupRequest
from common.domain.nearest import unknown_names
from gateway.http.parameters import COUNTRY, Parameters, invalid_parameters
from gateway.lookups.queries import INCLUDE, SEARCH_PARAMETERS, parse_lookup
from gateway.problems import InvalidBody, Problem

LOOKUPS = "lookups"
MAX_LOOKUPS = 100

_TEXTS = (COUNTRY, *SEARCH_PARAMETERS)
FIELDS = (*_TEXTS, INCLUDE)


def parse_batch(body: bytes) -> list[LookupRequest | Problem]:
    """Each lookup in order, or its problem; raises InvalidBody for a body that is no batch."""
    return [_parsed(place, lookup) for place, lookup in enumerate(_lookups(body))]


def _lookups(body: bytes) -> list[Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidBody("the body is not JSON") from None
    if not isinstance(document, dict):
        raise InvalidBody("the body is not a JSON object")
    faults = unknown_names("field", document, (LOOKUPS,))
    lookups = document.get(LOOKUPS)
    if not isinstance(lookups, list) or not 1 <= len(lookups) <= MAX_LOOKUPS:
        faults.append((LOOKUPS, f"give a list of 1 to {MAX_LOOKUPS} lookups"))
    if faults or not isinstance(lookups, list):
        errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
        raise InvalidBody("the request body is invalid", errors=errors)
    return lookups


def _parsed(place: int, lookup: object) -> LookupRequest | Problem:
    if not isinstance(lookup, dict):
        return invalid_parameters([(f"{LOOKUPS}[{place}]", "give an object")])
    faults = unknown_names("field", lookup, FIELDS)
    faults += [(n, "give a string") for n in _TEXTS if not isinstance(lookup.get(n), str | None)]
    if not _is_include(lookup.get(INCLUDE)):
        faults.append((INCLUDE, "give a list of strings"))
    if faults:
        return invalid_parameters(faults)
    try:
        return parse_lookup(_parameters(lookup)).request
    except Problem as problem:
        return problem


def _is_include(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, str | None)


def _parameters(lookup: dict[str, Any]) -> Parameters:
    """The lookup as the parameters of a query string; null members are omitted."""
    texts = {name: lookup[name] for name in _TEXTS if lookup.get(name) is not None}
    include = lookup.get(INCLUDE)
    if include is not None and include != []:
        texts[INCLUDE] = include if isinstance(include, str) else ",".join(include)
    return {name: (text,) for name, text in texts.items()}
