"""Applies records to the register: read the stored state, plan, and write the plan atomically."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random

from common.contracts.company import CompanyKey, UnitKey
from common.runtime.tasks import delays
from ingest.changes.company_plans import plan_companies, plan_owners
from ingest.changes.group_plans import plan_group
from ingest.changes.reorganised import numbers_of
from ingest.changes.states import ApplyContext, Conflict, Plan, StoredState, Verdict
from ingest.changes.transaction import StoredRegisterWriter
from ingest.changes.unit_plans import (
    Ended,
    ended_record,
    movers,
    plan_participants,
    plan_units,
)
from ingest.records.records import (
    CompanyRecord,
    GroupRecord,
    OwnersRecord,
    ParticipantRecord,
    RegisteredInError,
    SourceVersion,
    Stored,
    UnitRecord,
)

#: Maximum attempts to plan and write while concurrent writers change the base state: in 70 s, since
#: MongoDB keeps the transaction of a killed process for 60 s.
TRIES = 100


@dataclass(frozen=True, slots=True)
class ApplyRecords:
    """Applies batches of records of one type; no record occurs twice in a batch."""

    writer: StoredRegisterWriter
    now: Callable[[], datetime]

    async def __call__(
        self, batch: Sequence[Stored], file_version: SourceVersion, *, publish_events: bool
    ) -> Sequence[Verdict]:
        """Returns one verdict per record, after the changes are stored with their events.

        Raises `Unavailable`, and Conflict if concurrent writers win every attempt; nothing of the
        batch is written then.
        """
        context = ApplyContext(file_version, self.now(), publish_events)
        return (await self.through(lambda: self.plan(batch, context))).verdicts

    async def through(self, make: Callable[[], Awaitable[Plan]]) -> Plan:
        """Makes and writes a plan, again after each conflict; returns the written plan.

        Raises `Unavailable` and Conflict.
        """
        waits = delays(Random(), first=0.02, max_delay=1.0)  # noqa: S311 (spreads retries)
        for _, wait in zip(range(TRIES), waits, strict=False):
            plan = await make()
            if not plan.writes:
                return plan
            try:
                await self.writer.write(plan)
            except Conflict:
                await asyncio.sleep(wait)
            else:
                return plan
        raise Conflict(f"concurrent changes to the same records, {TRIES} times in a row")

    async def plan(self, batch: Sequence[Stored], context: ApplyContext) -> Plan:
        """Plans a batch on the stored state."""
        companies = [record for record in batch if isinstance(record, CompanyRecord)]
        owners = [record for record in batch if isinstance(record, OwnersRecord)]
        units = [record for record in batch if isinstance(record, UnitRecord)]
        participants = [record for record in batch if isinstance(record, ParticipantRecord)]
        for group in batch:
            if isinstance(group, GroupRecord):
                # Each in a batch of its own.
                known = await self.writer.known_group([group.key, *group.members])
                return plan_group(group, known, context)
        if companies:
            parties = await self.writer.parties(numbers_of(companies))
            known = await self.writer.known(companies={*(r.key for r in companies), *parties})
            return plan_companies(companies, known, context)
        if owners:
            known = await self.writer.known(companies=[r.key for r in owners])
            return plan_owners(owners, known, context)
        if units:
            known = await self.writer.known(
                units=[r.key for r in units], companies=[r.company for r in units if r.company]
            )
            if context.publish_events:
                known = await self._with_identifiers(movers(units, known), known)
            return plan_units(units, known, context)
        known = await self.writer.known_participants(
            [r.key for r in participants], [r.holder for r in participants if r.holder]
        )
        return await self.with_lists(
            known, lambda known: plan_participants(participants, known, context), context
        )

    async def with_lists(
        self, known: StoredState, make: Callable[[StoredState], Plan], context: ApplyContext
    ) -> Plan:
        """Returns the plan for identifiers.

        An event carries the company's list, unless it is long; only then is it read.
        """
        plan = make(known)
        if plan.bumps and context.publish_events:
            changed = [bump.key for bump in plan.bumps]
            plan = make(await self.writer.with_participants(known, changed))
        return plan

    async def ended_by_mistake(
        self, mistakes: Sequence[RegisteredInError], file_version: SourceVersion
    ) -> Sequence[Stored]:
        """Returns what is stored of companies and units that were registered in error, as ended.

        They are not purged: the register may reinstate them, and their revisions then continue.
        Raises `Unavailable`.
        """
        if not mistakes:
            return ()
        known = await self.writer.known(
            companies=[CompanyKey.parse(mistake.key) for mistake in mistakes],
            units=[UnitKey.parse(mistake.key) for mistake in mistakes],
        )
        found = []
        for mistake in mistakes:
            at = mistake.version or file_version
            end = Ended(at.at.date().isoformat(), word="FEJLREGISTRERET")
            ended = ended_record(mistake.key, end, known)
            if ended is not None:
                found.append(replace(ended, version=at))
        return found

    async def _with_identifiers(
        self, moving: Sequence[UnitRecord], known: StoredState
    ) -> StoredState:
        """Returns `known` with the identifiers of the companies that a moving unit affects."""
        if not moving:
            return known
        taking = await self.writer.holders_among([unit.key for unit in moving])
        if not taking:
            return known
        left = (known.units.get(key) for key in taking)
        companies = {unit.company for unit in moving if unit.key in taking}
        companies |= {unit.company for unit in left if unit is not None}
        concerned = [company for company in companies if company is not None]
        return await self.writer.with_participants(known, concerned, moving=taking)


def touched(record: Stored) -> Iterator[str]:
    """Yields the keys that a record writes to: its own and the company whose revision it raises."""
    yield record.key
    if isinstance(record, UnitRecord) and record.company is not None:
        yield record.company
    if isinstance(record, ParticipantRecord) and record.holder is not None:
        yield record.holder
    if isinstance(record, GroupRecord):
        yield from record.members
