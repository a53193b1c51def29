"""Identifiers that a whole export has no longer: the directory has no other word for their end."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from lookup.ingest.apply import ApplyRecords, RegisterWriter
from lookup.ingest.feeds import are_credible
from lookup.ingest.load import BATCH, LoadStates, Piece
from lookup.ingest.planning.participants import plan_vanished
from lookup.ingest.planning.states import ApplyContext, Plan
from lookup.ingest.records import RawDocument, SourceVersion
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.seen_keys import SeenKeys
from lookup.ingest.sources import RegisterFault, StoredKeys
from lookup.ingest.tally import Tally


@dataclass
class Roll:
    """Notes who is in a file while it is read: all that take part in Peppol, wherever they are."""

    present: SeenKeys = field(default_factory=SeenKeys)
    #: Whether it could be told of everybody who they are.
    is_complete: bool = True

    def called(self, documents: Iterator[Piece]) -> Iterator[Piece]:
        for document in documents:
            if not isinstance(document, RawDocument):
                self.is_complete = False
            elif document.key is not None:
                self.present.add(document.key)
            yield document


@dataclass(frozen=True, slots=True)
class DropVanished:
    source: RegisterSource
    apply: ApplyRecords
    writer: RegisterWriter
    keys: StoredKeys
    states: LoadStates
    now: Callable[[], datetime]

    async def __call__(self, roll: Roll, version: SourceVersion, tally: Tally) -> None:
        """Drops what was stored before the export was made and is not in it, and tells of it.

        Raises RegisterFault when too many are missing for the export to be whole.
        """
        if not roll.is_complete:
            return
        missing, stored = [], 0
        async for keys in self.keys.of(self.source, until=version.at):
            stored += len(keys)
            missing += [key for key in keys if key not in roll.present]
        if not are_credible(missing=len(missing), stored=stored):
            raise RegisterFault(f"the export lacks {len(missing)} of {stored} identifiers")
        publish_events = await self.states.is_loaded(self.source.name)
        given = ApplyContext(version, self.now(), publish_events)
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            plan = await self.apply.through(partial(self._plan, some, given))
            tally.results["vanished"] += len(plan.drops)

    async def _plan(self, identifiers: Sequence[str], given: ApplyContext) -> Plan:
        known = await self.writer.known_participants(identifiers, ())
        plan = plan_vanished(identifiers, known, given)
        if plan.bumps and given.publish_events:
            known = await self.writer.with_all_participants(known, [b.key for b in plan.bumps])
            plan = plan_vanished(identifiers, known, given)
        return plan
