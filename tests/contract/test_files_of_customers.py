"""Files of customers with headers of two languages are read, and so is every file of ours."""

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from company_registry import Company
from company_registry.cli.batches import FOUND, header, plan_of
from company_registry.columns import results_in
from company_registry.spreadsheets import read_sheet
from portal.domain.company_lists import COLUMNS
from portal.domain.customers import ADDED
from tests.builders.answers import a_found_company, an_event
from tests.contract.test_client_command import Shell, shell

__all__ = ["shell"]

ROWS = 500
#: Headers in two languages, and of none that a program knows as a whole.
HEADERS = (
    "Kundenr", "Kunde", "Selskap", "Firmanavn 1", "CVR/Org.nr.", "Orgnr/CVR", "CVR-nummer (DK)",
    "Org.nr (NO)", "Virksomhedsnr", "E-mailadresse", "Vejnavn og nr", "Postnr/By", "Tlf.",
)  # fmt: skip
#: The columns of numbers, one of which each row fills.
NUMBERS = HEADERS[4:9]


def a_customer(place: int) -> dict[str, str]:
    number = f"{10_000_000 + place}" if place % 2 else f"{800_000_000 + place}"
    row = dict.fromkeys(HEADERS, "") | {
        "Kundenr": str(place),
        "Kunde": f"K-{place}",
        "Firmanavn 1": f"Prøvehuset {place} ApS",
        "E-mailadresse": f"post@example{place}.com",
        "Vejnavn og nr": f"Prøvevej {place}",
        "Postnr/By": "5000 Odense C",
    }
    named = NUMBERS[place % len(NUMBERS)]
    # Some rows have no number, and most a phone number, which no company has registered.
    return (
        row | ({named: number} if place % 5 else {}) | ({"Tlf.": "40112233"} if place % 4 else {})
    )


@pytest.fixture
async def registry(shell: Shell) -> AsyncIterator[Shell]:
    """Answers every record with a company, but those without a number with one to review."""

    async def match(request: web.Request) -> web.Response:
        records = (await request.json())["records"]
        shell.bodies += records
        return web.json_response({"results": [_matched(each) for each in records]})

    async def batch(request: web.Request) -> web.Response:
        lookups = (await request.json())["lookups"]
        shell.bodies += lookups
        found = ({"country": each["country"], "vat": each["vat"]} for each in lookups)
        results = [{"company": a_found_company() | each} for each in found]
        return web.json_response({"results": results})

    async def watch(request: web.Request) -> web.Response:
        added = (await request.json())["add"]
        shell.bodies += added
        none = {"present": 0, "removed": 0, "unknown": [], "invalid": []}
        return web.json_response({"added": len(added), "size": len(added), **none})

    application = web.Application()
    application.router.add_post("/api/match", match)
    application.router.add_post("/api/batch", batch)
    application.router.add_patch("/api/watchlists/wl_1/companies", watch)
    async with TestServer(application) as server:
        shell.url = f"http://127.0.0.1:{server.port}"
        yield shell


def _matched(record: dict[str, str]) -> dict[str, Any]:
    number = record.get("number", "10000000")
    company = {"country": "dk" if len(number) == 8 else "no", "vat": number, "name": record["name"]}
    likeliest: dict[str, Any] = {
        **company,
        "city": None,
        "status": "active",
        "score": 0.9,
        "evidence": {},
    }
    decision = "match" if "number" in record else "review"
    return {"id": record["id"], "decision": decision, "candidates": [likeliest]}


def written(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


async def test_a_file_is_matched_enriched_and_watched_without_an_option(registry: Shell) -> None:
    customers = [a_customer(place) for place in range(ROWS)]
    (registry.home / "kunder.csv").write_text(written(customers))
    numbers = ["".join(row[name] for name in NUMBERS) for row in customers]
    numbered = [number for number in numbers if number]

    matched = await registry.run("match", "kunder.csv")
    records, registry.bodies[:] = list(registry.bodies), []
    (registry.home / "matched.csv").write_text(matched.stdout)
    enriched = await registry.run("batch", "matched.csv")
    lookups, registry.bodies[:] = list(registry.bodies), []
    (registry.home / "enriched.csv").write_text(enriched.stdout)
    watched = await registry.run("watchlists", "add", "wl_1", "enriched.csv")

    assert [each.get("number", "") for each in records] == numbers
    assert records[1]["name"] == "Prøvehuset 1 ApS"
    assert "name: Firmanavn 1, number: CVR/Org.nr. + CVR-nummer (DK) + " in matched.stderr
    assert "Readable rows: name 100 %, number 80 %" in matched.stderr
    assert "Not used: Kundenr, Kunde, Selskap" in matched.stderr
    assert [each["vat"] for each in lookups] == numbered
    assert "Looking up by column company_vat (vat" in enriched.stderr
    [*_, last] = enriched.stderr.splitlines()
    assert last == "400 found, 100 not (100 invalid parameter)"
    assert sorted(registry.bodies) == sorted(
        f"{'dk' if len(each) == 8 else 'no'}:{each}" for each in numbered
    )
    assert watched.exit_code == 0


async def test_a_column_that_most_rows_cannot_use_is_not_looked_up_by(registry: Shell) -> None:
    rows = [a_customer(place) | {"CVR/Org.nr.": ""} for place in range(20)]
    few = [
        {name: row[name] for name in ("Kunde", "CVR/Org.nr.", "Tlf.", "Kundenr")} for row in rows
    ]
    named = [row | {"Firmanavn 1": "Prøvehuset ApS"} for row in few]
    some = [row | {"CVR/Org.nr.": "10000001" if n < 16 else ""} for n, row in enumerate(named)]

    sheets = {
        how: read_sheet(written(rows).encode())
        for how, rows in {"few": few, "named": named, "some": some}.items()
    }
    plans = {how: plan_of(each, country="dk", by=None, include=[]) for how, each in sheets.items()}

    chosen = {how: (plan.type, sheets[how].header[plan.term[0]]) for how, plan in plans.items()}
    assert chosen == {
        "few": ("phone", "Tlf."),
        "named": ("name", "Firmanavn 1"),
        "some": ("vat", "CVR/Org.nr."),
    }


async def test_the_share_of_rows_that_a_column_can_be_read_of_is_told(registry: Shell) -> None:
    rows = [{"CVR/Org.nr.": "10000001" if n < 16 else "-", "Kunde": f"K-{n}"} for n in range(20)]

    done = await registry.run("batch", "-", given=written(rows).encode())

    assert (
        "Looking up by column CVR/Org.nr. (vat, 80 % of the rows); not used: Kunde" in done.stderr
    )
    assert len(registry.bodies) == 16


#: The headers of files that this project writes.
OUTPUTS = {
    "batch": ["kunde", *header([])],
    "match": ["kunde", "decision", "company_country", "company_vat", "company_name"],
    "find and export": list(FOUND),
    "a list of the portal": list(COLUMNS),
    "customers of the portal": ["Kunde", *ADDED, "Decision"],
}


@pytest.mark.parametrize("names", OUTPUTS.values(), ids=OUTPUTS)
async def test_every_output_is_an_input(registry: Shell, names: list[str]) -> None:
    values = dict.fromkeys(names, "") | {name: "10000009" for name in names if _is_number(name)}
    values |= {name: "DK" for name in names if name.lower().endswith("country")}
    values |= {name: "match" for name in names if name.lower() == "decision"}
    (registry.home / "ours.csv").write_text(written([values]))

    await registry.run("batch", "ours.csv")
    await registry.run("watchlists", "add", "wl_1", "ours.csv")

    assert registry.bodies == [{"country": "dk", "vat": "10000009"}, "DK:10000009"]


COMPANY = {
    **a_found_company(vat="10000009", country="dk"),
    "owners": [{"name": "Ane Prøve", "type": "person"}],
}
CANDIDATE: dict[str, Any] = {
    "country": "dk",
    "vat": "10000009",
    "name": "Prøvehuset ApS",
    "city": None,
    "status": "active",
    "score": 0.9,
    "evidence": {},
}
DECIDED = {"decision": "match", "candidates": [CANDIDATE]}
OTHER = {"decision": "review", "candidates": [CANDIDATE | {"vat": "10000025"}]}
INPUT = {"Kundenr": "7", "Firma": "Prøvehuset"}
#: What commands print with --json, and answers of the API, which may be kept in a file.
DOCUMENTS: dict[str, list[Any]] = {
    "lookup": [COMPANY],
    "find and export": [COMPANY, {"country": "no", "vat": "", "name": "Prøven"}],
    "batch": [
        {"input": INPUT, "company": COMPANY, "ambiguous": False},
        {"input": INPUT, "problem": {"code": "company_not_found", "status": 404}},
    ],
    "match": [
        {"input": INPUT, **DECIDED},
        {"input": INPUT, **OTHER},
        {"input": INPUT, "problem": {}},
    ],
    "suggest": [[{"country": "dk", "vat": "10000009", "name": "Prøvehuset ApS", "score": 91.5}]],
    "events follow": [an_event(country="dk", vat="10000009")],
    "listen": [{"event": an_event(country="dk", vat="10000009"), "delivery_id": "1"}],
    "GET /api/companies": [{"companies": [COMPANY], "total": 1, "cursor": None}],
    "GET /api/watchlists/{id}/companies": [{"companies": ["dk:10000009"], "cursor": None}],
    "POST /api/match": [{"results": [{"id": "1", **DECIDED}, {"id": "2", **OTHER}]}],
    "POST /api/batch": [{"results": [{"company": COMPANY}]}],
}


@pytest.mark.parametrize("documents", DOCUMENTS.values(), ids=DOCUMENTS)
async def test_json_that_we_print_is_an_input(registry: Shell, documents: list[Any]) -> None:
    lines = "".join(f"{json.dumps(each)}\n" for each in documents)
    (registry.home / "ours.json").write_text(lines)

    batch = await registry.run("batch", "ours.json")
    looked_up, registry.bodies[:] = list(registry.bodies), []
    await registry.run("watchlists", "add", "wl_1", "--file", "ours.json")
    added, registry.bodies[:] = list(registry.bodies), []
    match = await registry.run("match", "ours.json")

    assert looked_up == [{"country": "dk", "vat": "10000009"}], batch.output
    assert added == ["dk:10000009"]
    # Of a file with results, match reads the columns of the customers.
    if "input" in documents[0]:
        assert {each["name"] for each in registry.bodies} == {"Prøvehuset"}, match.output
    elif "results" not in documents[0]:
        assert registry.bodies[0]["number"] == "10000009", match.output


async def test_companies_of_a_watchlist_are_an_input(registry: Shell) -> None:
    (registry.home / "list.txt").write_text("dk:10000009\nno:810000009\n\n")

    await registry.run("batch", "list.txt")
    await registry.run("match", "list.txt")

    assert registry.bodies == [
        {"country": "dk", "vat": "10000009"},
        {"country": "no", "vat": "810000009"},
        {"id": "1", "country": "dk", "number": "10000009"},
        {"id": "2", "country": "no", "number": "810000009"},
    ]


@pytest.mark.parametrize(
    "text, said",
    [
        ('{"vat": "10000009"}\n{"vat": "1000', "ours.json is no JSON from line 2 on"),
        ('{"vat": "10000009"}\n\n7\n', "ours.json has a value in line 3 that is no JSON object"),
        ("[" * 100_000, "the header must have one of the columns"),
        (json.dumps({str(n): n for n in range(1001)}), "is JSON with more than 1000 fields"),
    ],
)
async def test_json_that_ends_too_early_is_told(registry: Shell, text: str, said: str) -> None:
    (registry.home / "ours.json").write_text(text)

    done = await registry.run("batch", "ours.json")

    assert done.exit_code == 2
    assert said in done.stderr
    assert registry.bodies == []


def _is_number(name: str) -> bool:
    return name in ("vat", "company_vat", "Matched number", "Registration number")


def test_the_results_of_a_file_are_found_by_the_names_that_we_write() -> None:
    found = results_in(["Kunde", *ADDED, "Decision"])

    assert found is not None
    assert (found.number, found.country, found.decision) == (2, 1, 6)
    assert results_in(list(COLUMNS)) is None


def test_a_company_has_its_country_in_every_file() -> None:
    company = Company.model_validate(json.loads(json.dumps(a_found_company())))

    assert [FOUND[name](company) for name in ("country", "vat")] == ["dk", company.vat]
