"""States and upcoming records as MongoDB stores them, and the digests of their documents."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne

from common.contracts.company import CompanyKey, RegisterKey, RestructuringType, UnitKey
from common.mongo import Database, translated_errors
from ingest.changes.states import (
    READING,
    CompanyState,
    CompanyWrite,
    DigestUpdate,
    GroupState,
    ParticipantState,
    PartWrite,
    Plan,
    UnitState,
    UpcomingWrite,
)
from ingest.records.records import (
    NO_OWNERS,
    NO_ROLES,
    Changing,
    CompanyRecord,
    Reorganisation,
    SourceVersion,
    UnitRecord,
    as_of,
)
from ingest.records.source import Part, RegisterSource
from register_store.documents import (
    COMPANIES,
    GROUPS,
    HELD_NAMES,
    LINKS,
    PARTICIPANTS,
    REORGANISATIONS,
    UNITS,
    Document,
)
from register_store.lists import order_fields


def company_document(change: CompanyWrite) -> Document:
    """Returns a company without its key; rank and time stay unchanged if None."""
    state = change.state
    document: Document = {
        "revision": state.revision,
        "core": state.core,
        "owners": state.owners,
        "roles": state.roles,
        "phones": _stored_phones(change.key, state.phones),
        "units": list(state.units),
        "version": _version(state.version),
        "owners_version": _version(state.owners_version),
        "digest": state.digest,
        "owners_digest": state.owners_digest,
        "reading": state.reading,
        "owners_reading": state.owners_reading,
        HELD_NAMES: list(state.held_names),
        **_upcoming(change.expected, state.upcoming),
    }
    optional = {
        "rank": change.rank,
        "updated_at": change.updated_at,
        "added_at": state.added_at,
        "past": state.past,
        REORGANISATIONS: _stored_parts(state.reorganisations),
        LINKS: state.links,
    }
    if state.links is not None:
        document["listed_owners"] = state.listed_owners
    return document | {name: value for name, value in optional.items() if value is not None}


def _upcoming(expected: int | None, digest: bytes | None) -> Document:
    """Returns the hash of what is to come; a new document without any lacks the field."""
    return {} if expected is None and digest is None else {"upcoming": digest}


def company_state(document: Document) -> CompanyState:
    """Returns the state of a company from its document, read with every field."""
    return CompanyState(
        revision=document["revision"],
        core=document["core"],
        owners=document["owners"],
        roles=document["roles"],
        phones=_phones(document),
        units=tuple(UnitKey.parse(unit) for unit in document["units"]),
        version=_read_version(document["version"]),
        owners_version=_read_version(document["owners_version"]),
        digest=document["digest"],
        owners_digest=document["owners_digest"],
        held_names=tuple(document[HELD_NAMES]),
        upcoming=document.get("upcoming"),
        added_at=document.get("added_at"),
        past=document.get("past"),
        reading=document.get("reading", 0),
        owners_reading=document.get("owners_reading", 0),
        reorganisations=_read_parts(document.get(REORGANISATIONS)),
        links=document.get(LINKS),
        listed_owners=document.get("listed_owners"),
    )


def _stored_parts(parts: Sequence[Reorganisation] | None) -> list[Document] | None:
    if parts is None:
        return None
    return [{**part._asdict(), "type": part.type.value} for part in parts]


def _read_parts(stored: Sequence[Document] | None) -> tuple[Reorganisation, ...] | None:
    if stored is None:
        return None
    return tuple(
        Reorganisation(**{**part, "type": RestructuringType(part["type"])}) for part in stored
    )


def unit_document(change: PartWrite[UnitKey, UnitState]) -> Document:
    """Returns a unit's document without its key."""
    state = change.state
    return {
        "revision": state.revision,
        "core": state.core,
        **order_fields(state.core),
        "company": state.company,
        "phones": _stored_phones(change.key, state.phones),
        "version": _version(state.version),
        "digest": state.digest,
        **_upcoming(change.expected, state.upcoming),
    }


def unit_state(document: Document) -> UnitState:
    """Returns the state of a unit from its document."""
    return UnitState(
        revision=document["revision"],
        core=document["core"],
        company=_company(document["company"]),
        phones=_phones(document),
        version=SourceVersion(*document["version"]),
        digest=document["digest"],
        upcoming=document.get("upcoming"),
    )


def participant_document(state: ParticipantState) -> Document:
    """Returns the document of an e-invoicing identifier without its key."""
    return {
        "revision": state.revision,
        "entry": state.entry,
        "holder": state.holder,
        "version": _version(state.version),
        "digest": state.digest,
    }


def participant_state(document: Document) -> ParticipantState:
    """Returns the state of an e-invoicing identifier from its document."""
    return ParticipantState(
        revision=document["revision"],
        entry=document["entry"],
        holder=_company(document["holder"]),
        version=SourceVersion(*document["version"]),
        digest=document["digest"],
    )


def group_document(state: GroupState) -> Document:
    """Returns the document of a group without its key."""
    return {
        "revision": state.revision,
        "members": list(state.members),
        "version": _version(state.version),
        "asked_at": state.asked_at,
        "digest": state.digest,
        "changed_at": state.changed_at,
    }


def group_state(document: Document) -> GroupState:
    """Returns the state of a group from its document."""
    return GroupState(
        revision=document["revision"],
        members=tuple(CompanyKey.parse(member) for member in document["members"]),
        version=SourceVersion(*document["version"]),
        asked_at=document["asked_at"],
        digest=document["digest"],
        changed_at=document["changed_at"],
    )


def _stored_phones(key: RegisterKey, phones: Sequence[str]) -> list[str]:
    """Returns phone numbers with the country first, so that one index serves both registers."""
    return [f"{key.country}:{phone}" for phone in phones]


def _phones(document: Document) -> tuple[str, ...]:
    return tuple(phone.partition(":")[2] for phone in document["phones"])


def _company(stored: str | None) -> CompanyKey | None:
    return None if stored is None else CompanyKey.parse(stored)


def _version(version: SourceVersion | None) -> list[Any] | None:
    return None if version is None else [version.at, version.sequence]


def _read_version(stored: list[Any] | None) -> SourceVersion | None:
    return None if stored is None else SourceVersion(*stored)


Write = InsertOne[Document] | UpdateOne | DeleteOne


def company_writes(plan: Plan) -> list[Write]:
    """Returns the writes to companies, each conditional on the revision it was planned for."""
    writes = [
        _conditional(change.key, change.expected, company_document(change))
        for change in plan.companies
    ]
    writes += [
        UpdateOne({"_id": bump.key, "revision": bump.expected}, {"$inc": {"revision": 1}})
        for bump in plan.bumps
    ]
    return writes + _renewals(plan, Part.COMPANY, Part.OWNERS)


def unit_writes(plan: Plan) -> list[Write]:
    """Returns the writes to units, each conditional on the revision it was planned for."""
    writes = [
        _conditional(change.key, change.expected, unit_document(change)) for change in plan.units
    ]
    writes += [
        DeleteOne({"_id": removed.key, "revision": removed.expected})
        for removed in plan.removals
        if removed.expected is not None
    ]
    return writes + _renewals(plan, Part.UNIT)


def participant_writes(plan: Plan) -> list[Write]:
    """Returns the writes to e-invoicing identifiers, each conditional on its revision."""
    writes = [
        _conditional(change.key, change.expected, participant_document(change.state))
        for change in plan.participants
    ]
    writes += [
        DeleteOne({"_id": dropped.key, "revision": dropped.expected}) for dropped in plan.drops
    ]
    return writes + _renewals(plan, Part.PARTICIPANT)


def group_writes(plan: Plan) -> list[Write]:
    """Returns the writes to groups, each conditional on its revision."""
    return [
        *(_conditional(one.key, one.expected, group_document(one.state)) for one in plan.groups),
        *(DeleteOne({"_id": one.key, "revision": one.expected}) for one in plan.group_drops),
    ]


def _renewals(plan: Plan, *parts: Part) -> list[Write]:
    return [renewed(change) for change in plan.digest_updates if change.part in parts]


def _conditional(key: str, expected: int | None, document: Document) -> Write:
    if expected is None:
        return InsertOne({"_id": key, **document})
    return UpdateOne({"_id": key, "revision": expected}, {"$set": document})


#: Keys per batch.
_LIST = 10_000


class _Place(NamedTuple):
    """The collection of a part, the fields of its digest and its version, and if it exists."""

    collection: str
    digest: str = "digest"
    version: str = "version.0"
    exists: Mapping[str, Any] = {}
    #: The field of its `READING`, if it has one.
    reading: str | None = None


_PLACES: Final = {
    Part.COMPANY: _Place(COMPANIES, reading="reading"),
    Part.OWNERS: _Place(
        COMPANIES,
        "owners_digest",
        "owners_version.0",
        {
            "$or": [
                {LINKS: {"$exists": False}, "owners": {"$nin": [None, NO_OWNERS, NO_ROLES]}},
                {"listed_owners": {"$nin": [None, NO_OWNERS, NO_ROLES]}},
                {"roles": {"$nin": [None, NO_ROLES]}},
            ]
        },
        "owners_reading",
    ),
    Part.UNIT: _Place(UNITS),
    Part.PARTICIPANT: _Place(PARTICIPANTS),
    Part.GROUP: _Place(GROUPS),
}


class StoredParts:
    """The digests and keys of stored records. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def digests(self, part: Part, keys: Collection[str]) -> Mapping[str, bytes | None]:
        """Returns the digests stored under these keys, None where absent."""
        place, query = _PLACES[part], {"_id": {"$in": list(keys)}}
        with translated_errors():
            # In one batch; the default first batch has 101 documents.
            found = self._database[place.collection].find(
                query, {place.digest: 1}, batch_size=len(keys) + 1
            )
            return {one["_id"]: one.get(place.digest) for one in await found.to_list(None)}

    async def keys(
        self, source: RegisterSource, *, until: datetime
    ) -> AsyncIterator[Sequence[str]]:
        """Yields batches of keys of the records whose version is not newer than `until`.

        For roles, the companies with owners or roles; for e-invoicing, the identifiers.
        """
        place = _PLACES[source.part]
        query: dict[str, Any] = {place.version: {"$lte": until}, **place.exists}
        if source.country is not None:
            query["_id"] = {"$gte": f"{source.country}:", "$lt": f"{source.country};"}
        with translated_errors():
            found = self._database[place.collection].find(query, {"_id": 1}, batch_size=_LIST)
            while documents := await found.to_list(_LIST):
                yield [document["_id"] for document in documents]


def renewed(change: DigestUpdate) -> UpdateOne:
    """Returns the write of a digest, which applies only to the expected revision."""
    place = _PLACES[change.part]
    return UpdateOne(
        {"_id": change.key, "revision": change.expected},
        {
            "$set": {
                place.digest: change.digest,
                **({} if change.core is None else {"core": change.core}),
                **({} if place.reading is None else {place.reading: READING}),
            }
        },
    )


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
        return _due(
            [_upcoming_company(document, fields) for fields in document["days"]], document, today
        )
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
        REORGANISATIONS: _stored_parts(record.reorganisations),
    }


def _upcoming_company(document: Document, fields: Document) -> CompanyRecord:
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
        # A document of an earlier release does not say.
        reorganisations=_read_parts(fields.get(REORGANISATIONS)),
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
