"""Customers of a spreadsheet: columns, records, decisions and the enriched file."""

import json

import pytest

from company_registry import MatchCandidate, MatchRecord, MatchResult
from company_registry.columns import Columns
from portal.domain.customers import Outcomes, Table, enriched, fault_of, read_columns

HEADER = ["Kundenr", "Firmanavn", "Navn", "Postnr.", "Land"]


def a_table(*rows: list[str], header: list[str] = HEADER) -> Table:
    numbered = enumerate(rows, start=6)
    return Table(header, [json.dumps([number, 0, *row]).encode() for number, row in numbered])


def a_candidate(vat: str = "12345674", score: float = 0.9) -> MatchCandidate:
    return MatchCandidate(
        country="dk", vat=vat, name="=Prøve ApS", city="Odense", status="active", score=score
    )


def outcomes(*decisions: str | None) -> Outcomes:
    found = Outcomes()
    for row, decision in enumerate(decisions):
        candidates = () if decision == "none" else (a_candidate(), a_candidate("12345682", 0.1))
        result = MatchResult(MatchRecord(str(row)), decision, candidates)  # type: ignore[arg-type]
        found.add(result)
    return found


def test_columns_are_corrected_by_a_form() -> None:
    form = {"column-0": "number", "column-1": "", "column-2": "nothing", "country": "no"}

    columns = read_columns({**form, "column-9": "name"}, HEADER)

    assert columns == Columns({"number": (0,)}, "no")


@pytest.mark.parametrize(
    "places, is_fine", [({"name": (1,)}, True), ({"city": (1,)}, False), ({}, False)]
)
def test_a_record_needs_something_to_be_found_by(
    places: dict[str, tuple[int, ...]], *, is_fine: bool
) -> None:
    assert (fault_of(Columns(places)) == "") is is_fine


@pytest.mark.parametrize(
    "row, record",
    [
        # The service reads the values as they are written.
        (["1", "Prøve", "", "150.0", "Norge"], ("Norge", "Prøve", "150.0")),
        (["1", "'Prøve", "", "150", "Sverige"], ("Sverige", "Prøve", "150")),
        (["1", "x" * 400, "", "", ""], ("dk", "x" * 300, None)),
    ],
)
def test_a_row_is_a_record(row: list[str], record: tuple[str, str, str]) -> None:
    found = Columns({"name": (1,), "postal_code": (3,), "country": (4,)}, "dk").record("7", row)

    assert found.id == "7"
    assert (found.country, found.name, found.postal_code) == record


def test_each_decision_has_its_pile_and_an_error_finds_nothing() -> None:
    found = outcomes("match", "review", "none", None)

    assert found.piles == ["matched", "review", "missing", "missing"]
    assert found.counts() == {"review": 1, "matched": 1, "missing": 2}
    assert found.companies() == ["dk:12345674"]


def test_a_match_without_a_candidate_is_not_found() -> None:
    found = Outcomes()

    found.add(MatchResult(MatchRecord("0"), "match"))

    assert found.piles == ["missing"]


def test_a_person_decides_and_decides_again() -> None:
    found = outcomes("review", "match")

    found.choose(0, 1)
    found.choose(1, None)
    match = found.match(0)

    assert match is not None
    assert match.vat == "12345682"
    assert (found.rows("matched"), found.rows("missing")) == ([0], [1])
    found.choose(0, None)
    assert found.match(0) is None


@pytest.mark.parametrize("row, place", [(0, 2), (0, -1), (5, None), (-1, 0)])
def test_a_choice_that_was_not_offered_is_refused(row: int, place: int | None) -> None:
    with pytest.raises(IndexError):
        outcomes("review").choose(row, place)


def test_a_download_has_the_own_columns_and_what_was_found_in_harmless_cells() -> None:
    found = outcomes("match", "review")
    found.choose(1, None)
    table = a_table(["=1+1", "A"], ["2", "B"], ["3", "C"], header=["@id", "Name"])

    header, *rows = enriched(table, found)

    assert header[:3] == ["'@id", "Name", "Matched country"]
    assert rows == [
        ["'=1+1", "A", "DK", "12345674", "'=Prøve ApS", "active", "0.9000", "match", "", ""],
        ["2", "B", "", "", "", "", "", "none (by hand)", "by_hand", ""],
        ["3", "C", "", "", "", "", "", "", "", ""],
    ]


def test_a_row_says_why_it_has_no_company_and_what_could_not_be_read() -> None:
    found = Outcomes()
    ended = a_candidate().model_copy(update={"status": "bankrupt"})
    record = MatchRecord("0")
    found.add(MatchResult(record, "match", (ended,), unread=("phone",)))
    found.add(MatchResult(record, "match", (a_candidate(), ended)))
    found.add(MatchResult(record, "none", (), reason="country_not_covered"))
    found.add(MatchResult(record, "none", (a_candidate(),), reason="not_found"))
    found.add(MatchResult(record, "review", (ended,), assumed={"number": "05501431"}))

    assert found.told("matched") == "1 bankrupt"
    assert found.told("missing") == "1 of another country, 1 not found"
    assert [found.remark(row) for row in range(5)] == [
        "Phone: cannot be read.",
        "",
        "The country is neither Denmark nor Norway.",
        "",
        "Registration number: taken for 05501431.",
    ]
    found.choose(1, 1)
    found.choose(2, None)
    assert (found.told("matched"), found.reason(2)) == ("2 bankrupt", "by_hand")
