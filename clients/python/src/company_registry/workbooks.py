"""Workbooks: the rows of a sheet of an XLSX, XLS, XLSB or ODS file, and what such files are not."""

import io
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple
from zipfile import BadZipFile, ZipFile

_ZIP: Final = b"PK\x03\x04"
#: The container of Office files until 2003, and of encrypted ones since.
_OLE: Final = b"\xd0\xcf\x11\xe0"
#: The name of the stream of an encrypted workbook in its container.
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")

_LOCKED: Final = "is protected by a password: save it without one"
#: The format of a file by its beginning, without spaces, in lower case.
_OTHERS: Final = (
    (
        (b"<!doctypehtml", b"<html", b"<table", b"<head", b"<meta", b"<body", b"<style"),
        "is a web page (HTML), whatever its name: open it in a spreadsheet and save it as XLSX",
    ),
    ((b"mime-version:",), "is a saved web page (MHTML): open it and save it as XLSX"),
    ((b"<?xml",), "is XML, as Excel 2003 wrote it, or of another program: save it as XLSX"),
    ((b"%pdf",), "is a PDF, and no spreadsheet"),
    ((b"{\\rtf",), "is a text document (RTF): save its table as XLSX or CSV"),
)
#: The format of an archive by the name of a file in it.
_ARCHIVES: Final = {
    b"Index/Document.iwa": "is a document of Numbers or Pages: export it as XLSX or CSV",
    b"word/document.xml": "is a text document (DOCX): save its table as XLSX or CSV",
}
#: The contents of an ODS file, which say whether they are encrypted.
_MANIFEST: Final = "META-INF/manifest.xml"
_MANIFEST_READ: Final = 100_000
_SAMPLE: Final = 4096
#: Bytes of marks of encodings.
_MARKS: Final = b"\xef\xbb\xbf\xff\xfe"


class Grid(NamedTuple):
    """The cells of a sheet, with the sheets that may be chosen."""

    name: str
    #: The visible sheets in their order.
    names: tuple[str, ...]
    #: The first row is row 1.
    rows: Iterator[list[str]]


def is_workbook(data: bytes) -> bool:
    """Returns True for a workbook, or another file of an office program."""
    return data.startswith((_ZIP, _OLE))


def refuse_others(data: bytes) -> None:
    """Raises ValueError that says what a file is which is no spreadsheet, whatever its name."""
    # UTF-16 is such letters with a zero byte between them.
    beginning = b"".join(data[:_SAMPLE].replace(b"\x00", b"").lower().split()).lstrip(_MARKS)
    for beginnings, reason in _OTHERS:
        if beginning.startswith(beginnings):
            if beginning.startswith(b"<?xml") and b"<html" in beginning:
                reason = _OTHERS[0][1]
            raise ValueError(reason)


def read_workbook(data: bytes, name: str | None = None) -> Grid:
    """Returns the named sheet, else the first visible one that is not empty.

    Raises ValueError with the reason if there is none.
    """
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
            "is a workbook: install company-registry[xlsx], or save it as CSV"
        ) from None
    _refuse_locked(data)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [each for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
        visible = [each.name for each in sheets if each.visible == SheetVisibleEnum.Visible]
        # A hidden one is read if it is named.
        if name is not None and name not in (each.name for each in sheets):
            raise ValueError(f"has no sheet {name}: it has {', '.join(visible) or 'none'}")
        chosen = visible if name is None else [name]
        found = (book.get_sheet_by_name(each) for each in chosen)
        sheet = next((each for each in found if each.height), None)
        hidden = [each.name for each in sheets if each.name not in visible]
    except PasswordError:
        raise ValueError(_LOCKED) from None
    except (CalamineError, OSError):
        raise ValueError("cannot be read as a workbook: save it again as XLSX or CSV") from None
    if sheet is None:
        if hidden:
            raise ValueError(f"has rows only in hidden sheets: show one of {', '.join(hidden)}")
        return Grid("", tuple(visible), iter(()))
    rows = (_trimmed([text_of(cell) for cell in row]) for row in sheet.iter_rows())
    return Grid(sheet.name, tuple(visible), rows)


def _refuse_locked(data: bytes) -> None:
    if data.startswith(_OLE) and _ENCRYPTED in data:
        raise ValueError(_LOCKED)
    if not data.startswith(_ZIP):
        return
    for name, reason in _ARCHIVES.items():
        if name in data:
            raise ValueError(reason)
    try:
        with ZipFile(io.BytesIO(data)) as archive, archive.open(_MANIFEST) as manifest:
            if b"encryption-data" in manifest.read(_MANIFEST_READ):
                raise ValueError(_LOCKED)
    except (BadZipFile, KeyError, OSError, RuntimeError, NotImplementedError, zlib.error):
        return  # It is no ODS file, or it cannot be read for another reason.


def text_of(value: object) -> str:
    """Returns the text of a cell; a number without the point that a spreadsheet adds."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _trimmed(cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells.pop()
    return cells
