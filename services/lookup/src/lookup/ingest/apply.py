"""Bringing records into the register: what is stored is read, a plan is made and written whole."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from common.contracts.company import CompanyKey, UnitKey
from lookup.ingest.planning.companies import plan_companies, plan_owners
from lookup.ingest.planning.participants import plan_participants
from lookup.ingest.planning.states import ApplyContext, Known, Plan, Verdict
from lookup.ingest.planning.units import movers, plan_units
from lookup.ingest.records import (
    CompanyRecord,
    OwnersRecord,
    ParticipantRecord,
    SourceVersion,
    UnitRecord,
)


class Conflict(Exception):
    """Somebody else changed what a plan was made from; nothing of it was written."""


class RegisterWriter(Protocol):
    """The stored registers, for those that load them. Every method may raise `Unavailable`."""

    async def known(
        self, *, companies: Collection[CompanyKey] = (), units: Collection[UnitKey] = ()
    ) -> Known:
        """What is stored of these, of the companies behind the units, and their tombstones."""

    async def known_participants(
        self, identifiers: Collection[str], holders: Collection[CompanyKey | UnitKey]
    ) -> Known:
        """What is stored of these identifiers and of all who hold them or are to hold them."""

    async def with_all_participants(
        self, known: Known, holders: Collection[CompanyKey | UnitKey]
    ) -> Known:
        """The same, with every identifier of these companies, their units, and of these units."""

    async def write(self, plan: Plan) -> None:
        """All of the plan or nothing; raises Conflict when it was made from an older state."""

    async def remove(self, key: CompanyKey, *, at: datetime, publish_events: bool) -> bool:
        """Purges a company with all that belongs to it and leaves a tombstone; False if unknown.

        What was to be told of it is forgotten; with `publish_events` its removal is told instead.
        """


#: How often a plan is made anew because somebody else changed what it was made from.
TRIES = 40

Stored = CompanyRecord | OwnersRecord | UnitRecord | ParticipantRecord


@dataclass(frozen=True, slots=True)
class ApplyRecords:
    """Applies lists of records of one type, in which no record occurs twice."""

    writer: RegisterWriter
    now: Callable[[], datetime]
    #: Seconds to wait before each further try of a plan that met another's.
    waits: Callable[[], Iterator[float]]

    async def __call__(
        self, batch: Sequence[Stored], file_version: SourceVersion, *, publish_events: bool
    ) -> Sequence[Verdict]:
        """One verdict per record, after all that they change is stored with its events.

        Raises `Unavailable`, and Conflict when concurrent writers win every try;
        nothing of the list is written then.
        """
        given = ApplyContext(file_version, self.now(), publish_events)
        return (await self.through(lambda: self.plan(batch, given))).verdicts

    async def through(self, make: Callable[[], Awaitable[Plan]]) -> Plan:
        """The plan that was written: it is made anew when others change what it was made from.

        Raises as applying does.
        """
        for _, wait in zip(range(TRIES), self.waits(), strict=False):
            plan = await make()
            if not plan.writes:
                return plan
            try:
                await self.writer.write(plan)
            except Conflict:
                await asyncio.sleep(wait)
            else:
                return plan
        raise Conflict(f"somebody else kept changing the same records, {TRIES} times")

    async def plan(self, batch: Sequence[Stored], given: ApplyContext) -> Plan:
        """What applying them would write and say, made from what is stored now."""
        companies = [record for record in batch if isinstance(record, CompanyRecord)]
        owners = [record for record in batch if isinstance(record, OwnersRecord)]
        units = [record for record in batch if isinstance(record, UnitRecord)]
        participants = [record for record in batch if isinstance(record, ParticipantRecord)]
        if companies:
            known = await self.writer.known(companies=[r.key for r in companies])
            return plan_companies(companies, known, given)
        if owners:
            known = await self.writer.known(companies=[r.key for r in owners])
            return plan_owners(owners, known, given)
        if units:
            known = await self.writer.known(
                units=[r.key for r in units], companies=[r.company for r in units if r.company]
            )
            if given.publish_events:
                known = await self._with_identifiers(movers(units, known), known)
            return plan_units(units, known, given)
        return await self._plan_participants(participants, given)

    async def _with_identifiers(self, moving: Sequence[UnitRecord], known: Known) -> Known:
        """What is known, with all identifiers of companies whose list changes by a moving unit."""
        if not moving:
            return known
        held = await self.writer.with_all_participants(known, [unit.key for unit in moving])
        holders = {state.holder for state in held.participants.values()}
        taking = [unit for unit in moving if unit.key in holders]
        if not taking:
            return known
        left = (known.units.get(unit.key) for unit in taking)
        companies = {unit.company for unit in taking} | {unit.company for unit in left if unit}
        concerned: set[CompanyKey | UnitKey] = {unit.key for unit in taking}
        concerned |= {company for company in companies if company is not None}
        return await self.writer.with_all_participants(known, concerned)

    async def _plan_participants(
        self, records: Sequence[ParticipantRecord], given: ApplyContext
    ) -> Plan:
        known = await self.writer.known_participants(
            [r.identifier for r in records], [r.holder for r in records if r.holder]
        )
        plan = plan_participants(records, known, given)
        if plan.bumps and given.publish_events:
            # A change is told as the company's whole list; only then is all of it read.
            known = await self.writer.with_all_participants(known, [b.key for b in plan.bumps])
            plan = plan_participants(records, known, given)
        return plan


def identity(record: Stored) -> str:
    """What two records of the same thing have in common."""
    return record.identifier if isinstance(record, ParticipantRecord) else record.key


def touched(record: Stored) -> Iterator[str]:
    """What a record writes to: itself and the company whose revision it raises."""
    yield identity(record)
    if isinstance(record, UnitRecord) and record.company is not None:
        yield record.company
    if isinstance(record, ParticipantRecord) and record.holder is not None:
        yield record.holder
