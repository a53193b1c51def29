"""Synchronises companies before the records that belong to them, which need them for events."""

from collections.abc import Sequence
from dataclasses import dataclass

from lookup.changes.states import Conflict
from lookup.following.passes import Sync
from lookup.following.telemetry import PassTelemetry
from lookup.loading.batches import Tally
from lookup.loading.stores import Stores
from lookup.records.records import CompanyRecord, OwnersRecord, UnitRecord

#: Passes that another process may overtake; each one begins with a request to the register.
_TRIES = 5

Records = Sequence[CompanyRecord | OwnersRecord | UnitRecord]


@dataclass(frozen=True, slots=True)
class CompaniesFirst:
    """Reads the feed of companies on if new units or owners belong to unknown companies.

    A company and its units are registered together but appear in separate feeds.
    """

    #: The name of the companies' source.
    source: str
    #: One pass over the companies.
    sync: Sync
    telemetry: PassTelemetry
    stores: Stores

    async def __call__(self, records: Records) -> None:
        """Raises Conflict if another process moves the cursor first every time."""
        for left in reversed(range(_TRIES)):
            if not await self._are_missing(records):
                return
            try:
                await self._read_on()
            except Conflict:
                # The other process need not have come to the companies.
                if not left:
                    raise
            else:
                return

    async def _are_missing(self, records: Records) -> bool:
        """True if companies of new records are unknown, and their source is followed."""
        units = [record for record in records if isinstance(record, UnitRecord)]
        owned = [record.key for record in records if isinstance(record, OwnersRecord)]
        known = await self.stores.writer.known(
            companies=[*owned, *(unit.company for unit in units if unit.company)],
            units=[unit.key for unit in units],
        )
        wanted = {*owned, *(unit.company for unit in units if unit.key not in known.units)}
        missing = wanted - {None, *known.companies, *known.tombstones}
        # A source of companies that is not followed is not started here.
        return bool(missing) and await self.stores.cursors.read(self.source) is not None

    async def _read_on(self) -> None:
        tally, begun_at = Tally(), self.stores.now()
        cursor = await self.sync(tally)
        self.telemetry.done(tally, cursor, self.stores.now() - begun_at, moved=True)
