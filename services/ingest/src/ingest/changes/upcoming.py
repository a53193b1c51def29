"""Upcoming records of companies and units, stored until their day (ADR 0068).

One document per company or unit: the records of all of its later days. It is written in the
transaction that stores the record, and the record's state has a hash of it, so it is not read
before its day.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from pymongo import DeleteOne, ReplaceOne

from common.contracts.company import CompanyKey, UnitKey
from ingest.changes.states import UpcomingWrite
from ingest.records.digests import Part
from ingest.records.records import CompanyRecord, SourceVersion, UnitRecord
from ingest.records.upcoming import Changing, as_of
from register_store.documents import Document


def upcoming_writes(changes: Sequence[UpcomingWrite]) -> list[DeleteOne | ReplaceOne[Document]]:
    """Returns the writes that replace what is stored as upcoming, or delete it."""
    return [
        ReplaceOne({"_id": change.record.key}, _document(change), upsert=True)
        if change.record.upcoming
        else DeleteOne({"_id": change.record.key})
        for change in changes
    ]


def due_record(document: Document, today: date) -> CompanyRecord | UnitRecord:
    """Returns the record that holds today, with what is still to come; the document is due."""
    if document["part"] == Part.COMPANY:
        return _due([_company(document, fields) for fields in document["days"]], document, today)
    return _due([_unit(document, fields) for fields in document["days"]], document, today)


def _due(records: Sequence[Changing], document: Document, today: date) -> Changing:
    days = (date.fromisoformat(fields["day"]) for fields in document["days"])
    upcoming = tuple(zip(days, records, strict=True))
    return as_of(replace(records[0], digest=document["digest"], upcoming=upcoming), today)


def _document(change: UpcomingWrite) -> Document:
    record, version = change.record, change.version
    is_company = isinstance(record, CompanyRecord)
    return {
        "part": (Part.COMPANY if is_company else Part.UNIT).value,
        "country": record.key.country.value,
        # The first day, on which the document is due.
        "day": record.upcoming[0][0].isoformat(),
        "version": [version.at, version.sequence],
        "updated_at": record.updated_at if isinstance(record, CompanyRecord) else None,
        "digest": record.digest,
        "days": [{"day": day.isoformat(), **_fields(later)} for day, later in record.upcoming],
    }


def _fields(record: CompanyRecord | UnitRecord) -> dict[str, Any]:
    common = {
        "core": record.core,
        "phones": list(record.phones),
        "unknown": sorted(record.unknown),
        # The days after the last one are in the document only.
        "next_day": None if record.next_day is None else record.next_day.isoformat(),
    }
    if isinstance(record, UnitRecord):
        return {**common, "company": record.company}
    return {
        **common,
        "rank": record.rank,
        "units": list(record.units),
        "owners": record.owner_list,
        "roles": record.role_list,
    }


def _company(document: Document, fields: Document) -> CompanyRecord:
    return CompanyRecord(
        CompanyKey.parse(document["_id"]),
        fields["core"],
        fields["rank"],
        tuple(fields["phones"]),
        tuple(UnitKey.parse(unit) for unit in fields["units"]),
        fields["owners"],
        SourceVersion(*document["version"]),
        updated_at=document["updated_at"],
        role_list=fields["roles"],
        next_day=_next_day(fields),
        unknown=frozenset(fields["unknown"]),
    )


def _unit(document: Document, fields: Document) -> UnitRecord:
    company = fields["company"]
    return UnitRecord(
        UnitKey.parse(document["_id"]),
        None if company is None else CompanyKey.parse(company),
        fields["core"],
        tuple(fields["phones"]),
        SourceVersion(*document["version"]),
        next_day=_next_day(fields),
        unknown=frozenset(fields["unknown"]),
    )


def _next_day(fields: Document) -> date | None:
    return None if fields["next_day"] is None else date.fromisoformat(fields["next_day"])
