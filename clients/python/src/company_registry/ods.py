"""ODS files: the cells that are there, as the file shows them."""

from typing import Final
from zipfile import ZipFile

from company_registry.cells import number_text
from company_registry.xlsx import Book, Cells, Rows, local, read_xml

_CONTENT: Final = "content.xml"
#: Equal rows and cells that one element may stand for; it stands for millions of empty ones.
_MAX_REPEATED: Final = 10_000
#: Elements in a cell whose text is not the cell's.
_BESIDE: Final = frozenset({"annotation", "shapes"})

_Attributes = dict[str, str]


def open_ods(archive: ZipFile) -> Book:
    """Returns the workbook that is in an archive; raises ValueError, KeyError and others."""
    reader = _Reader()
    with archive.open(_CONTENT) as file:
        read_xml(file, reader.start, reader.end, reader.text)
    sheets = {name: style not in reader.hidden for name, style in reader.styles.items()}
    return Book(sheets, reader.sheets.__getitem__)


class _Reader:
    """Reads all sheets in one pass."""

    def __init__(self) -> None:
        self.sheets: dict[str, Rows] = {}
        #: The style of each sheet, and those that hide a sheet.
        self.styles: dict[str, str] = {}
        self.hidden: set[str] = set()
        self._style = ""
        self._rows: Rows = []
        self._row, self._column, self._repeated = 0, 0, 1
        self._cells: Cells = {}
        self._cell: _Attributes | None = None
        self._lines: list[list[str]] = []
        self._is_text = False
        self._beside = 0

    def start(self, name: str, attributes: _Attributes) -> None:
        """Begins an element."""
        name = local(name)
        if name in _BESIDE:
            self._beside += 1
        elif self._beside:
            return
        elif name in ("table-cell", "covered-table-cell"):
            self._cell, self._lines = attributes, []
        elif name == "p":
            self._is_text = True
            self._lines.append([])
        elif name in ("s", "tab", "line-break"):
            self.text(" " * min(_number(attributes, "text:c"), 100))
        elif name == "table-row":
            self._repeated = _number(attributes, "table:number-rows-repeated")
            self._column, self._cells = 0, {}
        else:
            self._start_sheet(name, attributes)

    def _start_sheet(self, name: str, attributes: _Attributes) -> None:
        if name == "style":
            self._style = attributes.get("style:name", "")
        elif name == "table-properties" and attributes.get("table:display") == "false":
            self.hidden.add(self._style)
        elif name == "table":
            sheet = attributes.get("table:name", "")
            self.styles[sheet] = attributes.get("table:style-name", "")
            self._rows = self.sheets[sheet] = []
            self._row = 0

    def end(self, name: str) -> None:
        """Ends an element."""
        name = local(name)
        if name in _BESIDE:
            self._beside -= 1
        elif self._beside:
            return
        elif name == "p":
            self._is_text = False
        elif name in ("table-cell", "covered-table-cell"):
            self._end_cell(is_covered=name != "table-cell")
        elif name == "table-row":
            if self._cells:
                repeated = min(self._repeated, _MAX_REPEATED)
                self._rows += [(self._row + one, self._cells) for one in range(1, repeated + 1)]
            self._row += self._repeated

    def text(self, text: str) -> None:
        """Takes a piece of a text."""
        if self._is_text and not self._beside:
            self._lines[-1].append(text)

    def _end_cell(self, *, is_covered: bool) -> None:
        attributes, self._cell = self._cell or {}, None
        count = _number(attributes, "table:number-columns-repeated")
        shown = "\n".join("".join(line) for line in self._lines).strip()
        text = "" if is_covered else _text(attributes, shown)
        if text:
            for column in range(self._column, self._column + min(count, _MAX_REPEATED)):
                self._cells[column] = text
        self._column += count


def _text(attributes: _Attributes, shown: str) -> str:
    if "error" in (attributes.get("calcext:value-type"), attributes.get("office:value-type")):
        return ""
    match attributes.get("office:value-type", ""):
        case "float" | "currency" | "percentage":
            number = number_text(attributes.get("office:value", ""))
            digits = "".join(filter(str.isdecimal, shown))
            # Only the format of the cell shows its leading zeros.
            return digits if number.isdecimal() and digits.lstrip("0") == number else number
        case "date":
            return attributes.get("office:date-value", shown).replace("T00:00:00", "")
        case "boolean":
            return attributes.get("office:boolean-value", shown).capitalize()
        case _:
            return shown or attributes.get("office:string-value", "").strip()


def _number(attributes: _Attributes, name: str) -> int:
    text = attributes.get(name, "1")
    return int(text) if text.isdecimal() else 1
