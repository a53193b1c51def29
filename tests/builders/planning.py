"""A register in memory: what is planned of records is stored at once, with its events."""

from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from common.contracts.company import CompanyKey
from ingest.changes.company_plans import plan_companies, plan_owners
from ingest.changes.states import ApplyContext, CompanyState, Plan, StoredState
from ingest.changes.unit_plans import plan_participants, plan_units, plan_vanished
from ingest.records.records import CompanyRecord, OwnersRecord, SourceVersion, Stored, UnitRecord
from tests.builders.companies import MONDAY, after


def told(plan: Plan) -> list[dict[str, Any]]:
    """The published events of a plan."""
    return [orjson.loads(event.body) for event in plan.outbox_events]


@dataclass
class PlannedRegister:
    known: StoredState = field(default_factory=StoredState)
    events: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, *records: Stored) -> "PlannedRegister":
        """Loaded with these, one after the other and without events."""
        register = cls()
        for record in records:
            register.take(record, publish_events=False)
        return register

    def plan(self, *records: Stored | str, **context: Any) -> Plan:
        """The plan for records of one type, or about identifiers that vanished."""
        given = self._context(**context)
        plans: Any = {CompanyRecord: plan_companies, OwnersRecord: plan_owners}
        plans |= {UnitRecord: plan_units, str: plan_vanished}
        plan: Plan = plans.get(type(records[0]), plan_participants)(records, self.known, given)
        return plan

    def take(self, *records: Stored | str, **context: Any) -> Plan:
        """The same, done."""
        plan = self.plan(*records, **context)
        self.known = after(plan, self.known)
        self.events += told(plan)
        return plan

    def company(self, key: str = "dk:12345674") -> CompanyState:
        return self.known.companies[CompanyKey.parse(key)]

    def replace_company(self, key: str = "dk:12345674", **fields: Any) -> None:
        """Stores other fields of a company than were read, as an earlier release did."""
        changed = {CompanyKey.parse(key): replace(self.company(key), **fields)}
        self.known = replace(self.known, companies={**self.known.companies, **changed})

    @staticmethod
    def _context(*, version: SourceVersion = MONDAY, publish_events: bool = True) -> ApplyContext:
        return ApplyContext(version, version.at, publish_events)
