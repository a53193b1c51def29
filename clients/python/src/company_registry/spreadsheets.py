"""Spreadsheets in any usual form: workbooks, encodings, delimiters, and rows above the header.

What this project prints for programs is read as a spreadsheet, too.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from company_registry.cells import without_error
from company_registry.errors import InvalidParameter
from company_registry.headers import kind_of, meaning_of, type_of
from company_registry.json_rows import Line, lines_in
from company_registry.workbooks import is_workbook, read_workbook, refuse_others

COUNTRIES: Final = {
    name: country
    for country, names in {
        "dk": "dk dnk denmark danmark",
        "no": "no nor norway norge noreg",
    }.items()
    for name in names.split()
}

_DELIMITERS: Final = ";\t,|"
#: Excel's own word for the delimiter, in a line before the header.
_SEPARATOR: Final = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
#: The longer mark first: it begins with the shorter one.
_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
#: By the bytes of a Latin letter that are not zero, the encodings without a mark.
_ZEROS: Final = (
    (4, 0, "utf-32-le"),
    (4, 3, "utf-32-be"),
    (2, 0, "utf-16-le"),
    (2, 1, "utf-16-be"),
)
#: Encodings of one byte, the usual one first, and the letters by which they are told apart.
_OF_ONE_BYTE: Final = ("cp1252", "mac_roman")
_NORDIC: Final = re.compile("[a-zæøå][æøå]|[æøå][a-zæøå]|[ÆØÅ][A-ZÆØÅa-zæøå]|[A-Z][ÆØÅ]")
_NAMES: Final = {
    "mac_roman": "Mac Roman",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32",
    "cp1252": "Windows-1252",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-8": "UTF-8",
}
#: Encodings that nobody needs to be told of.
_USUAL: Final = ("UTF-8", "UTF-16", "Windows-1252", "")

_NO_TEXT: Final = "is not a text in UTF-8, UTF-16, UTF-32, Windows-1252 or Mac Roman"

#: Lines that are read for one record: Excel allows 254 in a cell. Each of many stray quotes
#: (`3";"x`) is looked for an end as far: a file of 20,000 takes 1 s, and 13 s with 5,000 lines.
_MAX_LINES: Final = 300
#: Rows in which a header is looked for.
_ABOVE: Final = 30

#: A spreadsheet shows such a text as a number or a formula: ="01234567".
_QUOTED: Final = re.compile(r'=?"(.*)"', re.DOTALL)

#: A spreadsheet may run a text that begins so, also in its wide form.
_FORMULA: Final = tuple("=+-@＝＋－＠")
#: Numbers, phone numbers and dashes begin so too, and are nothing to run.
_HARMLESS: Final = re.compile(r"[-+ ]*([0-9][0-9 .,]*%?)?")
#: Marks at which spreadsheets split a line: Danish and Norwegian Excel a CSV with commas at `;`.
_SPLITS: Final = re.compile(r"([;,|\n])")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a spreadsheet below its header."""

    #: As many as the header has.
    cells: list[str]
    #: True if a row of a text file had more cells than the header: which moved is not known.
    is_longer: bool = False
    #: As a spreadsheet shows it.
    number: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A spreadsheet: its header, its rows, and how it was written."""

    #: Unique names of the columns.
    header: list[str]
    rows: list[Row]
    delimiter: str = ";"
    #: False if a spreadsheet would not read UTF-8 without a mark.
    is_plain: bool = False
    #: The number of the row of the header.
    header_row: int = 1
    #: Of a workbook, this sheet, and all that are visible.
    name: str = ""
    names: tuple[str, ...] = ()
    #: Of a text.
    encoding: str = ""
    #: Of a workbook, the first cell that is left out, since it is far from the table.
    far: str = ""

    def places(self, type_: str) -> list[int]:
        """Returns the columns whose header is of this type, the best first."""
        found = [place for place, name in enumerate(self.header) if type_of(name) == type_]

        def rank(place: int) -> int:
            meaning = meaning_of(self.header[place])
            return 0 if meaning is None else meaning.rank

        return sorted(found, key=rank)

    @property
    def description(self) -> str:
        """How it was read, as far as that is not evident: `header in row 5 of sheet Kunder`."""
        header = f"header in row {self.header_row}" if self.header_row != 1 else ""
        others = [name for name in self.names if name != self.name]
        sheet = f"sheet {self.name}" if others else ""
        text = "" if self.encoding in _USUAL else f"text in {self.encoding}"
        place = " of ".join(filter(None, (header, sheet)))
        more = f" (others: {', '.join(others)})" if others else ""
        far = f"without cell {self.far}, far from the others" if self.far else ""
        return ", ".join(filter(None, (f"{place}{more}", text, far)))


def invalid_row(detail: str) -> InvalidParameter:
    """Returns the error of a row that is not sent."""
    problem = {"code": InvalidParameter.code, "status": 400, "detail": detail}
    return InvalidParameter(400, problem, retry_after=None)


#: The error of a row that is longer than the header: its cells may be those of other columns.
LONGER: Final = invalid_row("the row has more cells than the header")


def country_of(text: str) -> str | None:
    """Returns `dk` or `no` for a code or a name in any of the languages."""
    letters = "".join(filter(str.isprintable, text))
    return COUNTRIES.get(letters.strip().lower().rstrip("."))


def term_of(cell: str) -> str:
    """Returns the text of a cell, without the signs that prevent calculation with it."""
    text = cell.strip()
    quoted = _QUOTED.fullmatch(text)
    return (quoted[1] if quoted else text.removeprefix("'")).strip()


def harmless(cell: str) -> str:
    """Returns the text of a cell that no terminal and no spreadsheet acts on.

    Control characters and direction marks become spaces, and a formula begins with an apostrophe,
    also one behind a mark at which a spreadsheet of another country splits the line.
    """
    text = "".join(each if each.isprintable() or each == "\n" else " " for each in cell)
    if _HARMLESS.fullmatch(text.strip()):
        return text
    first, *others = _SPLITS.split(text)
    # Only a part that is split off loses its quotes.
    parts = [_inert(first, first), *(_inert(part, part.lstrip(' "')) for part in others)]
    return "".join(parts)


def _inert(part: str, content: str) -> str:
    content = content.strip()
    is_formula = content.startswith(_FORMULA) and not _HARMLESS.fullmatch(content)
    return f"'{part}" if is_formula else part


def read_sheet(data: bytes, *, sheet: str | None = None, header_row: int | None = None) -> Sheet:
    """Returns a file's sheet: the named or the first visible one, with its header.

    The header is the row with most of the known names among the first, or that of a number.
    Raises ValueError with the reason if the file cannot be read.
    """
    if is_workbook(data):
        grid = read_workbook(data, sheet)
        found = _with_header(grid.rows, header_row)
        # A cell of a workbook has its column: a note beside the table moves no other cell.
        rows = [replace(row, is_longer=False) for row in found.rows if any(row.cells)]
        return replace(found, rows=rows, name=grid.name, names=grid.names, far=grid.far)
    refuse_others(data)
    if sheet is not None:
        raise ValueError(f"is a text, and has no sheet {sheet}")
    encoding, mark = _encoding(data)
    try:
        text = data[mark:].decode(encoding)
    except UnicodeDecodeError:
        raise ValueError(_NO_TEXT) from None
    if "\x00" in text:
        raise ValueError(_NO_TEXT)
    if ours := lines_in(text):
        return _of_ours(ours, header_row)
    named = _SEPARATOR.match(text)
    if named:
        text = text[named.end() :]
    lines = io.StringIO(text, newline="").readlines()
    delimiter = named[1] if named else _delimiter(lines, header_row)
    found = _with_header(list(_records(lines, delimiter)), header_row)
    return replace(
        found,
        delimiter=delimiter,
        is_plain=encoding == "utf-8" and not mark,
        encoding=_NAMES[encoding],
    )


def _of_ours(lines: Sequence[Line], header_row: int | None) -> Sheet:
    if header_row is not None:
        raise ValueError("has no row of a header")
    header = list(dict.fromkeys(name for line in lines for name in line.cells))
    rows = [
        Row([line.cells.get(name, "") for name in header], number=line.number) for line in lines
    ]
    return Sheet(header, rows, is_plain=True)


def _encoding(data: bytes) -> tuple[str, int]:
    # Text without a mark is UTF-8 if it is valid: other encodings of these languages never are.
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding, len(mark)
    sample = data[:1000]
    for width, first, encoding in _ZEROS:
        zeros = [sample[at::width] for at in range(width) if at != first]
        # Latin letters have one byte that is not 0.
        if all(2 * part.count(0) > len(part) for part in zeros):
            return encoding, 0
    try:
        data.decode()
    except UnicodeDecodeError:
        return max(_OF_ONE_BYTE, key=lambda each: _letters(data, each)), 0
    return "utf-8", 0


def _letters(data: bytes, encoding: str) -> int:
    return len(_NORDIC.findall(data.decode(encoding, errors="replace")))


def _delimiter(lines: Sequence[str], header_row: int | None) -> str:

    def columns(delimiter: str) -> tuple[int, int]:
        rows = list(islice(_records(lines, delimiter), max(_ABOVE, header_row or 0)))
        if not rows:
            return 0, 0
        cells = _header(rows, header_row)
        return len(_kinds(cells)), len(cells)

    return max(_DELIMITERS, key=columns)


def _with_header(rows: list[tuple[int, list[str]]], header_row: int | None) -> Sheet:
    if not rows and header_row is None:
        return Sheet([], [])
    place = _header_place(rows, header_row)
    header = _unique(_header(rows, header_row))
    below = [_row(cells, len(header), number) for number, cells in rows[place + 1 :]]
    return Sheet(header, below, header_row=rows[place][0])


def _header(rows: Sequence[tuple[int, list[str]]], header_row: int | None) -> list[str]:
    return _named(rows, _header_place(rows, header_row))


def _named(rows: Sequence[tuple[int, list[str]]], place: int) -> list[str]:
    # An empty one takes the name from the row above it, of a cell that is merged over both.
    number, cells = rows[place]
    above, group = rows[place - 1] if place else (0, [])
    if above != number - 1 or _filled(group) < 2:
        return cells
    width = max(len(cells), len(group))
    pairs = zip(_padded(cells, width), _padded(group, width), strict=True)
    return [cell if cell.strip() else over for cell, over in pairs]


def _header_place(rows: Sequence[tuple[int, list[str]]], header_row: int | None) -> int:
    # It has the most known names, and if only one, either only titles above it, which are rows of
    # one cell, or more cells than these. Of equal ones it has the most cells.
    if header_row is not None:
        for place, (number, _) in enumerate(rows):
            if number == header_row:
                return place
        raise ValueError(f"has nothing in row {header_row}")
    best, most, widest = 0, (0, 0), 0
    is_title = True
    for place, (_, cells) in enumerate(rows[:_ABOVE]):
        known, filled = len(_kinds(_named(rows, place))), _filled(cells)
        if known and (known, filled) > most and (known > 1 or is_title or filled > widest):
            best, most = place, (known, filled)
        is_title = is_title and filled == 1 and not known
        widest = max(widest, filled)
    return best


def _kinds(cells: Sequence[str]) -> set[str]:
    return {kind for cell in cells if (kind := kind_of(cell)) is not None}


def _filled(cells: Sequence[str]) -> int:
    return sum(1 for cell in cells if cell.strip())


def _padded(cells: list[str], length: int) -> list[str]:
    return [*cells, *[""] * (length - len(cells))]


def _records(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    first, number = 0, 0
    while first < len(lines):
        if lines[first].isspace():
            # Passed over without a reader: a file may have millions of them.
            first, number = first + 1, number + 1
            continue
        cells, count = _record(lines, first, delimiter)
        first, number = first + count, number + 1
        if any(cell.strip() for cell in cells):
            yield number, cells


def _record(lines: Sequence[str], first: int, delimiter: str) -> tuple[list[str], int]:
    # With malformed quotes it ends with its line: an unclosed quote would swallow the rows up to
    # the next one.
    rest = (lines[at] for at in range(first, min(first + _MAX_LINES, len(lines))))
    reader = csv.reader(rest, delimiter=delimiter, strict=True)
    try:
        return next(reader), reader.line_num
    except csv.Error:
        line = lines[first].rstrip("\r\n")
    try:
        return next(csv.reader([line], delimiter=delimiter)), 1
    except csv.Error:  # a cell is longer than the module reads
        return line.split(delimiter), 1


def _unique(names: list[str]) -> list[str]:
    found: list[str] = []
    for number, name in enumerate(names, start=1):
        stripped = name.strip()
        found.append(stripped if stripped and stripped not in found else f"{stripped}_{number}")
    return found


def _row(cells: list[str], length: int, number: int) -> Row:
    is_longer = any(cell.strip() for cell in cells[length:])
    kept = [without_error(cell) for cell in _padded(cells, length)[:length]]
    return Row(kept, is_longer, number)
