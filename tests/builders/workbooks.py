"""Workbooks as bytes."""

import io
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from zipfile import ZipFile

import xlsxwriter

_SECTOR = 512
_END, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def a_workbook(
    sheets: Mapping[str, Sequence[Sequence[Any]]],
    *,
    hidden: Collection[str] = (),
    merged: Mapping[str, str] | None = None,
) -> bytes:
    """An XLSX file with the rows of its sheets; `merged` is a range of a sheet, such as B3:C3."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
            if merged and name in merged:
                first = merged[name].partition(":")[0]
                text = rows[int(first[1:]) - 1][ord(first[0]) - ord("A")]
                sheet.merge_range(merged[name], str(text))
        shown = [sheet for sheet in book.worksheets() if sheet.name not in hidden]
        shown[0].activate()
        shown[0].set_first_sheet()
        for sheet in book.worksheets():
            if sheet.name in hidden:
                sheet.hide()
    return file.getvalue()


def an_encrypted_ods() -> bytes:
    """An ODS file with a password, as far as its contents say so."""
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        entry = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/>'
        archive.writestr("META-INF/manifest.xml", f"<manifest:manifest>{entry}")
        archive.writestr("content.xml", b"\x00\x11")
    return file.getvalue()


def an_encrypted_workbook() -> bytes:
    """An XLSX file with a password: a compound file whose streams are the encrypted package."""
    streams = {"EncryptionInfo": b"\x04\x00\x04\x00" + b"x" * 4096, "EncryptedPackage": b"y" * 4096}
    table: list[int] = []
    bodies, entries = b"", [_entry("Root Entry", 5, _END, 0, child=1)]
    for place, (name, body) in enumerate(streams.items(), start=1):
        first, count = len(table), -(-len(body) // _SECTOR)
        table += [*range(first + 1, first + count), _END]
        bodies += body.ljust(count * _SECTOR, b"\x00")
        following = place + 1 if place < len(streams) else _FREE
        entries.append(_entry(name, 2, first, len(body), following=following))
    directory = len(table)
    table += [_END, _TABLE]
    header = struct.pack(
        "<8s16x5H6x9I", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6,
        0, 1, directory, 0, 4096, _END, 0, _END, 0,
    ) + struct.pack("<109I", directory + 1, *[_FREE] * 108)  # fmt: skip
    table += [_FREE] * (_SECTOR // 4 - len(table))
    listed = b"".join(entries).ljust(_SECTOR, b"\x00")
    return header + bodies + listed + struct.pack(f"<{len(table)}I", *table)


def _entry(
    name: str, kind: int, first: int, size: int, *, child: int = _FREE, following: int = _FREE
) -> bytes:
    text = f"{name}\0".encode("utf-16-le")
    tree = (kind, 1, _FREE, following, child)
    return struct.pack("<64sHBB3I36xIQ", text, len(text), *tree, first, size)
