"""XLS and XLSB files, read by calamine, and the containers of older Office files.

Its tables have every cell between the first and the last one: a cell in the last row and column
would take 549 GB, and end the process. So the places of the cells are read before.
"""

import io
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final
from zipfile import ZipFile

from company_registry.cells import Format, format_of, number_text
from company_registry.xlsx import Book, Rows, related

#: Cells of a table, with the empty ones between; each takes 32 bytes.
MAX_CELLS: Final = 10_000_000

_LOCKED: Final = "is protected by a password: save it without one"
UNREADABLE: Final = "cannot be read as a workbook: save it again as XLSX or CSV"

#: The name of the stream of an encrypted workbook in its container, and those of an XLS file.
_ENCRYPTED: Final = "EncryptedPackage"
_OF_XLS: Final = ("Workbook", "Book")
#: Bytes of an entry of the directory of a container.
_ENTRY: Final = 128

#: The row and the column of a cell, from 0.
Place = tuple[int, int]
Digits = dict[Place, int]


def open_xls(data: bytes) -> Book:
    """Returns the workbook in a compound file; raises ValueError."""
    container = _Container(data)
    if _ENCRYPTED in container.streams:
        raise ValueError(_LOCKED)
    name = next((each for each in _OF_XLS if each in container.streams), None)
    if name is None:
        raise ValueError(UNREADABLE)
    stream = container.read(name)
    names, sheets = _sheets_of_xls(stream)
    for digits in sheets.values():
        _refuse_far(list(digits))
    is_known = stream[4:6] == _BIFF8
    return _open(data, {names[at]: sheets[at] for at in sheets if is_known and at in names})


def open_xlsb(data: bytes, archive: ZipFile, main: str) -> Book:
    """Returns the workbook in an archive with binary parts; raises ValueError, KeyError."""
    for kind, part in related(archive, main):
        if kind == "worksheet":
            _refuse_far(list(_places_of_xlsb(archive.read(part))))
    return _open(data)


def _open(data: bytes, digits: Mapping[str, Digits] = MappingProxyType({})) -> Book:
    try:
        from python_calamine import (
            CalamineError,
            CalamineWorkbook,
            PasswordError,
            SheetTypeEnum,
            SheetVisibleEnum,
        )
    except ModuleNotFoundError:
        raise ValueError(
            "is a workbook: install company-registry[xlsx], or save it as XLSX or CSV"
        ) from None

    def guarded(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except PasswordError:
            raise ValueError(_LOCKED) from None
        except (CalamineError, OSError):
            raise ValueError(UNREADABLE) from None
        except BaseException as error:
            # A failed assertion in Rust is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise ValueError(UNREADABLE) from None

    book = guarded(lambda: CalamineWorkbook.from_filelike(io.BytesIO(data)))
    sheets = {
        each.name: each.visible == SheetVisibleEnum.Visible
        for each in book.sheets_metadata
        if each.typ == SheetTypeEnum.WorkSheet
    }

    def rows(name: str) -> Rows:
        sheet = guarded(lambda: book.get_sheet_by_name(name))
        table = guarded(lambda: sheet.to_python(skip_empty_area=False))
        return _rows(table, digits.get(name, {}))

    return Book(sheets, rows)


def _rows(table: Iterable[Sequence[object]], digits: Digits) -> Rows:
    found: Rows = []
    for number, row in enumerate(table):
        texts = (_text(cell, digits.get((number, at), 1)) for at, cell in enumerate(row))
        if cells := {at: text for at, text in enumerate(texts) if text}:
            found.append((number + 1, cells))
    return found


def _text(value: object, digits: int) -> str:
    if isinstance(value, float):
        return number_text(repr(value), Format(digits))
    return "" if value is None else str(value).strip()


def _refuse_far(places: Sequence[Place]) -> None:
    """Raises ValueError that names the cell if the table of some cells is too large."""
    if not places:
        return
    rows, columns = ({place[at] for place in places} for at in range(2))
    if (max(rows) + 1) * (max(columns) + 1) <= MAX_CELLS:
        return
    gaps = [
        max(pairwise(sorted({0, *of})), key=lambda two: two[1] - two[0]) for of in (rows, columns)
    ]
    far = next(place for place in places if place[0] >= gaps[0][1] or place[1] >= gaps[1][1])
    raise ValueError(
        f"has a cell far from the others, {name_of(*far)}: delete its row and column, or save the "
        "file as XLSX"
    )


def name_of(row: int, column: int) -> str:
    """Returns the name of a cell by its row and column from 0, such as `XFD1048576`."""
    letters, rest = "", column + 1
    while rest:
        rest, place = divmod(rest - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"{letters}{row + 1}"


#: Records of XLS that begin with the row, the column and the style of a cell, and one of several.
_CELLS_OF_XLS: Final = frozenset({0x06, 0x7E, 0xD6, 0xFD, 0x203, 0x204, 0x205, 0x27E})
_SEVERAL: Final = 0xBD
#: Records of the beginning of a sheet, its name, a format and a style.
#: Texts of earlier versions than that of 1997 are written otherwise.
_BIFF8: Final = b"\x00\x06"
_BEGIN, _NAME, _FORMAT, _STYLE = 0x809, 0x85, 0x41E, 0xE0


def _sheets_of_xls(stream: bytes) -> tuple[dict[int, str], dict[int, Digits]]:
    """Returns the names and the cells of sheets by their places in the stream.

    Each cell has the fewest digits that its format shows.
    """
    names: dict[int, str] = {}
    codes: dict[int, str] = {}
    formats: list[int] = []
    sheets: dict[int, Digits] = {}
    sheet: Digits = {}
    for at, kind, record in _records_of_xls(stream):
        if kind == _BEGIN:
            sheet = sheets[at] = {}
        elif kind == _NAME:
            names[struct.unpack_from("<I", record)[0]] = _string(record[6:], record[6])
        elif kind == _FORMAT:
            number, length = struct.unpack_from("<HH", record)
            codes[number] = _string(record[3:], length)
        elif kind == _STYLE:
            formats.append(struct.unpack_from("<H", record, 2)[0])
        else:
            for place, style in _cells_of_xls(kind, record):
                code = codes.get(formats[style], "") if style < len(formats) else ""
                sheet[place] = format_of(code).digits
    return names, sheets


def _records_of_xls(stream: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields the place, the kind and the content of each record."""
    at = 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        # A truncated record, or one shorter than its length says, is filled with zeros.
        yield at, kind, stream[at + 4 : at + 4 + size].ljust(8, b"\x00")
        at += 4 + size


def _string(record: bytes, length: int) -> str:
    """Returns a text behind the last byte of its length and a byte that says how it is written."""
    is_wide = record[1] & 1
    text = record[2 : 2 + length * (1 + is_wide)]
    return text.decode("utf-16-le" if is_wide else "latin-1", "replace")


def _cells_of_xls(kind: int, record: bytes) -> Iterator[tuple[Place, int]]:
    row, column, style = struct.unpack_from("<HHH", record)
    if kind in _CELLS_OF_XLS:
        yield (row, column), style
    elif kind == _SEVERAL:
        for number, start in enumerate(range(4, len(record) - 6, 6)):
            yield (row, column + number), struct.unpack_from("<H", record, start)[0]


#: The record of XLSB that begins a row, and the last one of a cell.
_ROW, _LAST_CELL = 0, 11


def _places_of_xlsb(part: bytes) -> Iterator[Place]:
    row = at = 0
    while at < len(part):
        kind, at = _varied(part, at, 2)
        size, at = _varied(part, at, 4)
        if kind <= _LAST_CELL and at + 4 <= len(part):
            number = struct.unpack_from("<I", part, at)[0]
            if kind == _ROW:
                row = number
            else:
                yield row, number
        at += size


def _varied(part: bytes, at: int, most: int) -> tuple[int, int]:
    """Returns a number of seven bits in each byte, and the place behind it."""
    number = 0
    for place, byte in enumerate(part[at : at + most]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number, at + place + 1
    return number, at + most


class _Container:
    """The streams of a compound file; a damaged one has fewer."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        #: The first sector and the length of each stream.
        self.streams: dict[str, tuple[int, int]] = {}
        self._table: list[int] = []
        try:
            self._size = 1 << struct.unpack_from("<H", data, 30)[0]
            self._read_table()
            first = struct.unpack_from("<I", data, 48)[0]
            for sector in self._chain(first):
                self._read_entries(sector)
        except (struct.error, OverflowError, MemoryError):
            self.streams.clear()

    def read(self, name: str) -> bytes:
        """Returns a stream, as far as it is there; empty for one that is in small sectors."""
        first, length = self.streams[name]
        small = struct.unpack_from("<I", self._data, 56)[0]
        if length < small:
            return b""
        return b"".join(map(self._sector, self._chain(first)))[:length]

    def _read_table(self) -> None:
        sectors = list(struct.unpack_from("<109I", self._data, 76))
        following, left = struct.unpack_from("<II", self._data, 68)
        per_sector = self._size // 4
        while left and self._sector(following):
            *more, following = struct.unpack(f"<{per_sector}I", self._sector(following))
            sectors += more
            left -= 1
        for sector in sectors:
            if content := self._sector(sector):
                self._table += struct.unpack(f"<{per_sector}I", content)

    def _read_entries(self, sector: int) -> None:
        content = self._sector(sector)
        for at in range(0, len(content), _ENTRY):
            text, size = struct.unpack_from("<64sH", content, at)
            first, length = struct.unpack_from("<II", content, at + 116)
            name = text[: max(0, size - 2)].decode("utf-16-le", "replace")
            if name:
                self.streams.setdefault(name, (first, length))

    def _sector(self, number: int) -> bytes:
        """Returns a sector, empty for one that is not whole."""
        content = self._data[(number + 1) * self._size : (number + 2) * self._size]
        return content if len(content) == self._size else b""

    def _chain(self, first: int) -> Iterator[int]:
        seen = set[int]()
        while first < len(self._table) and first not in seen:
            seen.add(first)
            yield first
            first = self._table[first]
