"""A file of customers, matched, enriched and watched by three commands without an option."""

import csv
import io
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from company_registry import Client, Company, CompanyFilter, Retries
from company_registry.cli.app import app
from company_registry.cli.session import Exit
from tests.e2e.conftest import Running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ROWS = 500
#: Seconds for all rows, on a busy machine.
SEARCHED = 300
PATIENT = Retries(attempts=30, max_delay=5)
#: Headers in two languages, as exports of customers have them.
NUMBERS = ("CVR/Org.nr.", "Orgnr/CVR", "CVR-nummer (DK)", "Org.nr (NO)", "Virksomhedsnr")
HEADERS = (
    *("Kundenr", "Kunde", "Selskap", "Firmanavn 1", *NUMBERS),
    *("E-mailadresse", "Vejnavn og nr", "Postnr/By", "Tlf."),
)


def a_row(place: int, company: Company) -> dict[str, str]:
    """A customer; every third one has no number, and none of them has a country."""
    address = company.address
    row = dict.fromkeys(HEADERS, "") | {
        "Kundenr": f"{place}",
        "Kunde": f"K-{place}",
        "Selskap": "01",
        "Firmanavn 1": company.name.lower() if place % 2 else company.name,
    }
    if place % 3:
        spaced = " ".join((company.vat[:2], company.vat[2:5], company.vat[5:]))
        written = (company.vat, spaced, f"{company.country.upper()}{company.vat}")
        row[NUMBERS[place % len(NUMBERS)]] = written[place % len(written)]
    if address is not None and address.street:
        row["Vejnavn og nr"] = address.street
        row["Postnr/By"] = f"{address.postal_code or ''} {address.city or ''}".strip()
    if place % 4 == 0:
        row["E-mailadresse"] = company.email or ""
        row["Tlf."] = company.phone or ""
    return row


def written(path: Path, rows: Sequence[dict[str, str]]) -> None:
    with path.open("w", encoding="cp1252", errors="replace", newline="") as file:
        writer = csv.DictWriter(file, HEADERS, delimiter=";")
        writer.writeheader()
        writer.writerows(rows)


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), delimiter=";"))


def test_a_file_of_customers_needs_three_commands_and_no_option(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {
        "BASE_URL": running.system.base_url,
        "API_KEY": running.key,
        "XDG_CONFIG_HOME": str(tmp_path),
    }

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments, env=environment)

    def searched(*arguments: str) -> Result:
        """Runs a command again while a busy machine has left rows not searched, as it says."""
        gives_up = time.monotonic() + SEARCHED
        while (done := run(*arguments)).exit_code == Exit.UNAVAILABLE:
            assert time.monotonic() < gives_up, done.stderr
        return done

    with Client(running.system.base_url, running.key, retries=PATIENT) as client:
        found_active = client.find(CompanyFilter(status=("active",)))
        # Other tests rename companies of their own meanwhile.
        companies = [each for each in found_active if not each.vat.startswith("310987")]
        watchlist = client.create_watchlist("Kunder")
    customers = list(islice(cycle(companies), ROWS))
    written(Path("kunder.csv"), [a_row(*each) for each in enumerate(customers)])

    matched = searched("match", "kunder.csv")
    Path("matched.csv").write_text(matched.stdout)
    enriched = searched("batch", "matched.csv")
    Path("enriched.csv").write_text(enriched.stdout)
    watched = searched("watchlists", "add", "Kunder", "enriched.csv")

    results, companies_of_rows = read(matched.stdout), read(enriched.stdout)
    decided = [row["decision"] == "match" for row in results]
    right = [f"{each.country}:{each.vat}" for each in customers]
    found = [f"{row['company_country']}:{row['company_vat']}" for row in results]
    assert len(results) == len(companies_of_rows) == ROWS
    assert sum(decided) > 0.9 * ROWS, matched.stderr
    assert [one for one, is_decided in zip(found, decided, strict=True) if is_decided] == [
        one for one, is_decided in zip(right, decided, strict=True) if is_decided
    ]
    names = [row["company_name"] for row in companies_of_rows]
    assert names == [
        each.name if is_decided else "" for each, is_decided in zip(customers, decided, strict=True)
    ]
    assert watched.exit_code == 0, watched.output
    with Client(running.system.base_url, running.key, retries=PATIENT) as client:
        kept = set(client.watched(watchlist.id))
        client.delete_watchlist(watchlist.id)
    assert kept == {one for one, is_decided in zip(right, decided, strict=True) if is_decided}
