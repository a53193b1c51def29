"""Spreadsheets in any usual form: encodings, delimiters, and headers in three languages."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from company_registry.models import SearchType

#: The type of a term, `search` for one to be inferred, or the country.
COUNTRY: Final = "country"
SEARCH: Final = "search"

#: Headers in English, Danish and Norwegian, in lower case without spaces and punctuation. The
#: first type that a file has is looked up by, unless the caller chooses.
HEADERS: Final[dict[str, str]] = {
    "vat": "vat vatno vatnumber registrationnumber companynumber companyregistrationnumber"
    " cvr cvrnr cvrnummer cvrno momsnr momsnummer virksomhedsnummer"
    " orgnr orgnummer organisasjonsnummer organisasjonsnr organisationsnummer foretaksnummer",
    "produ": "produ productionunit productionunitnumber pnr pnummer produktionsenhed"
    " produktionsenhedsnummer underenhet underenhetsnummer bedriftsnummer",
    "ean": "ean eannr eannummer eannumber gln glnnr glnnummer lokationsnummer lokasjonsnummer",
    "phone": "phone phonenumber telephone mobile telefon telefonnr telefonnummer tlf tlfnr mobil"
    " mobilnr mobilnummer",
    "name": "name companyname customername company suppliername navn firma firmanavn kundenavn"
    " leverandørnavn virksomhed virksomhedsnavn selskab selskabsnavn selskap selskapsnavn bedrift"
    " bedriftsnavn foretaksnavn foretak",
    "address": "address streetaddress businessaddress adresse gadeadresse gateadresse"
    " forretningsadresse besøksadresse beliggenhedsadresse",
    SEARCH: "search query term søg søgning søk søketekst",
    COUNTRY: "country countrycode land landekode landkode",
}
TYPES: Final = (*get_args(SearchType), SEARCH)

#: Further headers of customers, by the field of a record to be matched.
_OF_RECORDS: Final = {
    "postal_code": "postalcode postcode zip zipcode postnr postnummer postkode",
    "city": "city town by bynavn poststed postdistrikt sted",
    "email": "email emailaddress mail epost epostadresse mailadresse",
    "website": "website web homepage url domain hjemmeside nettsted nettside domene",
}
#: Fields of a record, by the type of a column.
_FIELDS: Final = {"vat": "number", "produ": "number", "phone": "phone", "name": "name"} | {
    "address": "address",
    COUNTRY: COUNTRY,
    SEARCH: "name",
}

_TYPE_OF: Final = {name: type_ for type_, names in HEADERS.items() for name in names.split()}

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
_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
#: A spreadsheet shows such a text as a number or a formula: ="01234567".
_QUOTED: Final = re.compile(r'=?"(.*)"', re.DOTALL)

#: A spreadsheet may run a text that begins so, also in its wide form.
_FORMULA: Final = tuple("=+-@＝＋－＠")
#: Numbers, phone numbers and dashes begin so too, and are nothing to run.
_HARMLESS: Final = re.compile(r"[-+ ]*([0-9][0-9 .,]*%?)?")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a spreadsheet below its header."""

    #: As many as the header has.
    cells: list[str]
    #: True if the row had more cells than the header.
    is_longer: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A spreadsheet: its header, its rows, and how it was written."""

    #: Unique names of the columns.
    header: list[str]
    rows: list[Row]
    delimiter: str
    #: False if a spreadsheet would not read UTF-8 without a mark.
    is_plain: bool

    def places(self, type_: str) -> list[int]:
        """Returns the columns whose header is of this type."""
        return [place for place, name in enumerate(self.header) if type_of(name) == type_]


def type_of(header: str) -> str | None:
    """Returns the type of a column by its header; None for one of the caller's own."""
    return _TYPE_OF.get("".join(letter for letter in header.lower() if letter.isalnum()))


def field_of(header: str) -> str | None:
    """Returns the field of a record that a column's header names; None for another column."""
    bare = "".join(letter for letter in header.lower() if letter.isalnum())
    own = next((name for name, names in _OF_RECORDS.items() if bare in names.split()), None)
    return own or _FIELDS.get(type_of(header) or "")


def country_of(text: str) -> str | None:
    """Returns `dk` or `no` for a code or a name in any of the languages."""
    return COUNTRIES.get(text.strip().lower())


def term_of(cell: str) -> str:
    """Returns the text of a cell, without the signs that prevent calculation with it."""
    text = cell.strip()
    quoted = _QUOTED.fullmatch(text)
    return (quoted[1] if quoted else text.removeprefix("'")).strip()


def harmless(cell: str) -> str:
    """Returns the text of a cell that no terminal and no spreadsheet acts on.

    Control characters and direction marks become spaces, and a formula begins with an apostrophe.
    """
    text = "".join(each if each.isprintable() or each == "\n" else " " for each in cell)
    begins = text.lstrip()
    is_formula = begins.startswith(_FORMULA) and not _HARMLESS.fullmatch(begins.rstrip())
    return f"'{text}" if is_formula else text


def read_sheet(data: bytes) -> Sheet:
    """Returns a file's sheet. Raises ValueError with the reason if it cannot be read."""
    if data.startswith(_WORKBOOKS):
        raise ValueError("is a workbook: save it as CSV")
    encoding, mark = _encoding(data)
    try:
        text = data[mark:].decode(encoding)
    except UnicodeDecodeError:
        raise ValueError("is not a text in UTF-8, UTF-16 or Windows-1252") from None
    named = _SEPARATOR.match(text)
    if named:
        text = text[named.end() :]
    lines = io.StringIO(text, newline="").readlines()
    delimiter = named[1] if named else _delimiter(lines)
    records = _records(lines, delimiter)
    header = _unique(next(records, []))
    rows = [_row(cells, len(header)) for cells in records]
    return Sheet(header, rows, delimiter, is_plain=encoding == "utf-8" and not mark)


def _encoding(data: bytes) -> tuple[str, int]:
    """Returns the encoding, and the length of the mark that names it.

    Text without a mark is UTF-8 if it is valid: other encodings of these languages never are.
    """
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding, len(mark)
    sample = data[:1000]
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        # In UTF-16 every other byte of Latin letters is 0.
        if 2 * sample[first::2].count(0) > len(sample[first::2]):
            return encoding, 0
    try:
        data.decode()
    except UnicodeDecodeError:
        return "cp1252", 0
    return "utf-8", 0


def _delimiter(lines: Sequence[str]) -> str:
    """Returns the delimiter with the most known columns in the header, or the most columns."""

    def columns(delimiter: str) -> tuple[int, int]:
        header = next(_records(lines, delimiter), [])
        return sum(type_of(name) is not None for name in header), len(header)

    return max(_DELIMITERS, key=columns)


def _records(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Yields the records that are not empty."""
    first = 0
    while first < len(lines):
        cells, count = _record(lines, first, delimiter)
        first += count
        if any(cell.strip() for cell in cells):
            yield cells


def _record(lines: Sequence[str], first: int, delimiter: str) -> tuple[list[str], int]:
    """Returns the record that begins at a line, and the number of its lines.

    With malformed quotes it ends with its line: an unclosed quote would swallow the rows up to the
    next one.
    """
    rest = (lines[at] for at in range(first, len(lines)))
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
    """Returns the headers; one that is empty or repeated gets its number."""
    found: list[str] = []
    for number, name in enumerate(names, start=1):
        stripped = name.strip()
        found.append(stripped if stripped and stripped not in found else f"{stripped}_{number}")
    return found


def _row(cells: list[str], length: int) -> Row:
    is_longer = any(cell.strip() for cell in cells[length:])
    return Row([*cells, *[""] * length][:length], is_longer)
