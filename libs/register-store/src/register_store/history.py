"""The history of companies: the changes of each, kept for years, and how a company was on a day.

A change is stored without the company, beside the event about it, which is kept for days only. Of
a list it has the entries that differ and their places, so that the list before can be made again.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

import orjson

from common.contracts.company import CompanyKey
from common.contracts.events import Change, rfc3339
from common.domain.countries import day_of
from common.mongo import Database, Reads, translated_errors
from register_store.documents import (
    COMPANIES,
    HISTORY,
    REVISIONS,
    CompanyRow,
    Document,
    Past,
)
from register_store.events import OutboxEvent

#: The lists of a company that are stored beside its own record.
_LISTS: Final = ("owners", "roles")
#: How a change of a list is stored: with the places of its entries, or of a long list without.
_PLACED, _UNPLACED = 1, 2
#: Changes that are undone in one read.
_BATCH = 500
#: An id ends with the revision and the number of the change among those of the revision.
_REVISION, _NUMBER = 8, 4


class HistoryPage(NamedTuple):
    """Public entries of the history of a company, newest first."""

    entries: list[dict[str, Any]]
    #: The place of the last entry; None on the last page.
    cursor: str | None


class Knowledge(NamedTuple):
    """Since when a company is known, and the values that its register dates."""

    #: The time from which each change is known; None if none is.
    known_from: datetime | None
    #: The days of each field in order; None if the register dates nothing of the past.
    past: Sequence[Past] | None = None


def history_documents(events: Iterable[OutboxEvent]) -> list[Document]:
    """Returns the documents of changes to companies, from the events about them."""
    documents = []
    numbers: dict[tuple[CompanyKey, int], int] = {}
    for event in events:
        if event.company is None:
            continue
        number = numbers.get((event.company, event.revision), 0)
        numbers[event.company, event.revision] = number + 1
        documents.append(
            {
                "_id": f"{event.company}/{event.revision:0{_REVISION}d}{number:0{_NUMBER}d}",
                "at": event.occurred_at,
                "type": event.type.value,
                **({} if event.unit is None else {"unit": event.unit}),
                "changes": orjson.dumps([_stored(change) for change in event.changes]),
            }
        )
    return documents


def history_of(company: CompanyKey, unit: str | None = None) -> dict[str, Any]:
    """Returns the query of a company's history, or of the part that is about one of its units."""
    # "0" follows "/"
    ids = {"_id": {"$gt": f"{company}/", "$lt": f"{company}0"}}
    return ids if unit is None else {**ids, "unit": unit}


def _stored(change: Change) -> list[Any]:
    old, new = change.old, change.new
    if change.partial:
        return [change.field, old, new, _UNPLACED]
    if not isinstance(old, list) or not isinstance(new, list):
        return [change.field, old, new]
    before, after = ([orjson.dumps(entry) for entry in entries] for entries in (old, new))
    gone, come = list[Any](), list[Any]()
    for kind, first, end, first_new, end_new in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            gone += [[place, old[place]] for place in range(first, end)]
            come += [[place, new[place]] for place in range(first_new, end_new)]
    return [change.field, gone, come, _PLACED]


def _public(stored: Sequence[Any]) -> dict[str, Any]:
    field, old, new, *kind = stored
    if kind == [_PLACED]:
        old, new = ([entry for _, entry in entries] for entries in (old, new))
    return {"field": field, "old": old, "new": new, **({"partial": True} if kind else {})}


def _undo(company: dict[str, Any], stored: Sequence[Any]) -> None:
    """Gives a field of a company the value that it had before a change."""
    path, old, new, *kind = stored
    *parents, name = path.split(".")
    for parent in parents:
        # An object that is absent now was so after a later change, which is already undone.
        company = company[parent]
    if kind == [_PLACED]:
        entries = list(company[name] or ())
        for place, _ in reversed(new):
            del entries[place]
        for place, entry in old:
            entries.insert(place, entry)
        company[name] = entries
    elif kind == [_UNPLACED]:
        left = list(company[name] or ())
        for entry in new:  # Each once, since two equal entries are two.
            if entry in left:
                left.remove(entry)
        company[name] = left + old
    else:
        company[name] = old


class NotKnown(Exception):
    """The service did not know the company on that day, or kept no history yet."""

    def __init__(self, known_from: datetime | None, past: Sequence[Past] | None = None) -> None:
        super().__init__()
        self.known_from = known_from
        #: Earlier changes, by the register's dates.
        self.past = past


@dataclass(frozen=True, slots=True)
class Earlier:
    """A company as it was at the end of a day."""

    row: CompanyRow
    known_from: datetime


class StoredHistory:
    """The history in MongoDB. Every method may raise `Unavailable`."""

    def __init__(self, reads: Reads) -> None:
        self._history = reads[HISTORY]
        self._companies = reads[COMPANIES]
        self._revisions = reads[REVISIONS]

    async def knowledge(self, company: CompanyKey) -> Knowledge:
        """Returns since when a stored company is known, and what its register dates before."""
        # Changes that are older than the retention may be deleted at any time.
        oldest = {"$subtract": ["$$NOW", "$kept_for"]}
        began, stored = await asyncio.gather(
            self._revisions.find_one(
                {"_id": HISTORY, "began": {"$exists": True}},
                {"began": {"$max": ["$began", oldest]}},
            ),
            self._companies.find_one({"_id": company}, {"added_at": 1, "past": 1}),
        )
        listed = (stored or {}).get("past")
        past = None if listed is None else orjson.loads(listed)
        if began is None:
            return Knowledge(None, past)
        added: datetime | None = (stored or {}).get("added_at")
        start: datetime = began["began"]
        return Knowledge(start if added is None else max(start, added), past)

    async def page(
        self,
        company: CompanyKey,
        *,
        limit: int,
        before: str = "",
        since: datetime | None = None,
    ) -> HistoryPage:
        """Returns the changes before a cursor, the newest without one, and since a time."""
        query = history_of(company)
        if before:
            query["_id"]["$lt"] = f"{company}/{before}"
        if since is not None:
            query["at"] = {"$gte": since}
        found = await self._history.find(
            query,
            {"at": 1, "type": 1, "unit": 1, "changes": 1},
            sort=[("_id", -1)],
            limit=limit + 1,
            batch_size=limit + 2,
        )
        entries = [_entry(document) for document in found[:limit]]
        is_last = len(found) <= limit
        return HistoryPage(entries, None if is_last else found[limit - 1]["_id"].partition("/")[2])

    async def as_of(self, company: CompanyKey, row: CompanyRow, day: date) -> Earlier:
        """Returns a company, with its owners and roles, as it was at the end of a day.

        Raises NotKnown.
        """
        known_from, past = await self.knowledge(company)
        if known_from is None or day < day_of(known_from):
            raise NotKnown(known_from, past)
        record = orjson.loads(row.core)
        lists = {name: orjson.loads(getattr(row, name)) for name in _LISTS}
        revision, updated_at = row.revision, row.updated_at
        query = history_of(company)
        # A lookup may have read the company before a change that the history has already.
        query["_id"]["$lt"] = f"{company}/{row.revision + 1:0{_REVISION}d}"
        while documents := await self._history.find(
            query,
            {"at": 1, "unit": 1, "changes": 1},
            sort=[("_id", -1)],
            limit=_BATCH,
            batch_size=_BATCH + 1,
        ):
            for document in documents:
                if day_of(document["at"]) <= day:
                    return Earlier(_row(record, lists, revision, updated_at), known_from)
                revision, updated_at = _revision(document) - 1, None
                if "unit" not in document:
                    for change in reversed(orjson.loads(document["changes"])):
                        is_list = change[0] in _LISTS
                        # E-invoicing identifiers are no part of the company's record.
                        if is_list or change[0].partition(".")[0] in record:
                            _undo(lists if is_list else record, change)
            query["_id"]["$lt"] = documents[-1]["_id"]
        return Earlier(_row(record, lists, revision, updated_at), known_from)


def _row(
    record: Mapping[str, Any],
    lists: Mapping[str, Any],
    revision: int,
    updated_at: datetime | None,
) -> CompanyRow:
    owners, roles = (orjson.dumps(lists[name]) for name in _LISTS)
    return CompanyRow(revision, orjson.dumps(record), owners, roles, updated_at)


def _revision(document: Document) -> int:
    return int(document["_id"].partition("/")[2][:_REVISION])


def _entry(document: Document) -> dict[str, Any]:
    return {
        "time": rfc3339(document["at"]),
        "dated": False,
        "type": document["type"],
        "revision": _revision(document),
        "production_unit": document.get("unit"),
        "changes": [_public(change) for change in orjson.loads(document["changes"])],
    }


async def begin_history(database: Database, at: datetime) -> None:
    """Notes the first change since which the history is kept; may raise `Unavailable`."""
    with translated_errors():
        await database[REVISIONS].update_one(
            {"_id": HISTORY}, [{"$set": {"began": {"$ifNull": ["$began", at]}}}], upsert=True
        )
