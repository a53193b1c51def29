"""Removes identifiers that a complete export lacks: the directory reports no removals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lookup.changes.participants import plan_vanished
from lookup.changes.states import ApplyContext, Plan
from lookup.following.responses import RegisterFault
from lookup.following.seen_keys import SeenKeys
from lookup.loading.batches import BATCH, Piece, Tally
from lookup.loading.stores import Stores
from lookup.records.records import RawDocument, SourceVersion
from lookup.records.source import RegisterSource

#: Up to this many identifiers may be missing; more only up to half of the stored ones.
_ALWAYS_CREDIBLE: Final = 100


@dataclass
class SeenIdentifiers:
    """Records the identifiers in a file while it is read, those of all countries."""

    present: SeenKeys = field(default_factory=SeenKeys)
    #: True if every document of the file could be read.
    is_complete: bool = True

    def recorded(self, documents: Iterator[Piece]) -> Iterator[Piece]:
        """Yields the documents unchanged, and records their identifiers."""
        for document in documents:
            if not isinstance(document, RawDocument):
                self.is_complete = False
            elif document.key is not None:
                self.present.add(document.key)
            yield document


@dataclass(frozen=True, slots=True)
class DropVanished:
    """Drops stored identifiers that a complete export lacks."""

    source: RegisterSource
    stores: Stores

    async def __call__(self, seen: SeenIdentifiers, version: SourceVersion, tally: Tally) -> None:
        """Drops identifiers that were stored before the export was made and are not in it.

        Raises RegisterFault if too many are missing for the export to be complete.
        """
        if not seen.is_complete:
            return
        missing, stored = [], 0
        async for keys in self.stores.parts.keys(self.source, until=version.at):
            stored += len(keys)
            missing += [key for key in keys if key not in seen.present]
        if len(missing) > max(stored // 2, _ALWAYS_CREDIBLE):
            raise RegisterFault(f"the export lacks {len(missing)} of {stored} identifiers")
        publish_events = await self.stores.states.is_loaded(self.source.name)
        context = ApplyContext(version, self.stores.now(), publish_events)
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            plan = await self.stores.apply.through(partial(self._plan, some, context))
            tally.results["vanished"] += len(plan.drops)

    async def _plan(self, identifiers: Sequence[str], context: ApplyContext) -> Plan:
        known = await self.stores.writer.known_participants(identifiers, ())
        return await self.stores.apply.with_lists(
            known, lambda known: plan_vanished(identifiers, known, context), context
        )
