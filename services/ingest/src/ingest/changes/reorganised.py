"""The other parties of mergers and demergers, over what is stored and what is being stored; pure.

The documents of the parties share a number and name each other nowhere. A party that is loaded
later completes those that are stored: the register changed nothing, so no event tells of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from common.contracts.company import CompanyKey
from common.contracts.events import Change
from ingest.changes.states import CompanyWrite, StoredState
from ingest.records.records import CompanyRecord, Party, Reorganisation, restructurings
from register_store.documents import dump_value

_LISTS: Final = ("merged_into", "merged_from")


def numbers_of(records: Iterable[CompanyRecord]) -> set[str]:
    """Returns the numbers of the reorganisations in some records."""
    return {
        part.number
        for record in records
        for part in record.reorganisations or ()
        if part.number is not None
    }


def with_parties(
    records: Sequence[CompanyRecord], known: StoredState
) -> tuple[list[CompanyRecord], tuple[CompanyWrite, ...]]:
    """Returns the records with the names of other parties, and the stored companies that change.

    `known` must have the stored companies that share a number with a record.
    """
    if not numbers_of(records):
        return list(records), ()
    keys = {record.key for record in records}
    stored = [
        (key, state, state.core, state.reorganisations)
        for key, state in known.companies.items()
        if key not in keys and state.core is not None and state.reorganisations
    ]
    parties = [
        *_parties((one.key, one.core, one.reorganisations or ()) for one in records),
        *_parties((key, core, parts) for key, _, core, parts in stored),
    ]
    completed = [
        replace(one, core=_completed(one.key, one.core, one.reorganisations, parties))
        if one.reorganisations
        else one
        for one in records
    ]
    others = tuple(
        CompanyWrite(key, state.revision, replace(state, core=new, revision=state.revision + 1))
        for key, state, core, parts in stored
        if (new := _completed(key, core, parts, parties)) != core
    )
    return completed, others


def _parties(
    companies: Iterable[tuple[CompanyKey, bytes, Sequence[Reorganisation]]],
) -> Iterator[Party]:
    for key, core, parts in companies:
        if parts:
            name = orjson.loads(core)["name"]
            yield from (Party(key, name, part) for part in parts if part.number is not None)


def _completed(
    key: CompanyKey, core: bytes, parts: Sequence[Reorganisation], parties: Sequence[Party]
) -> bytes:
    company = orjson.loads(core)
    others = [party for party in parties if party.key != key]
    lists = dict(zip(_LISTS, restructurings(parts, others), strict=True))
    return dump_value({**company, **lists})


def without_resolved(changes: Iterable[Change]) -> Iterator[Change]:
    """Yields the changes but those of a list of reorganisations that differs in parties alone."""
    for change in changes:
        if change.field not in _LISTS or _days(change.old) != _days(change.new):
            yield change


def _days(entries: Any) -> set[tuple[str, str | None]]:
    return {(one["type"], one["date"]) for one in entries or ()}
