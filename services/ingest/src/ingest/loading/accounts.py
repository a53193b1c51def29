"""Filings of annual accounts are read one by one, and stored in batches."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import structlog

from ingest.changes.accounts import ApplyAccounts, FiledAccounts
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor, Position, Stores
from ingest.records.files import RawRecord
from ingest.records.records import FileBroken, Raw, RecordRejected, Rejected

log = structlog.get_logger()

#: Returns what a record tells of annual accounts; None if it is about something else. Raises
#: RecordRejected.
ReadAccounts = Callable[[Raw], Awaitable[FiledAccounts | None]]

#: Filings in a transaction; each has up to four accounts.
BATCH = 200


async def waits_for(companies: str, stores: Stores, *, source: str) -> Cursor | None:
    """Returns what a pass over accounts ends with before the companies are loaded; None after.

    Another chain makes their first load, so that waiting for it is no fault, and leaves no trace.
    """
    if await stores.states.is_loaded(companies):
        return None
    log.warning("accounts.waiting", source=source, loaded_first=companies)
    at = stores.now()
    return Cursor(Position(at), until=at)


async def store_accounts(
    filed: Sequence[FiledAccounts], apply: ApplyAccounts, tally: Tally, *, publish_events: bool
) -> None:
    """Stores the accounts of filings and counts the verdicts; raises `Unavailable`."""
    if filed:
        verdicts = await apply(filed, publish_events=publish_events)
        tally.results.update(verdict.value for verdict in verdicts)


@dataclass(frozen=True, slots=True)
class LoadAccounts:
    """Loads a file of filings. A file is a part of what a register has, so it completes no load."""

    read: ReadAccounts
    apply: ApplyAccounts

    async def __call__(
        self,
        records: Iterator[RawRecord | Rejected],
        *,
        publish_events: bool,
        refuse: Callable[[Rejected], None],
    ) -> Tally:
        """Loads the intact part of a file; `refuse` receives each refused record.

        Raises `Unavailable`; written accounts stay, and the file can be loaded again.
        """
        tally = Tally()
        while found := await asyncio.to_thread(_next, records, tally):
            filed = [await self._one(each, tally, refuse) for each in found]
            some = [each for each in filed if each is not None]
            await store_accounts(some, self.apply, tally, publish_events=publish_events)
        return tally

    async def _one(
        self, found: RawRecord | Rejected, tally: Tally, refuse: Callable[[Rejected], None]
    ) -> FiledAccounts | None:
        tally.read += 1
        try:
            if isinstance(found, Rejected):
                raise RecordRejected(found.reason)
            filed = await self.read(found.raw)
        except RecordRejected as refusal:
            tally.results["refused"] += 1
            refuse(Rejected(found.number, found.place, str(refusal)))
            return None
        if filed is None:
            tally.results["elsewhere"] += 1
            tally.elsewhere["no annual accounts"] += 1
        return filed


def _next(records: Iterator[RawRecord | Rejected], tally: Tally) -> list[RawRecord | Rejected]:
    found: list[RawRecord | Rejected] = []
    try:
        found.extend(islice(records, BATCH))
    except FileBroken as broken:
        tally.broken = str(broken)
    return found
