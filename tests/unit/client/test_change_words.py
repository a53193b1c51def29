"""Changes in words: who came and who went, what share, and which unit moved where."""

from typing import Any

import pytest

from company_registry.change_words import (
    MAX_LINES,
    MAX_VALUE,
    brief_of,
    brief_of_day,
    heading_of,
    in_words,
    lines_of,
)


def an_owner(name: str, share: str, **fields: Any) -> dict[str, Any]:
    of = {"min": share, "max": share}
    return {"name": name, "type": "person", "role": "owner", "share": of, "votes": of, **fields}


def a_change(field: str, old: Any, new: Any, **more: Any) -> dict[str, Any]:
    return {"field": field, "old": old, "new": new, **more}


EMPLOYEES = {"min": 20, "max": 99, "exact": None, "as_of": "2026-02-28"}


@pytest.mark.parametrize("changes, expected", [
    # Owners that came and went, with their shares.
    ([a_change("owners", [an_owner("Aud", "20"), an_owner("Bo", "80")],
               [an_owner("Aud", "33.33"), an_owner("Prøve Holding ApS", "66.67", vat="12345682")])],
     ["Owner Aud, share: 20 % → 33.33 %", "New owner: Prøve Holding ApS (12345682), 66.67 %",
      "No longer an owner: Bo, 80 %"]),
    ([a_change("owners", [an_owner("Aud", "20")],
               [an_owner("Aud", "20", votes={"min": "50", "max": "66.66"})])],
     ["Owner Aud, votes: 20 % → 50–66.66 %"]),
    # Two people of one name.
    ([a_change("owners", [an_owner("Aud", "20"), an_owner("Aud", "30")], [], partial=True)],
     ["No longer an owner: Aud, 20 %", "No longer an owner: Aud, 30 %"]),
    # The earlier list is unknown: no entry is called new.
    ([a_change("owners", None, [an_owner("Aud", "20")])], ["Owner: Aud, 20 %"]),
    ([a_change("roles", [{"role": "board_chair", "name": "Aud"}],
               [{"role": "director", "name": "Aud"}])],
     ["New director: Aud", "No longer board chair: Aud"]),
    ([a_change("roles", ["b", "a"], ["a", "b"])], ["Roles: in another order"]),
    ([a_change("name", "Prøven ApS", "Prøvefabrikken ApS"),
      a_change("former_names", [], ["Prøven ApS"])],
     ["Name: Prøven ApS → Prøvefabrikken ApS", "New former name: Prøven ApS"]),
    # A status is first.
    ([a_change("ended", None, "2026-11-15"), a_change("status", "under_liquidation", "ended")],
     ["Status: under liquidation → ended", "Ended: none → 15 Nov 2026"]),
    # An object is one line, though its parts are changes of their own.
    ([a_change("address.street", "Prøvevej 1", "Prøvevej 2"),
      a_change("address.text", "Prøvevej 1, 1112 København K", "Prøvevej 2, 1112 København K")],
     ["Address: Prøvevej 1, 1112 København K → Prøvevej 2, 1112 København K"]),
    ([a_change("employees.max", 49, 99)], ["Employees: 20–49 → 20–99"]),
    ([a_change("employees.as_of", "2026-01-31", "2026-02-28")],
     ["Employees, as of: 31 Jan 2026 → 28 Feb 2026"]),
    ([a_change("employees.including_owners", None, {"min": None, "max": None, "exact": 3})],
     ["Employees, including owners: none → exact 3"]),
    ([a_change("financial_year", None, {"start": "07-01", "end": "06-30", "adjusted": None,
                                        "first": {"start": "2024-03-01", "end": "2025-06-30"}})],
     ["Financial year: none → 1 Jul to 30 Jun, first period 1 Mar 2024 to 30 Jun 2025"]),
    ([a_change("financial_year.adjusted", None, {"start": "2025-01-01", "end": "2025-06-30"})],
     ["Financial year: none → adjusted period 1 Jan 2025 to 30 Jun 2025"]),
    ([a_change("financial_year.first.end", "2025-06-30", "2025-07-31")],
     ["Financial year: first period to 30 Jun 2025 → first period to 31 Jul 2025"]),
    ([a_change("phone", None, "12345678"), a_change("phones", [], ["12345678"])],
     ["New phone number: 12345678"]),
    ([a_change("capital", None, {"amount": "1500000.50", "currency": "DKK"})],
     ["Capital: none → 1,500,000.50 DKK"]),
    ([a_change("vat_registered", old=False, new=True)], ["Registered for VAT: no → yes"]),
    ([a_change("registrations", [], [{"register": "vat", "since": "2020-01-01"}])],
     ["Entered in a register: VAT Register, since 1 Jan 2020"]),
    ([a_change("merged_into", [], [{"type": "merger", "name": "Prøve A/S", "vat": "12345690",
                                    "date": "2015-05-29"}])],
     ["Merger into: Prøve A/S (12345690), 29 May 2015"]),
    ([a_change("einvoicing", [{"identifier": "0192:1", "document_types": ["a"]}],
               [{"identifier": "0192:1", "document_types": ["a", "b"]}, {"identifier": "0088:5"}])],
     ["E-invoicing identifier 0192:1, documents: 1 document type → 2 document types",
      "New e-invoicing identifier: 0088:5"]),
    # Of a later release.
    ([a_change("lucky_numbers", [], [7])], ["New entry: 7"]),
    ([a_change("colour", None, {"hue": 3, "name": None})], ["Colour: none → hue 3"]),
    ([a_change("status", {"code": 1}, None)], ["Status: {'code': 1} → none"]),
])  # fmt: skip
def test_a_change_is_a_line(changes: list[dict[str, Any]], expected: list[str]) -> None:
    assert [line.text for line in lines_of(changes, {"employees": EMPLOYEES})] == expected


def test_a_unit_says_where_it_moved() -> None:
    words = in_words({
        "type": "production_unit.updated",
        "country": "no",
        "vat": "310345679",
        "data": {
            "company": {"name": "PRØVEFABRIKKEN AS"},
            "production_unit": {"number": "912345678", "name": "PRØVEFABRIKKEN AVD. OSLO"},
            "changes": [a_change("company", "no:310345679", "no:310345687")],
        },
    })  # fmt: skip

    assert words.title == "PRØVEFABRIKKEN AS: production unit moved"
    assert words.unit == "Production unit 912345678, PRØVEFABRIKKEN AVD. OSLO"
    assert [line.text for line in words.lines] == ["Moved: NO 310345679 → NO 310345687"]


def test_of_long_texts_the_difference_is_shown() -> None:
    [line] = lines_of([a_change("purpose", "a " * 900 + "old end", "a " * 900 + "new end")])

    assert (line.old or "").endswith("old end")
    assert (line.new or "").endswith("new end")
    assert max(len(line.old or ""), len(line.new or "")) <= MAX_VALUE + 2


def test_many_lines_end_with_their_number() -> None:
    lines = lines_of([a_change("trade_names", [], [str(each) for each in range(100)])])

    assert len(lines) == MAX_LINES
    assert lines[-1].text == "And 61 more changes"


@pytest.mark.parametrize("type_, changes, heading", [
    ("company.status_changed", [a_change("status", "active", "bankrupt")], "Bankrupt"),
    ("company.status_changed", [a_change("status", "bankrupt", "active")], "Active again"),
    ("company.status_changed", [a_change("status", None, "active")], "Active"),
    ("company.status_changed", [a_change("status_text", None, "NORMAL")], "Status changed"),
    ("company.updated", [a_change("phones", [], ["1"]), a_change("phone", None, "1"),
                         a_change("name", "A", "B")], "Name and phone numbers changed"),
    ("owners.changed", [], "Owners changed"),
    ("accounts.filed", [], "Accounts filed"),
])  # fmt: skip
def test_an_event_has_a_heading(type_: str, changes: list[dict[str, Any]], heading: str) -> None:
    assert heading_of(type_, changes) == heading


FIGURE = "annual_accounts.figures."


def published(
    changes: list[dict[str, Any]], *, figures: dict[str, str], **fields: Any
) -> dict[str, Any]:
    accounts = {
        "period": {"start": "2025-01-01", "end": "2025-12-31"}, "scope": "company",
        "currency": "NOK", "correction": False, "liquidation": False,
        "audit": {"type": "audit", "opinion": None, "going_concern": None, "emphasis": None},
        "figures": figures, **fields,
    }  # fmt: skip
    return {
        "type": "company.accounts_published", "country": "no", "vat": "310345679",
        "data": {"company": {"name": "PRØVEN AS"}, "changes": changes, "accounts": accounts},
    }  # fmt: skip


NEW_YEAR = a_change("annual_accounts", "2024-12-31", "2025-12-31")
MORE = {"revenue": "12345678", "gross_profit": "9000000", "profit": "-400000"}


@pytest.mark.parametrize("event, expected", [
    (published([NEW_YEAR, a_change(FIGURE + "revenue", "11400000", "12345678"),
                a_change(FIGURE + "profit", "90000", "-400000")], figures=MORE),
     ["Accounts 2025: revenue 12.3 m NOK (+8 %), profit −0.4 m"]),
    # Nothing is known of the year before.
    (published([NEW_YEAR], figures=MORE), ["Accounts 2025: revenue 12.3 m NOK, profit −0.4 m"]),
    # Revenue is not told, which is no zero.
    (published([NEW_YEAR], figures={"gross_profit": "1335417", "profit": "63109"}, currency="DKK"),
     ["Accounts 2025: gross profit 1.3 m DKK, profit 63,109"]),
    (published([NEW_YEAR], figures={}), ["Accounts 2025: no figures"]),
    (published([NEW_YEAR], figures={"profit": "999960000"}, scope="group",
               period={"start": "2024-07-01", "end": "2025-06-30"}),
     ["Group accounts to 30 Jun 2025: profit 1.0 bn NOK"]),
    (published([NEW_YEAR], figures={"revenue": "0"},
               audit={"type": "audit", "opinion": "qualified", "going_concern": True}),
     ["Accounts 2025: revenue 0 NOK, qualified opinion of the auditor, "
      "doubt about going concern"]),
    # A correction says what it changed.
    (published([a_change(FIGURE + "revenue", "12345678", "12845678"),
                a_change(FIGURE + "employees", None, "7")], figures=MORE, correction=True),
     ["Accounts 2025, revenue: 12.3 m NOK → 12.8 m NOK", "Accounts 2025, employees: not told → 7"]),
    (published([], figures=MORE, correction=True), ["Accounts 2025: the same figures"]),
    # Of a later release.
    (published([NEW_YEAR], figures={"revenue": "a lot"}),
     ["Annual accounts: 31 Dec 2024 → 31 Dec 2025"]),
])  # fmt: skip
def test_accounts_are_a_line_of_their_figures(event: dict[str, Any], expected: list[str]) -> None:
    assert [line.text for line in in_words(event).lines] == expected


def test_a_correction_of_accounts_has_its_own_heading() -> None:
    change = a_change(FIGURE + "profit", "1", "2")

    assert heading_of("company.accounts_published", [change]) == "Annual accounts corrected"
    assert heading_of("company.accounts_published", [NEW_YEAR, change]) == (
        "Annual accounts published"
    )
    assert [line.text for line in lines_of([change])] == ["Annual accounts: profit 1 → profit 2"]


@pytest.mark.parametrize(
    "type_, changes, text",
    [
        (
            "company.status_changed",
            [
                a_change("status", "active", "ended"),
                a_change("status_text", "NORMAL", "OPHØRT"),
                a_change("status_since", "2019-01-01", "2026-03-02"),
                a_change("ended", None, "2026-03-02"),
            ],
            "Status: active → ended · Since: 2 Mar 2026",
        ),
        (
            "company.updated",
            [
                a_change("name", "Gammel ApS", "Ny ApS"),
                a_change("former_names", [], ["Gammel ApS"]),
            ],
            "Name: Gammel ApS → Ny ApS",
        ),
        (
            "company.updated",
            [a_change("website", None, "www.example.com"), a_change("trade_names", [], ["A", "B"])],
            "New trade name: A; B · Website: www.example.com",
        ),
        ("company.created", [], "New company"),
    ],
    ids=["status", "name", "joined", "created"],
)
def test_an_event_is_one_line_without_repetition(
    type_: str, changes: list[dict[str, Any]], text: str
) -> None:
    assert brief_of(type_, changes).text == text


def test_a_dated_day_says_nothing_of_the_day_itself() -> None:
    register = {"register": "vat", "since": "2020-01-01"}
    changes = [
        a_change("registered", None, "2020-01-01"),
        {**a_change("registrations", None, [register]), "partial": True},
    ]

    brief = brief_of_day("2020-01-01", changes)

    assert brief.text == "Registered · Entered in a register: VAT Register"
