"""Tables never cut an id or a time, and nothing that is printed acts on a terminal."""

import io
import json

import pytest
from rich.console import Console

from company_registry.cli.output import Column, as_json, print_rows, printable

ID, TIME = "wh_fdb1b6c129ef4dbf9bdf7dcc0343e384", "2026-03-02T12:00:00.123Z"
COLUMNS = [
    Column("Time", whole=True),
    Column("Event", rank=1),
    Column("Response"),
    Column("Duration", rank=2),
    Column("Id", whole=True),
]
ROW = (TIME, "production_unit.updated", "certificate not trusted by us", "104 ms", ID)


def printed(width: int, *, is_terminal: bool = True) -> str:
    out = Console(
        file=io.StringIO(), width=width, force_terminal=is_terminal, color_system=None, _environ={}
    )
    print_rows(out, COLUMNS, [ROW], "")
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [10, 20, 40, 80, 100, 200])
def test_a_terminal_of_any_width_shows_ids_and_times_whole(width: int) -> None:
    lines = printed(width).splitlines()

    assert any(ID in line for line in lines)
    assert any(TIME in line for line in lines)
    assert "…" not in "".join(lines)


def test_a_narrow_terminal_wraps_other_cells_and_drops_the_least_columns() -> None:
    narrow, wide = printed(80), printed(200)

    assert "104 ms" not in narrow
    assert "production_unit.updated" not in narrow
    assert {"certificate", "not", "trusted", "by", "us"} <= set(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 80
    assert "104 ms" in wide


def test_a_pipe_gets_whole_cells_with_tabs_between_them_and_no_heading() -> None:
    assert printed(20, is_terminal=False) == "\t".join(ROW) + "\n"


def test_unknown_cells_are_dashes_for_people_and_empty_in_a_pipe() -> None:
    for is_terminal, expected in ((True, "–"), (False, "A\t\n")):
        out = Console(file=io.StringIO(), width=80, force_terminal=is_terminal, _environ={})
        print_rows(out, [Column("A"), Column("B")], [("A", None)], "")
        assert isinstance(out.file, io.StringIO)
        assert expected in out.file.getvalue()


HOSTILE = "A\x1b]0;title\x07B\x9b31mC\u202eD\u2066E\x00F\tG\nH\ud800"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_cell_moves_the_cursor_or_turns_the_text(*, is_terminal: bool) -> None:
    out = Console(
        file=io.StringIO(), width=200, force_terminal=is_terminal, color_system=None, _environ={}
    )

    print_rows(out, [Column("[red]A")], [(f"[bold]{HOSTILE}",)], "")

    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "[bold]A" in text


def test_json_escapes_what_acts_on_a_terminal_and_keeps_its_value() -> None:
    text = as_json({"name": HOSTILE, "city": "Århus 😀"})

    assert text.isprintable()
    assert json.loads(text) == {"name": HOSTILE, "city": "Århus 😀"}
    assert "Århus 😀" in text


def test_printable_text_has_no_line_ends() -> None:
    assert printable("a\r\nb\x1b[2J") == "a  b [2J"
