"""Tables never cut an id or a time, ties are visible, and nothing printed acts on what shows it."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from company_registry import Company
from company_registry.cli.batches import Result, cells, header
from company_registry.cli.companies import Include
from company_registry.cli.output import Column, Row, as_json, print_rows, printable
from company_registry.spreadsheets import harmless
from tests.builders.answers import a_found_company, a_summary

ID, TIME = "wh_fdb1b6c129ef4dbf9bdf7dcc0343e384", "2026-03-02T12:00:00.123Z"
COLUMNS = [
    Column("Time", whole=True),
    Column("Event", rank=1),
    Column("Response"),
    Column("Duration", rank=2),
    Column("Id", whole=True),
]
ROW = (TIME, "production_unit.updated", "certificate not trusted by us", "104 ms", ID)


def printed(
    width: int, columns: Sequence[Column] = COLUMNS, row: Row = ROW, *, is_terminal: bool = True
) -> str:
    file = io.StringIO()
    out = Console(
        file=file, width=width, force_terminal=is_terminal, color_system=None, _environ={}
    )
    print_rows(out, columns, [row], "")
    return file.getvalue()


@pytest.mark.parametrize("width", [10, 20, 40, 80, 100, 200])
def test_a_terminal_of_any_width_shows_ids_and_times_whole(width: int) -> None:
    lines = printed(width).splitlines()

    assert any(ID in line for line in lines)
    assert any(TIME in line for line in lines)
    assert "…" not in "".join(lines)


def test_a_narrow_terminal_wraps_other_cells_and_drops_the_least_columns() -> None:
    narrow = printed(80)

    assert "104 ms" not in narrow
    assert "production_unit.updated" not in narrow
    assert {"certificate", "not", "trusted", "by", "us"} <= set(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 80
    assert "104 ms" in printed(200)


@pytest.mark.parametrize("is_terminal, shown", [(True, "–"), (False, "A\t\n")])
def test_unknown_cells_are_dashes_for_people_and_empty_in_a_pipe(
    shown: str, *, is_terminal: bool
) -> None:
    assert shown in printed(80, [Column("A"), Column("B")], ("A", None), is_terminal=is_terminal)


HOSTILE = "A\x1b]0;title\x07B\x9b31mC\u202eD\u2066E\x00F\tG\nH\ud800"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_cell_moves_the_cursor_or_turns_the_text(*, is_terminal: bool) -> None:
    text = printed(200, [Column("[red]A")], (f"[bold]{HOSTILE}",), is_terminal=is_terminal)

    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "[bold]A" in text


def test_json_escapes_what_acts_on_a_terminal_and_keeps_its_value() -> None:
    text = as_json({"name": HOSTILE, "city": "Århus 😀"})

    assert text.isprintable()
    assert json.loads(text) == {"name": HOSTILE, "city": "Århus 😀"}
    assert "Århus 😀" in text


def test_printable_text_has_no_line_ends() -> None:
    assert printable("a\r\nb\x1b[2J") == "a  b [2J"


# The cells of a batch


def company(**fields: Any) -> Company:
    return Company.model_validate(a_found_company(match={"type": "name", "score": 100}, **fields))


def row_of(result: Result, *include: Include) -> dict[str, str]:
    return dict(zip(header(include), cells(result, include), strict=True))


@pytest.mark.parametrize("score, shown, ambiguous", [(100, "100", "yes"), (99.5, "99.5", "")])
def test_a_company_that_another_matches_as_well_is_ambiguous(
    score: float, shown: str, ambiguous: str
) -> None:
    row = row_of(Result(company(alternatives=[a_summary(score=score)]), None))

    assert (row["score"], row["ambiguous"]) == ("100", ambiguous)
    assert row["alternatives"] == f"12345682 Alfa ApS ({shown})"


def test_a_company_that_others_match_as_well_is_ambiguous_and_they_are_counted() -> None:
    match = {"type": "name", "score": 100, "others": 10}
    found = Company.model_validate(a_found_company(match=match))

    row = row_of(Result(found, None))

    assert (row["ambiguous"], row["others"]) == ("yes", "10")


def test_what_is_included_has_columns() -> None:
    share = {"min": "10", "max": "15"}
    found = company(
        owners=[
            {"name": "Alfa ApS", "type": "company", "vat": "12345682", "share": share},
            {"name": "Ane Prøve", "type": "person"},
        ],
        roles=[{"role": "director", "role_text": "DIREKTION", "name": "Ane", "type": "person"}],
        production_units=[{"number": "1012345670", "name": "Alfa Nord"}],
        einvoicing=[{"identifier": "0088:5790000000000", "scheme": "0088"}],
        einvoicing_total=6500,
        subsidiaries=[
            {"vat": "12345690", "name": "Beta ApS", "status": "active", "share": share},
            {"vat": "12345704", "name": "Gamma K/S", "status": "ended"},
        ],
    )
    parts = [part for part in Include if part != Include.ALTERNATIVES]

    row = row_of(Result(found, None), *parts)

    assert {part: row[part] for part in parts} == {
        "owners": "Alfa ApS 12345682 (10–15 %) | Ane Prøve",
        "roles": "DIREKTION: Ane",
        "production_units": "1012345670 Alfa Nord",
        "einvoicing": "0088:5790000000000 | … (6500 in all)",
        "subsidiaries": "12345690 Beta ApS (10–15 %) | 12345704 Gamma K/S",
        "annual_accounts": "",
    }
    assert "owners" not in header([])


FORMULAS = [
    *("=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", "＝1+1", "-A1"),
    *("\t=1+1", "\r=1+1", " =1+1", "\u202e=1+1", "\u200f\ufeff+A1"),
]
#: Where spreadsheets of some country or program split a line.
SPLIT = {
    "KAFFE;=1+cmd|' /C calc'!A0": "KAFFE;'=1+cmd|' /C calc'!A0",
    "KAFFE, =1+1; @A1": "KAFFE,' =1+1;' @A1",
    'KAFFE;"=1+1"': 'KAFFE;\'"=1+1"',
    "Storgata 1\n-A1|=A1": "Storgata 1\n'-A1|'=A1",
}
UNCHANGED = [
    *("+45 12 34 56 78", "-5,50", "-", "--", "A-B", "1=1", "", "12 %", "5;-5,50", "A, B; C"),
    "Tlf. 1, +45 12 34 56 78",
]


def test_no_part_of_a_cell_is_a_formula_and_numbers_and_words_stay() -> None:
    for text in FORMULAS:
        assert harmless(text).startswith("'")
        assert harmless(text).isprintable()
    assert {text: harmless(text) for text in SPLIT} == SPLIT
    assert [harmless(text) for text in UNCHANGED] == UNCHANGED
    assert harmless("Storgata 1\n0159 \x1b[31mOslo") == "Storgata 1\n0159  [31mOslo"
