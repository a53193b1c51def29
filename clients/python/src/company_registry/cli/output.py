"""The output of the commands: tables for people, lines of tabs for a pipe, JSON for programs."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from company_registry.models import Model

#: Between two columns of a table.
_GAP: Final = 2
#: A column that may be wrapped has at least this width, if it needs it.
_NARROW: Final = 12

_UNUSUAL = re.compile(r"[^ -~]")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    #: True for ids and times: never wrapped.
    whole: bool = False
    #: On a narrow terminal the columns of the highest rank are dropped first; 0 never is.
    rank: int = 0


Row = Sequence[object]

#: What a register does not say has no word.
YES_OR_NO: Final[Mapping[bool | None, str]] = {True: "yes", False: "no"}


def plain(document: Any) -> Any:
    """Models, and lists of them, as the service sent them."""
    if isinstance(document, Model):
        return document.model_dump(mode="json", exclude_unset=True)
    if isinstance(document, list | tuple):
        return [plain(each) for each in document]
    return document


def printable(text: str) -> str:
    """The text without control characters and direction marks, which would act on the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def as_json(document: Any) -> str:
    """JSON on one line, in which control characters and direction marks are escaped."""
    return _UNUSUAL.sub(_escaped, json.dumps(plain(document), ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]


def print_rows(out: Console, columns: Sequence[Column], rows: Iterable[Row], title: str) -> None:
    """Prints rows: as a table on a terminal, else with a tab between cells, without a heading.

    Nothing is cut: cells are wrapped, or the least columns dropped, or each row is a list.
    """
    if title:
        out.print(f"\n[italic]{escape(title)}[/]", highlight=False)
    if not out.is_terminal:
        for row in rows:
            line = "\t".join(printable(text_of(cell)) for cell in row)
            out.file.write(f"{line}\n")  # rich would make spaces of tabs
        out.file.flush()
        return
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, texts)) for texts in zip(*_with_names(columns, cells), strict=True)]
    places = _fitting(columns, widths, out.width)
    if not places:
        _print_lists(out, columns, cells)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place in places:
        column = columns[place]
        table.add_column(column.name, no_wrap=column.whole, overflow="fold")
        table.columns[-1].min_width = widths[place] if column.whole else None
    for row in cells:
        table.add_row(*(escape(row[place]) for place in places))
    out.print(table)


def _with_names(columns: Sequence[Column], cells: list[list[str]]) -> Iterator[Sequence[str]]:
    yield [column.name for column in columns]
    yield from cells


def _fitting(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    least = [
        own if column.whole else min(own, _NARROW)
        for column, own in zip(columns, widths, strict=True)
    ]
    places = list(range(len(columns)))
    while sum(least[place] + _GAP for place in places) - _GAP > width:
        dropped = max(places, key=lambda place: columns[place].rank)
        if columns[dropped].rank == 0:
            return []
        places.remove(dropped)
    return places


def _print_lists(out: Console, columns: Sequence[Column], cells: list[list[str]]) -> None:
    for row in cells:
        for column, cell in zip(columns, row, strict=True):
            out.print(f"[bold]{column.name}[/] {escape(cell)}", highlight=False, soft_wrap=True)
        out.print()


def shown(value: object) -> str:
    """A cell of a table; an unknown value is a dash."""
    return printable(text_of(value)) or "–"


def text_of(value: object) -> str:
    """A value as people read it, never as Python writes it; an unknown one is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return YES_OR_NO[value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Model):
        value = plain(value)
    if isinstance(value, Mapping):
        named = (f"{name}: {text_of(each)}" for name, each in value.items() if each is not None)
        return ", ".join(named)
    if isinstance(value, Sequence | Set) and not isinstance(value, str):
        return ", ".join(map(text_of, value))
    return str(value)
