"""Customers in the portal: files are read in a process of their own, matched, reviewed, dropped."""

import csv
import io
import zipfile
from collections.abc import AsyncIterator
from typing import IO, Any

import pytest
import xlsxwriter
from aiohttp import ClientResponse
from structlog.testing import capture_logs

from portal.adapters import reading, uploads
from portal.adapters.reading import Choice
from portal.adapters.spreadsheets import Spreadsheets
from portal.domain.customers import Table
from tests.builders.workbooks import a_workbook as a_book
from tests.builders.workbooks import an_encrypted_workbook
from tests.delivery.waiting import eventually
from tests.fakes.portal import KEY, OTHER_KEY, Portal
from tests.fakes.portal import portal as a_portal

FILE = "Firmanavn;Postnr.\nPrøve ApS;1112\nAndre;5000\nIngen;\n"
CANDIDATE: dict[str, Any] = {
    "country": "dk",
    "vat": "12345674",
    "name": "Prøve ApS",
    "city": None,
    "status": "active",
    "score": 0.99,
    "evidence": {"name": 97.1, "postal_code": 100},
}
OTHER = {**CANDIDATE, "vat": "12345682", "name": "Andre ApS", "score": 0.4}
RESULTS: list[dict[str, Any]] = [
    {"id": "0", "decision": "match", "candidates": [CANDIDATE]},
    {"id": "1", "decision": "review", "candidates": [OTHER, CANDIDATE]},
    {"id": "2", "decision": "none", "candidates": []},
]


#: How the portal itself reads.
READ_BY_PROCESS = reading._read


async def read_here(file: IO[bytes], choice: Choice) -> Table:
    """The table that the reading process makes of a file, without starting one."""
    return reading.table_of([*reading.lines_of(file.read(), choice)], 0)


@pytest.fixture
def portal(isolating: Portal, monkeypatch: pytest.MonkeyPatch) -> Portal:
    """A portal that starts no process for a file."""
    monkeypatch.setattr(reading, "_read", read_here)
    return isolating


@pytest.fixture
async def isolating() -> AsyncIterator[Portal]:
    """A portal as it is: a process reads each file."""
    async with a_portal() as portal:
        portal.api.give("/api/match", {"results": RESULTS})
        await portal.sign_in()
        yield portal


async def upload(
    portal: Portal, content: bytes | str = FILE, name: str = "kunder.csv"
) -> ClientResponse:
    return await portal.upload(content, name)


async def matched(portal: Portal) -> str:
    """Matches the columns of the file as they were recognised; the page of its piles."""
    await portal.post("/customers/match", {"column-0": "name", "column-1": "postal_code"})
    return await eventually(
        lambda: portal.shown("/customers"), lambda text: "Download XLSX" in text
    )


def a_workbook(*rows: list[Any]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("Empty")
        sheet = book.add_worksheet()
        for place, row in enumerate(rows):
            sheet.write_row(place, 0, row)
    return file.getvalue()


async def test_a_file_is_matched_by_its_columns_into_three_piles(isolating: Portal) -> None:
    read = await upload(isolating)
    columns = await isolating.shown("/customers")
    text = await matched(isolating)

    assert read.headers["Location"] == "/customers"
    assert '<option value="postal_code" selected>' in columns
    assert "Prøve ApS · Andre · Ingen" in columns
    assert isolating.api.bodies[-1]["records"][0] == {
        "id": "0",
        "name": "Prøve ApS",
        "postal_code": "1112",
    }
    assert '<h2 id="pile">To review</h2>' in text
    assert "/companies/dk/12345674" in await isolating.shown("/customers?pile=matched")
    assert "Ingen" in await isolating.shown("/customers?pile=missing")
    assert (await isolating.get("/customers?pile=other")).status == 404


async def test_a_row_is_reviewed_beside_its_candidates_and_leads_to_the_next(
    portal: Portal,
) -> None:
    await upload(portal)
    await matched(portal)

    text = await portal.shown("/customers/rows/1")
    decided = await portal.post("/customers/decide", {"row": "1", "choice": "1"})
    changed = await portal.post("/customers/decide", {"row": "0", "choice": "none"})

    assert text.index("Andre ApS") < text.index("Prøve ApS")
    assert 'aria-label="Postal code"' in text
    assert decided.headers["Location"] == "/customers?done=1"
    assert changed.headers["Location"] == "/customers?done=2"
    rows = list(csv.reader(io.StringIO(await portal.shown("/customers.csv"))))
    assert [row[3] for row in rows[1:]] == ["", "12345674", ""]
    assert [row[-6] for row in rows[1:]] == ["none (by hand)", "match (by hand)", "none"]


async def test_the_piles_say_why_rows_have_no_company_and_what_has_ended(portal: Portal) -> None:
    abroad = {"decision": "none", "candidates": [], "reason": "country_not_covered"}
    match = {"decision": "match", "candidates": [{**CANDIDATE, "status": "ended"}]}
    assumed = {**RESULTS[1], "unread": ["phone"], "assumed": {"number": "05501431"}}
    portal.api.give("/api/match", {"results": [match, assumed, abroad]})
    await upload(portal)
    await matched(portal)

    assert "Of them 1 ended." in await portal.shown("/customers?pile=matched")
    assert "Registration number: taken for 05501431." in await portal.shown("/customers/rows/1")
    missing = await portal.shown("/customers?pile=missing")
    assert "1 of another country." in missing
    assert "The country is neither Denmark nor Norway." in missing


async def test_a_row_whose_number_and_name_name_two_companies_shows_which_is_which(
    portal: Portal,
) -> None:
    two = {
        "number": {"country": "dk", "vat": "12345682", "name": "Andre ApS"},
        "name": {"country": "dk", "vat": "12345674", "name": "Prøve ApS"},
    }
    portal.api.give("/api/match", {"results": [RESULTS[0], {**RESULTS[1], "conflict": two}]})
    await upload(portal, "Firmanavn;CVR\nPrøve ApS;12345674\nPrøve;12345682\n")
    await matched(portal)

    text = await portal.shown("/customers/rows/1")
    rows = list(csv.reader(io.StringIO(await portal.shown("/customers.csv"))))

    said = "The number is that of Andre ApS (DK 12345682), the name that of Prøve ApS (DK 12345674)"
    assert said in text
    first, second = text.split('<li class="card candidate">')[1:]
    assert ("has the number" in first, "has the name" in first) == (True, False)
    assert ("has the number" in second, "has the name" in second) == (False, True)
    assert rows[2][-4] == f"{said}."


#: A fault that the client does not repeat by itself.
FAULT = {"problem": {"code": "internal_error", "status": 500, "detail": "It failed."}}


async def test_rows_that_a_fault_left_are_no_finding_and_are_searched_again(
    portal: Portal,
) -> None:
    portal.api.give("/api/match", {"results": [RESULTS[0], FAULT, FAULT]})
    await upload(portal)
    text = await matched(portal)
    row = await portal.shown("/customers/rows/1")
    rows = list(csv.reader(io.StringIO(await portal.shown("/customers.csv"))))
    portal.api.give("/api/match", {"results": RESULTS[1:]})

    await portal.post("/customers/match")
    after = await eventually(lambda: portal.shown("/customers"), lambda text: "To review<" in text)

    assert "2 rows were not searched: 2 after an error of the service." in text
    assert "<span>Not found</span> <strong>0<" in text
    assert "<span>Not searched</span> <strong>2<" in text
    assert "was not searched, so nothing is known" in row
    assert "No company is likely" not in row
    assert [each[-6] for each in rows[1:]] == ["match", "not_searched", "not_searched"]
    assert [each["id"] for each in portal.api.bodies[-1]["records"]] == ["1", "2"]
    assert "not searched" not in after
    assert "Ingen" in await portal.shown("/customers?pile=missing")


async def test_a_row_whose_cells_are_shifted_is_not_sent(isolating: Portal) -> None:
    await upload(isolating, f"{FILE}Hansen; Sønner;1112\n".replace("Andre", "A;B;5000\nAndre", 1))
    await matched(isolating)

    names = [each["name"] for each in isolating.api.bodies[-1]["records"]]
    assert names == ["Prøve ApS", "Andre", "Ingen"]
    assert "12345674" in await isolating.shown("/customers?pile=matched")
    unsearched = await isolating.shown("/customers?pile=unsearched")
    assert unsearched.count("It has more cells than the header") == 2
    assert "Search these again" not in unsearched


async def test_scores_are_numbers_in_a_workbook() -> None:
    async with Spreadsheets().writing("xlsx") as sheet:
        await sheet.add([["12345674", 0.9]])
        with zipfile.ZipFile(io.BytesIO(await sheet.complete())) as book:
            cells = book.read("xl/worksheets/sheet1.xml").decode()
    async with Spreadsheets().writing("csv") as sheet:
        await sheet.add([["12345674", 0.9]])
        text = await sheet.complete()

    assert '<c r="A1" t="inlineStr">' in cells
    assert '<c r="B1"><v>0.9</v></c>' in cells
    assert text.decode("utf-8-sig") == "12345674,0.9000\r\n"


@pytest.mark.parametrize(
    "fields", [{}, {"row": "1", "choice": "2"}, {"row": "9", "choice": "0"}, {"row": "x"}]
)
async def test_an_unknown_decision_is_refused(portal: Portal, fields: dict[str, str]) -> None:
    await upload(portal)
    await matched(portal)

    assert (await portal.post("/customers/decide", fields)).status == 400


async def test_columns_without_anything_to_search_for_are_refused(portal: Portal) -> None:
    await upload(portal)

    response = await portal.post("/customers/match", {"column-1": "postal_code"})

    assert response.status == 400
    assert "Choose at least a column of names" in await response.text()
    assert not portal.api.bodies


async def test_matching_that_stops_keeps_what_it_has_and_goes_on(portal: Portal) -> None:
    portal.api.fail("/api/match", 403, "forbidden")
    await upload(portal)
    await portal.post("/customers/match", {"column-0": "name"})
    text = await eventually(
        lambda: portal.shown("/customers"), lambda text: "Matching has stopped" in text
    )
    portal.api.give("/api/match", {"results": RESULTS})
    # A rate limit is waited for.
    portal.api.limited.add("/api/match")

    await portal.post("/customers/match")

    assert "Your key may not do this." in text
    await eventually(lambda: portal.shown("/customers"), lambda text: "To review" in text)


async def test_matching_leaves_a_quarter_of_the_rate_to_pages_and_says_how_long_it_takes(
    portal: Portal,
) -> None:
    # Of 1,200 rows a minute 1,200 - 801 are used: fewer than a hundred more are matching's.
    headers = {"RateLimit-Policy": '"key";q=1200;w=60', "RateLimit": '"key";r=399;t=41'}
    portal.api.headers["/api/match"] = headers
    await upload(portal, "Firmanavn;Postnr\n" + "Prøve;1112\n" * 2000)
    portal.api.give("/api/match", {"results": [{**RESULTS[2], "id": "x"}] * 100})
    before = await portal.shown("/customers")

    await portal.post("/customers/match", {"column-0": "name"})
    text = await eventually(lambda: portal.shown("/customers"), lambda text: "waiting" in text)

    # 899 rows now, then two windows.
    assert "It takes about 2 min at the key&#39;s rate (900 of 1,200 rows a minute)." in before
    # Its clock stands still.
    assert (
        "About 3 min left, waiting 41 s for the key&#39;s rate (900 of 1,200 rows a minute)."
        in text
    )
    assert "100 of 2,000 rows" in text
    [held] = portal.uploads.held.values()
    portal.uploads.forget(held)


async def test_a_list_that_the_rate_holds_not_says_so_and_an_outage_hides_only_that(
    portal: Portal,
) -> None:
    await upload(portal)
    fits = await portal.shown("/customers")
    portal.api.fail("/api/me", 503, "service_unavailable")

    text = await portal.shown("/customers")

    assert "It fits into the key&#39;s rate (900 of" in fits
    assert "Which column is what?" in text
    assert "the key&#39;s rate" not in text


BOOK = a_book(
    {
        "Kladde": [["Navn"], ["Skjult"]],
        "Kunder": [["Kunder"], [], ["Firma", "Gade", "Husnr", "Saldo"], ["Prøve", "Gade", 12.0]],
        "Andre": [["x"], ["Nr"], ["Navn"], ["Anden"]],
    },
    hidden=["Kladde"],
)


async def test_the_sheet_and_the_row_of_the_header_are_offered(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upload(portal, BOOK, "a.xlsx")
    first = await portal.shown("/customers")
    await portal.post("/customers/read", {"sheet": "Andre", "header_row": "3"})
    second = await portal.shown("/customers")
    # Once as it is: the choice reaches the process.
    monkeypatch.setattr(reading, "_read", READ_BY_PROCESS)
    await portal.post("/customers/read", {"sheet": "Andre", "header_row": "2"})
    third = await portal.shown("/customers")

    assert "Read with header in row 3 of sheet Kunder (others: Andre)." in first
    assert "<option selected>Kunder</option><option>Andre</option>" in first
    assert "Not used: Saldo." in first
    assert first.count('<option value="address" selected>') == 2
    # The row of another sheet's header is found anew.
    assert 'value="3"' in second
    assert "Anden" in second
    assert 'id="name-0">Nr<' in third


async def test_matched_rows_have_the_numbers_of_the_file(portal: Portal) -> None:
    await upload(portal, f"Kunder\n\n{FILE}")
    await matched(portal)

    assert 'data-label="Row">5<' in await portal.shown("/customers?pile=review")
    assert "Which company is row 5?" in await portal.shown("/customers/rows/1")


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"header_row": "9"}, "has nothing in row 9"),
        ({"header_row": "x"}, "number of the header&#39;s row"),
        ({"header_row": "3"}, "no row below it"),
        ({"sheet": "Ark9"}, "is a text, and has no sheet Ark9"),
    ],
)
async def test_a_file_that_cannot_be_read_so_stays_as_it_was(
    portal: Portal, fields: dict[str, str], said: str
) -> None:
    await upload(portal, "x\nFirmanavn\nPrøve\n")

    refused = await portal.post("/customers/read", fields)

    assert refused.status == 400
    assert said in await refused.text()
    assert "Prøve" in await portal.shown("/customers")


async def test_a_file_is_not_read_again_once_it_is_matched(portal: Portal) -> None:
    await upload(portal)
    [held] = portal.uploads.held.values()
    size = len(held.data)
    await matched(portal)

    await portal.post("/customers/read", {"header_row": "2"})

    assert (size, held.data) == (len(FILE.encode()), b"")
    assert "Download XLSX" in await portal.shown("/customers")


@pytest.mark.parametrize("page", ["/customers", "/customers/rows/1"])
async def test_no_text_of_a_file_becomes_markup(portal: Portal, page: str) -> None:
    hostile = "<script>alert(1)</script>"
    await upload(portal, f"Firmanavn;{hostile}\n" + f"{hostile};{hostile}\n" * 3, f"{hostile}.csv")
    columns = await portal.shown("/customers")
    await matched(portal)

    for text in (columns, await portal.shown(page)):
        assert "alert(1)" in text
        assert "<script>alert" not in text


# Whose file it is, and for how long


async def test_a_file_is_of_its_session_and_key_alone(portal: Portal) -> None:
    await upload(portal)
    held = "Which column is what?"

    assert held in await portal.shown("/customers")
    async with a_portal() as other:
        await other.sign_in()
        assert held not in await other.shown("/customers")
    await portal.sign_in(OTHER_KEY)
    assert held not in await portal.shown("/customers")
    await portal.sign_in(KEY)
    assert held not in await portal.shown("/customers")


@pytest.mark.parametrize("path", ["/customers/forget", "/sign-out"])
async def test_a_file_is_dropped(portal: Portal, path: str) -> None:
    await upload(portal)

    await portal.post(path)

    assert portal.uploads.held == {}


async def test_a_revoked_key_uploads_nothing(portal: Portal) -> None:
    portal.api.fail("/api/me", 401, "unauthorized")

    response = await upload(portal)

    assert response.headers["Location"] == "/sign-in?ended=key"
    assert portal.uploads.held == {}


async def test_an_unused_file_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_SWEEP", 0.01)
    monkeypatch.setattr(reading, "_read", read_here)
    async with a_portal(file_idle_timeout=-1) as portal:
        await portal.sign_in()
        await upload(portal)

        await eventually(lambda: portal.get("/key"), lambda _: not portal.uploads.held)
        text = await portal.shown("/customers.csv")
    assert text == ""


async def test_nothing_of_a_file_is_logged(portal: Portal) -> None:
    with capture_logs() as lines:
        await upload(portal, name="secret.csv")
        await matched(portal)
        await portal.shown("/customers/rows/1")

    assert lines
    assert not [line for line in lines if "secret" in str(line) or "Prøve" in str(line)]


# Limits


async def test_a_file_beyond_the_memory_for_all_files_is_refused(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_HELD", 10)

    response = await upload(portal)

    assert response.status == 503
    assert "Many files are being matched" in await response.text()


async def test_a_key_has_a_share_of_the_memory_for_files(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upload(portal)
    [first] = portal.uploads.held.values()
    monkeypatch.setattr(uploads, "MAX_HELD_PER_KEY", first.held + 1)

    again = await upload(portal)
    await portal.sign_in()
    other_session = await upload(portal)

    # A session's file makes room for its next one.
    assert (again.status, other_session.status) == (303, 429)
    assert "Remove one of them first." in await other_session.text()


async def test_a_file_that_is_too_large_is_not_read(portal: Portal) -> None:
    response = await upload(portal, b"a" * (reading.MAX_FILE + 2**20))

    assert response.status == 413
    assert "A file may have 20 MB" in await response.text()
    # Another form may not be as large.
    assert (await portal.post("/customers/match", {"column-0": "a" * 100_000})).status == 413


def a_bomb(sheet: bytes, repeated: bytes = b"", times: int = 0) -> bytes:
    """A workbook with this sheet, whose first shared string is repeated text."""
    file = io.BytesIO(a_workbook(["Navn"], ["Prøve"]))
    bomb = io.BytesIO()
    with (
        zipfile.ZipFile(file) as source,
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
    ):
        for name in source.namelist():
            if name == "xl/worksheets/sheet1.xml" and sheet:
                made.writestr(name, sheet)
            elif name == "xl/sharedStrings.xml" and times:
                with made.open(name, "w", force_zip64=True) as out:
                    out.write(b"<sst><si><t>")
                    for _ in range(times):
                        out.write(repeated)
                    out.write(b"</t></si></sst>")
            else:
                made.writestr(name, source.read(name))
    return bomb.getvalue()


_CELL = '<worksheet><sheetData><row><c r="{}" t="inlineStr"><is><t>a</t></is></c></row>'
_FAR = (_CELL.format("A1") + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>').encode()
_WIDE = "Navn" + ";x" * 100

HOSTILE = {
    "no spreadsheet": (b"PK\x03\x04 and nothing", "cannot be read as a workbook"),
    "a password": (an_encrypted_workbook(), "is protected by a password"),
    "a web page": (b"<html><table><tr><td>Navn", "is a web page (HTML), whatever its name"),
    "no text": (b"\x81\x8d\x00\xff" * 9, "is not a text"),
    "nothing": (b"", "The file is empty."),
    "only a header": (b"Navn\n", "no row below it"),
    "an empty workbook": (a_workbook(), "The file is empty."),
    "too many columns": (f"{_WIDE}\nPrøve\n".encode(), "more than 100 columns"),
    "too many rows": (b"Navn\n" + b"a\n" * 50_001, "more than 50,000 rows"),
}
#: A far cell would end the process of the tests.
ISOLATED = {
    "only a header": HOSTILE["only a header"],
    "a far cell": (a_bomb(_FAR + b"</sheetData></worksheet>"), "The file"),
}


@pytest.mark.parametrize("content, said", HOSTILE.values(), ids=HOSTILE)
async def test_a_file_that_cannot_be_read_says_why_at_the_field(
    portal: Portal, content: bytes, said: str
) -> None:
    response = await upload(portal, content)

    text = await response.text()
    assert response.status == 400, text
    assert said in text
    assert 'id="file-fault"' in text


@pytest.mark.parametrize("content, said", ISOLATED.values(), ids=ISOLATED)
async def test_a_process_says_why_a_file_cannot_be_read(
    isolating: Portal, content: bytes, said: str
) -> None:
    response = await upload(isolating, content)

    assert response.status == 400
    assert said in await response.text()


async def test_a_bomb_costs_only_the_process_that_reads_it(
    isolating: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the process would end later than for its memory.
    monkeypatch.setattr(reading, "_TIME", 600.0)
    bomb = a_bomb(b"", repeated=b"a" * 2**22, times=50)

    response = await upload(isolating, bomb)

    assert len(bomb) < 2**22
    assert response.status == 400
    # Said of a process that ended early: one that reads on finds no workbook.
    assert "cannot be read as a spreadsheet" in await response.text()
    assert (await upload(isolating)).status == 303


async def test_a_file_that_takes_too_long_is_given_up(
    isolating: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_TIME", 0.001)

    assert "takes too long" in await (await upload(isolating)).text()


async def test_a_file_waits_for_its_turn_only_so_long(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_AT_ONCE", 0)
    monkeypatch.setattr(reading, "_TURN", 0.01)
    async with a_portal() as busy:
        await busy.sign_in()
        assert (await upload(busy)).status == 503
