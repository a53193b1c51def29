"""Plans of batches of records, and the events that they publish."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import pytest

from common.contracts.company import CompanyKey, ElectedBy, Employees, Role, Status, UnitKey
from ingest.changes.states import ApplyContext, Bump, DigestUpdate, Plan, StoredState, Verdict
from ingest.changes.unit_plans import plan_unit_removal
from ingest.records.records import SourceVersion, Stored
from ingest.records.source import Part
from register_store.documents import dump_all
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_held_role,
    a_norwegian_record,
    a_participant_record,
    a_renamed_record,
    a_unit,
    a_unit_record,
    an_owner,
    an_owners_record,
)
from tests.builders.planning import PlannedRegister, told

KEY = CompanyKey.parse("dk:12345674")
NORWEGIAN = CompanyKey.parse("no:987654321")
ELSEWHERE = CompanyKey.parse("dk:87654321")
UNIT = UnitKey.parse("dk:1012345678")
#: Digests of documents.
ONE, OTHER = b"a document", b"another one"


#: Pairs of documents with the register's own version, which differ.
SAME_VERSION: list[tuple[Stored, Stored]] = [
    (a_company_record(), a_renamed_record(version=MONDAY)),
    (a_unit_record(), a_unit_record(a_unit(name="Prøvefabrikken Syd"))),
    (an_owners_record(an_owner()), an_owners_record(an_owner(name="Bo Prøvesen"))),
]


def changes_of(plan: Plan) -> list[tuple[str, list[str]]]:
    """Type and changed fields of each event."""
    return [
        (body["type"], [change["field"] for change in body["data"]["changes"]])
        for body in told(plan)
    ]


def counted_on(day: str, version: SourceVersion | None = MONDAY, *, count: int = 7) -> Stored:
    employees = Employees(min=count, max=count, exact=count, as_of=day)
    return a_company_record(a_company(employees=employees), version=version)


OWNED = an_owners_record(an_owner())
RENAMED, BOARD = [("company.updated", ["name"])], [("company.updated", ["roles"])]

#: The stored record, the one that is read, its verdict, and each event's type and changed fields.
PLANS: dict[str, tuple[list[Stored], Stored, Verdict, list[tuple[str, list[str]]]]] = {
    "new": ([], a_company_record(owners=[an_owner()]), Verdict.NEW, [("company.created", [])]),
    "same": ([a_company_record()], a_company_record(version=TUESDAY), Verdict.UNCHANGED, []),
    "newer": ([a_company_record()], a_renamed_record(), Verdict.CHANGED, RENAMED),
    "of the same time with a higher sequence": (
        [a_company_record(version=SourceVersion(MONDAY.at, 1))],
        a_renamed_record(version=SourceVersion(MONDAY.at, 2)),
        Verdict.CHANGED,
        RENAMED,
    ),
    "a second phone number": (
        [a_company_record()],
        a_company_record(phones=("12345678", "87654321"), version=TUESDAY),
        Verdict.CHANGED,
        [],
    ),
    "another number of employees": (
        [counted_on("2026-01-31")],
        counted_on("2026-02-28", TUESDAY, count=8),
        Verdict.CHANGED,
        [("company.updated", [f"employees.{name}" for name in ("min", "max", "exact", "as_of")])],
    ),
    "owners of an unknown company": ([], OWNED, Verdict.NEW, []),
    "owners": ([a_norwegian_record()], OWNED, Verdict.NEW, [("owners.changed", ["owners"])]),
    "a changed board": (
        [a_norwegian_record(), OWNED],
        an_owners_record(an_owner(), roles=[a_held_role()], version=TUESDAY),
        Verdict.CHANGED,
        BOARD,
    ),
    "a Danish board of the same version": (
        [a_company_record()],
        a_company_record(roles=[a_held_role()]),
        Verdict.CHANGED,
        [],
    ),
    "a changed Danish board": (
        [a_company_record(roles=[])],
        a_company_record(a_company(phone="12345678"), roles=[a_held_role()], version=TUESDAY),
        Verdict.CHANGED,
        [("company.updated", ["phone", "roles"])],
    ),
    "a unit of an unknown company": ([], a_unit_record(), Verdict.NEW, []),
}


@pytest.mark.parametrize("stored, record, verdict, events", PLANS.values(), ids=PLANS)
def test_a_record_has_a_verdict_and_its_events(
    stored: list[Stored], record: Stored, verdict: Verdict, events: list[tuple[str, list[str]]]
) -> None:
    register = PlannedRegister.of(*stored)

    plan = register.plan(record)

    assert plan.verdicts == (verdict,)
    assert changes_of(plan) == events
    for write in plan.companies:
        before = register.known.companies.get(write.key)
        assert write.expected == (before and before.revision)
        assert write.state.revision == (before.revision if before else 0) + write.state.is_known
    assert plan.writes is (verdict is not Verdict.UNCHANGED)
    assert plan.bumps == ()


def test_a_new_company_has_only_a_created_event() -> None:
    plan = PlannedRegister().plan(a_company_record(owners=(an_owner(),)))

    [body] = told(plan)
    assert body["type"] == "company.created"
    assert (body["country"], body["vat"], body["revision"]) == ("dk", "12345674", 1)
    assert body["data"]["company"]["name"] == "Prøvefabrikken ApS"
    assert body["data"]["company"]["revision"] == 1
    assert body["data"]["changes"] == []
    assert "production_unit" not in body["data"]


@pytest.mark.parametrize("version,file", [(MONDAY, TUESDAY), (None, MONDAY), (None, TUESDAY)])
def test_a_different_record_that_is_older_or_of_the_same_file_is_stale(
    version: SourceVersion | None, file: SourceVersion
) -> None:
    register = PlannedRegister.of(a_company_record(version=TUESDAY))

    plan = register.plan(a_renamed_record(version=version), version=file)

    assert plan == Plan(verdicts=(Verdict.STALE,))


@pytest.mark.parametrize("records", SAME_VERSION, ids=lambda records: type(records[0]).__name__)
def test_of_two_documents_of_one_version_of_the_register_the_one_read_later_wins(
    records: tuple[Stored, Stored],
) -> None:
    stored, other = records
    register = PlannedRegister.of(stored)

    there, back = register.take(other), register.take(stored)

    assert (there.verdicts, back.verdicts) == ((Verdict.CHANGED,), (Verdict.CHANGED,))


@pytest.mark.parametrize(
    "names,held",
    [
        (["Gammelt Navn AS", "Nyt Navn AS"], ("Gammelt Navn AS",)),
        (["Eldst AS", "Eldre AS", "Ny AS"], ("Eldre AS", "Eldst AS")),
        (["Eldst AS", "Eldre AS", "Eldst AS"], ("Eldre AS",)),
    ],
)
def test_a_name_that_was_stored_before_a_rename_is_held(
    names: list[str], held: tuple[str, ...]
) -> None:
    register = PlannedRegister()
    for day, name in enumerate(names, 1):
        register.take(
            a_renamed_record(name, version=SourceVersion(datetime(2026, 3, day, tzinfo=UTC)))
        )

    again = register.plan(a_renamed_record(names[-1]))

    assert register.company().held_names == held
    assert again == Plan(verdicts=(Verdict.UNCHANGED,))


def test_earlier_names_are_held_as_far_as_there_is_room() -> None:
    register = PlannedRegister.of(a_company_record(a_company(name="A" * 20_000)))

    for number, letter in enumerate("BCD", start=1):
        version = SourceVersion(MONDAY.at, number)
        renamed = a_company_record(a_company(name=letter * 20_000), version=version)
        register.take(renamed)

    assert [name[0] for name in register.company().held_names] == ["C"]


def test_no_name_is_held_where_the_register_lists_former_names() -> None:
    register = PlannedRegister.of(a_company_record())

    register.take(a_renamed_record(former_names=("Prøvefabrikken ApS",)))

    assert register.company().held_names == ()


def stored_by_an_earlier_release(version: SourceVersion) -> PlannedRegister:
    """Of the company as it is read now, before it had all of its fields."""
    register = PlannedRegister.of(a_company_record(version=version))
    core = orjson.loads(register.company().core or b"")
    del core["registered"], core["accounts"]
    register.replace_company(core=orjson.dumps(core))
    return register


def test_a_company_of_an_earlier_release_is_updated_from_the_same_document() -> None:
    register = stored_by_an_earlier_release(TUESDAY)
    same = a_company_record(a_company(accounts="2024"), version=TUESDAY)

    plan = register.plan(same, version=TUESDAY)

    [write] = plan.companies
    assert plan.verdicts == (Verdict.CHANGED,)
    assert (write.state.core, write.state.revision) == (same.core, 2)
    assert write.updated_at is None, "the register changed nothing"
    assert plan.outbox_events == ()


def test_a_real_change_beside_newly_read_fields_is_published_alone() -> None:
    register = stored_by_an_earlier_release(MONDAY)

    plan = register.plan(a_renamed_record(accounts="2024"), version=TUESDAY)

    assert changes_of(plan) == [("company.updated", ["name"])]
    assert plan.companies[0].updated_at == TUESDAY.at


def test_an_older_document_never_replaces_a_company_of_an_earlier_release() -> None:
    register = stored_by_an_earlier_release(TUESDAY)

    plan = register.plan(a_renamed_record(version=MONDAY), version=TUESDAY)

    assert plan.verdicts == (Verdict.STALE,)


def test_version_and_update_time_are_the_records_or_its_files() -> None:
    told_at = datetime(2026, 3, 1, tzinfo=UTC)
    dated = dataclasses.replace(a_company_record(version=TUESDAY), updated_at=told_at)

    [own] = PlannedRegister().plan(dated, version=MONDAY).companies
    [files] = PlannedRegister().plan(a_company_record(version=None), version=TUESDAY).companies

    assert (own.state.version, own.updated_at) == (TUESDAY, told_at)
    assert (files.state.version, files.updated_at) == (TUESDAY, TUESDAY.at)


def test_a_removed_company_or_unit_stays_out_with_all_that_belongs_to_it() -> None:
    company, unit = (
        PlannedRegister(StoredState(tombstones={KEY})),
        PlannedRegister.of(a_company_record()),
    )
    unit.known = dataclasses.replace(unit.known, tombstones={UNIT})

    plans = [
        company.plan(a_company_record()),
        company.plan(a_unit_record()),
        company.plan(a_participant_record()),
        unit.plan(a_unit_record()),
        unit.plan(a_participant_record(holder=UNIT)),
    ]

    assert plans == [Plan(verdicts=(Verdict.REMOVED,))] * 5


def test_owners_are_stored_before_their_company() -> None:
    register = PlannedRegister.of(an_owners_record(an_owner()))
    waiting = register.company(NORWEGIAN)

    plan = register.plan(a_norwegian_record())

    assert (waiting.is_known, waiting.revision) == (False, 0)
    assert plan.verdicts == (Verdict.NEW,)
    assert (plan.companies[0].expected, plan.companies[0].state.revision) == (0, 1)
    assert plan.companies[0].state.owners == waiting.owners


def test_empty_roles_are_stored_without_an_event() -> None:
    register = PlannedRegister.of(a_norwegian_record(), an_owners_record())

    state = register.company(NORWEGIAN)
    assert (state.owners, state.roles) == (b"null", b"[]")
    assert register.plan(an_owners_record()).verdicts == (Verdict.UNCHANGED,)


def test_roles_that_an_earlier_release_did_not_read_are_stored_without_an_event() -> None:
    register = PlannedRegister.of(a_norwegian_record(), an_owners_record(an_owner()))
    register.replace_company(NORWEGIAN, roles=None)
    same = an_owners_record(an_owner(), roles=[a_held_role()])

    plan = register.plan(same)

    assert plan.verdicts == (Verdict.CHANGED,)
    assert plan.companies[0].state.roles == same.role_list
    assert plan.outbox_events == ()


SEAT = a_held_role(role="board_member")
DATED_SEAT = SEAT.model_copy(update={"group_changed": "2026-05-04"})
ELECTED = SEAT.model_copy(update={"elected_by": ElectedBy.EMPLOYEES})
#: The stored board, that which the release before read in the new document, the new one, and the
#: changed lists of its event.
BOARDS: dict[str, tuple[list[Role], list[Role] | None, list[Role], list[str]]] = {
    "what only the release before read otherwise": ([SEAT], [SEAT], [SEAT, SEAT], []),
    "what differs from both readings": ([], [SEAT], [SEAT, SEAT], ["roles"]),
    "what both read alike": ([SEAT], None, [], ["roles"]),
    "the day of its group alone": ([SEAT], None, [DATED_SEAT], []),
    "whoever elected its member": ([DATED_SEAT], None, [ELECTED], ["roles"]),
    "a member of a long list": ([DATED_SEAT] * 150, None, [*[SEAT] * 150, ELECTED], ["roles"]),
}


@pytest.mark.parametrize("stored, before, now, events", BOARDS.values(), ids=BOARDS)
def test_a_board_that_only_an_earlier_release_read_otherwise_has_not_changed(
    stored: list[Role], before: list[Role] | None, now: list[Role], events: list[str]
) -> None:
    earlier = None if before is None else {"owners": b"null", "roles": dump_all(before)}
    read = dataclasses.replace(an_owners_record(roles=now), earlier=earlier)
    register = PlannedRegister.of(a_norwegian_record(), an_owners_record(roles=stored))
    register.replace_company(NORWEGIAN, owners_reading=0)

    of_the_same_file = register.plan(dataclasses.replace(read, version=None))
    newer = register.plan(dataclasses.replace(read, version=TUESDAY))

    for plan in (of_the_same_file, newer):
        assert plan.verdicts == (Verdict.CHANGED,)
        assert [field for _, fields in changes_of(plan) for field in fields] == events


def test_the_change_of_a_long_list_has_no_entries_of_which_only_the_day_of_the_group_differs() -> (
    None
):
    register = PlannedRegister.of(a_norwegian_record(), an_owners_record(roles=[DATED_SEAT] * 150))

    plan = register.plan(
        dataclasses.replace(an_owners_record(roles=[*[SEAT] * 150, ELECTED]), version=TUESDAY)
    )

    [event] = plan.outbox_events
    [change] = orjson.loads(event.body)["data"]["changes"]
    assert (change["old"], [one["elected_by"] for one in change["new"]]) == ([], ["employees"])


def test_a_member_with_the_name_of_another_who_comes_or_goes_is_an_event() -> None:
    one, two = an_owners_record(roles=[SEAT]), an_owners_record(roles=[SEAT, SEAT])
    two = dataclasses.replace(two, earlier={"roles": one.role_list, "owners": b"null"})

    plans = [
        PlannedRegister.of(a_norwegian_record(), before).plan(after)
        for before, after in ((one, two), (two, one))
    ]

    assert [changes_of(plan) for plan in plans] == [BOARD, BOARD]


def test_the_same_danish_document_that_is_read_otherwise_has_no_event_but_a_newer_one_has() -> None:
    stored = dataclasses.replace(a_company_record(), digest=ONE)
    read = dataclasses.replace(a_renamed_record(version=MONDAY), digest=OTHER)
    plans = []
    for record in (read, a_renamed_record(version=TUESDAY)):
        register = PlannedRegister.of(stored)
        register.replace_company(reading=0)
        plans.append(register.plan(record))

    assert [plan.verdicts for plan in plans] == [(Verdict.CHANGED,)] * 2
    assert [changes_of(plan) for plan in plans] == [[], RENAMED]
    assert [plan.companies[0].updated_at is None for plan in plans] == [True, False]


def test_a_field_of_a_company_that_only_an_earlier_release_read_otherwise_has_not_changed() -> None:
    register = PlannedRegister.of(a_company_record(a_company(phone="12345678")))
    register.replace_company(reading=0)
    read = a_renamed_record(version=TUESDAY)
    read = dataclasses.replace(read, earlier={"phone": "12345678"})

    plan = register.plan(read)

    assert changes_of(plan) == RENAMED


def test_units_raise_the_revision_of_their_company_once_per_batch() -> None:
    register = PlannedRegister.of(a_company_record())
    units = [a_unit_record(a_unit(number=number)) for number in ("1012345678", "1012345679")]

    plan = register.plan(*units)

    assert plan.verdicts == (Verdict.NEW, Verdict.NEW)
    assert plan.bumps == (Bump(KEY, expected=1),)
    assert changes_of(plan) == [("production_unit.created", [])] * 2
    assert {event.revision for event in plan.outbox_events} == {2}
    assert len({event.id for event in plan.outbox_events}) == 2
    assert told(plan)[0]["data"]["production_unit"]["number"] == "1012345678"


def test_a_unit_that_moves_changes_both_companies() -> None:
    other = a_company_record(a_company(vat="87654321"))
    register = PlannedRegister.of(a_company_record(), other, a_unit_record(company="87654321"))

    plan = register.plan(a_unit_record(version=TUESDAY))

    assert set(plan.bumps) == {Bump(KEY, expected=1), Bump(ELSEWHERE, expected=2)}


def test_an_identifier_of_a_unit_raises_the_revision_of_its_company() -> None:
    register = PlannedRegister.of(a_company_record(), a_unit_record())

    plan = register.plan(a_participant_record("0096:1012345678", holder=UNIT))

    assert plan.bumps == (Bump(KEY, expected=2),)


def test_an_ended_company_ranks_behind_every_active_one() -> None:
    big_but_ended = a_company_record(a_company(status=Status.ENDED, vat="10000009"))
    small = a_company_record(a_company(vat="10000017"))

    ended, active = PlannedRegister().plan(big_but_ended, small).companies

    assert active.rank is not None
    assert ended.rank is not None
    assert active.rank < ended.rank


GLN = "0088:5790000000005"


def with_identifiers(*others: tuple[str, str]) -> PlannedRegister:
    """A company with a unit, a GLN, and these identifiers with their holders."""
    held = (a_participant_record(identifier, holder=holder) for identifier, holder in others)
    return PlannedRegister.of(a_company_record(), a_unit_record(), a_participant_record(), *held)


def listed(plan: Plan) -> tuple[list[str], list[str]]:
    """The identifiers before and after the last event."""
    [change] = told(plan)[-1]["data"]["changes"]
    old, new = ([entry["identifier"] for entry in change[version]] for version in ("old", "new"))
    return old, new


def test_a_changed_identifier_publishes_the_companys_whole_list() -> None:
    plan = with_identifiers().plan(a_participant_record("0184:12345674", holder=KEY))

    assert listed(plan) == ([GLN], [GLN, "0184:12345674"])


def glns(count: int) -> list[tuple[str, CompanyKey]]:
    """So many identifiers of the company."""
    return [(f"0088:{number:013d}", KEY) for number in range(count)]


def listed_in(plan: Plan) -> list[tuple[int, int, bool]]:
    """The numbers of entries before and after each event, and if these are those that differ."""
    changes = [change for event in told(plan) for change in event["data"]["changes"]]
    return [(len(c["old"]), len(c["new"]), c.get("partial", False)) for c in changes]


@pytest.mark.parametrize(
    "held,come,events",
    [
        (0, 100, [(0, 100, False)]),
        (0, 101, [(0, 100, True), (0, 1, True)]),
        (100, 1, [(0, 1, True)]),
        (1, 250, [(0, 100, True), (0, 100, True), (0, 50, True)]),
    ],
)
def test_events_of_a_long_list_have_the_entries_that_differ(
    held: int, come: int, events: list[tuple[int, int, bool]]
) -> None:
    identifiers = [a_participant_record(name, holder=holder) for name, holder in glns(held + come)]
    register = PlannedRegister.of(a_company_record(), *identifiers[:held])

    plan = register.plan(*identifiers[held:])

    assert listed_in(plan) == events
    assert len({event["id"] for event in told(plan)}) == len(events)


def test_only_the_identifiers_that_change_are_read_of_a_long_list() -> None:
    (name, _), (other, _) = glns(2)
    register = PlannedRegister.of(a_company_record(), a_participant_record(name, holder=KEY))
    register.known = dataclasses.replace(register.known, long_lists={KEY})

    changed = a_participant_record(name, holder=KEY, registered="2026-03-02", version=TUESDAY)
    plan = register.plan(changed, a_participant_record(other, holder=KEY))

    assert listed_in(plan) == [(1, 2, True)]


def test_vanished_identifiers_publish_the_remaining_list() -> None:
    plan = with_identifiers(("0184:12345674", KEY)).plan("0184:12345674")

    assert listed(plan) == ([GLN, "0184:12345674"], [GLN])


def test_an_identifier_that_is_newer_than_the_export_has_not_vanished() -> None:
    register = PlannedRegister.of(a_company_record(), a_participant_record(version=TUESDAY))

    assert not register.plan(GLN, version=MONDAY).writes


def test_a_removed_unit_has_an_ended_event_with_its_number_only() -> None:
    register = with_identifiers(("0096:1012345678", UNIT))

    plan = plan_unit_removal(
        UNIT, register.known, ApplyContext(TUESDAY, TUESDAY.at, publish_events=True)
    )

    ended, _ = told(plan)
    unit = ended["data"]["production_unit"]
    said = {"number": "1012345678", "name": None, "main": None, "status": "ended"}
    assert changes_of(plan) == [
        ("production_unit.ended", []),
        ("einvoicing.changed", ["einvoicing"]),
    ]
    lists: dict[str, list[str]] = {
        name: [] for name in ("former_names", "phones", "secondary_industries")
    }
    assert unit == {**dict.fromkeys(unit), **lists, **said}
    assert listed(plan)[1] == [GLN]
    assert [drop.key for drop in plan.drops] == ["0096:1012345678"]


def test_a_unit_that_was_removed_before_is_not_removed_again() -> None:
    plan = plan_unit_removal(
        UNIT, StoredState(tombstones={UNIT}), ApplyContext(TUESDAY, TUESDAY.at)
    )

    assert not plan.writes


def test_a_change_read_twice_is_one_event_and_a_change_made_twice_is_two() -> None:
    register = PlannedRegister.of(a_company_record())

    once = register.plan(a_renamed_record())
    again = register.take(a_renamed_record())
    back = register.plan(a_company_record(version=SourceVersion(TUESDAY.at, 1)))

    assert [event.id for event in once.outbox_events] == [event.id for event in again.outbox_events]
    assert changes_of(back) == [("company.updated", ["name"])]
    assert back.outbox_events[0].id != once.outbox_events[0].id


COMPANY, OWNERS = a_norwegian_record(), an_owners_record(an_owner())
PARTS: list[Stored] = [COMPANY, OWNERS, a_unit_record(), a_participant_record()]


def digested(record: Stored, digest: bytes | None = ONE) -> Stored:
    return dataclasses.replace(record, digest=digest)


def test_a_changed_document_with_the_same_record_stores_only_its_digest() -> None:
    register = PlannedRegister.of(*(digested(part) for part in PARTS))

    plans = [register.plan(digested(part, OTHER)) for part in PARTS]

    assert register.company(NORWEGIAN).digest == register.company(NORWEGIAN).owners_digest == ONE
    assert plans == [
        Plan(verdicts=(Verdict.UNCHANGED,), digest_updates=(DigestUpdate(*update, OTHER),))
        for update in (
            (Part.COMPANY, NORWEGIAN, 2),
            (Part.OWNERS, NORWEGIAN, 2),
            (Part.UNIT, UNIT, 1),
            (Part.PARTICIPANT, GLN, 1),
        )
    ]


@pytest.mark.parametrize("digest", [ONE, None])
def test_an_unchanged_document_and_a_record_without_one_write_nothing(digest: bytes | None) -> None:
    register = PlannedRegister.of(*(digested(part) for part in PARTS))

    plans = [register.plan(digested(part, digest)) for part in PARTS]

    assert plans == [Plan(verdicts=(Verdict.UNCHANGED,))] * len(PARTS)


def test_a_change_without_a_document_clears_its_digest_and_keeps_that_of_the_owners() -> None:
    register = PlannedRegister.of(digested(COMPANY), digested(OWNERS, OTHER))

    plan = register.plan(a_norwegian_record(name="Nytt Navn AS", version=TUESDAY))

    [write] = plan.companies
    assert plan.verdicts == (Verdict.CHANGED,)
    assert (write.state.digest, write.state.owners_digest) == (None, OTHER)


def test_owners_without_a_company_and_stale_and_removed_records_store_no_digest() -> None:
    waiting, register = PlannedRegister.of(digested(OWNERS)), PlannedRegister.of(digested(COMPANY))
    sunday = SourceVersion(datetime(2026, 3, 1, tzinfo=UTC))
    older = digested(a_norwegian_record(name="Gammelt Navn AS", version=sunday), OTHER)
    removed = PlannedRegister(StoredState(tombstones={NORWEGIAN}))

    assert not waiting.plan(digested(OWNERS, OTHER)).writes
    assert register.plan(older) == Plan(verdicts=(Verdict.STALE,))
    assert not removed.plan(older).writes


def unit_counted_on(day: str, version: SourceVersion | None = MONDAY) -> Stored:
    return a_unit_record(
        a_unit(employees=Employees(min=7, max=7, exact=7, as_of=day)), version=version
    )


@pytest.mark.parametrize("counted", [counted_on, unit_counted_on])
def test_a_new_count_of_the_same_employees_is_stored_and_is_no_change(
    counted: Callable[..., Stored],
) -> None:
    register = PlannedRegister.of(counted("2026-01-31"))
    sunday = SourceVersion(datetime(2026, 3, 1, tzinfo=UTC))

    plan = register.plan(counted("2026-02-28", TUESDAY))
    older = register.plan(counted("2025-12-31", sunday))

    [update] = plan.digest_updates
    assert (plan.verdicts, plan.outbox_events) == ((Verdict.UNCHANGED,), ())
    assert update.core is not None
    assert b'"as_of":"2026-02-28"' in update.core
    assert older == Plan(verdicts=(Verdict.UNCHANGED,))
