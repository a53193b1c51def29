"""Workbooks: the rows of a sheet of an XLSX, XLS, XLSB or ODS file, and what such files are not."""

import io
import zlib
from itertools import pairwise
from typing import Final, NamedTuple
from zipfile import BadZipFile, ZipFile

from company_registry.binary_workbooks import UNREADABLE, name_of, open_xls, open_xlsb
from company_registry.ods import open_ods
from company_registry.xlsx import Book, Rows, main_part, open_xlsx

_ZIP: Final = b"PK\x03\x04"
#: The container of Office files until 2003, and of encrypted ones since.
_OLE: Final = b"\xd0\xcf\x11\xe0"
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
#: The kind of an archive, by the beginning of its main part or by a part that it has.
_ARCHIVES: Final = {
    "Index/Document.iwa": "is a document of Numbers or Pages: export it as XLSX or CSV",
    "word/": "is a text document (DOCX): save its table as XLSX or CSV",
    "ppt/": "is a presentation (PPTX), and no spreadsheet",
}
#: The contents of an ODF file, which say whether they are encrypted, and its kind.
_MANIFEST: Final = "META-INF/manifest.xml"
_MANIFEST_READ: Final = 100_000
_KIND: Final = "mimetype"
_ODS: Final = b"application/vnd.oasis.opendocument.spreadsheet"
_ODF: Final = b"application/vnd.oasis.opendocument."
_SAMPLE: Final = 4096
#: Bytes of marks of encodings.
_MARKS: Final = b"\xef\xbb\xbf\xff\xfe"


#: Columns without a cell behind which a cell does not belong to the table before it.
_FAR: Final = 100


class Grid(NamedTuple):
    """The cells of a sheet, with the sheets that may be chosen."""

    name: str
    #: The visible sheets in their order.
    names: tuple[str, ...]
    #: The rows that have a cell, by number from 1.
    rows: list[tuple[int, list[str]]]
    #: The first cell that is left out, since it is far from the others, such as `XFD1048576`.
    far: str = ""


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
    if data.startswith(_OLE):
        return _chosen(open_xls(data), name)
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            _refuse_locked(archive)
            main = main_part(archive)
            if _kind(archive).startswith(_ODS):
                return _chosen(open_ods(archive), name)
            _refuse_archives(archive, main)
            if main.lower().endswith(".bin"):
                return _chosen(open_xlsb(data, archive, main), name)
            return _chosen(open_xlsx(archive, main), name)
    except (BadZipFile, KeyError, OSError, RuntimeError, NotImplementedError, zlib.error, EOFError):
        raise ValueError(UNREADABLE) from None


def _chosen(book: Book, name: str | None) -> Grid:
    visible = tuple(each for each, is_visible in book.sheets.items() if is_visible)
    # A hidden one is read if it is named.
    if name is not None and name not in book.sheets:
        raise ValueError(f"has no sheet {name}: it has {', '.join(visible) or 'none'}")
    for each in visible if name is None else (name,):
        if rows := book.rows(each):
            return _grid(each, visible, rows)
    hidden = [each for each in book.sheets if each not in visible]
    if hidden and name is None:
        raise ValueError(f"has rows only in hidden sheets: show one of {', '.join(hidden)}")
    return Grid("", visible, [])


def _grid(name: str, names: tuple[str, ...], rows: Rows) -> Grid:
    """Returns the rows, without cells that only an add-in or a slip has put far to the right."""
    used = sorted({column for _, cells in rows for column in cells})
    far = next((right for left, right in pairwise(used) if right - left > _FAR), None)
    listed: list[tuple[int, list[str]]] = []
    first = ""
    for number, cells in rows:
        near = cells if far is None else {at: text for at, text in cells.items() if at < far}
        if len(near) < len(cells) and not first:
            first = name_of(number - 1, min(at for at in cells if at not in near))
        if near:
            listed.append((number, [near.get(at, "") for at in range(max(near) + 1)]))
    return Grid(name, names, listed, first)


def _kind(archive: ZipFile) -> bytes:
    return archive.read(_KIND)[:100] if _KIND in archive.namelist() else b""


def _refuse_archives(archive: ZipFile, main: str) -> None:
    if _kind(archive).startswith(_ODF):
        raise ValueError("is an OpenDocument file, and no spreadsheet: save its table as XLSX")
    for beginning, reason in _ARCHIVES.items():
        if main.lower().startswith(beginning) or (not main and beginning in archive.namelist()):
            raise ValueError(reason)
    if not main:
        raise ValueError("is an archive (ZIP), and no spreadsheet: send the file that is in it")


def _refuse_locked(archive: ZipFile) -> None:
    if _MANIFEST in archive.namelist():
        with archive.open(_MANIFEST) as manifest:
            if b"encryption-data" in manifest.read(_MANIFEST_READ):
                raise ValueError(_LOCKED)
