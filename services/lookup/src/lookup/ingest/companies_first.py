"""Companies before what belongs to them: a unit of an unknown company is told to nobody."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lookup.ingest.apply import Conflict, RegisterWriter
from lookup.ingest.records import CompanyRecord, OwnersRecord, UnitRecord
from lookup.ingest.sources import Cursors

Records = Sequence[CompanyRecord | OwnersRecord | UnitRecord]


@dataclass(frozen=True, slots=True)
class CompaniesFirst:
    """Reads the companies' feed on where new units or owners are of companies not known yet.

    A company and its units are registered together, but in feeds that are read one after the other.
    """

    #: One pass over the companies, with a report of its own.
    companies: Callable[[], Awaitable[None]]
    #: The name of their source.
    source: str
    writer: RegisterWriter
    cursors: Cursors

    async def __call__(self, records: Records) -> None:
        units = [record for record in records if isinstance(record, UnitRecord)]
        owned = [record.key for record in records if isinstance(record, OwnersRecord)]
        known = await self.writer.known(
            companies=[*owned, *(unit.company for unit in units if unit.company)],
            units=[unit.key for unit in units],
        )
        wanted = {*owned, *(unit.company for unit in units if unit.key not in known.units)}
        missing = wanted - {None, *known.companies, *known.tombstones}
        # Companies that nobody follows are not begun with here.
        if missing and await self.cursors.read(self.source) is not None:
            # Whoever else has moved their cursor has read the feed on as well.
            with suppress(Conflict):
                await self.companies()


async def nothing_first(_records: Records) -> None:
    """For companies themselves."""
