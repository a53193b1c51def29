"""Documents of stored states, and the conditional writes of a plan to their collections."""

from collections.abc import Sequence
from typing import Any

from pymongo import DeleteOne, InsertOne, UpdateOne

from common.contracts.company import CompanyKey, RegisterKey, UnitKey
from ingest.changes.parts import renewed
from ingest.changes.states import (
    CompanyState,
    CompanyWrite,
    ParticipantState,
    PartWrite,
    Plan,
    UnitState,
)
from ingest.records.digests import Part
from ingest.records.records import SourceVersion
from register_store.documents import HELD_NAMES, Document
from register_store.units import order_fields


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
        HELD_NAMES: list(state.held_names),
        **_upcoming(change.expected, state.upcoming),
    }
    optional = {"rank": change.rank, "updated_at": change.updated_at}
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


def _renewals(plan: Plan, *parts: Part) -> list[Write]:
    return [renewed(change) for change in plan.digest_updates if change.part in parts]


def _conditional(key: str, expected: int | None, document: Document) -> Write:
    if expected is None:
        return InsertOne({"_id": key, **document})
    return UpdateOne({"_id": key, "revision": expected}, {"$set": document})
