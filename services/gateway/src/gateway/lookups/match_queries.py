"""Parsing of records to be matched with companies.

An error in one record fails only that record, as in a batch of lookups. An unreadable number or
phone number is no error, because customers keep notes in those columns: the result names the field.
A record that can be no company, such as one of another country, is decided here, with its reason.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from common.contracts.match import (
    DEFAULT_CANDIDATES,
    MAX_CANDIDATES,
    MAX_RECORDS,
    MatchDecision,
    MatchReason,
    MatchRecord,
    MatchResult,
)
from common.domain.nearest import unknown_names
from common.domain.written import is_placeholder, plain_name, read_country
from gateway.http.parameters import COUNTRY, invalid_parameters
from gateway.lookups.persons import is_private
from gateway.lookups.queries import invalid_body, json_object
from gateway.problems import Problem

RECORDS, ID, LIMIT = "records", "id", "limit"
#: Maximum length of an id, and of any other field.
MAX_ID: Final = 200
MAX_FIELD: Final = 300
#: Fields that can find a company.
SEARCHED: Final = ("name", "number", "address", "phone", "email", "website")
RECORD_FIELDS: Final = tuple(MatchRecord.model_fields)
_TEXTS: Final = tuple(name for name in RECORD_FIELDS if name not in (ID, COUNTRY))


class Refused(NamedTuple):
    """A record that cannot be matched, and why."""

    #: None without a valid one.
    id: str | None
    problem: Problem


class MatchQuery(NamedTuple):
    """Records, and the number of candidates of each."""

    records: tuple[MatchRecord | MatchResult | Refused, ...]
    limit: int


def parse_match(body: bytes) -> MatchQuery:
    """Returns each record or its problem, in order; raises InvalidBody without records."""
    document = json_object(body)
    faults = unknown_names("field", document, (RECORDS, LIMIT))
    records, limit = document.get(RECORDS), document.get(LIMIT, DEFAULT_CANDIDATES)
    if not isinstance(records, list) or not 1 <= len(records) <= MAX_RECORDS:
        faults.append((RECORDS, f"give a list of 1 to {MAX_RECORDS} records"))
    if type(limit) is not int or not 1 <= limit <= MAX_CANDIDATES:
        faults.append((LIMIT, f"must be a whole number from 1 to {MAX_CANDIDATES}"))
    if faults or not isinstance(records, list):
        raise invalid_body(faults)
    return MatchQuery(tuple(_record(place, each) for place, each in enumerate(records)), limit)


def _record(place: int, record: object) -> MatchRecord | MatchResult | Refused:
    path = f"{RECORDS}[{place}]"
    if not isinstance(record, dict):
        return Refused(None, invalid_parameters([(path, "give an object")]))
    faults = unknown_names("field", record, RECORD_FIELDS)
    given = {name: record[name] for name in RECORD_FIELDS if record.get(name) is not None}
    faults += _id_faults(given.get(ID))
    texts = (COUNTRY, *_TEXTS)
    faults += [(name, fault) for name in texts if (fault := _text_fault(given.get(name)))]
    if faults:
        named = [(f"{path}.{name}", message) for name, message in faults]
        found = given.get(ID)
        known = found if isinstance(found, str) and len(found) <= MAX_ID else None
        return Refused(known, invalid_parameters(named))
    return read_record(given.pop(ID), given)


def read_record(record_id: str, fields: Mapping[str, str]) -> MatchRecord | MatchResult:
    """Returns the record with these fields, or its result if it can be no company."""
    texts = {name: text for name in _TEXTS if (text := plain_name(fields.get(name, "")))}
    country = fields.get(COUNTRY, "").strip()
    said = {name: text for name, text in texts.items() if not is_placeholder(text)}
    reason = None
    if texts.keys().isdisjoint(SEARCHED):
        reason = MatchReason.EMPTY
    elif said.keys().isdisjoint(SEARCHED):
        reason = MatchReason.PLACEHOLDER
    elif country and read_country(country) is None:
        reason = MatchReason.COUNTRY_NOT_COVERED
    elif is_private(said.get("name", ""), said.get("number", "")):
        reason = MatchReason.PERSON
    if reason is not None:
        return MatchResult(id=record_id, decision=MatchDecision.NONE, reason=reason)
    return MatchRecord.model_validate({ID: record_id, COUNTRY: read_country(country), **said})


def _id_faults(value: object) -> list[tuple[str, str]]:
    if isinstance(value, str) and 1 <= len(value) <= MAX_ID:
        return []
    return [(ID, f"give a string of 1 to {MAX_ID} characters")]


def _text_fault(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return "give a string"
    return None if len(value) <= MAX_FIELD else f"must be at most {MAX_FIELD} characters"
