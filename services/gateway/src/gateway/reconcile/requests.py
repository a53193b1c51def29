"""Parsing of the requests of the Reconciliation Service API.

An error fails the whole batch, because the protocol has no errors for single queries. A query with
nothing to search for is no error and finds nothing, because tables have empty cells.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import orjson

from common.contracts.company import Country
from common.contracts.lookup import SearchType
from common.contracts.match import DEFAULT_CANDIDATES, MAX_CANDIDATES, MatchRecord
from common.domain.numbers import InvalidIdentifier
from common.domain.sentences import unknown_names
from common.domain.written import NumberType, PageWithoutNumber, read_email, read_number
from gateway.http.parameters import Parameters, invalid_parameters
from gateway.lookups.match import read_record
from gateway.lookups.terms import InvalidTerm, normalise
from gateway.problems import BodyTooLarge, InvalidBody
from gateway.reconcile.entities import PROPERTIES

QUERIES, EXTEND = "queries", "extend"
#: A single query, as version 0.1 of the protocol has it: a text, or an object.
QUERY = "query"

#: Maximum number of queries in a batch, which fits a body of 64 KiB; stated in the manifest.
MAX_QUERIES: Final = 50
#: Maximum number of companies of which properties are fetched at once.
MAX_ENTITIES: Final = 100
#: Maximum characters of a value; longer ones, such as notes, are cut.
_MAX_VALUE: Final = 300
#: Maximum errors in a problem, and characters of a query's key in its path.
_MAX_FAULTS, _MAX_KEY = 20, 60
#: Digits of a registration number without its first zero.
_MIN_DIGITS: Final = 7
#: Maximum fields of a form.
_MAX_FIELDS: Final = 20

_QUERY_FIELDS: Final = ("query", "type", "limit", "properties", "type_strict")
#: The field of a record for each property; other properties do not identify a company.
_RECORD_FIELDS: Final = {
    "name": "name",
    "number": "number",
    "address": "address",
    "street": "address",
    "postal_code": "postal_code",
    "city": "city",
    "phone": "phone",
    "email": "email",
    "website": "website",
}

Faults = list[tuple[str, str]]


class ReconcileQuery(NamedTuple):
    """A query of a batch: its key, the record to match, if any, and the number of candidates."""

    key: str
    record: MatchRecord | None
    limit: int


class Extension(NamedTuple):
    """Companies, and the ids of the properties to fetch."""

    ids: tuple[str, ...]
    properties: tuple[str, ...]


def read_form(body: bytes) -> Parameters:
    """Returns the fields of a form; raises InvalidBody."""
    try:
        return parse_qs(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_FIELDS,
        )
    except ValueError:
        raise InvalidBody("the body is not a form in UTF-8 with a few fields") from None


def batch_of(query: str) -> str:
    """Returns the batch with a single query, under its own name."""
    if query.lstrip().startswith("{"):
        return f'{{"{QUERY}":{query}}}'
    return orjson.dumps({QUERY: {"query": query}}).decode()


def parse_queries(text: str, country: Country) -> list[ReconcileQuery]:
    """Returns the queries of a batch; raises InvalidParameter, or BodyTooLarge for too many."""
    batch = _json_object(QUERIES, text)
    if len(batch) > MAX_QUERIES:
        raise BodyTooLarge(f"send at most {MAX_QUERIES} queries in a batch")
    faults: Faults = []
    queries = [
        _query(place, key, query, country, faults)
        for place, (key, query) in enumerate(batch.items())
    ]
    if faults:
        raise invalid_parameters(faults[:_MAX_FAULTS])
    return queries


def _query(place: int, key: str, query: object, country: Country, faults: Faults) -> ReconcileQuery:
    path = f"{QUERIES}.{key[:_MAX_KEY]}"
    if not isinstance(query, dict):
        faults.append((path, "give an object"))
        return ReconcileQuery(key, None, 1)
    faults += [
        (f"{path}.{name}", message)
        for name, message in unknown_names("field", query, _QUERY_FIELDS)
    ]
    text, limit = query.get("query"), query.get("limit")
    if not isinstance(text, str | None):
        faults.append((f"{path}.query", "give a string"))
        text = None
    if limit is not None and (type(limit) is not int or limit < 1):
        faults.append((f"{path}.limit", "must be a whole number from 1"))
        limit = None
    fields = _fields(f"{path}.properties", query.get("properties"), faults)
    if text is not None and text.strip():
        fields[_field_of(text)] = text.strip()[:_MAX_VALUE]
    record = read_record(str(place), {**fields, "country": country})
    to_match = record if isinstance(record, MatchRecord) else None
    return ReconcileQuery(key, to_match, min(limit or DEFAULT_CANDIDATES, MAX_CANDIDATES))


def _field_of(text: str) -> str:
    if read_email(text):
        return "email"
    try:
        written = read_number(text)
    except PageWithoutNumber:
        return "number"
    except InvalidIdentifier:
        return "phone" if text.lstrip(" (").startswith("+") else "name"
    if written.type is NumberType.PHONE:
        return "phone"
    # Fewer digits are a name, such as 1881.
    return "number" if written.type or len(written.digits) >= _MIN_DIGITS else "name"


def _fields(path: str, properties: object, faults: Faults) -> dict[str, str]:
    fields: dict[str, str] = {}
    if properties is None:
        return fields
    if not isinstance(properties, list):
        faults.append((path, "give a list"))
        return fields
    for place, each in enumerate(properties):
        pid = each.get("pid") if isinstance(each, dict) else None
        if not isinstance(pid, str) or "v" not in each:
            faults.append((f"{path}[{place}]", "give an object with pid and v"))
            continue
        faults += [
            (f"{path}[{place}].pid", message)
            for _, message in unknown_names("property", (pid,), tuple(PROPERTIES))
        ]
        values = each["v"] if isinstance(each["v"], list) else [each["v"]]
        # A cell that is reconciled already has the company's number and its name.
        first = "id" if pid == "number" else "name"
        text = next(filter(None, (_text(value, first) for value in values)), "")
        if text and pid in _RECORD_FIELDS:
            fields.setdefault(_RECORD_FIELDS[pid], text[:_MAX_VALUE])
    return fields


def _text(value: object, first: str) -> str:
    if isinstance(value, dict):
        value = value.get(first) or value.get("name") or value.get("id")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip()


def registration_number(text: str, country: Country) -> str | None:
    """Returns the registration number that a text is; None if it is none."""
    try:
        return normalise(SearchType.VAT, text.strip(), country)
    except InvalidTerm:
        return None


def parse_extension(text: str) -> Extension:
    """Returns the companies and properties of a request for data; raises InvalidParameter."""
    document = _json_object(EXTEND, text)
    faults: Faults = []
    ids = _texts(document.get("ids"))
    if ids is None or len(ids) > MAX_ENTITIES:
        faults.append((f"{EXTEND}.ids", f"give a list of at most {MAX_ENTITIES} strings"))
    given = document.get("properties")
    listed = given if isinstance(given, list) else [None]
    properties = _texts([each.get("id") if isinstance(each, dict) else None for each in listed])
    if properties is None:
        faults.append((f"{EXTEND}.properties", "give a list of objects with an id"))
    unknown = unknown_names("property", properties or (), tuple(PROPERTIES))
    faults += [(f"{EXTEND}.properties", message) for _, message in unknown]
    if faults:
        raise invalid_parameters(faults)
    return Extension(ids or (), properties or ())


def _texts(values: object) -> tuple[str, ...] | None:
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return tuple(dict.fromkeys(values))
    return None


def _json_object(name: str, text: str) -> Mapping[str, Any]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise invalid_parameters([(name, "must be a JSON object")])
    return document
