"""XLSX files: the cells that are there, as the file's formats show them.

Only those are kept: a cell in the last row and column takes no more than any other.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from posixpath import join, normpath
from typing import IO, Final, NamedTuple, TypeVar
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers import expat
from xml.sax.saxutils import escape
from zipfile import ZipFile

from company_registry.cells import GENERAL, Format, format_of, number_text

#: Bytes of a part, unpacked.
MAX_PART: Final = 1 << 30
_CHUNK: Final = 1 << 18
#: Chunks in which the first element of a part begins.
_HEAD: Final = 2
#: The declaration of a part, which has no document type, and its first element.
_ROOT: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>)?\s*(?:<!--.*?-->\s*)*(<((?:[\w.-]+:)?)([\w.-]+)[^>]*>)",
    re.S,
)

#: The cells of a row that are not empty, by column from 0.
Cells = dict[int, str]
Rows = list[tuple[int, Cells]]

_Attributes = dict[str, str]
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")

#: A cell as it is written: letters of its column, style, type, value and text.
_Written = tuple[str, str, str, str, str]
#: The usual forms of a text, a row and a cell. All others are parsed.
_USUAL_TEXT: Final = re.compile(r"<si><t(?: [^>]*[^>/])?>([^<]*)</t></si>")
_USUAL_ROW: Final = re.compile(r'<row(?: r="(\d+)")?(?: [^>]*?)?(?:/>|>(.*?)</row>)', re.S)
_USUAL_CELL: Final = re.compile(
    r'<c(?: r="([A-Za-z]+)\d+")?(?: s="(\d+)")?(?: t="(\w+)")?(?:/>|>'
    r"(?:<f(?: [^>]*)?(?:/>|>[^<]*</f>))?(?:<v>([^<]*)</v>|<v/>)?"
    r"(?:<is><t(?: [^>]*[^>/])?>([^<]*)</t></is>)?</c>)"
)
_MAIN: Final = "officedocument"


class Book(NamedTuple):
    """The sheets of a workbook, True for a visible one, and how one is read."""

    sheets: Mapping[str, bool]
    rows: Callable[[str], Rows]


def read_xml(
    file: IO[bytes],
    start: Callable[[str, _Attributes], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Calls functions for the elements of a part; raises ValueError, also for a part too large."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    # Entities may stand for far more text than there is, and no office program declares any.
    parser.StartDoctypeDeclHandler = _refuse
    try:
        for chunk in _chunks(file):
            parser.Parse(chunk)
        parser.Parse(b"", True)  # noqa: FBT003 (the last part)
    except expat.ExpatError:
        raise ValueError("has a part that is no XML") from None


def _refuse(*_: object) -> None:
    raise ValueError("declares entities, as no office program does: save it again as XLSX")


class Batch(NamedTuple):
    """Many elements of one name, as they are written, and how they are parsed."""

    text: str
    #: The text before and after elements that are parsed.
    opening: str
    closing: str

    @property
    def is_usual(self) -> bool:
        """True if names have no prefix, and nothing is a comment or quoted whole."""
        return ":" not in self.closing and "<!" not in self.text

    def parsed(self, text: str) -> Element:
        """Returns an element that has those of a text; raises ValueError."""
        try:
            # Entities cannot be declared.
            return fromstring(f"{self.opening}{text}{self.closing}")  # noqa: S314
        except ParseError:
            raise ValueError("has a part that is no XML") from None


def batches(file: IO[bytes], name: str) -> Iterator[Batch]:
    """Yields the elements of a name, of a part that has them next to each other, in batches.

    Parsing each takes five times as long as finding those of the usual form by an expression.
    Raises ValueError.
    """
    chunks = _chunks(file)
    held = b"".join(islice(chunks, _HEAD))
    root = _ROOT.match(held)
    if root is None:
        raise ValueError("has a part that is no XML in UTF-8")
    opening, prefix, tag = root.groups(default=b"")
    begin, end = (b"%b%b%b" % (mark, prefix, name.encode()) for mark in (b"<", b"</"))
    first_of = re.compile(re.escape(begin) + rb"[\s/>]")
    closing = b"</%b%b>" % (prefix, tag)
    rest = held[root.end() :]
    for chunk in chain(chunks, [b""]):
        last = rest.rfind(end + b">")
        if last >= 0:
            last += len(end) + 1
            first = first_of.search(rest, 0, last)
            if first is not None:
                texts = (rest[first.start() : last], opening, closing)
                yield Batch(*(text.decode(errors="replace") for text in texts))
            rest = rest[last:]
        rest += chunk
    if not opening.endswith(b"/>") and closing not in rest:
        raise ValueError("is cut off: save it again")


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    size = 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > MAX_PART:
            raise ValueError("is larger than 1 GB unpacked: save it as CSV")
        yield chunk


def local(name: str) -> str:
    """Returns the name of an element without its prefix."""
    return name.rpartition(":")[2]


def main_part(archive: ZipFile) -> str:
    """Returns the name of the workbook itself, or of another main document; empty without one."""
    return next((part for kind, part in related(archive, "") if kind == _MAIN), "")


def related(archive: ZipFile, part: str) -> list[tuple[str, str]]:
    """Returns the kinds and the names of the parts that a part refers to and that are there."""
    names = _names(archive)
    of_part = _relations(archive, part).values()
    return [(kind, names[path.lower()]) for kind, path in of_part if path.lower() in names]


def open_xlsx(archive: ZipFile, main: str) -> Book:
    """Returns the workbook that is in an archive; raises ValueError, KeyError and others."""
    relations = _relations(archive, main)
    names = _names(archive)
    visible: dict[str, bool] = {}
    parts: dict[str, str] = {}
    from_1904 = False

    def start(name: str, attributes: _Attributes) -> None:
        nonlocal from_1904
        if local(name) == "workbookPr":
            from_1904 = attributes.get("date1904") in ("1", "true")
        elif local(name) == "sheet":
            id_ = next((value for key, value in attributes.items() if local(key) == "id"), "")
            kind, target = relations.get(id_, ("", ""))
            if kind == "worksheet":
                visible[attributes["name"]] = attributes.get("state", "visible") == "visible"
                parts[attributes["name"]] = names.get(target.lower(), target)

    with archive.open(main) as file:
        read_xml(file, start)
    of_kind = dict(related(archive, main))
    shared: list[list[str]] = []
    formats: list[list[Format]] = []

    def rows(sheet: str) -> Rows:
        if not shared:
            shared.append(_strings(archive, of_kind.get("sharedstrings", "")))
            formats.append(_formats(archive, of_kind.get("styles", "")))
        with archive.open(parts[sheet]) as file:
            return _SheetReader(shared[0], formats[0], from_1904).rows(file)

    return Book(visible, rows)


def _names(archive: ZipFile) -> dict[str, str]:
    """Returns the names of the parts by what they are in small letters with slashes."""
    return {name.replace("\\", "/").lower(): name for name in archive.namelist()}


def _relations(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Returns the kinds and the names of the parts that a part refers to, by their ids."""
    folder, _, file_name = part.rpartition("/")
    listed = _names(archive).get(join(folder, "_rels", f"{file_name}.rels").lower())
    found: dict[str, tuple[str, str]] = {}

    def start(name: str, attributes: _Attributes) -> None:
        if local(name) == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "").replace("\\", "/")
            path = normpath(target.lstrip("/") if target[:1] == "/" else join(folder, target))
            kind = attributes.get("Type", "").rpartition("/")[2].lower()
            found[attributes.get("Id", "")] = (kind, path)

    if listed is not None:
        with archive.open(listed) as file:
            read_xml(file, start)
    return found


def _strings(archive: ZipFile, part: str) -> list[str]:
    """Returns the texts that cells refer to by number."""
    if not part:
        return []
    found: list[str] = []
    with archive.open(part) as file:
        for batch in batches(file, "si"):
            usual = _USUAL_TEXT.findall(batch.text)
            if batch.is_usual and len(usual) == batch.text.count("<si"):
                found += [_plain(_unescaped(text)) for text in usual]
            else:
                found += map(_text_of, batch.parsed(batch.text))
    return found


def _text_of(element: Element) -> str:
    """Returns a text, of which formatted ones are in pieces, without its pronunciation."""
    pieces: list[str] = []
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name == "t":
            pieces.append(child.text or "")
        elif name == "r":
            pieces += [piece.text or "" for piece in child if piece.tag.endswith("}t")]
    return _plain("".join(pieces))


def _unescaped(text: str) -> str:
    return html.unescape(text) if "&" in text else text


def _plain(text: str) -> str:
    """Returns a text without the escapes of control characters."""
    if "_x" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return text.strip()


def _formats(archive: ZipFile, part: str) -> list[Format]:
    """Returns the formats of numbers by the styles of cells."""
    codes: dict[str, str] = {}
    numbers: list[str] = []
    is_of_cells = False

    def start(name: str, attributes: _Attributes) -> None:
        nonlocal is_of_cells
        match local(name):
            case "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            case "cellXfs":
                is_of_cells = True
            case "xf" if is_of_cells:
                numbers.append(attributes.get("numFmtId", "0"))

    def end(name: str) -> None:
        nonlocal is_of_cells
        is_of_cells = is_of_cells and local(name) != "cellXfs"

    if part:
        with archive.open(part) as file:
            read_xml(file, start, end)
    return [
        format_of(codes.get(number, ""), int(number) if number.isdecimal() else 0)
        for number in numbers
    ]


@dataclass(frozen=True, slots=True)
class _SheetReader:
    """Reads the cells of a sheet; cells and rows without a place follow the one before."""

    strings: Sequence[str]
    formats: Sequence[Format]
    from_1904: bool
    _columns: dict[str, int] = field(default_factory=dict)

    def rows(self, file: IO[bytes]) -> Rows:
        """Returns the rows that have a cell."""
        found: Rows = []
        number = 0
        for batch in batches(file, "row"):
            for given, written in self._rows(batch):
                number = int(given) if given.isdecimal() else number + 1
                if cells := self._cells(written):
                    found.append((number, cells))
        return found

    def _rows(self, batch: Batch) -> Iterator[tuple[str, Iterable[_Written]]]:
        """Yields the number and the cells of each row, of which unusual ones are parsed."""
        usual = _USUAL_ROW.findall(batch.text)
        if not batch.is_usual or len(usual) != batch.text.count("<row"):
            usual = []
            for row in batch.parsed(batch.text):
                yield row.get("r", ""), map(_written, row)
        for number, text in usual:
            cells = _USUAL_CELL.findall(text)
            if len(cells) == text.count("<c"):
                yield number, cells
            else:
                [row] = batch.parsed(f"<row>{text}</row>")
                yield number, map(_written, row)

    def _cells(self, written: Iterable[_Written]) -> Cells:
        column, cells, columns = -1, Cells(), self._columns
        for letters, style, type_, value, inline in written:
            if letters:
                column = columns.get(letters, -1)
                if column < 0:
                    column = columns[letters] = _column(letters)
            else:
                column += 1
            if (value or inline) and (text := self._text(style, type_, value, inline)):
                cells[column] = text
        return cells

    def _text(self, style: str, type_: str, value: str, inline: str) -> str:
        if type_ == "s":
            return _at(self.strings, value) or ""
        if type_ in {"", "n"}:
            given = _at(self.formats, style) or GENERAL
            return value and number_text(value.strip(), given, from_1904=self.from_1904)
        if type_ == "b":
            return {"1": "True", "0": "False"}.get(value, value)
        return "" if type_ == "e" else _plain(_unescaped(inline or value))


def _written(cell: Element) -> _Written:
    """Returns a parsed cell as the expression of usual ones does."""
    value = inline = ""
    for child in cell:
        if child.tag.endswith("}v"):
            value = child.text or ""
        elif child.tag.endswith("}is"):
            inline = _text_of(child)
    letters = cell.get("r", "").rstrip("0123456789")
    return letters, cell.get("s", ""), cell.get("t", ""), escape(value), escape(inline)


_Found = TypeVar("_Found")


def _at(found: Sequence[_Found], place: str) -> _Found | None:
    return found[int(place)] if place.isdecimal() and int(place) < len(found) else None


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper().replace("$", ""):
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
