"""Writes of a plan to each collection, each conditional on the stored revision."""

from pymongo import DeleteOne, InsertOne, UpdateOne

from lookup.ingest.digests import Part
from lookup.ingest.planning.states import Plan
from lookup.ingest.stored_documents import company_document, participant_document, unit_document
from lookup.ingest.stored_parts import renewed
from lookup.store.documents import Document

Write = InsertOne[Document] | UpdateOne | DeleteOne


def company_writes(plan: Plan) -> list[Write]:
    writes = [
        _conditional(
            change.key,
            change.expected,
            company_document(
                change.state,
                country=change.key.country,
                rank=change.rank,
                updated_at=change.updated_at,
            ),
        )
        for change in plan.companies
    ]
    writes += [
        UpdateOne({"_id": bump.key, "revision": bump.expected}, {"$inc": {"revision": 1}})
        for bump in plan.bumps
    ]
    return writes + _renewals(plan, Part.COMPANY, Part.OWNERS)


def unit_writes(plan: Plan) -> list[Write]:
    writes = [
        _conditional(
            change.key, change.expected, unit_document(change.state, country=change.key.country)
        )
        for change in plan.units
    ]
    writes += [
        DeleteOne({"_id": removed.key, "revision": removed.expected})
        for removed in plan.removals
        if removed.expected is not None
    ]
    return writes + _renewals(plan, Part.UNIT)


def participant_writes(plan: Plan) -> list[Write]:
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
