"""Plans of batches of records."""

import dataclasses
from datetime import UTC, datetime

import orjson

from common.contracts.company import CompanyKey, Country, Status, UnitKey
from lookup.changes.companies import plan_companies, plan_owners
from lookup.changes.participants import plan_participants
from lookup.changes.states import ApplyContext, Bump, CompanyState, Known, Plan, UnitState, Verdict
from lookup.changes.units import plan_units
from lookup.records.records import OwnersRecord, SourceVersion
from lookup.store.canonical_json import dump
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_held_role,
    a_participant_record,
    a_unit,
    a_unit_record,
    after,
    an_owner,
    an_owners_record,
    unit_in,
)

KEY = CompanyKey.parse("dk:12345674")
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def as_of(version: SourceVersion, *, publish_events: bool = False) -> ApplyContext:
    return ApplyContext(version, NOON, publish_events)


def test_an_unknown_company_is_new_with_revision_one() -> None:
    plan = plan_companies([a_company_record()], Known(), as_of(MONDAY))

    assert plan.verdicts == (Verdict.NEW,)
    assert plan.companies[0].expected is None
    assert plan.companies[0].state.revision == 1


def test_an_unchanged_record_writes_nothing() -> None:
    stored = after(plan_companies([a_company_record()], Known(), as_of(MONDAY)))

    plan = plan_companies([a_company_record(version=TUESDAY)], stored, as_of(MONDAY))

    assert plan.verdicts == (Verdict.UNCHANGED,)
    assert not plan.writes


def test_a_newer_different_record_raises_the_revision() -> None:
    stored = after(plan_companies([a_company_record()], Known(), as_of(MONDAY)))
    renamed = a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY)

    plan = plan_companies([renamed], stored, as_of(MONDAY))

    assert plan.verdicts == (Verdict.CHANGED,)
    assert (plan.companies[0].expected, plan.companies[0].state.revision) == (1, 2)


def renamed_to(*names: str, former_names: tuple[str, ...] = ()) -> list[str]:
    """The names that are held of a company that was called so, one after the other."""
    stored = Known()
    for day, name in enumerate(names, 1):
        company = a_company(name=name, former_names=former_names if day == len(names) else ())
        version = SourceVersion(at=datetime(2026, 3, day, tzinfo=UTC))
        plan = plan_companies([a_company_record(company, version=version)], stored, as_of(MONDAY))
        stored = after(plan)
    return list(stored.companies[KEY].held_names)


def test_a_name_that_was_stored_before_a_rename_is_held() -> None:
    assert renamed_to("Gammelt Navn AS", "Nyt Navn AS") == ["Gammelt Navn AS"]
    assert renamed_to("Eldst AS", "Eldre AS", "Ny AS") == ["Eldre AS", "Eldst AS"]


def test_a_name_that_the_company_has_again_is_not_held() -> None:
    assert renamed_to("Eldst AS", "Eldre AS", "Eldst AS") == ["Eldre AS"]


def test_no_name_is_held_where_the_register_lists_former_names() -> None:
    assert renamed_to("Gammelt Navn", "Nyt Navn", former_names=("Gammelt Navn",)) == []


def test_an_unchanged_company_with_a_held_name_writes_nothing() -> None:
    stored = after(plan_companies([a_company_record()], Known(), as_of(MONDAY)))
    renamed = a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY)
    stored = after(plan_companies([renamed], stored, as_of(MONDAY)))

    plan = plan_companies([renamed], stored, as_of(MONDAY))

    assert plan.verdicts == (Verdict.UNCHANGED,)


def test_a_different_record_that_is_not_newer_is_stale() -> None:
    stored = after(plan_companies([a_company_record(version=TUESDAY)], Known(), as_of(MONDAY)))
    renamed = a_company(name="Gammelt Navn ApS")
    older = a_company_record(renamed, version=MONDAY)
    equal = a_company_record(renamed, version=TUESDAY)

    for record in (older, equal):
        plan = plan_companies([record], stored, as_of(TUESDAY))

        assert plan.verdicts == (Verdict.STALE,)
        assert not plan.writes


def stored_by_an_earlier_release(version: SourceVersion) -> Known:
    """Of the company as it is read now, before it had all of its fields."""
    known = after(plan_companies([a_company_record(version=version)], Known(), as_of(MONDAY)))
    state = known.companies[KEY]
    core = orjson.loads(state.core or b"")
    del core["registered"], core["accounts"]
    return Known(companies={KEY: dataclasses.replace(state, core=orjson.dumps(core))})


def test_a_company_of_an_earlier_release_is_updated_from_the_same_document() -> None:
    stored = stored_by_an_earlier_release(TUESDAY)
    same = a_company_record(a_company(accounts="2024"), version=TUESDAY)

    plan = plan_companies([same], stored, as_of(TUESDAY, publish_events=True))

    assert plan.verdicts == (Verdict.CHANGED,)
    (write,) = plan.companies
    assert (write.state.core, write.state.revision) == (same.core, 2)
    assert write.updated_at is None, "the register changed nothing"
    assert plan.outbox_events == ()


def test_a_real_change_beside_newly_read_fields_is_published_alone() -> None:
    stored = stored_by_an_earlier_release(MONDAY)
    renamed = a_company_record(a_company(accounts="2024", name="Nyt Navn ApS"), version=TUESDAY)

    plan = plan_companies([renamed], stored, as_of(TUESDAY, publish_events=True))

    (event,) = plan.outbox_events
    changes = orjson.loads(event.body)["data"]["changes"]
    assert [change["field"] for change in changes] == ["name"]
    assert plan.companies[0].updated_at == TUESDAY.at


def test_an_older_document_never_replaces_a_company_of_an_earlier_release() -> None:
    older = a_company_record(a_company(name="Gammelt Navn ApS"), version=MONDAY)

    plan = plan_companies([older], stored_by_an_earlier_release(TUESDAY), as_of(TUESDAY))

    assert plan.verdicts == (Verdict.STALE,)


def test_of_two_versions_with_equal_times_the_higher_sequence_is_newer() -> None:
    first, second = SourceVersion(MONDAY.at, 1), SourceVersion(MONDAY.at, 2)
    stored = after(plan_companies([a_company_record(version=first)], Known(), as_of(MONDAY)))
    renamed = a_company_record(a_company(name="Nyt Navn ApS"), version=second)

    plan = plan_companies([renamed], stored, as_of(MONDAY))

    assert plan.verdicts == (Verdict.CHANGED,)


def test_a_record_without_a_version_has_that_of_its_file() -> None:
    plan = plan_companies([a_company_record(version=None)], Known(), as_of(TUESDAY))

    assert plan.companies[0].state.version == TUESDAY
    assert plan.companies[0].updated_at == TUESDAY.at


def test_a_removed_company_stays_out_with_all_that_belongs_to_it() -> None:
    removed = Known(tombstones={KEY})

    plans = [
        plan_companies([a_company_record()], removed, as_of(MONDAY)),
        plan_units([a_unit_record()], removed, as_of(MONDAY)),
        plan_participants([a_participant_record()], removed, as_of(MONDAY)),
    ]

    assert [plan.verdicts for plan in plans] == [(Verdict.REMOVED,)] * 3
    assert not any(plan.writes for plan in plans)


def test_a_removed_unit_stays_out_with_its_identifiers() -> None:
    unit = UnitKey.parse("dk:1012345678")
    known = Known(companies={KEY: CompanyState(revision=4, core=b"{}")}, tombstones={unit})

    plans = [
        plan_units([a_unit_record()], known, as_of(MONDAY)),
        plan_participants([a_participant_record(holder=unit)], known, as_of(MONDAY)),
    ]

    assert [plan.verdicts for plan in plans] == [(Verdict.REMOVED,)] * 2


def test_the_update_time_of_a_company_is_its_records() -> None:
    told_at = datetime(2026, 3, 1, tzinfo=UTC)
    record = dataclasses.replace(a_company_record(version=TUESDAY), updated_at=told_at)

    plan = plan_companies([record], Known(), as_of(TUESDAY))

    assert plan.companies[0].updated_at == told_at
    assert plan.companies[0].state.version == TUESDAY


def test_a_second_phone_number_is_a_change_of_the_company() -> None:
    stored = after(plan_companies([a_company_record()], Known(), as_of(MONDAY)))
    reachable = a_company_record(phones=("12345678", "87654321"), version=TUESDAY)

    plan = plan_companies([reachable], stored, as_of(MONDAY))

    assert plan.verdicts == (Verdict.CHANGED,)


def test_owners_are_stored_before_their_company() -> None:
    owners = after(plan_owners([an_owners_record(an_owner())], Known(), as_of(MONDAY)))
    company = a_company(country=Country.NO, vat="987654321")

    plan = plan_companies([a_company_record(company, owners=None)], owners, as_of(MONDAY))

    waiting = next(iter(owners.companies.values()))
    assert (waiting.is_known, waiting.revision) == (False, 0)
    assert plan.verdicts == (Verdict.NEW,)
    assert plan.companies[0].expected == 0
    assert plan.companies[0].state.revision == 1
    assert plan.companies[0].state.owners == waiting.owners


def test_owners_of_a_known_company_raise_its_revision_and_keep_its_record() -> None:
    company = a_company(country=Country.NO, vat="987654321")
    stored = after(plan_companies([a_company_record(company, owners=None)], Known(), as_of(MONDAY)))

    plan = plan_owners([an_owners_record(an_owner())], stored, as_of(MONDAY))

    [before], [after_it] = stored.companies.values(), [write.state for write in plan.companies]
    assert after_it.revision == before.revision + 1
    assert after_it.core == before.core


NORWEGIAN = CompanyKey.parse("no:987654321")


def a_norwegian_company_with(record: OwnersRecord) -> Known:
    """The stored company with its roles."""
    company = a_company(country=Country.NO, vat="987654321")
    alone = after(plan_companies([a_company_record(company, owners=None)], Known(), as_of(MONDAY)))
    return after(plan_owners([record], alone, as_of(MONDAY)))


def changes_of(plan: Plan) -> list[tuple[str, list[str]]]:
    bodies = (orjson.loads(event.body) for event in plan.outbox_events)
    return [
        (body["type"], [change["field"] for change in body["data"]["changes"]]) for body in bodies
    ]


def test_empty_roles_are_stored_without_an_event() -> None:
    stored = a_norwegian_company_with(an_owners_record())

    assert stored.companies[NORWEGIAN].owners == b"null"
    assert stored.companies[NORWEGIAN].roles == b"[]"
    plan = plan_owners([an_owners_record()], stored, as_of(TUESDAY, publish_events=True))
    assert plan.verdicts == (Verdict.UNCHANGED,)


def test_a_changed_board_is_an_update_of_the_company_and_no_change_of_its_owners() -> None:
    stored = a_norwegian_company_with(an_owners_record(an_owner()))
    appointed = an_owners_record(an_owner(), roles=[a_held_role()], version=TUESDAY)

    plan = plan_owners([appointed], stored, as_of(TUESDAY, publish_events=True))

    assert changes_of(plan) == [("company.updated", ["roles"])]
    assert plan.companies[0].state.revision == stored.companies[NORWEGIAN].revision + 1


def test_roles_that_an_earlier_release_did_not_read_are_stored_without_an_event() -> None:
    known = a_norwegian_company_with(an_owners_record(an_owner()))
    state = dataclasses.replace(known.companies[NORWEGIAN], roles=None)
    same = an_owners_record(an_owner(), roles=[a_held_role()])

    plan = plan_owners(
        [same], Known(companies={NORWEGIAN: state}), as_of(MONDAY, publish_events=True)
    )

    assert plan.verdicts == (Verdict.CHANGED,)
    assert plan.companies[0].state.roles == same.role_list
    assert plan.outbox_events == ()


def test_a_danish_document_of_the_same_version_adds_roles_without_an_event() -> None:
    stored = after(plan_companies([a_company_record()], Known(), as_of(MONDAY)))
    same = a_company_record(roles=[a_held_role()])

    plan = plan_companies([same], stored, as_of(MONDAY, publish_events=True))

    assert plan.companies[0].state.roles == same.role_list
    assert plan.outbox_events == ()


def test_a_changed_danish_board_is_part_of_the_companys_update() -> None:
    first = a_company_record(roles=[])
    stored = after(plan_companies([first], Known(), as_of(MONDAY)))
    later = a_company_record(a_company(phone="12345678"), roles=[a_held_role()], version=TUESDAY)

    plan = plan_companies([later], stored, as_of(TUESDAY, publish_events=True))

    assert changes_of(plan) == [("company.updated", ["phone", "roles"])]


def test_units_raise_the_revision_of_their_company_once_per_batch() -> None:
    known = Known(companies={KEY: CompanyState(revision=4, core=b"{}")})
    units = [a_unit_record(a_unit(number=number)) for number in ("1012345678", "1012345679")]

    plan = plan_units(units, known, as_of(MONDAY))

    assert plan.verdicts == (Verdict.NEW, Verdict.NEW)
    assert plan.bumps == (Bump(KEY, expected=4),)


def test_a_unit_that_moves_changes_both_companies() -> None:
    other = CompanyKey.parse("dk:87654321")
    unit = a_unit_record()
    known = Known(
        companies={
            KEY: CompanyState(revision=4, core=b"{}"),
            other: CompanyState(revision=7, core=b"{}"),
        },
        units={UnitKey.parse(unit.key): UnitState(1, dump(unit_in(unit)), other, (), MONDAY)},
    )

    plan = plan_units([dataclasses.replace(unit, version=TUESDAY)], known, as_of(MONDAY))

    assert set(plan.bumps) == {Bump(KEY, expected=4), Bump(other, expected=7)}


def test_a_unit_of_an_unknown_company_is_stored() -> None:
    plan = plan_units([a_unit_record()], Known(), as_of(MONDAY))

    assert plan.verdicts == (Verdict.NEW,)
    assert plan.bumps == ()


def test_an_identifier_of_a_unit_raises_the_revision_of_its_company() -> None:
    unit = UnitKey.parse("dk:1012345678")
    known = Known(
        companies={KEY: CompanyState(revision=4, core=b"{}")},
        units={unit: UnitState(1, dump(a_unit()), KEY, (), MONDAY)},
    )

    plan = plan_participants(
        [a_participant_record("0096:1012345678", holder=unit)], known, as_of(MONDAY)
    )

    assert plan.bumps == (Bump(KEY, expected=4),)


def test_an_ended_company_ranks_behind_every_active_one() -> None:
    big_but_ended = a_company_record(a_company(status=Status.ENDED, vat="10000009"))
    small = a_company_record(a_company(vat="10000017"))

    ended, active = plan_companies([big_but_ended, small], Known(), as_of(MONDAY)).companies

    assert active.rank is not None
    assert ended.rank is not None
    assert active.rank < ended.rank
