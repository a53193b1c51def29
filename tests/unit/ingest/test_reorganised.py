"""The parties of a merger or demerger name each other, in whichever order they are loaded."""

from dataclasses import replace
from typing import Any

import orjson

from common.contracts.company import RestructuringType, Status
from ingest.records.records import CompanyRecord, Reorganisation, restructurings
from tests.builders.companies import MONDAY, TUESDAY, a_company, a_company_record
from tests.builders.planning import PlannedRegister

MERGER, DEMERGER = RestructuringType.MERGER, RestructuringType.DEMERGER
DAY = "2011-08-11"


def a_party(
    vat: str,
    name: str,
    *,
    went_in: bool,
    number: str = "4007477649",
    type_: RestructuringType = MERGER,
    **fields: Any,
) -> CompanyRecord:
    parts = (Reorganisation(number, type_, DAY, went_in=went_in),)
    into, out_of = restructurings(parts)
    company = a_company(vat=vat, name=name, merged_into=into, merged_from=out_of)
    return a_company_record(company, reorganisations=parts, **fields)


GONE = a_party("12345674", "Prøven ApS", went_in=True)
OTHER_GONE = a_party("25052943", "Testen ApS", went_in=True)
HEIR = a_party("87654321", "Arvingen A/S", went_in=False)


def merged(register: PlannedRegister, vat: str) -> tuple[list[Any], list[Any]]:
    company = orjson.loads(register.company(f"dk:{vat}").core or b"")
    return tuple(
        [(one["type"], one["name"], one["vat"], one["date"]) for one in company[field]]
        for field in ("merged_into", "merged_from")
    )  # type: ignore[return-value]


def test_parties_of_one_batch_name_each_other() -> None:
    register = PlannedRegister()

    register.take(GONE, HEIR, OTHER_GONE)

    assert merged(register, "12345674") == ([("merger", "Arvingen A/S", "87654321", DAY)], [])
    assert merged(register, "87654321") == (
        [],
        [
            ("merger", "Prøven ApS", "12345674", DAY),
            ("merger", "Testen ApS", "25052943", DAY),
        ],
    )


def test_a_party_that_is_loaded_later_completes_the_other_without_an_event() -> None:
    register = PlannedRegister.of(GONE)
    before = register.company()
    assert merged(register, "12345674") == ([("merger", None, None, DAY)], [])

    register.take(HEIR)

    assert merged(register, "12345674") == ([("merger", "Arvingen A/S", "87654321", DAY)], [])
    assert merged(register, "87654321") == ([], [("merger", "Prøven ApS", "12345674", DAY)])
    # Entity tags differ, and the register changed nothing.
    assert register.company().revision == before.revision + 1
    assert [event["type"] for event in register.events] == ["company.created"]


def test_the_same_document_again_changes_neither() -> None:
    register = PlannedRegister.of(GONE, HEIR)

    plan = register.take(GONE, HEIR)

    assert (plan.companies, register.events) == ((), [])


def test_a_later_document_of_one_party_keeps_the_names() -> None:
    register = PlannedRegister.of(GONE, HEIR)
    renamed = a_party("87654321", "Arving A/S", went_in=False, version=TUESDAY)

    register.take(renamed, version=TUESDAY)

    assert merged(register, "87654321") == ([], [("merger", "Prøven ApS", "12345674", DAY)])
    assert merged(register, "12345674") == ([("merger", "Arving A/S", "87654321", DAY)], [])
    [event] = register.events
    assert [change["field"] for change in event["data"]["changes"]] == ["name"]


def test_a_merger_that_happens_is_told() -> None:
    register = PlannedRegister.of(a_company_record(a_company(name="Prøven ApS")), HEIR)
    ended = replace(GONE, version=TUESDAY)

    register.take(ended, version=TUESDAY)

    [event] = register.events
    [change] = event["data"]["changes"]
    assert change["field"] == "merged_into"
    assert [one["vat"] for one in change["new"]] == ["87654321"]


def test_another_number_or_type_is_another_reorganisation() -> None:
    register = PlannedRegister.of(
        GONE,
        a_party("87654321", "Arvingen A/S", went_in=False, number="4000000001"),
        a_party("25052943", "Testen ApS", went_in=False, type_=DEMERGER),
    )

    assert merged(register, "12345674") == ([("merger", None, None, DAY)], [])


def test_a_company_that_lives_on_names_those_that_received_a_part() -> None:
    register = PlannedRegister.of(
        a_party("12345674", "Prøven ApS", went_in=True, type_=DEMERGER),
        a_party("87654321", "Arvingen A/S", went_in=False, type_=DEMERGER),
    )

    assert merged(register, "12345674")[0] == [("demerger", "Arvingen A/S", "87654321", DAY)]
    assert orjson.loads(register.company().core or b"")["status"] == Status.ACTIVE
    assert register.company().version == MONDAY
