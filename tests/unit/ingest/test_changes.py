"""Differences between two versions, and the events that describe them."""

import copy
from collections.abc import Iterable
from itertools import pairwise
from types import EllipsisType, NoneType
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import (
    Company,
    CompanyKey,
    Country,
    EinvoicingEntry,
    Employees,
    ProductionUnit,
    Share,
    Status,
)
from common.contracts.contract import Contract
from common.contracts.events import Change, EventType
from ingest.changes import differences
from ingest.changes.differences import (
    einvoicing_events,
    owners_events,
    removal,
    roles_changes,
    unit_events,
)
from ingest.changes.states import UnitState, without_count_day
from register_store.documents import completed, dump, dump_all, is_outdated
from register_store.events import PendingEvent
from tests.builders.companies import MONDAY, a_company, a_held_role, a_unit, an_address, an_owner

HOME = CompanyKey.parse("dk:12345674")
ELSEWHERE = CompanyKey.parse("dk:87654321")
TWO_TO_FOUR = {
    "min": 2,
    "max": 4,
    "exact": None,
    **dict.fromkeys(("full_time_equivalents", "as_of", "including_owners")),
}


def values(of: Any) -> st.SearchStrategy[Any]:
    """A few values of a type; of a model with any of them in each of its fields."""
    match get_args(of):
        case ():
            pass
        case (element, EllipsisType()):
            return st.lists(values(element), max_size=2).map(tuple)
        case parts:
            return st.one_of(*(values(part) for part in parts))
    if issubclass(of, Contract):
        fields = of.model_fields.items()
        return st.builds(of, **{name: values(field.annotation) for name, field in fields})
    few: dict[Any, list[Any]] = {
        str: ["A", "B", "æ"],
        int: [0, 1, 2],
        bool: [True, False],
        NoneType: [None],
    }
    return st.sampled_from(few.get(of) or list(of))


companies = values(Company).map(
    lambda one: one.model_copy(update={"country": Country.DK, "vat": "1"})
)
units = values(ProductionUnit).map(lambda one: one.model_copy(update={"number": "1"}))
placed_units = units.map(lambda unit: placed(unit, HOME))


def tree(version: Company | ProductionUnit | bytes) -> dict[str, Any]:
    stored: dict[str, Any] = orjson.loads(version if isinstance(version, bytes) else dump(version))
    return stored


def diff(old: Company | bytes, new: Company) -> tuple[Change, ...]:
    return differences.diff(tree(old), tree(new))


def company_events(old: Company, new: Company) -> tuple[PendingEvent, ...]:
    return differences.company_events(diff(old, new))


def placed(unit: ProductionUnit, company: CompanyKey | None = HOME) -> UnitState:
    return UnitState(1, dump(unit), company, (), MONDAY)


def applied(changes: Iterable[Change], version: dict[str, Any]) -> dict[str, Any]:
    """The company as a receiver of the changes has it."""
    result = copy.deepcopy(version)
    for change in changes:
        *path, name = change.field.split(".")
        target = result
        for step in path:
            target = target[step]
        assert target.get(name) == change.old
        target[name] = change.new
    return result


def said(pending_events: Iterable[PendingEvent]) -> list[tuple[EventType, list[str]]]:
    """Type and changed fields of each event."""
    return [(event.type, [change.field for change in event.changes]) for event in pending_events]


@given(st.lists(companies, min_size=1))
def test_following_all_events_of_a_company_gives_its_last_version(versions: list[Company]) -> None:
    seen = tree(versions[0])

    for old, new in pairwise(versions):
        for pending_event in company_events(old, new):
            seen = applied(pending_event.changes, seen)

    assert seen == tree(versions[-1])


@given(st.lists(placed_units, min_size=1))
def test_following_all_events_of_a_unit_gives_its_last_version(versions: list[UnitState]) -> None:
    seen = tree(versions[0].core)

    for old, new in pairwise(versions):
        for company, pending_event in unit_events(old, new):
            assert (company, pending_event.unit) == (HOME, tree(new.core))
            seen = applied(pending_event.changes, seen)

    assert seen == tree(versions[-1].core)


@given(companies, companies)
def test_events_contain_each_change_once_and_nothing_else(old: Company, new: Company) -> None:
    pending_events = company_events(old, new)

    told = [change for pending_event in pending_events for change in pending_event.changes]
    assert sorted(change.field for change in told) == sorted(c.field for c in diff(old, new))
    assert all(change.old != change.new for change in told)
    assert all(pending_event.changes for pending_event in pending_events)


@pytest.mark.parametrize(
    "old,new,changes",
    [
        (
            {"address": an_address("Prøvevej 1, 1112 København K")},
            {"address": an_address("Prøvevej 2, 1112 København K")},
            {
                "address.street": ("Prøvevej 1", "Prøvevej 2"),
                "address.text": (
                    "Prøvevej 1, 1112 København K",
                    "Prøvevej 2, 1112 København K",
                ),
            },
        ),
        ({}, {"employees": Employees(min=2, max=4)}, {"employees": (None, TWO_TO_FOUR)}),
        ({"employees": Employees(min=2, max=4)}, {}, {"employees": (TWO_TO_FOUR, None)}),
        (
            {"trade_names": ("A",)},
            {"trade_names": ("A", "B")},
            {"trade_names": (["A"], ["A", "B"])},
        ),
        ({"founded": "2003-04-14"}, {}, {"founded": ("2003-04-14", None)}),
    ],
    ids=["inside an object", "new object", "lost object", "list", "lost value"],
)
def test_a_change_has_a_dotted_path_and_the_whole_of_new_and_lost_objects_and_of_lists(
    old: dict[str, Any], new: dict[str, Any], changes: dict[str, tuple[Any, Any]]
) -> None:
    found = diff(a_company(**old), a_company(**new))

    assert {change.field: (change.old, change.new) for change in found} == changes


def test_fields_that_an_earlier_release_did_not_store_are_no_change_until_they_are_stored() -> None:
    stored = tree(a_company(trade_names=("Prøven",)))
    for name in ("registered", "vat_registered", "accounts", "parent", "purpose", "trade_names"):
        del stored[name]
    del stored["address"]["district"]
    earlier, read = orjson.dumps(stored), a_company(purpose="Salg", phone="12345678")

    assert diff(earlier, a_company(accounts="2024", trade_names=("Prøven",))) == ()
    assert diff(earlier, read) == (Change(field="phone", old=None, new="12345678"),)
    assert is_outdated(earlier)
    assert orjson.loads(completed(earlier)).keys() == Company.model_fields.keys()
    assert not is_outdated(completed(earlier))
    assert completed(dump(read)) == dump(read)


def test_only_the_day_of_a_count_of_employees_is_left_out_of_a_comparison() -> None:
    counted = b'{"employees":{"min":1,"as_of":"2026-01-31"},"sector":{"as_of":"2026-01-31"}}'

    assert without_count_day(counted) == {
        "employees": {"min": 1},
        "sector": {"as_of": "2026-01-31"},
    }
    assert without_count_day(b'{"employees":null}') == {"employees": None}


STATUS_CHANGED, UPDATED = EventType.COMPANY_STATUS_CHANGED, EventType.COMPANY_UPDATED


@pytest.mark.parametrize(
    "old,new,events",
    [
        ({}, {}, []),
        (
            {"status_text": "NORMAL"},
            {"status": "bankrupt", "status_text": "UNDER KONKURS"},
            [(STATUS_CHANGED, ["status", "status_text"])],
        ),
        ({}, {"status": "ended", "ended": "2026-03-01"}, [(STATUS_CHANGED, ["status", "ended"])]),
        (
            {},
            {"status": "bankrupt", "name": "Prøvefabrikken ApS under konkurs"},
            [(STATUS_CHANGED, ["status"]), (UPDATED, ["name"])],
        ),
        ({"status_text": "Normal"}, {"status_text": "NORMAL"}, [(UPDATED, ["status_text"])]),
    ],
    ids=["nothing", "bankruptcy", "end", "other changes beside", "another word"],
)
def test_a_changed_status_has_an_event_and_all_other_changes_are_an_update(
    old: dict[str, Any], new: dict[str, Any], events: list[tuple[EventType, list[str]]]
) -> None:
    assert said(company_events(a_company(**old), a_company(**new))) == events


def test_changed_owners_are_published_as_a_list() -> None:
    old, new = dump_all([an_owner()]), dump_all([an_owner(share=Share(min="50", max="66.67"))])

    change = Change(field="owners", old=orjson.loads(old), new=orjson.loads(new))
    assert owners_events(old, new) == (PendingEvent(EventType.OWNERS_CHANGED, (change,)),)


def test_unchanged_owners_have_no_event_and_unknown_ones_count_as_none() -> None:
    one = dump_all([an_owner()])

    assert owners_events(one, one) == ()
    assert owners_events(None, b"[]") == owners_events(b"[]", b"null") == ()
    assert said(owners_events(None, one)) == [(EventType.OWNERS_CHANGED, ["owners"])]


def test_changed_roles_are_published_as_a_list_with_the_companys_update() -> None:
    old, new = dump_all([a_held_role()]), dump_all([a_held_role(name="Bo Prøvesen")])

    (update,) = differences.company_events(
        (*diff(a_company(), a_company(phone="12345678")), *roles_changes(old, new))
    )

    assert said([update]) == [(UPDATED, ["phone", "roles"])]
    assert update.changes[1].new == orjson.loads(new)
    assert roles_changes(old, old) == roles_changes(None, b"[]") == ()


def test_changed_einvoicing_is_published_as_a_list() -> None:
    entry = orjson.loads(dump(EinvoicingEntry(identifier="0184:12345674", scheme="0184")))

    change = Change(field="einvoicing", old=[], new=[entry])
    expected = PendingEvent(EventType.EINVOICING_CHANGED, (change,))
    assert einvoicing_events([], [entry]) == (expected,)


def many(names: Iterable[int]) -> bytes:
    return dump_all([an_owner(name=f"Owner {name}") for name in names])


@pytest.mark.parametrize(
    "old,new,shown",
    [
        (many(range(100)), many(range(1, 101)), (100, 100, False)),
        (many(range(101)), many(range(100)), (1, 0, True)),
        (many(range(100)), many(range(150)), (0, 50, True)),
        (many(range(300)), many(range(1, 301)), (1, 1, True)),
        # One of two equal entries left; only the order changed; short but large.
        (many([*range(200), 7]), many(range(200)), (1, 0, True)),
        (many(range(200)), many(reversed(range(200))), None),
        (many([1]), dump_all([an_owner(name="x" * 600_000)]), (1, 1, True)),
    ],
)
def test_the_change_of_a_long_list_has_the_entries_that_differ(
    old: bytes, new: bytes, shown: tuple[int, int, bool] | None
) -> None:
    events, changes = owners_events(old, new), roles_changes(old, new)

    assert [event.changes for event in events] == [
        (change.model_copy(update={"field": "owners"}),) for change in changes
    ]
    assert [(len(c.old), len(c.new), c.partial) for c in changes] == ([shown] if shown else [])
    assert all(("partial" in change.public()) is change.partial for change in changes)


def test_entries_of_any_size_are_shared_out_over_events() -> None:
    types = ("x" * 200_000,)
    entries = (
        EinvoicingEntry(identifier=str(number), scheme="0088", document_types=types)
        for number in range(5)
    )
    new: list[differences.Version] = [orjson.loads(dump(entry)) for entry in entries]

    events = einvoicing_events([], new)

    assert [len(change.new) for event in events for change in event.changes] == [2, 2, 1]
    assert [event.number for event in events] == [0, 1, 2]


def test_a_removal_contains_no_company_data() -> None:
    assert removal() == PendingEvent(EventType.COMPANY_REMOVED)


def test_a_new_unit_is_created_at_its_company() -> None:
    unit = a_unit()
    created = PendingEvent(EventType.PRODUCTION_UNIT_CREATED, unit=tree(unit))

    assert unit_events(None, placed(unit, HOME)) == ((HOME, created),)
    assert unit_events(placed(unit, None), placed(unit, HOME)) == ((HOME, created),)
    assert unit_events(None, placed(unit, None)) == ()


def test_an_ending_unit_is_ended_and_updated_for_other_changes_only() -> None:
    active = placed(a_unit(), HOME)
    ended = placed(a_unit(status=Status.ENDED, ended="2026-03-01", phone="12345678"), HOME)

    ending = [event for _, event in unit_events(active, ended)]
    reopened = [event for _, event in unit_events(ended, active)]

    assert said(ending) == [
        (EventType.PRODUCTION_UNIT_ENDED, ["status", "ended"]),
        (EventType.PRODUCTION_UNIT_UPDATED, ["phone"]),
    ]
    assert said(reopened) == [(EventType.PRODUCTION_UNIT_UPDATED, ["status", "phone", "ended"])]


def test_a_unit_that_moves_leaves_one_company_and_is_created_at_the_other() -> None:
    unit = a_unit()

    left, arrived = unit_events(placed(unit, HOME), placed(unit, ELSEWHERE))
    [only_left] = unit_events(placed(unit, HOME), placed(unit, None))

    move = Change(field="company", old=HOME, new=ELSEWHERE)
    assert left == (HOME, PendingEvent(EventType.PRODUCTION_UNIT_UPDATED, (move,), tree(unit)))
    assert arrived == (ELSEWHERE, PendingEvent(EventType.PRODUCTION_UNIT_CREATED, (), tree(unit)))
    assert only_left[0] == HOME
