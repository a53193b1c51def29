"""Upcoming records of a document, and fields that its source cannot tell."""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from common.contracts.company import Company, Status
from common.domain.countries import day_of
from ingest.changes.company_plans import plan_companies
from ingest.changes.states import ApplyContext, Plan, StoredState, Verdict
from ingest.changes.unit_plans import plan_units
from ingest.records.records import (
    MAX_UPCOMING,
    CompanyRecord,
    Raw,
    SourceVersion,
    UnitRecord,
    as_of,
)
from ingest.records.source import parse
from tests.builders.companies import (
    MONDAY,
    TODAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_renamed_record,
    a_unit,
    a_unit_record,
    after,
    company_in,
    unit_in,
)
from tests.builders.planning import PlannedRegister, told


def day(number: int) -> date:
    return TODAY + timedelta(days=number)


def named(raw: Raw, today: date) -> CompanyRecord:
    """Reads a document of names, each with the number of days until it begins."""
    begun = [name for name, days in raw.items() if day(days) <= today]
    later = [day(days) for days in raw.values() if day(days) > today]
    record = a_company_record(a_company(name=begun[-1]))
    return replace(record, next_day=min(later, default=None))


def ending(raw: Raw, today: date) -> UnitRecord:
    """Reads a document of a unit that ends after a number of days."""
    has_ended = day(raw["days"]) <= today
    record = a_unit_record(a_unit(status=Status.ENDED if has_ended else Status.ACTIVE))
    return replace(record, next_day=None if has_ended else day(raw["days"]))


def names(record: Any) -> list[tuple[date, str]]:
    return [(day, company_in(later).name) for day, later in record.upcoming]


def test_a_record_has_those_of_each_later_day() -> None:
    record = parse(named, {"Nu": -30, "Snart": 3, "Siden": 40}, TODAY)

    assert company_in(record).name == "Nu"  # type: ignore[arg-type]
    assert names(record) == [(day(3), "Snart"), (day(40), "Siden")]


def test_a_record_that_stays_has_none() -> None:
    record = parse(named, {"Nu": -30}, TODAY)

    assert isinstance(record, CompanyRecord)
    assert record.upcoming == ()


def test_a_unit_has_its_later_days_too() -> None:
    record = parse(ending, {"days": 5}, TODAY)

    assert isinstance(record, UnitRecord)
    assert [(day, unit_in(later).status) for day, later in record.upcoming] == [
        (day(5), Status.ENDED)
    ]


def test_the_later_days_of_a_document_are_bounded() -> None:
    record = parse(named, {f"Navn {days}": days for days in range(3 * MAX_UPCOMING)}, TODAY)

    assert [when for when, _ in names(record)] == [day(n + 1) for n in range(MAX_UPCOMING)]


@pytest.mark.parametrize(
    "moment, expected",
    [
        (datetime(2026, 1, 1, 22, 59, tzinfo=UTC), date(2026, 1, 1)),
        (datetime(2026, 1, 1, 23, 0, tzinfo=UTC), date(2026, 1, 2)),
        (datetime(2026, 7, 1, 22, 0, tzinfo=UTC), date(2026, 7, 2)),
    ],
)
def test_a_day_begins_at_midnight_in_copenhagen_and_oslo(moment: datetime, expected: date) -> None:
    assert day_of(moment) == expected


def renamed_on(*days: int, version: SourceVersion | None = MONDAY) -> CompanyRecord:
    """A company with another name from each of these days on, the first of which is over."""
    names = {f"Navn {number}": number for number in days}
    record = parse(named, names, TODAY)
    assert isinstance(record, CompanyRecord)
    return replace(record, version=version, digest=b"a document")


def at(number: int) -> ApplyContext:
    """The context of a plan that is made some days later."""
    return ApplyContext(TUESDAY, datetime.combine(day(number), time(12), UTC), publish_events=True)


@pytest.mark.parametrize("before", [(), (5,)], ids=["nothing", "another day"])
def test_what_is_to_come_is_stored_without_an_event(before: tuple[int, ...]) -> None:
    register = PlannedRegister.of(renamed_on(-9, *before))

    plan = plan_companies([renamed_on(-9, 3)], register.known, at(0))

    [write] = plan.upcoming
    assert plan.verdicts == (Verdict.CHANGED,)
    assert (plan.outbox_events, names(write.record)) == ((), [(day(3), "Navn 3")])


def test_what_is_no_longer_to_come_is_deleted() -> None:
    register = PlannedRegister.of(renamed_on(-9, 3))

    plan = plan_companies([renamed_on(-9)], register.known, at(0))

    assert [write.record.upcoming for write in plan.upcoming] == [()]
    assert plan.companies[0].state.upcoming is None


def test_nothing_is_written_of_a_record_that_stays_or_is_unchanged() -> None:
    register, other = PlannedRegister.of(renamed_on(-9, 3)), PlannedRegister.of(renamed_on(-9))

    again = plan_companies([renamed_on(-9, 3)], register.known, at(0))
    renamed = plan_companies([renamed_on(-8)], other.known, at(0))

    assert again == Plan(verdicts=(Verdict.UNCHANGED,))
    assert renamed.upcoming == ()


@pytest.mark.parametrize("version", [MONDAY, None])
def test_on_its_day_the_company_changes_with_one_event(version: SourceVersion | None) -> None:
    document = renamed_on(-9, 3, 40, version=version)
    register = PlannedRegister(after(plan_companies([document], StoredState(), at(0))))
    stored = register.company()
    due = as_of(replace(document, version=stored.version), day(3))

    plan = plan_companies([due], register.known, at(3))

    state = plan.companies[0].state
    assert [event["type"] for event in told(plan)] == ["company.updated"]
    assert (state.version, state.digest) == (stored.version, b"a document")
    assert names(plan.upcoming[0].record) == [(day(40), "Navn 40")]
    assert plan_companies([due], after(plan, register.known), at(3)).writes is False


def test_a_record_that_was_read_the_day_before_is_stored_as_of_today() -> None:
    register = PlannedRegister.of(renamed_on(-9, 3))
    on_its_day = plan_companies([as_of(renamed_on(-9, 3), day(3))], register.known, at(3))

    late = plan_companies([renamed_on(-9, 3)], after(on_its_day, register.known), at(3))

    assert late == Plan(verdicts=(Verdict.UNCHANGED,))


def test_a_document_with_more_days_than_are_kept_is_read_again_after_them() -> None:
    many = renamed_on(*range(3 * MAX_UPCOMING))

    kept, beyond = as_of(many, day(MAX_UPCOMING - 1)), as_of(many, day(MAX_UPCOMING))

    assert (kept.digest, beyond.digest) == (b"a document", None)


def test_a_unit_ends_on_its_day() -> None:
    unit = parse(ending, {"days": 5}, TODAY)
    assert isinstance(unit, UnitRecord)
    register = PlannedRegister.of(a_company_record(a_company()), unit)

    plan = plan_units([as_of(unit, day(5))], register.known, at(5))

    assert [event["type"] for event in told(plan)] == ["production_unit.ended"]
    assert [write.record.upcoming for write in plan.upcoming] == [()]


def without(record: Any, *fields: str) -> Any:
    return replace(record, unknown=frozenset(fields))


def test_what_a_source_cannot_tell_stays() -> None:
    company = a_company(former_names=("Eldre AS",), website="example.com", phone="22334455")
    register = PlannedRegister.of(a_company_record(company, phones=("22334455",)))
    blank = a_company_record(a_company(), version=TUESDAY)

    same = register.plan(without(blank, "former_names", "website", "phone", "phones"))
    erased = register.plan(blank)
    renamed = register.plan(
        without(a_renamed_record("Ny AS"), "former_names", "website", "phone", "phones")
    )

    assert same == Plan(verdicts=(Verdict.UNCHANGED,))
    assert {c["field"] for e in told(erased) for c in e["data"]["changes"]} == {
        "former_names", "website", "phone",
    }  # fmt: skip
    [changed] = renamed.companies
    assert [c["field"] for e in told(renamed) for c in e["data"]["changes"]] == ["name"]
    assert company.model_copy(update={"name": "Ny AS"}) == Company.model_validate_json(
        changed.state.core or b""
    )
    assert changed.state.held_names == ("Prøvefabrikken ApS",)


def test_what_a_source_cannot_tell_of_a_unit_stays() -> None:
    known = a_unit(website="example.com", email="nord@example.com")
    register = PlannedRegister.of(a_company_record(), a_unit_record(known))
    blank = without(a_unit_record(a_unit(email="syd@example.com"), version=TUESDAY), "website")

    plan = register.plan(blank)

    assert [c["field"] for e in told(plan) for c in e["data"]["changes"]] == ["email"]


def test_a_status_that_turned_does_not_have_the_day_of_the_one_before() -> None:
    bankrupt = a_company(status=Status.BANKRUPT, status_since="2026-02-01")
    register = PlannedRegister.of(a_company_record(bankrupt))
    still, ended = (
        without(a_company_record(a_company(status=status)), "status_since")
        for status in (Status.BANKRUPT, Status.ENDED)
    )

    same, turned = register.plan(still), register.plan(ended)

    assert same == Plan(verdicts=(Verdict.UNCHANGED,))
    [event] = told(turned)
    fields = [change["field"] for change in event["data"]["changes"]]
    assert (event["type"], fields) == ("company.status_changed", ["status", "status_since"])
