"""Differences between two versions, and the events that describe them."""

import copy
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import (
    Address,
    Capital,
    CodedText,
    Company,
    CompanyKey,
    EinvoicingEntry,
    Employees,
    ProductionUnit,
    Share,
    Status,
)
from common.contracts.events import Change, EventType
from lookup.changes import differences
from lookup.changes.differences import (
    PlacedUnit,
    einvoicing_events,
    owners_events,
    removal,
    roles_changes,
    unit_events,
)
from lookup.events.event import PendingEvent
from lookup.store.canonical_json import completed, dump, dump_all, is_outdated
from tests.builders.companies import a_company, a_held_role, a_unit, an_address, an_owner

HOME = CompanyKey.parse("dk:12345674")
ELSEWHERE = CompanyKey.parse("dk:87654321")

texts = st.sampled_from(["A", "B", "æ"])
maybe = st.none() | texts
codes = st.builds(CodedText, code=texts, description=maybe)
addresses = st.builds(Address, street=maybe, co=maybe, city=maybe, text=texts)
numbers = st.none() | st.integers(0, 2)
states = st.sampled_from(Status)
days = st.sampled_from(["2001-01-01", "2002-02-02"])
employees = st.none() | st.builds(Employees, min=numbers, max=numbers, exact=numbers)
names = st.lists(texts, max_size=2).map(tuple)
COMPANY_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": texts,
    "trade_names": names,
    "former_names": names,
    "status": states,
    "status_text": maybe,
    "form": st.none() | codes,
    "address": st.none() | addresses,
    "postal_address": st.none() | addresses,
    "phone": maybe,
    "fax": maybe,
    "email": maybe,
    "website": maybe,
    "industry": st.none() | codes,
    "secondary_industries": st.lists(codes, max_size=2).map(tuple),
    "employees": employees,
    "founded": st.none() | days,
    "registered": st.none() | days,
    "ended": st.none() | days,
    "vat_registered": st.none() | st.booleans(),
    "accounts": maybe,
    "parent": maybe,
    "capital": st.none() | st.builds(Capital, amount=texts, currency=texts),
    "purpose": maybe,
    "advertising_protected": st.none() | st.booleans(),
}
UNIT_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": texts,
    "main": st.booleans(),
    "status": states,
    "address": st.none() | addresses,
    "phone": maybe,
    "email": maybe,
    "industry": st.none() | codes,
    "employees": employees,
    "started": st.none() | days,
    "ended": st.none() | days,
}
companies = st.builds(a_company, **COMPANY_FIELDS)
units = st.builds(a_unit, **UNIT_FIELDS)
placed_units = units.map(lambda unit: placed(unit, HOME))


def tree(version: Company | ProductionUnit | bytes) -> dict[str, Any]:
    stored: dict[str, Any] = orjson.loads(version if isinstance(version, bytes) else dump(version))
    return stored


def diff(old: Company | bytes, new: Company) -> tuple[Change, ...]:
    return differences.diff(tree(old), tree(new))


def company_events(old: Company, new: Company) -> tuple[PendingEvent, ...]:
    return differences.company_events(diff(old, new))


def placed(unit: ProductionUnit, company: CompanyKey | None = HOME) -> PlacedUnit:
    return PlacedUnit(tree(unit), company)


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


def types(pending_events: Iterable[PendingEvent]) -> list[EventType]:
    return [pending_event.type for pending_event in pending_events]


def test_the_strategy_varies_every_field() -> None:
    assert COMPANY_FIELDS.keys() == Company.model_fields.keys() - {"country", "vat"}
    assert UNIT_FIELDS.keys() == ProductionUnit.model_fields.keys() - {"number"}


@given(st.lists(companies, min_size=1))
def test_following_all_events_of_a_company_gives_its_last_version(versions: list[Company]) -> None:
    seen = tree(versions[0])

    for old, new in pairwise(versions):
        for pending_event in company_events(old, new):
            seen = applied(pending_event.changes, seen)

    assert seen == tree(versions[-1])


@given(st.lists(placed_units, min_size=1))
def test_following_all_events_of_a_unit_gives_its_last_version(versions: list[PlacedUnit]) -> None:
    seen = dict(versions[0].unit)

    for old, new in pairwise(versions):
        for company, pending_event in unit_events(old, new):
            assert (company, pending_event.unit) == (HOME, new.unit)
            seen = applied(pending_event.changes, seen)

    assert seen == versions[-1].unit


@given(companies, companies)
def test_events_contain_each_change_once_and_nothing_else(old: Company, new: Company) -> None:
    pending_events = company_events(old, new)

    told = [change for pending_event in pending_events for change in pending_event.changes]
    assert sorted(change.field for change in told) == sorted(c.field for c in diff(old, new))
    assert all(change.old != change.new for change in told)
    assert all(pending_event.changes for pending_event in pending_events)


def test_a_field_inside_an_object_has_a_dotted_path() -> None:
    old = a_company(address=an_address("Prøvevej 1, 1112 København K"))
    new = a_company(address=an_address("Prøvevej 2, 1112 København K"))

    assert diff(old, new) == (
        Change(field="address.street", old="Prøvevej 1", new="Prøvevej 2"),
        Change(
            field="address.text",
            old="Prøvevej 1, 1112 København K",
            new="Prøvevej 2, 1112 København K",
        ),
    )


def test_an_object_that_appears_or_disappears_is_given_whole() -> None:
    without, having = a_company(), a_company(employees=Employees(min=2, max=4))
    whole = {"min": 2, "max": 4, "exact": None}

    assert diff(without, having) == (Change(field="employees", old=None, new=whole),)
    assert diff(having, without) == (Change(field="employees", old=whole, new=None),)


def test_a_list_is_given_whole() -> None:
    old, new = a_company(trade_names=("Prøven",)), a_company(trade_names=("Prøven", "Testen"))

    assert diff(old, new) == (
        Change(field="trade_names", old=["Prøven"], new=["Prøven", "Testen"]),
    )


def test_a_field_that_an_earlier_release_did_not_store_is_no_change() -> None:
    stored = tree(a_company())
    del stored["purpose"], stored["trade_names"]
    del stored["address"]["district"]

    read = a_company(purpose="Salg", trade_names=("Prøven",), phone="12345678")

    assert diff(orjson.dumps(stored), a_company()) == ()
    assert diff(orjson.dumps(stored), read) == (Change(field="phone", old=None, new="12345678"),)


def stored_by_an_earlier_release() -> bytes:
    stored = tree(a_company(country="no", vat="310345679", advertising_protected=None))
    for name in ("registered", "vat_registered", "accounts", "parent"):
        del stored[name]
    return orjson.dumps(stored)


def read_now(**fields: Any) -> Company:
    given = {"registered": "2003-04-14", "vat_registered": True, "accounts": "2024", **fields}
    return a_company(country="no", vat="310345679", advertising_protected=None, **given)


def test_of_a_company_of_an_earlier_release_only_known_fields_change() -> None:
    stored = stored_by_an_earlier_release()

    changes = diff(stored, read_now(name="Prøvefabrikken AS"))

    assert [change.field for change in changes] == ["name"]


def test_a_value_that_becomes_unknown_is_a_change_in_this_release() -> None:
    changes = diff(read_now(founded="2003-04-14"), read_now(founded=None))

    assert changes == (Change(field="founded", old="2003-04-14", new=None),)


def test_a_company_of_an_earlier_release_is_outdated_until_it_is_completed() -> None:
    stored = stored_by_an_earlier_release()

    assert is_outdated(stored)
    assert orjson.loads(completed(stored)).keys() == Company.model_fields.keys()
    assert not is_outdated(completed(stored))
    assert completed(dump(read_now())) == dump(read_now())


def test_an_unchanged_company_has_no_event() -> None:
    assert company_events(a_company(), a_company()) == ()


def test_a_bankruptcy_changes_the_status_without_an_update() -> None:
    old = a_company(status_text="NORMAL")
    new = a_company(status=Status.BANKRUPT, status_text="UNDER KONKURS")

    assert company_events(old, new) == (
        PendingEvent(
            EventType.COMPANY_STATUS_CHANGED,
            (
                Change(field="status", old="active", new="bankrupt"),
                Change(field="status_text", old="NORMAL", new="UNDER KONKURS"),
            ),
        ),
    )


def test_an_end_includes_its_date() -> None:
    new = a_company(status=Status.ENDED, ended="2026-03-01")

    (end,) = company_events(a_company(), new)

    assert end.type is EventType.COMPANY_STATUS_CHANGED
    assert [change.field for change in end.changes] == ["status", "ended"]


def test_other_changes_beside_the_status_are_an_update() -> None:
    new = a_company(status=Status.BANKRUPT, name="Prøvefabrikken ApS under konkurs")

    turn, update = company_events(a_company(), new)

    assert [change.field for change in turn.changes] == ["status"]
    assert update.type is EventType.COMPANY_UPDATED
    assert [change.field for change in update.changes] == ["name"]


def test_another_word_for_the_same_status_is_an_update() -> None:
    old, new = a_company(status_text="Normal"), a_company(status_text="NORMAL")

    assert types(company_events(old, new)) == [EventType.COMPANY_UPDATED]


def test_changed_owners_are_published_as_a_list() -> None:
    old = [an_owner()]
    new = [an_owner(share=Share(min="50", max="66.67"))]

    (pending_event,) = owners_events(dump_all(old), dump_all(new))

    (change,) = pending_event.changes
    assert (pending_event.type, change.field) == (EventType.OWNERS_CHANGED, "owners")
    assert change.old == [one.model_dump(mode="json") for one in old]
    assert change.new == [one.model_dump(mode="json") for one in new]


def test_unchanged_owners_have_no_event_and_unknown_ones_count_as_none() -> None:
    one = dump_all([an_owner()])

    assert owners_events(one, one) == ()
    assert owners_events(None, b"[]") == owners_events(b"[]", b"null") == ()
    assert types(owners_events(None, one)) == [EventType.OWNERS_CHANGED]


def test_changed_roles_are_published_as_a_list_with_the_companys_update() -> None:
    old, new = dump_all([a_held_role()]), dump_all([a_held_role(name="Bo Prøvesen")])

    (update,) = differences.company_events(
        (*diff(a_company(), a_company(phone="12345678")), *roles_changes(old, new))
    )

    assert update.type is EventType.COMPANY_UPDATED
    assert [change.field for change in update.changes] == ["phone", "roles"]
    assert update.changes[1].new == orjson.loads(new)
    assert roles_changes(old, old) == roles_changes(None, b"[]") == ()


def test_changed_einvoicing_is_published_as_a_list() -> None:
    entry = orjson.loads(dump(EinvoicingEntry(identifier="0184:12345674", scheme="0184")))

    (pending_event,) = einvoicing_events([], [entry])

    assert pending_event.type is EventType.EINVOICING_CHANGED
    assert pending_event.changes == (Change(field="einvoicing", old=[], new=[entry]),)


def test_a_removal_contains_no_company_data() -> None:
    assert removal() == PendingEvent(EventType.COMPANY_REMOVED)


def test_a_new_unit_is_created_at_its_company() -> None:
    unit = a_unit()
    created = PendingEvent(EventType.PRODUCTION_UNIT_CREATED, unit=tree(unit))

    assert unit_events(None, placed(unit, HOME)) == ((HOME, created),)
    assert unit_events(placed(unit, None), placed(unit, HOME)) == ((HOME, created),)
    assert unit_events(None, placed(unit, None)) == ()


def test_an_ending_unit_is_ended_and_updated_for_other_changes_only() -> None:
    old = placed(a_unit(), HOME)
    new = placed(a_unit(status=Status.ENDED, ended="2026-03-01", phone="12345678"), HOME)

    told = [pending_event for _, pending_event in unit_events(old, new)]

    assert types(told) == [EventType.PRODUCTION_UNIT_ENDED, EventType.PRODUCTION_UNIT_UPDATED]
    assert [change.field for change in told[0].changes] == ["status", "ended"]
    assert [change.field for change in told[1].changes] == ["phone"]


def test_a_reopened_unit_is_updated() -> None:
    old = placed(a_unit(status=Status.ENDED, ended="2026-03-01"), HOME)

    ((_, pending_event),) = unit_events(old, placed(a_unit(), HOME))

    assert pending_event.type is EventType.PRODUCTION_UNIT_UPDATED


def test_a_unit_that_moves_leaves_one_company_and_is_created_at_the_other() -> None:
    unit = a_unit()

    left, arrived = unit_events(placed(unit, HOME), placed(unit, ELSEWHERE))

    move = Change(field="company", old=HOME, new=ELSEWHERE)
    assert left == (HOME, PendingEvent(EventType.PRODUCTION_UNIT_UPDATED, (move,), tree(unit)))
    assert arrived == (ELSEWHERE, PendingEvent(EventType.PRODUCTION_UNIT_CREATED, (), tree(unit)))


def test_a_unit_without_a_new_company_only_leaves_the_old() -> None:
    pending_events = unit_events(placed(a_unit(), HOME), placed(a_unit(), None))

    assert [company for company, _ in pending_events] == [HOME]
