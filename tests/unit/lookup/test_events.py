"""Events of changes of the register, and their content."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.events import EventType
from lookup.changes.companies import plan_companies, plan_owners
from lookup.changes.participants import plan_participants, plan_vanished
from lookup.changes.states import ApplyContext, Known, Plan
from lookup.changes.units import plan_unit_removal, plan_units
from lookup.records.records import ParticipantRecord
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_participant_record,
    a_unit,
    a_unit_record,
    after,
    an_owner,
    an_owners_record,
)

KEY = CompanyKey.parse("dk:12345674")
GIVEN = ApplyContext(TUESDAY, datetime(2026, 3, 4, 12, 0, tzinfo=UTC), publish_events=True)


def bodies(plan: Plan) -> list[dict[str, Any]]:
    return [orjson.loads(event.body) for event in plan.outbox_events]


def types(plan: Plan) -> list[str]:
    return [event.type for event in plan.outbox_events]


def a_known_company(**fields: Any) -> Known:
    record = a_company_record(a_company(**fields), owners=(an_owner(),), version=MONDAY)
    return after(plan_companies([record], Known(), GIVEN))


def changed_to(known: Known, **fields: Any) -> Plan:
    record = a_company_record(a_company(**fields), owners=(an_owner(),), version=TUESDAY)
    return plan_companies([record], known, GIVEN)


def test_a_new_company_has_only_a_created_event() -> None:
    plan = plan_companies([a_company_record(owners=(an_owner(),))], Known(), GIVEN)

    [body] = bodies(plan)
    assert body["type"] == "company.created"
    assert (body["country"], body["vat"], body["revision"]) == ("dk", "12345674", 1)
    assert body["data"]["company"]["name"] == "Prøvefabrikken ApS"
    assert body["data"]["company"]["revision"] == 1
    assert body["data"]["changes"] == []
    assert "production_unit" not in body["data"]


def test_owners_of_an_unknown_company_have_no_event() -> None:
    plan = plan_owners([an_owners_record(an_owner())], Known(), GIVEN)

    assert types(plan) == []


def test_owners_from_a_separate_file_are_published_with_their_company() -> None:
    company = a_company(country=Country.NO, vat="987654321")
    known = after(plan_companies([a_company_record(company, owners=None)], Known(), GIVEN))

    plan = plan_owners([an_owners_record(an_owner())], known, GIVEN)

    assert types(plan) == [EventType.OWNERS_CHANGED]


def test_units_of_one_company_in_a_batch_share_its_revision_and_have_distinct_ids() -> None:
    units = [a_unit_record(a_unit(number=number)) for number in ("1012345678", "1012345679")]

    plan = plan_units(units, a_known_company(), GIVEN)

    assert types(plan) == [EventType.PRODUCTION_UNIT_CREATED] * 2
    assert {event.revision for event in plan.outbox_events} == {2}
    assert len({event.id for event in plan.outbox_events}) == 2
    assert bodies(plan)[0]["data"]["production_unit"]["number"] == "1012345678"


def test_a_changed_identifier_publishes_the_companys_whole_list() -> None:
    known = a_known_company()
    known = after(plan_participants([a_participant_record()], known, GIVEN), known)

    second = plan_participants([a_participant_record("0184:12345674", holder=KEY)], known, GIVEN)

    [change] = bodies(second)[0]["data"]["changes"]
    assert [entry["identifier"] for entry in change["old"]] == ["0088:5790000000005"]
    assert [entry["identifier"] for entry in change["new"]] == [
        "0088:5790000000005",
        "0184:12345674",
    ]


def known_with_identifiers(*records: ParticipantRecord) -> Known:
    """A company, its unit and these identifiers."""
    company = a_known_company()
    known = after(plan_units([a_unit_record()], company, GIVEN), company)
    return after(plan_participants(records, known, GIVEN), known)


def test_a_removed_unit_has_an_ended_event_with_its_number_only() -> None:
    unit = UnitKey.parse("dk:1012345678")
    known = known_with_identifiers(
        a_participant_record(), a_participant_record("0096:1012345678", holder=unit)
    )

    plan = plan_unit_removal(unit, known, GIVEN)

    ended, listed = bodies(plan)
    assert types(plan) == [EventType.PRODUCTION_UNIT_ENDED, EventType.EINVOICING_CHANGED]
    assert ended["data"]["production_unit"] == {
        **dict.fromkeys(ended["data"]["production_unit"]),
        "number": "1012345678",
        "name": None,
        "main": False,
        "status": "ended",
    }
    assert ended["data"]["changes"] == []
    [change] = listed["data"]["changes"]
    assert [entry["identifier"] for entry in change["new"]] == ["0088:5790000000005"]
    assert [drop.key for drop in plan.drops] == ["0096:1012345678"]


def test_a_unit_that_was_removed_before_is_not_removed_again() -> None:
    unit = UnitKey.parse("dk:1012345678")

    plan = plan_unit_removal(unit, Known(tombstones={unit}), GIVEN)

    assert not plan.writes


def test_vanished_identifiers_publish_the_remaining_list() -> None:
    known = known_with_identifiers(
        a_participant_record(), a_participant_record("0184:12345674", holder=KEY)
    )

    plan = plan_vanished(["0184:12345674"], known, GIVEN)

    [change] = bodies(plan)[0]["data"]["changes"]
    assert [entry["identifier"] for entry in change["new"]] == ["0088:5790000000005"]


def test_an_identifier_that_is_newer_than_the_export_has_not_vanished() -> None:
    known = known_with_identifiers(a_participant_record(version=TUESDAY))

    plan = plan_vanished(["0088:5790000000005"], known, replace(GIVEN, file_version=MONDAY))

    assert not plan.writes


def test_a_change_read_twice_is_one_event_and_a_change_made_twice_is_two() -> None:
    known = a_known_company()

    once, again = (changed_to(known, name="Nyt Navn ApS") for _ in range(2))
    there = after(once)
    back = plan_companies(
        [a_company_record(owners=(an_owner(),), version=None)],
        there,
        ApplyContext(type(TUESDAY)(TUESDAY.at, 1), GIVEN.at, publish_events=True),
    )

    assert [event.id for event in once.outbox_events] == [event.id for event in again.outbox_events]
    assert types(back) == [EventType.COMPANY_UPDATED]
    assert back.outbox_events[0].id != once.outbox_events[0].id
