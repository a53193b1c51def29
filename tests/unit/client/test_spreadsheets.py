"""Spreadsheets are read as people have them."""

import codecs

import pytest

from company_registry.cli.batches import plan_of
from company_registry.errors import InvalidParameter
from company_registry.headers import type_of
from company_registry.spreadsheets import Row, country_of, read_sheet, term_of
from company_registry.streams import Lookup
from tests.builders.workbooks import (
    a_docx,
    a_workbook,
    an_archive,
    an_encrypted_ods,
    an_encrypted_workbook,
    an_ods,
    an_xls,
    an_xlsb,
    an_xlsx,
)

TEXT = "kunde;land;navn\r\nA17;Danmark;Prøvefabrikken ApS\r\n"


@pytest.mark.parametrize(
    "data, is_plain",
    [
        pytest.param(TEXT.encode(), True, id="utf-8"),
        pytest.param(codecs.BOM_UTF8 + TEXT.encode(), False, id="utf-8 mark"),
        pytest.param(TEXT.encode("cp1252"), False, id="cp1252"),
        pytest.param(codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), False, id="utf-16-le mark"),
        pytest.param(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), False, id="utf-16-be mark"),
        pytest.param(TEXT.encode("utf-16-le"), False, id="utf-16-le"),
        pytest.param(TEXT.encode("utf-16-be"), False, id="utf-16-be"),
        pytest.param(TEXT.encode("mac_roman"), False, id="mac_roman"),
        pytest.param(TEXT.encode("utf-32"), False, id="utf-32 mark"),
        pytest.param(codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), False, id="utf-32-be mark"),
        pytest.param(TEXT.encode("utf-32-le"), False, id="utf-32-le"),
        pytest.param(TEXT.encode("utf-32-be"), False, id="utf-32-be"),
    ],
)
def test_every_encoding_of_a_spreadsheet_is_recognised(data: bytes, *, is_plain: bool) -> None:
    sheet = read_sheet(data)

    assert sheet.header == ["kunde", "land", "navn"]
    assert sheet.rows == [Row(["A17", "Danmark", "Prøvefabrikken ApS"])]
    assert sheet.is_plain is is_plain


@pytest.mark.parametrize("delimiter", [";", "\t", ",", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_delimiter_and_end_of_line_is_recognised(delimiter: str, end: str) -> None:
    text = TEXT.replace(";", delimiter).replace("\r\n", end)

    sheet = read_sheet(text.encode())

    assert sheet.delimiter == delimiter
    assert sheet.rows == [Row(["A17", "Danmark", "Prøvefabrikken ApS"])]


def test_the_delimiter_is_the_one_that_splits_the_known_columns() -> None:
    sheet = read_sheet(b'"id; a, b",country,vat\n1;2,dk,12345674\n')

    assert sheet.rows == [Row(["1;2", "dk", "12345674"])]


def test_excels_line_with_the_delimiter_is_no_header() -> None:
    sheet = read_sheet(b"sep=|\r\nland|navn, firma\r\ndk|A, B\r\n")

    assert sheet.header == ["land", "navn, firma"]
    assert sheet.rows == [Row(["dk", "A, B"])]


def test_rows_of_other_lengths_stay_rows() -> None:
    sheet = read_sheet(b"land;navn\ndk\n\n;\ndk;A;;\ndk;A;B\n")

    assert sheet.rows == [Row(["dk", ""]), Row(["dk", "A"]), Row(["dk", "A"], is_longer=True)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("others", [["dk;B"], ["dk;B", 'dk;"C"'], ["dk;B", 'dk;"C'], []])
def test_a_quote_without_end_takes_no_other_row(end: str, others: list[str]) -> None:
    sheet = read_sheet(end.join(["land;navn", 'dk;"A', *others, ""]).encode())

    assert [term_of(row.cells[1]) for row in sheet.rows] == ["A", "B", "C"][: 1 + len(others)]


def test_a_cell_of_several_lines_stays_one() -> None:
    sheet = read_sheet(b'land;navn\ndk;"A\nB; ""C"""\ndk;D\n')

    assert [row.cells for row in sheet.rows] == [["dk", 'A\nB; "C"'], ["dk", "D"]]


def test_a_quote_around_more_lines_than_excel_writes_is_one_without_end() -> None:
    lines = "A\n" * 300

    assert len(read_sheet(f'navn;land\n"{lines[:-94]}";dk\n'.encode()).rows) == 1
    assert len(read_sheet(f'navn;land\n"{lines}";dk\n'.encode()).rows) == 301


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_of_any_length_is_a_bad_row_at_most(quote: str) -> None:
    sheet = read_sheet(f"navn;land\n{quote}{'A' * 200_000};dk\nB;dk\n".encode())

    assert [len(row.cells) for row in sheet.rows] == [2, 2]
    assert sheet.rows[1] == Row(["B", "dk"])


def test_headers_are_unique() -> None:
    assert read_sheet(b"navn;;navn\nA;B;C\n").header == ["navn", "_2", "navn_3"]


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"PK\x03\x04\x14\x00", "cannot be read as a workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "cannot be read as a workbook"),
        (an_encrypted_workbook(), "is protected by a password"),
        (an_archive({"Index/Document.iwa": b""}), "is a document of Numbers"),
        (a_docx(), "is a text document"),
        (an_archive({"kunder.csv": b"navn"}), "is an archive"),
        (an_xls((0, 0, 1.0), (65_535, 255, 1.0)), "has a cell far from the others, IV65536"),
        (an_xlsb((0, 0), (1_048_575, 16_383)), "has a cell far from the others, XFD1048576"),
        (an_xlsx("<row><c><v>1</c></row>"), "has a part that is no XML"),
        (
            an_xlsx("", parts={"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row>"}),
            "is cut off",
        ),
        (an_encrypted_ods(), "is protected by a password"),
        (b"\r\n<HTML>\n<body><table><tr><td>Navn", "is a web page \\(HTML\\), whatever its name"),
        ("\ufeff<!DOCTYPE html><table>".encode("utf-16"), "is a web page"),
        (b'<?xml version="1.0"?><html><table>', "is a web page"),
        (b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>', "is XML, as Excel 2003"),
        (b"MIME-Version: 1.0\nContent-Type: multipart/related", "is a saved web page"),
        (b"%PDF-1.7\n", "is a PDF"),
        (b"navn\n\x81\xff\n", "is not a text in UTF-8, UTF-16, UTF-32, Windows-1252 or Mac Roman"),
    ],
)
def test_a_file_that_is_no_spreadsheet_says_what_it_is(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_sheet(data)


@pytest.mark.parametrize(
    "type_, headers",
    [
        ("vat", ["VAT", "CVR-nr.", "CVR-nummer", "Org.nr", "Orgnr", "Organisasjonsnummer"]),
        ("produ", ["P-nummer"]),
        ("phone", ["Telefonnummer"]),
        ("name", ["Firmanavn", "Company name", "Virksomhed", "Kundenavn", "Firma"]),
        ("address", ["Forretningsadresse", "Vejnavn", "Gade", "Adresselinje 1", "Postadresse"]),
        ("country", ["Land", "Country code"]),
        ("vat", ["CVR/Org.nr.", "Orgnr/CVR", "CVR-nummer (DK)", "Org.nr (NO)", "Virksomhedsnr"]),
        ("vat", ["Kundens CVR-nr. (hvis kendt)", "Nummer (CVR)", "VAT No. / CVR", "Org. nr."]),
        ("name", ["Selskap", "Kunde", "Firmanavn 1", "Name / Navn", "Navn *", "Kunde: navn"]),
        ("address", ["Vejnavn og nr", "Gate/vei", "Adresse (besøk)", "Adresse, postnr og by"]),
        ("phone", ["Tlf. (DK)", "Telefon 2"]),
        (None, ["", "E-mailadresse", "Tlf./E-mail", "CVR/EAN", "Kundenr", "Firma type", "1;Firma"]),
    ],
)
def test_headers_are_known_in_three_languages(type_: str | None, headers: list[str]) -> None:
    assert [(header, type_of(header)) for header in headers] == [(each, type_) for each in headers]


@pytest.mark.parametrize(
    "text, country",
    [
        ("DK", "dk"),
        (" Danmark ", "dk"),
        ("\u200bDK.", "dk"),
        ("Norway", "no"),
        ("NORGE", "no"),
        ("Sverige", None),
    ],
)
def test_countries_are_known_by_code_and_name(text: str, country: str | None) -> None:
    assert country_of(text) == country


@pytest.mark.parametrize("cell", ["12345674", ' ="12345674" ', "'12345674", '"12345674"'])
def test_the_signs_that_keep_a_number_a_text_are_not_a_part_of_it(cell: str) -> None:
    assert term_of(cell) == "12345674"


SHEET = read_sheet(b"kunde;land;navn;cvr\nA17;Norge;Alfa;12345674\n")
CUSTOM = read_sheet(b"betegnelse\nAlfa\n")


@pytest.mark.parametrize(
    "by, lookup",
    [
        (None, Lookup("no", "12345674", "vat")),
        ("name", Lookup("no", "Alfa", "name", ("alternatives",))),
        ("navn", Lookup("no", "Alfa", "name", ("alternatives",))),
        ("search=kunde", Lookup("no", "A17", None, ("alternatives",))),
    ],
)
def test_one_of_several_known_columns_is_chosen(by: str | None, lookup: Lookup) -> None:
    plan = plan_of(SHEET, country=None, by=by, include=[])

    assert plan.lookup(SHEET.rows[0]) == lookup


@pytest.mark.parametrize(
    "country, by, reason",
    [
        (None, "name=betegnelse", "give --country dk or no"),
        ("se", None, "--country must be dk or no"),
        ("dk", None, "the header must have one of the columns vat, .* it has betegnelse"),
        ("dk", "kunde", "--by must be a known column, or TYPE=HEADER"),
    ],
)
def test_a_sheet_that_cannot_be_looked_up_says_what_to_give(
    country: str | None, by: str | None, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        plan_of(CUSTOM, country=country, by=by, include=[])


@pytest.mark.parametrize(
    "row, reason",
    [
        (Row(["A", "Sverige", "Alfa", "1"]), "country: give dk or no, not 'Sverige'"),
        (Row(["A", "", "Alfa", "1"]), "country: empty"),
        (Row(["A", "dk", "Alfa", " "]), "vat: empty"),
        (Row(["A", "dk", "Alfa", "1"], is_longer=True), "the row has more cells than the header"),
    ],
)
def test_a_bad_row_has_its_reason(row: Row, reason: str) -> None:
    refused = plan_of(SHEET, country=None, by=None, include=[]).lookup(row)

    assert isinstance(refused, InvalidParameter)
    assert refused.detail == reason


def test_a_country_may_be_written_as_a_text() -> None:
    row = Row(["A", '="NO"', "Alfa", "1"])

    assert plan_of(SHEET, country=None, by=None, include=[]).lookup(row) == Lookup("no", "1")


def test_a_row_without_a_country_has_the_given_one() -> None:
    plan = plan_of(CUSTOM, country="Norge", by="name=betegnelse", include=[])

    assert plan.lookup(CUSTOM.rows[0]) == Lookup("no", "Alfa", "name", ("alternatives",))


# Where the header is

TITLED = "Kunder pr. 1. januar;;\n\nUdtræk;Nordlys;\n;Firma;Besøgsadresse\n"


@pytest.mark.parametrize(
    "above, header, place",
    [
        ("", "navn;land", 1),
        ("\n;\n", "navn;land", 3),
        ("Kunder pr. 1. januar\n\n", "navn;land", 3),
        ("Kunder\n\n", "Navn", 3),
        (TITLED, "Kundenr;Navn;Vejnavn;Husnr;Postnr", 5),
        ("Firma;Nordlys AS\nDato;2026-01-01\n\n", "Debitor;Navn;Saldo", 4),
        ("Firma;;Kontakt;\n", "Navn;CVR;Telefon;Mail", 2),
    ],
)
def test_the_header_is_the_row_with_the_known_names(above: str, header: str, place: int) -> None:
    row = ";".join("x" for _ in header.split(";"))

    sheet = read_sheet(f"{above}{header}\n{row}\n".encode())

    assert (sheet.header, sheet.header_row) == (header.split(";"), place)
    assert [(each.cells, each.number) for each in sheet.rows] == [(row.split(";"), place + 1)]
    assert (f"header in row {place}" in sheet.description) is (place > 1)


@pytest.mark.parametrize(
    "data",
    [b"id;type\n1;Firma\n2;Privat\n", b"navn;note\nNavn;Firma\nA;By\n", b"id;navn;cvr\n7;;\n"],
)
def test_a_row_of_data_is_no_header(data: bytes) -> None:
    assert read_sheet(data).header_row == 1


def test_a_header_that_is_merged_over_two_rows_has_its_name() -> None:
    sheet = read_sheet(b"Navn;Adresse;;Telefon\n;Gade;Postnr;\nA;B 1;5000;12345678\n")

    assert (sheet.header, sheet.header_row) == (["Navn", "Gade", "Postnr", "Telefon"], 2)


def test_the_row_of_the_header_is_chosen() -> None:
    text = b"navn;land\nx;y\nEgen;Anden\nA;B\n"

    assert read_sheet(text, header_row=3).header == ["Egen", "Anden"]
    with pytest.raises(ValueError, match="has nothing in row 9"):
        read_sheet(text, header_row=9)


# Workbooks

BOOK = a_workbook(
    {
        "Gammel": [["Navn"], ["Skjult"]],
        "Forside": [],
        "Kunder": [
            ["Kundeliste"],
            [],
            ["", "Virksomhed", "", "Adresse"],
            ["", "Navn", "CVR-nr.", "Vejnavn", "Husnr"],
            [],
            ["", "Prøve ApS", 12345674.0, "Nørregade", 12.0],
        ],
        "Andre": [["navn"], ["B"]],
    },
    hidden=["Gammel"],
    merged={"Kunder": "B3:C3"},
)


def test_the_first_visible_sheet_with_rows_is_read_as_it_is_shown() -> None:
    sheet = read_sheet(BOOK)

    assert sheet.header == ["_1", "Navn", "CVR-nr.", "Vejnavn", "Husnr"]
    assert [(row.number, row.cells) for row in sheet.rows] == [
        (6, ["", "Prøve ApS", "12345674", "Nørregade", "12"])
    ]
    assert sheet.names == ("Forside", "Kunder", "Andre")
    assert sheet.description == "header in row 4 of sheet Kunder (others: Forside, Andre)"


@pytest.mark.parametrize("name, cell", [("Andre", "B"), ("Gammel", "Skjult")])
def test_another_sheet_is_read_if_it_is_named(name: str, cell: str) -> None:
    assert read_sheet(BOOK, sheet=name).rows == [Row([cell])]


@pytest.mark.parametrize(
    "data, name, reason",
    [
        (BOOK, "Ark1", "has no sheet Ark1: it has Forside, Kunder, Andre"),
        (b"navn\n", "Ark1", "is a text, and has no sheet Ark1"),
        (
            a_workbook({"A": [["Navn"], ["B"]], "C": []}, hidden=["A"]),
            None,
            "has rows only in hidden sheets: show one of A",
        ),
    ],
)
def test_a_sheet_that_is_not_there_is_refused(data: bytes, name: str | None, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_sheet(data, sheet=name)


def test_a_note_beside_the_table_of_a_workbook_moves_no_cell() -> None:
    noted = a_workbook({"A": [["Navn", "By"], ["Prøven ApS", "Aarhus", "ring!"]]})

    assert read_sheet(noted).rows == [Row(["Prøven ApS", "Aarhus"])]


def test_a_cell_far_to_the_right_widens_no_row() -> None:
    far = [["Navn", *[""] * 5000, "x"], ["A"]]

    sheet = read_sheet(a_workbook({"A": far}))

    assert (sheet.header, sheet.rows[0].cells) == (["Navn"], ["A"])
    assert sheet.description == "without cell GJJ1, far from the others"


def test_an_address_is_looked_up_with_its_house_number_and_town() -> None:
    sheet = read_sheet("By;Husnr;Vejnavn;Postnr\nOdense C;12;Nørregade;5000\n".encode())

    plan = plan_of(sheet, country="dk", by=None, include=[])

    assert plan.lookup(sheet.rows[0]) == Lookup(
        "dk", "Nørregade 12, 5000 Odense C", "address", ("alternatives",)
    )


@pytest.mark.parametrize(
    "row, term",
    [
        ("Oslogata 1;;Oslo", "Oslogata 1, Oslo"),
        ("Oslo gate 1;0155;Oslo", "Oslo gate 1, 0155 Oslo"),
        ("Nygade 1000;1000;", "Nygade 1000, 1000"),
        ("Vej 1, 1000 København;1000;København", "Vej 1, 1000 København"),
        ("Vej 1 B 1000 København K;1000;København", "Vej 1 B 1000 København K"),
        ("Vej 1, DK-1000 København;1000;København", "Vej 1, DK-1000 København"),
        ("Vej 1, Oslo;;Oslo", "Vej 1, Oslo"),
        ("1000 København;1000;København", "1000 København"),
    ],
)
def test_an_address_that_names_its_town_gets_it_no_second_time(row: str, term: str) -> None:
    sheet = read_sheet(f"Adresse;Postnr;By\n{row}\n".encode())

    found = plan_of(sheet, country="dk", by=None, include=[]).lookup(sheet.rows[0])

    assert isinstance(found, Lookup)
    assert found.term == term


HEADER = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>Navn</t></is></c>'
    '<c r="B1" t="str"><v>CVR</v></c></row>'
)


def cells_of(data: bytes) -> list[list[str]]:
    return [row.cells for row in read_sheet(data).rows]


def test_a_cell_in_the_last_row_and_column_takes_nothing_else() -> None:
    far = f'{HEADER}<row r="2"><c r="A2" t="str"><v>A</v></c></row>'
    far += '<row r="1048576"><c r="XFD1048576" t="str"><v>x</v></c></row>'
    empty = '<table:table-cell table:number-columns-repeated="16383"/>'
    named = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rows = "".join(
        f"<table:table-row>{named.format(text)}</table:table-row>" for text in ("Navn", "A")
    )
    rows += '<table:table-row table:number-rows-repeated="1048573"/>'
    rows += f"<table:table-row>{empty}{named.format('x')}</table:table-row>"

    assert cells_of(an_xlsx(far)) == [["A", ""]]
    assert cells_of(an_ods(rows)) == [["A"]]
    assert read_sheet(an_ods(rows)).description == "without cell XFD1048576, far from the others"


@pytest.mark.parametrize("code, value, shown", [
    ("00000000", "1234567", "01234567"),
    ("00 00 00 00", "1234567", "01234567"),
    ('"DK-"00000000;[Red]-0', "1234567", "01234567"),
    ("000\\ 000\\ 000", "12345678", "012345678"),
    ("0000_);(0000)", "555", "0555"),
    ("# ##0", "1234567", "1234567"),
    ("0.00", "7", "7"),
    ("General", "1.2345674E7", "12345674"),
    # A fraction is told, and never rounded.
    ("00000000", "12345674.4", "12345674.4"),
    ("0", "12345673.9999", "12345673.9999"),
    # A day is one; another number that has the format of days is none.
    ("dd-mm-yyyy", "43861", "2020-01-31"),
    ("yyyy-mm-dd hh:mm", "43861.5", "2020-01-31 12:00:00"),
    ("dd-mm-yyyy", "25052943", "25052943"),
    ("[h]:mm", "1234567", "1234567"),
])  # fmt: skip
def test_a_number_has_the_zeros_of_its_format(code: str, value: str, shown: str) -> None:
    code = code.replace('"', "&quot;")
    styles = f'<numFmts><numFmt numFmtId="164" formatCode="{code}"/></numFmts>'
    styles += '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    styles += '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs>'
    row = f'{HEADER}<row r="2"><c r="A2"/><c r="B2" s="1"><v>{value}</v></c></row>'

    assert cells_of(an_xlsx(row, styles=styles)) == [["", shown]]


def test_a_number_of_an_xls_file_has_the_zeros_of_its_format() -> None:
    cells: list[tuple[int, int, float | str]] = [
        *((0, 0, "CVR"), (0, 1, "Navn"), (1, 0, 1234567.0), (1, 1, "A"), (2, 0, 1234567.5)),
    ]

    assert cells_of(an_xls(*cells, code="00000000")) == [["01234567", "A"], ["1234567.5", ""]]
    assert cells_of(an_xls(*cells)) == [["1234567", "A"], ["1234567.5", ""]]


def test_a_number_of_an_ods_file_has_the_zeros_that_it_shows() -> None:
    cell = (
        '<table:table-cell office:value-type="{}" office:value="{}"><text:p>{}</text:p>'
        "</table:table-cell>"
    )
    rows = "".join(
        f"<table:table-row>{cell.format(*each)}</table:table-row>"
        for each in (
            ("string", "", "CVR"), ("float", "1234567", "01 23 45 67"), ("float", "7", "7,00"),
            ("float", "12345674.4", "12345674"),
            ("string\" calcext:value-type=\"error", "", "#FEJL!"),
        )
    )  # fmt: skip

    assert cells_of(an_ods(rows)) == [["01234567"], ["7"], ["12345674.4"]]


@pytest.mark.parametrize("cell, text", [
    ('<c r="B2" t="inlineStr"><v>12345674</v></c>', "12345674"),
    ('<c r="B2" t="inlineStr"><is><r><t>1</t></r><r><rPr><b/></rPr><t>2</t></r></is></c>', "12"),
    ('<c t="str" r="B2"><f>A1&amp;"x"</f><v>B &amp; C_x000D_</v></c>', "B & C"),
    ('<c r="B2" t="str"><v><![CDATA[<A>]]></v></c>', "<A>"),
    ('<c r="B2" t="b"><v>1</v></c>', "True"),
    ('<c r="B2" t="e"><v>#SPILL!</v></c>', ""),
    ('<c r="B2" t="e"><v>#OF.A.LATER.RELEASE!</v></c>', ""),
    ('<c r="B2" t="s"><v>99</v></c>', ""),
])  # fmt: skip
def test_a_cell_has_its_value_however_it_is_written(cell: str, text: str) -> None:
    row = f'{HEADER}<row r="2"><c r="A2" t="str"><v>A</v></c>{cell}</row>'
    prefixed = (
        row.replace("<", "<x:").replace("<x:/", "</x:").replace("<x:![CDATA[<x:A>", "<![CDATA[<A>")
    )

    assert cells_of(an_xlsx(row)) == [["A", text]]
    assert cells_of(an_xlsx(prefixed, prefix="x")) == [["A", text]]


@pytest.mark.parametrize("error", [
    "#N/A", "#I/T", "#REF!", "#DIV/0!", "#NAME?", "#NAVN?", "#VÆRDI!", "#VERDI!", "#SPILL!",
    "#OVERLØB!", "#GETTING_DATA", "#PYTHON!", "#ERROR!", "Err:502", "#CALC!", "#NEVER_SEEN!",
])  # fmt: skip
def test_an_error_of_a_formula_is_an_empty_cell(error: str) -> None:
    assert cells_of(f"navn;cvr\n{error};12345674\n".encode()) == [["", "12345674"]]


def test_a_text_that_resembles_an_error_is_none() -> None:
    assert cells_of(b"navn;cvr\n#1 Pr\xc3\xb8ve;Error 502 ApS\n") == [["#1 Prøve", "Error 502 ApS"]]


def test_an_embedded_document_makes_no_workbook_another_file() -> None:
    row = f'{HEADER}<row r="2"><c r="A2" t="str"><v>A</v></c></row>'
    embedded = {"xl/embeddings/word/document.xml": a_docx(), "xl/Index/Document.iwa": b""}

    assert cells_of(an_xlsx(row, parts=embedded)) == [["A", ""]]


def test_entities_are_not_declared() -> None:
    bomb = '<!DOCTYPE w [<!ENTITY a "aaaa">]><workbook/>'

    with pytest.raises(ValueError, match="declares entities"):
        read_sheet(an_xlsx("", parts={"xl/workbook.xml": bomb}))
