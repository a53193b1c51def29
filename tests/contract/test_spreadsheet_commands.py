"""`batch`, `match` and `watchlists` read spreadsheets as people have them, all in the same way."""

import csv
import io
import sys
from pathlib import Path

import pytest

from tests.builders.answers import a_found_company, a_problem
from tests.builders.workbooks import a_workbook, an_encrypted_workbook, an_xls
from tests.contract.test_client_command import COMPANIES, Shell, a_change, shell
from tests.contract.test_match_command import MATCH, MATCHED

__all__ = ["shell"]

BOOK = a_workbook(
    {
        "Kladde": [["Navn"], ["Skjult"]],
        "Kunder": [
            ["Kunder pr. 1. januar"],
            [],
            ["Virksomhed", "", "Adresse"],
            ["Kundenavn", "CVR-nummer", "Gade", "Husnr", "Saldo"],
            ["Prøve ApS", 12345674.0, "Nørregade", 12.0, -7.5],
        ],
        "Andre": [["Orgnr", "Land", "Bemærkning"], ["310 345 679", "Norge", "ny"]],
    },
    hidden=["Kladde"],
    merged={"Kunder": "A3:B3"},
)
READ = "Read kunder.xlsx: header in row 4 of sheet Kunder (others: Andre)"


@pytest.fixture
def book(shell: Shell) -> Path:
    path = shell.home / "kunder.xlsx"
    path.write_bytes(BOOK)
    return path


async def test_a_workbook_is_looked_up_by_its_first_visible_sheet(shell: Shell, book: Path) -> None:
    found = a_found_company(name="Prøve ApS")
    shell.answers["/api/batch"] = [{"results": [{"company": found}]}]

    done = await shell.run("batch", book.name, "--country", "dk", "--out", "ud.csv")

    assert shell.bodies[0]["lookups"] == [{"country": "dk", "vat": "12345674"}]
    assert done.stderr.splitlines() == [
        READ,
        "Looking up by column CVR-nummer (vat); --by chooses another: Kundenavn, Gade; "
        "not used: Husnr, Saldo",
        "1 found, 0 not",
    ]
    data = (shell.home / "ud.csv").read_bytes()
    # As a spreadsheet reads it.
    assert data.startswith(b"\xef\xbb\xbf")
    [row] = csv.DictReader(io.StringIO(data.decode("utf-8-sig")), delimiter=";")
    assert (row["Kundenavn"], row["Saldo"], row["company_name"]) == (
        "Prøve ApS",
        "-7.5",
        "Prøve ApS",
    )


async def test_a_row_that_a_fault_left_is_not_counted_as_not_found(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("cvr\n12345674\n12345682\n12345755\n")
    missing, fault = a_problem("company_not_found", 404), a_problem("internal_error", 500)
    found = {"company": a_found_company()}
    shell.answers["/api/batch"] = [{"results": [found, {"problem": missing}, {"problem": fault}]}]

    done = await shell.run("batch", "k.csv", "--country", "dk")

    said = " ".join(done.stderr.split())
    assert "1 found, 1 not (1 company not found), 1 not searched (1 after an error of the" in said
    assert done.exit_code == 5


async def test_a_workbook_is_matched_by_its_columns(shell: Shell, book: Path) -> None:
    shell.answers[MATCH] = [{"results": [MATCHED]}]

    done = await shell.run("match", book.name, "--country", "dk")

    assert shell.bodies[0]["records"] == [
        {
            "id": "1",
            "country": "dk",
            "name": "Prøve ApS",
            "number": "12345674",
            "address": "Nørregade 12",
        }
    ]
    assert done.stderr.splitlines()[:3] == [
        READ,
        "Columns: name: Kundenavn, number: CVR-nummer, address: Gade + Husnr",
        "Not used: Saldo",
    ]


async def test_another_sheet_is_added_to_a_watchlist(shell: Shell, book: Path) -> None:
    shell.answers[COMPANIES] = [a_change(added=1, size=1)]

    done = await shell.run("watchlists", "add", "wl_1", "-f", book.name, "--sheet", "Andre")

    assert shell.bodies[0]["add"] == ["Norge:310 345 679"]
    assert "Read kunder.xlsx: sheet Andre (others: Kunder)" in done.stderr
    assert "Columns: Orgnr, Land; not used: Bemærkning" in done.stderr


async def test_a_column_of_its_own_results_is_named_and_read_once(shell: Shell) -> None:
    header = "Kunde,company_country,company_vat,decision"
    (shell.home / "m.csv").write_text(f"{header}\nPrøve,dk,12345674,match\n")
    shell.answers[COMPANIES] = [a_change(added=1, size=1)]

    done = await shell.run("watchlists", "add", "wl_1", "-f", "m.csv")

    assert shell.bodies[0]["add"] == ["dk:12345674"]
    assert "Columns: company_vat, company_country, decision; not used: Kunde" in done.stderr


async def test_the_header_and_the_parts_of_an_address_are_chosen(shell: Shell) -> None:
    text = "Udtræk;navn;x\nEgen;A;B\nNordlys;Storgata;2\n"
    (shell.home / "k.csv").write_bytes(text.encode("mac_roman"))
    shell.answers[MATCH] = [{"results": [MATCHED]}]
    columns = ("name=Egen", "address=A", "address=B")

    done = await shell.run(
        "match", "k.csv", "--header-row", "2", *(f"--column={each}" for each in columns)
    )

    record = shell.bodies[0]["records"][0]
    assert (record["name"], record["address"]) == ("Nordlys", "Storgata 2")
    assert "Read k.csv: header in row 2, text in Mac Roman" in done.stderr


@pytest.mark.parametrize(
    "command", ["match {}", "batch {} --country dk", "watchlists add wl_1 -f {}"]
)
@pytest.mark.parametrize(
    "content, options, said",
    [
        (an_encrypted_workbook(), "", "k.xls is protected by a password: save it without one"),
        (b"<html><table><tr><td>Navn", "", "k.xls is a web page (HTML), whatever its name"),
        (BOOK, " --sheet Ark1", "k.xls has no sheet Ark1: it has Kunder, Andre"),
        (b"navn\nA\n", " --header-row 7", "k.xls has nothing in row 7"),
    ],
)
async def test_a_file_that_cannot_be_read_is_named_as_what_it_is(
    shell: Shell, command: str, content: bytes, options: str, said: str
) -> None:
    (shell.home / "k.xls").write_bytes(content)

    done = await shell.run(*f"{command.format('k.xls')}{options}".split())

    assert done.exit_code == 2
    assert said in done.stderr
    assert shell.requests == []


async def test_a_run_without_the_extra_says_what_to_install(
    shell: Shell, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (book.parent / "kunder.xls").write_bytes(an_xls((0, 0, "Navn")))

    done = await shell.run("match", "kunder.xls")

    assert "kunder.xls is a workbook: install company-registry[xlsx], or save it as XLSX" in (
        done.stderr
    )
    assert shell.requests == []
