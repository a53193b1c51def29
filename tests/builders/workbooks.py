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
    return _compound(
        {"EncryptionInfo": b"\x04\x00\x04\x00" + b"x" * 4096, "EncryptedPackage": b"y" * 4096}
    )


def an_xls(*cells: tuple[int, int, float | str], code: str = "General") -> bytes:
    """An XLS file with texts, and numbers of a format, by row and column."""
    begin = struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0)
    styles = b"".join(_record(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, 164))
    code_ = struct.pack("<HHB", 164, len(code), 0) + code.encode()
    head = _record(0x809, begin) + _record(0x41E, code_) + styles
    name = b"Ark1"
    length = len(head) + 4 + 8 + len(name) + 4
    head += _record(0x85, struct.pack("<IBBBB", length, 0, 0, len(name), 0) + name)
    body = _record(0x809, begin.replace(b"\x05", b"\x10", 1))
    for row, column, value in cells:
        place = struct.pack("<HH", row, column)
        if isinstance(value, str):
            text = struct.pack("<HHB", 0, len(value), 0) + value.encode()
            body += _record(0x204, place + text)
        else:
            body += _record(0x203, place + struct.pack("<Hd", 1, value))
    book = head + _record(0x0A, b"") + body + _record(0x0A, b"")
    return _compound({"Workbook": book.ljust(4096, b"\x00")})


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def an_xlsb(*cells: tuple[int, int]) -> bytes:
    """An XLSB file with a blank in some cells, as far as the places of its cells say so."""
    sheet = b"".join(struct.pack("<BBIBBII", 0, 4, row, 1, 8, column, 0) for row, column in cells)
    return an_archive({
        "_rels/.rels": _related(officeDocument="xl/workbook.bin"),
        "xl/workbook.bin": b"",
        "xl/_rels/workbook.bin.rels": _related(worksheet="worksheets/sheet1.bin"),
        "xl/worksheets/sheet1.bin": sheet,
    })  # fmt: skip


def an_xlsx(
    rows: str,
    *,
    styles: str = "",
    prefix: str = "",
    parts: Mapping[str, bytes | str] | None = None,
) -> bytes:
    """An XLSX file of one sheet, whose rows are given as they are written."""
    mark = f"{prefix}:" if prefix else ""
    name = f"xmlns:{prefix}" if prefix else "xmlns"
    space = f'{name}="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    return an_archive({
        "_rels/.rels": _related(officeDocument="xl/workbook.xml"),
        "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="Ark1" r:id="worksheet"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _related(
            worksheet="worksheets/sheet1.xml", styles="styles.xml"
        ),
        "xl/styles.xml": f"<styleSheet>{styles}</styleSheet>",
        "xl/worksheets/sheet1.xml": f"<{mark}worksheet {space}><{mark}sheetData>{rows}"
        f"</{mark}sheetData></{mark}worksheet>",
        **(parts or {}),
    })  # fmt: skip


def an_ods(rows: str) -> bytes:
    """An ODS file of one sheet, whose rows are given as they are written."""
    return an_archive({
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": '<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x" '
        f'xmlns:calcext="c"><table:table table:name="Ark1">{rows}</table:table>'
        "</office:document-content>",
    })  # fmt: skip


def a_docx() -> bytes:
    """A text document, as far as its parts say so."""
    return an_archive({
        "_rels/.rels": _related(officeDocument="word/document.xml"), "word/document.xml": "<w/>",
    })  # fmt: skip


def an_archive(parts: Mapping[str, bytes | str]) -> bytes:
    """An archive of some parts."""
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def _related(**targets: str) -> str:
    listed = "".join(
        f'<Relationship Id="{kind}" Type="http://x/{kind}" Target="{target}"/>'
        for kind, target in targets.items()
    )
    return f"<Relationships>{listed}</Relationships>"


def _compound(streams: Mapping[str, bytes]) -> bytes:
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
