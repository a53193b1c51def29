"""How fresh the stored registers are: the cursors and loads of their sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from common.contracts.registers import RegisterSource, SourcesReply, SourcesRequest
from common.mongo import Reads
from register_store.documents import BEGINNING, CURSORS, LOADS


@dataclass(frozen=True, slots=True)
class StoredSources:
    """The sources, as ingest has loaded and read them. Every method may raise `Unavailable`."""

    reads: Reads

    async def all(self) -> tuple[RegisterSource, ...]:
        """Returns how fresh each source is, by name."""
        cursors = await self.reads[CURSORS].find({}, {"until": 1})
        loads = await self.reads[LOADS].find({"state": "loaded"}, {"finished_at": 1})
        until: dict[str, datetime] = {each["_id"]: each["until"] for each in cursors}
        loaded: dict[str, datetime] = {each["_id"]: each["finished_at"] for each in loads}
        return tuple(
            RegisterSource(
                source=name,
                # A first load that goes on has read nothing up to a time.
                current_until=None if until.get(name) == BEGINNING else until.get(name),
                loaded_at=loaded.get(name),
            )
            for name in sorted({*until, *loaded})
        )

    async def __call__(self, requests: Sequence[SourcesRequest]) -> list[SourcesReply]:
        """Answers requests, with one read for all."""
        return [SourcesReply(sources=await self.all())] * len(requests)
