"""Customers of a spreadsheet: columns, records, decisions and the enriched file."""

import json

import pytest

from company_registry import MatchCandidate, MatchRecord, MatchResult
from company_registry.columns import Columns
from company_registry.errors import problem_error
from company_registry.matching import Decision as Verdict
from portal.domain.customers import (
    Decision,
    Outcomes,
    Table,
    against,
    enriched,
    fault_of,
    read_columns,
    remark_of,
)

BY_HAND = ["Ada (k1)", "2026-03-02T12:00:00Z", "ok"]
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


def choose(found: Outcomes, row: int, place: int | None) -> None:
    """Decides a row by hand, as the page does."""
    company = None if place is None else found.offered(row, place)
    found.apply(Decision(found.number + 1, row, company, "2026-03-02T12:00:00Z", "k1", "Ada", "ok"))


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


def test_each_decision_has_its_pile_and_what_was_not_searched_is_not_missing() -> None:
    found = outcomes("match", "review", "none", None, "not_searched")

    assert found.piles == ["matched", "review", "missing", "unsearched", "unsearched"]
    assert found.counts() == {"review": 1, "matched": 1, "missing": 1, "unsearched": 2}
    assert found.companies() == ["dk:12345674"]


def a_failed_result(code: str, decision: Verdict | None) -> MatchResult:
    error = problem_error({"code": code, "detail": "It failed."}, status=503)
    return MatchResult(MatchRecord("0"), decision, error=error)


def test_rows_that_a_fault_left_are_searched_again_and_those_in_error_are_not() -> None:
    found = Outcomes()
    for code, decision in (
        ("service_unavailable", "not_searched"),
        ("lookup_timeout", "not_searched"),
        ("rate_limited", "not_searched"),
        ("invalid_parameter", None),
        ("company_removed", None),
    ):
        found.add(a_failed_result(code, decision))  # type: ignore[arg-type]

    assert (found.rows("unsearched"), found.rows("missing")) == ([0, 1, 2, 3], [4])
    assert found.to_repeat == [0, 1, 2]
    assert found.remark(0) == "The service could not answer."
    assert found.remark(4) == "Its register had this company removed."
    choose(found, 1, None)
    found.take(0, MatchResult(MatchRecord("0"), "match", (a_candidate(),)))
    # A person has decided meanwhile.
    found.take(1, MatchResult(MatchRecord("1"), "match", (a_candidate(),)))
    assert found.piles == ["matched", "missing", "unsearched", "unsearched", "missing"]
    assert found.remark(0) == ""


def test_a_download_never_says_that_a_row_without_an_answer_has_no_company() -> None:
    found = Outcomes()
    found.add(a_failed_result("lookup_timeout", "not_searched"))
    found.add(a_failed_result("invalid_parameter", None))

    _, *rows = enriched(a_table(["1"], ["2"], ["3"], header=["Name"]), found)

    assert [row[-6:-3] for row in rows] == [
        ["not_searched", "lookup_timeout", "The search took too long."],
        ["error", "invalid_parameter", "It has more cells than the header, or cannot be read."],
        ["not_searched", "", "The matching has not reached it."],
    ]


def test_a_match_without_a_candidate_is_not_found() -> None:
    found = Outcomes()

    found.add(MatchResult(MatchRecord("0"), "match"))

    assert found.piles == ["missing"]


def test_a_person_decides_and_decides_again() -> None:
    found = outcomes("review", "match")

    choose(found, 0, 1)
    choose(found, 1, None)
    match = found.match(0)

    assert match is not None
    assert match.vat == "12345682"
    assert (found.rows("matched"), found.rows("missing")) == ([0], [1])
    choose(found, 0, None)
    assert found.match(0) is None


@pytest.mark.parametrize("row, place", [(0, 2), (0, -1), (5, None), (-1, 0)])
def test_a_choice_that_was_not_offered_is_refused(row: int, place: int | None) -> None:
    with pytest.raises(IndexError):
        choose(outcomes("review"), row, place)


def test_a_download_has_the_own_columns_and_what_was_found_in_harmless_cells() -> None:
    found = outcomes("match", "review")
    choose(found, 1, None)
    table = a_table(["=1+1", "A"], ["2", "B"], ["3", "C"], header=["@id", "Name"])

    header, *rows = enriched(table, found)

    assert header[:3] == ["'@id", "Name", "Matched country"]
    assert rows == [
        ["'=1+1", "A", "DK", "12345674", "'=Prøve ApS", "active", 0.9, "match", *[""] * 5],
        ["2", "B", "", "", "", "", "", "none (by hand)", "by_hand", "", *BY_HAND],
        ["3", "C", *[""] * 5, "not_searched", "", "The matching has not reached it.", "", "", ""],
    ]


def test_rows_that_matched_one_company_are_marked_also_once_decided_again() -> None:
    found = outcomes("match", "match", "review")
    table = a_table(["1", "A"], ["2", "B"], ["3", "C"])

    remarks = [remark_of(table, found, row) for row in range(3)]
    choose(found, 2, 0)
    three = remark_of(table, found, 0)
    choose(found, 1, None)
    two = [remark_of(table, found, row) for row in range(3)]

    assert remarks == ["Row 7 is the same company.", "Row 6 is the same company.", ""]
    assert three == "Rows 7, 8 are the same company."
    assert two == ["Row 8 is the same company.", "", "Row 6 is the same company."]


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
    choose(found, 1, 1)
    choose(found, 2, None)
    assert (found.told("matched"), found.reason(2)) == ("2 bankrupt", "by_hand")


def test_a_decision_is_taken_back_and_the_earlier_one_or_the_search_holds_again() -> None:
    found = outcomes("review", "match")
    choose(found, 0, 1)
    choose(found, 0, None)

    found.apply(Decision(3, 0, None, "", "k1", undoes=2))
    once = (found.piles[0], found.match(0))
    found.apply(Decision(4, 0, None, "", "k1", undoes=1))

    assert once == ("matched", a_candidate("12345682", 0.1))
    assert (found.piles, found.chosen, found.number) == (["review", "matched"], {}, 4)
    assert found.decision(1) is None


def test_a_company_that_a_person_found_is_no_candidate_and_has_no_probability() -> None:
    found = outcomes("none")
    other = a_candidate("87654325", 0)

    found.apply(Decision(1, 0, other, "2026-03-02T12:00:00Z", "k1"))
    _, row = enriched(a_table(["1"], header=["Id"]), found)

    assert found.match(0) == other
    assert row[1:6] == ["DK", "87654325", "'=Prøve ApS", "active", ""]
    assert row[6:] == ["match (by hand)", "", "", "k1", "2026-03-02T12:00:00Z", ""]


def test_results_are_kept_and_restored_without_the_decisions() -> None:
    found = outcomes("review", "match", "none", "not_searched")
    found.take(1, MatchResult(MatchRecord("1"), "match", (a_candidate(),), unread=("phone",)))
    choose(found, 0, 1)

    restored = Outcomes()
    for row in range(4):
        restored.restore(json.loads(json.dumps(found.written(row))))

    assert restored.piles == ["review", "matched", "missing", "unsearched"]
    assert [restored.candidates(row) for row in range(4)] == [
        found.candidates(row) for row in range(4)
    ]
    assert restored.remark(1) == found.remark(1) == "Phone: cannot be read."


def test_a_second_search_says_what_differs_and_keeps_decisions_and_what_is_known() -> None:
    found = outcomes("match", "match", "none", "match")
    choose(found, 3, None)
    ended = a_candidate().model_copy(update={"status": "ended"})

    found.take(0, MatchResult(MatchRecord("0"), "match", (a_candidate(),)))
    found.take(1, MatchResult(MatchRecord("1"), "match", (ended,)))
    found.take(2, MatchResult(MatchRecord("2"), "review", (a_candidate(),)))
    found.take(3, a_failed_result("lookup_timeout", "not_searched"))

    assert found.changed == {
        1: ("=Prøve ApS (DK 12345674, active)", "=Prøve ApS (DK 12345674, ended)"),
        2: ("not found", "to review"),
    }
    assert found.piles == ["matched", "matched", "review", "missing"]


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"score": 0.9}, ""),
        ({"score": 0.3}, "Against it: too little is known of the customer."),
        (
            {"score": 0.3, "status": "ended", "evidence": {"name": 100.0, "city": 0.0}},
            "Against it: it has ended, another town.",
        ),
    ],
)
def test_what_speaks_against_a_company_is_said(fields: dict[str, object], said: str) -> None:
    candidate = a_candidate().model_copy(update=fields)

    assert against(candidate, [candidate]) == said


def test_a_namesake_speaks_against_a_company() -> None:
    first, second = a_candidate(score=0.4), a_candidate("12345682", 0.4)
    other = second.model_copy(update={"name": "Other ApS"})

    assert against(first, [first, second]) == "Against it: a namesake."
    assert against(first, [first, other]) == "Against it: another company is as likely."
