"""`company-registry` over real HTTP: what it sends, prints, stores and refuses."""

import asyncio
import csv
import io
import json
import os
import shlex
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from typer.testing import CliRunner, Result

from company_registry.cli.app import app
from company_registry.mirror_store import MirrorStore, Place
from company_registry.models import Event
from tests.builders.answers import (
    a_found_company,
    a_page,
    a_problem,
    a_summary,
    a_webhook,
    an_event,
)
from tests.builders.openapi import example

COMMAND = str(Path(sys.executable).with_name("company-registry"))
SOON = 30
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
KEY = "id.secret"
ME = {
    "key_id": "id",
    "name": "nightly",
    "owner": "acme",
    "scopes": ["lookup"],
    "rate": {"count": 10, "window_seconds": 60, "remaining": 9, "reset_seconds": 1},
    "created_at": "2026-03-02T12:00:00Z",
}
HOSTILE = "=Alfa\x1b]0;owned\x07\x9b2J\u202e ApS"
WEBHOOK = a_webhook()


def a_result(name: str, *scores: float) -> dict[str, Any]:
    """A company as the service answers it, with alternatives of these scores."""
    return a_found_company(
        name=name,
        match={"type": "name", "score": 90},
        owners=[{"name": "Ane Prøve", "type": "person"}],
        alternatives=[a_summary(name="Alfa Nord ApS", score=score) for score in scores],
    )


#: Of an export, which has a company on each line.
EXPORT = {"Content-Type": "application/x-ndjson", "Events-Cursor": "000000000000"}


@dataclass
class Shell:
    """Runs the command with a home of its own, against a service that answers from lists."""

    home: Path
    url: str = ""
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    #: Of each answer.
    headers: dict[str, str] = field(default_factory=dict)

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        self.bodies.append(await request.json() if request.can_read_body else None)
        answer = self.answers[request.path].pop(0)
        status = answer["status"] if "code" in answer else 200
        if request.path == "/api/export":
            return web.Response(body=json.dumps(answer).encode() + b"\n", headers=EXPORT)
        return web.json_response(answer, status=status, headers=self.headers)

    @property
    def environment(self) -> dict[str, str]:
        return {"BASE_URL": self.url, "XDG_CONFIG_HOME": str(self.home)}

    async def run(self, *arguments: str, given: bytes = b"", **environment: str) -> Result:
        """Runs it in this process: one of its own takes a second of a processor to import."""
        variables = self.environment | environment
        return await asyncio.to_thread(
            CliRunner().invoke, app, arguments, input=given, env=variables
        )

    async def execute(self, *arguments: str, **environment: str) -> str:
        """The output of a process of its own."""
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            *arguments,
            env=self.environment | environment,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(), SOON)
        return out.decode()

    async def type_in(self, *arguments: str, keys: str = "") -> str:
        """The output of a terminal in which keys are typed at the command's question."""
        process = await asyncio.create_subprocess_exec(
            *("script", "--quiet", "--return", "--command", shlex.join([COMMAND, *arguments])),
            "/dev/null",
            env=self.environment | {"PATH": os.environ["PATH"]},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        shown = b""
        async with asyncio.timeout(SOON):
            while chunk := await process.stdout.read(4096):
                shown += chunk
                if shown.endswith((b"API key: ", b"[y/N]: ")):
                    process.stdin.write(f"{keys}\r".encode())
            await process.wait()
        return shown.decode()


@pytest.fixture
async def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shell]:
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path)
    service = web.Application()
    service.router.add_route("*", "/{path:.*}", shell.handle)
    async with TestServer(service) as running:
        shell.url = str(running.make_url("")).rstrip("/")
        yield shell


CREATE = ("webhooks", "create", "https://example.com")


@pytest.mark.parametrize(
    "given",
    [
        ("--include", "owners,roles"),
        ("-i", "Owners, roles"),
        ("-i", "owners", "-i", "roles"),
        ("-i", "owners,roles", "-i", "owners"),
    ],
)
async def test_parts_are_included_however_they_are_listed(
    shell: Shell, given: tuple[str, ...]
) -> None:
    shell.answers["/api/vat"] = [a_result("Alfa ApS")]

    done = await shell.run("lookup", "dk", "12345674", *given)

    assert done.exit_code == 0
    assert shell.requests[0].query["include"] == "owners,roles"


async def test_unknown_owners_are_not_told_as_none(shell: Shell) -> None:
    for country, owners in (("no", None), ("dk", [])):
        page: dict[str, Any] = {"owners": owners, "total": None, "cursor": None}
        shell.answers[f"/api/companies/{country}/12345674/owners"] = [page] * 2

    unknown = await shell.run("owners", "no", "12345674")
    none = await shell.run("owners", "dk", "12345674")

    assert "does not say who owns this company" in unknown.stderr
    assert "aksjonærregisteret" in unknown.stderr
    assert (none.exit_code, none.stderr) == (0, "")


@pytest.mark.parametrize("part", ["owners", "roles"])
async def test_an_unknown_list_is_null_for_programs(shell: Shell, part: str) -> None:
    page: dict[str, Any] = {part: None, "total": None, "cursor": None}
    shell.answers[f"/api/companies/no/310345679/{part}"] = [page] * 2

    done = await shell.run(part, "Norge", "310345679", "--json")

    assert done.stdout == "null\n"
    assert "does not say who" in done.stderr


async def test_a_country_is_given_by_its_name_too(shell: Shell) -> None:
    shell.answers["/api/vat"] = [a_result("Alfa ApS")]

    named = await shell.run("lookup", "Danmark", "12345674")
    other = await shell.run("lookup", "Sverige", "12345674")

    assert named.exit_code == 0
    assert shell.requests[0].query["country"] == "dk"
    assert (other.exit_code, "neither dk" in other.stderr) == (2, True)


async def test_a_group_and_the_registers_are_shown(shell: Shell) -> None:
    shell.answers["/api/companies/dk/12345674/group"] = [example("GroupAnswer")] * 2
    shell.answers["/api/registers"] = [example("RegisterSources")]

    group = await shell.run("group", "dk", "12345674", "--levels", "3")
    document = await shell.run("group", "dk", "12345674", "--json")
    registers = await shell.run("registers")

    assert shell.requests[0].query["levels"] == "3"
    assert all(each["vat"] in group.stdout for each in example("GroupAnswer")["companies"])
    assert json.loads(document.stdout) == example("GroupAnswer")
    assert "dk-virksomhed\t2026-03-02 12:00 UTC" in registers.stdout


async def test_what_the_registers_say_of_capital_dissolution_and_home_is_shown(
    shell: Shell,
) -> None:
    company = example("Company") | {
        "capital": {"amount": "30000", "currency": "NOK", "type": "Aksjekapital",
                    "since": "2020-05-04", "fully_paid": False},
        "dissolution": {"reasons": [{"reason": "no_accounts", "since": "2026-03-02"}]},
        "employees": {"exact": 2, "including_owners": {"min": 3, "max": 4}},
        "financial_year": {"start": "07-01", "end": "06-30",
                           "first": {"start": "2024-03-01", "end": "2025-06-30"}},
        "home_register": {"name": "Bolagsverket", "number": "556000-0001", "country": "SE"},
        "minor_owners": True,
        "remarks": [{"text": "Fejl ved indlæsning"}],
        "voluntary_vat": {"activities": ["Utleie av bygg"], "since": "2021-01-01"},
    }  # fmt: skip
    owner = example("OwnerPage")["owners"][0] | {
        "source": "no-konsern", "since": "2019-01-01", "share": {"min": "60", "max": "60"},
        "share_class": "A", "conditions": "Pant", "reported_on": "2019-02-01",
        "contribution": {"amount": "7000", "currency": "DKK"},
    }  # fmt: skip
    role = example("RolePage")["roles"][0] | {
        "elected_by": "employees", "group_changed": "2026-05-04",
    }  # fmt: skip
    unit = {"number": "310345687", "fax": "33445566", "owner_changed": "2015-07-01",
            "vat_registered": True, "voluntary_vat": {"activities": ["Utleie"]}}  # fmt: skip
    company |= {"owners": [owner], "owners_total": 1, "roles": [role], "roles_total": 1}
    company |= {"production_units": [unit], "production_units_total": 1}
    shell.answers["/api/vat"] = [company]
    shell.answers["/api/export"] = [company]

    shown = await shell.run("lookup", "no", "12345674", "--include", "owners,roles")
    exported = await shell.run("export", "--country", "no", "--csv", "--include", "owners")

    rows = dict(row.split("\t")[:2] for row in shown.stdout.splitlines() if "\t" in row)
    [cells] = csv.DictReader(io.StringIO(exported.stdout))
    expected = {
        "Fully paid": "no",
        "Dissolved for": "no_accounts (2026-03-02)",
        "With owners": "3–4",
        "First period": "2024-03-01 to 2025-06-30",
        "Home register": "SE 556000-0001 Bolagsverket",
        "Owners below 5 %": "yes",
        "Remarks": "Fejl ved indlæsning",
        "Voluntary VAT": "Utleie av bygg, since 2021-01-01",
    }
    assert expected.items() <= rows.items()
    terms = "class A; Pant; contribution 7000 DKK; reported 2019-02-01"
    further = "fax 33445566; taken over 2015-07-01; registered for VAT; voluntary VAT: Utleie"
    assert {"no-konsern", "2019-01-01", terms, "employees", "2026-05-04", further} <= set(
        shown.stdout.replace("\n", "\t").split("\t")
    )
    assert (cells["capital"], cells["currency"], cells["dissolution"], cells["minor_owners"]) == (
        "30000", "NOK", "no_accounts (2026-03-02)", "yes",
    )  # fmt: skip
    assert (cells["employees_with_owners"], cells["home_register"]) == (
        "3–4", "SE 556000-0001 Bolagsverket",
    )  # fmt: skip
    assert (cells["capital_type"], cells["capital_fully_paid"], cells["share_classes"]) == (
        "Aksjekapital", "no", "",
    )  # fmt: skip
    assert (cells["first_period"], cells["adjusted_period"], cells["remarks"]) == (
        "2024-03-01 to 2025-06-30", "", "Fejl ved indlæsning",
    )  # fmt: skip
    assert cells["owners"].endswith("(60 %, no-konsern)")


async def test_a_history_begins_at_a_time(shell: Shell) -> None:
    page = example("HistoryPage") | {"cursor": None}
    shell.answers["/api/companies/dk/12345674/history"] = [page]

    done = await shell.run("history", "dk", "12345674", "--since", "2026-03-01T00:00:00+0100")

    assert done.exit_code == 0
    assert shell.requests[0].query["since"] == "2026-02-28T23:00:00Z"


async def test_an_export_has_the_columns_that_are_chosen(shell: Shell) -> None:
    company = example("Company") | {"owners": example("OwnerPage")["owners"], "owners_total": 1}
    shell.answers["/api/export"] = [company] * 2

    every = await shell.run("export", "--country", "dk", "--csv", "--include", "owners")
    chosen = await shell.run("export", "--country", "dk", "--csv", "--columns", "city,vat")
    wrong = await shell.run("export", "--country", "dk", "--csv", "--columns", "employes")

    [row] = csv.DictReader(io.StringIO(every.stdout))
    assert {"employees", "founded", "website", "municipality", "postal_code", "city"} <= row.keys()
    assert row["owners"]
    assert chosen.stdout.splitlines()[0] == "city,vat"
    assert (wrong.exit_code, "did you mean employees?" in wrong.stderr) == (2, True)
    described = (await shell.run("export", "--help")).stdout.replace("│", " ")
    assert "Status, any unless given" in " ".join(described.split())


async def test_an_export_is_of_a_watchlist_by_its_name_and_says_how_long_a_list_is(
    shell: Shell,
) -> None:
    lists = example("WatchlistList")
    [first, *_] = lists["watchlists"]
    owners = example("OwnerPage")["owners"]
    shell.answers["/api/watchlists"] = [lists]
    shell.answers["/api/export"] = [example("Company") | {"owners": owners, "owners_total": 250}]

    done = await shell.run(
        *("export", "--country", "dk", "--watchlist", first["name"], "--csv"),
        *("--include", "owners"),
    )

    assert shell.requests[-1].query["watchlist"] == first["id"]
    [row] = csv.DictReader(io.StringIO(done.stdout))
    assert row["owners"].endswith("… (250 in all)")


async def test_a_watchlist_is_given_by_its_name(shell: Shell) -> None:
    lists = example("WatchlistList")
    [first, *_] = lists["watchlists"]
    path = f"/api/watchlists/{first['id']}"
    shell.answers |= {
        "/api/watchlists": [lists] * 3,
        path: [first] * 2,
        f"{path}/feed": [example("WatchlistFeed")],
    }

    shown = await shell.run("watchlists", "show", first["name"].upper())
    fed = await shell.run("watchlists", "feed", first["name"], "--yes")
    unknown = await shell.run("watchlists", "show", first["name"] + "s")

    assert first["id"] in shown.stdout
    assert fed.stdout == example("WatchlistFeed")["url"] + "\n"
    assert (unknown.exit_code, f"did you mean {first['name']}?" in unknown.stderr) == (2, True)


async def test_a_webhook_names_a_watchlist_by_its_id_or_its_name(shell: Shell) -> None:
    lists = example("WatchlistList")
    named, id_ = lists["watchlists"][0]["name"], lists["watchlists"][0]["id"]
    shell.answers["/api/watchlists"] = [lists, lists]
    shell.answers["/api/webhooks"] = [WEBHOOK, WEBHOOK]
    shell.answers["/api/webhooks/wh_1"] = [WEBHOOK]
    create = ("webhooks", "create", "https://example.com/hooks", "--watchlist")

    by_name = await shell.run(*create, named.upper(), "--country", "Danmark")
    by_id = await shell.run(*create, id_)
    changed = await shell.run("webhooks", "update", "wh_1", "--watchlist", named)

    assert [done.exit_code for done in (by_name, by_id, changed)] == [0, 0, 0]
    filters = [body["filter"] for body in shell.bodies if body is not None]
    assert filters == [
        {"countries": ["dk"], "watchlists": [id_]},
        {"watchlists": [id_]},
        {"watchlists": [id_]},
    ]


async def test_a_company_is_shown_as_it_was_with_what_it_did(shell: Shell) -> None:
    shell.answers["/api/vat"] = [a_result("Alfa ApS")]
    moved = {"field": "address", "old": {"text": "Prøvevej 1"}, "new": {"text": "Prøvevej 2"}}
    came = {"field": "owners", "old": [], "new": [{"name": "Aud Testesen"}], "partial": True}
    entries = [
        {"time": "2026-03-04T12:00:00Z", "dated": False, "type": "company.updated"},
        {"time": "2012-04-01", "dated": True, "type": "owners.changed"},
    ]
    history = [{**entry, "changes": [c]} for entry, c in zip(entries, (moved, came), strict=True)]
    page = {"history": history, "known_from": None, "cursor": None}
    shell.answers["/api/companies/dk/12345674/history"] = [page]

    then = await shell.run("lookup", "dk", "12345674", "--as-of", "2026-03-02")
    did = await shell.run("history", "dk", "12345674")
    wrong = await shell.run("lookup", "dk", "12345674", "--as-of", "2. marts")

    assert (then.exit_code, did.exit_code, wrong.exit_code) == (0, 0, 2)
    assert shell.requests[0].query["as_of"] == "2026-03-02"
    lines = [line.split() for line in did.stdout.splitlines()]
    assert ["2026-03-04T12:00:00Z", "Address", "Prøvevej", "1", "Prøvevej", "2"] in lines
    assert ["2012-04-01", "New", "owner", "Aud", "Testesen"] in lines


async def test_the_history_of_a_mirror_is_shown_without_the_service(shell: Shell) -> None:
    file = shell.home / "registry.sqlite"
    with closing(MirrorStore(file, "dk", now=lambda: NOON)) as store:
        place = Place(cursor="1", copied_until=None)
        store.store([{"country": "dk", "vat": "12345674", "revision": 1, "name": "Alfa"}], place)
        of: dict[str, Any] = {
            "country": "dk",
            "vat": "12345674",
            "revision": 2,
            "type": "company.updated",
        }
        changes = [{"field": "phone", "old": None, "new": "11111111"}]
        event = an_event(data={"changes": changes}, **of)
        store.apply([Event.model_validate(event)], place._replace(cursor="2"))

    shown = await shell.run("history", "dk", "12345674", "--mirror", str(file))
    absent = await shell.run("history", "dk", "12345682", "--mirror", str(file))
    (shell.home / "text").write_text("no database")
    wrong = await shell.run("history", "dk", "12345674", "--mirror", str(shell.home / "text"))

    assert (shown.exit_code, absent.exit_code, wrong.exit_code) == (0, 3, 2), shown.output
    assert shown.stdout.split("\t")[-3:] == ["Phone", "none", "11111111\n"]
    assert "Changes since 2026-03-04 12:00 UTC." in shown.stderr
    assert "has no company dk:12345682" in absent.stderr
    assert shell.requests == []


async def test_subsidiaries_are_shown_with_the_share_of_their_owner(shell: Shell) -> None:
    share = {"min": "66.67", "max": "90"}
    owned = {"vat": "12345674", "name": "Beta ApS", "status": "active", "share": share}
    company = a_found_company(subsidiaries=[owned], subsidiaries_total=140)
    shell.answers["/api/vat"] = [company]

    done = await shell.run("lookup", "dk", company["vat"], "--include", "subsidiaries")

    assert "12345674\tBeta ApS\t\t66.67–90 %\tactive" in done.output


ACCOUNTS_OF_ONE = "/api/companies/no/987654321/accounts"


def accounts_of(year: int, **told: Any) -> dict[str, Any]:
    period = {"start": f"{year}-01-01", "end": f"{year}-12-31"}
    return {"period": period, "scope": "company", "currency": "NOK", "source": {"id": "1"}, **told}


async def test_annual_accounts_are_shown_years_side_by_side(shell: Shell) -> None:
    odd = {"period": {"start": "2023-07-01", "end": "2024-06-30"}}
    found = [
        accounts_of(2025, figures={"profit": "-1234567", "equity": "10.5"}, correction=True),
        accounts_of(2025, scope="group", figures={"profit": "8"}, warnings=["unbalanced"]),
        accounts_of(2024, figures={"profit": "0"}, **odd),
    ]
    page = {"annual_accounts": found, "accounts_state": "ok", "cursor": None}
    shell.answers[ACCOUNTS_OF_ONE] = [page, page]

    done = await shell.run("accounts", "no", "987654321")
    last = await shell.run("accounts", "no", "987654321", "--years", "1", "--json")

    assert "Profit\t0\t-1,234,567\n" in done.output
    assert "Equity\t–\t10.5\n" in done.output
    assert "Revenue" not in done.output, "no year has it"
    assert "2025: a correction" in done.stderr
    assert "2025: unbalanced" in done.stderr
    assert [one["period"]["end"] for one in json.loads(last.stdout)] == ["2025-12-31"] * 2


async def test_an_export_has_annual_accounts_as_rows(shell: Shell) -> None:
    found = [
        accounts_of(2025, figures={"profit": "-1234567", "equity": "10.5"}, correction=True),
        accounts_of(2025, scope="group", warnings=["unbalanced", "period"]),
    ]
    company = a_found_company(annual_accounts=found)
    number, name = company["vat"], company["name"]
    shell.answers["/api/export"] = [company] * 3

    export = ("export", "--country", "dk", "--accounts")
    table = await shell.run(*export, "--csv")
    lines = await shell.run(*export)
    chosen = await shell.run(*export, "--csv", "--columns", "vat,period_end,profit")
    both = await shell.run(*export, "--include", "owners")

    rows = list(csv.DictReader(io.StringIO(table.stdout)))
    assert [(row["vat"], row["period_end"], row["scope"]) for row in rows] == [
        (number, "2025-12-31", "company"),
        (number, "2025-12-31", "group"),
    ]
    assert (rows[0]["profit"], rows[0]["equity"], rows[0]["revenue"]) == ("-1234567", "10.5", "")
    assert (rows[0]["correction"], rows[1]["warnings"]) == ("yes", "unbalanced | period")
    first = json.loads(lines.stdout.splitlines()[0])
    assert first == {"country": "dk", "vat": number, "name": name, **found[0]}
    assert chosen.stdout.splitlines()[1] == f"{number},2025-12-31,-1234567"
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)


@pytest.mark.parametrize(
    "state, said",
    [
        ("none", "has no accounts"),
        ("unavailable", "this kind of company"),
        ("unknown", "not asked"),
    ],
)
async def test_no_accounts_are_explained(shell: Shell, state: str, said: str) -> None:
    page: dict[str, Any] = {"annual_accounts": [], "accounts_state": state, "cursor": None}
    shell.answers[ACCOUNTS_OF_ONE] = [page]

    done = await shell.run("accounts", "no", "987654321")

    assert said in done.stderr
    assert done.exit_code == 0


#: Answers by the exit status that they lead to.
FAILURES = {
    "forbidden": (403, 4),
    "unauthorized": (401, 4),
    "invalid_parameter": (400, 2),
    "company_not_found": (404, 3),
    "rate_limited": (429, 5),
    "internal_error": (500, 1),
    "service_unavailable": (503, 5),
    "lookup_timeout": (504, 5),
}


async def test_the_exit_status_identifies_the_failure(shell: Shell) -> None:
    # So long is not waited for.
    shell.headers = {"Retry-After": "3600"}
    for code, (status, exit_code) in FAILURES.items():
        shell.answers["/api/vat"] = [a_problem(code, status, f"it is {code}")]

        done = await shell.run("lookup", "dk", "12345674")

        assert (code, done.exit_code, done.stdout) == (code, exit_code, "")
        assert f"Error: it is {code}" in done.stderr


@pytest.mark.parametrize("status, exit_code", [(404, 1), (502, 5), (503, 5)])
async def test_the_page_of_a_proxy_is_no_answer_about_a_company(
    shell: Shell, status: int, exit_code: int
) -> None:
    shell.answers["/api/vat"] = [{"code": "", "status": status}] * 4

    done = await shell.run("lookup", "dk", "12345674")

    assert (done.exit_code, done.stdout) == (exit_code, "")


async def test_an_unknown_part_is_refused_before_any_request(shell: Shell) -> None:
    done = await shell.run("lookup", "dk", "12345674", "--include", "owners,rolls")

    assert (done.exit_code, shell.requests) == (2, [])
    assert "'rolls' is not one of owners, roles" in done.stderr


async def test_problems_say_what_to_do_in_the_words_of_the_command(shell: Shell) -> None:
    removed = "the company was removed on 2026-03-02"
    many = "many companies have these words in their names; GET /api/suggest lists them"
    shell.answers["/api/vat"] = [
        a_problem("company_removed", 410, removed, removed_on="2026-03-02")
    ]
    shell.answers["/api"] = [a_problem("company_not_found", 404, many)]

    gone = await shell.run("lookup", "dk", "12345674")
    listed = await shell.run("search", "dk", "holding")

    assert (gone.exit_code, removed in gone.stderr) == (3, True)
    assert listed.exit_code == 3
    assert "the command suggest --all lists them" in listed.stderr


@pytest.mark.parametrize(
    "arguments, given, message",
    [
        (("--url", "http://localhost:port", "lookup", "dk", "12345674"), "", "must be a URL"),
        (("listen", "--forward", "http://localhost:port"), "", "--forward must be a URL"),
        (("--json", "events", "follow", "--cursor", "/"), "", "/: Is a directory"),
        (("batch", "-"), "country,number\ndk,1\n", "must have one of the columns vat, name"),
        (("batch", "-"), "vat\n1\n", "give --country dk or no"),
        (("batch", "missing.csv"), "", "missing.csv: there is no such file"),
        (("batch", "."), "", ".: Is a directory"),
        (("batch", "-", "--country", "no", "--by", "x"), "vat\n", "--by must be a known column"),
        ((*CREATE, "--filter", "-"), "x", "the JSON of a filter"),
        ((*CREATE, "--filter", "-"), '{"contries": ["dk"]}', "a filter has no contries"),
        ((*CREATE, "--company", "@gone"), "", "gone: No such"),
        (("webhooks", "update", "wh_1"), "", "give what to change"),
        (("webhooks", "rotate-secret", "wh_1"), "y\n", "give --yes"),
        (("webhooks", "rotate", "wh_1"), "y\n", "give --yes"),
        (("webhooks", "delete", "wh_1"), "y\n", "give --yes"),
        (("login", "--profile", "a/b"), "", "--profile must be letters"),
        (("login",), "", "standard input must hold the key"),
        (("lookup", "dk", "1", "--profile", "nope"), "", "there is no profile nope"),
    ],
)
async def test_wrong_usage_is_one_line_and_status_2_before_any_request(
    shell: Shell, arguments: tuple[str, ...], given: str, message: str
) -> None:
    done = await shell.run(*arguments, given=given.encode())

    line = done.stderr.splitlines()[-1]
    assert (done.exit_code, done.stdout, shell.requests) == (2, "", [])
    assert line.startswith("Error: ")
    assert message in line


@pytest.mark.parametrize("place", [0, 1, 2], ids=["before", "between", "after"])
async def test_the_shared_options_stand_before_and_after_the_commands_name(
    shell: Shell, place: int
) -> None:
    shell.answers["/api/webhooks"] = [{"webhooks": [WEBHOOK]}]
    arguments = ["webhooks", "list"]
    arguments[place:place] = ["--url", shell.url, "--key", KEY, "--json"]

    done = await shell.run(*arguments, BASE_URL="http://127.0.0.1:1")

    [request] = shell.requests
    assert json.loads(done.stdout) == [WEBHOOK]
    assert request.headers["Authorization"] == f"Bearer {KEY}"


async def test_the_version_is_printed(shell: Shell) -> None:
    assert await shell.execute("--version") == "company-registry 1.1.0\n"


async def test_a_spreadsheet_has_every_row_in_its_result(shell: Shell) -> None:
    text = (
        "kunde;land;navn\r\nA1;Danmark;Møller ApS\r\nA2;Sverige;Beta\r\nA3;DK;Alfa\r\nA4;DK;x;y\r\n"
        "A5;danmark;Væk\r\n"
    )
    (shell.home / "kunder.csv").write_bytes(text.encode("cp1252"))
    found = [{"company": a_result("Møller ApS", 80)}, {"company": a_result("Alfa ApS", 90, 70)}]
    missing = {"problem": a_problem("company_not_found", 404)}
    shell.answers["/api/batch"] = [{"results": [*found, missing]}]

    done = await shell.run("batch", "kunder.csv", "--include", "owners", "--out", "found.csv")

    data = (shell.home / "found.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), delimiter=";"))
    asked = [lookup["name"] for lookup in shell.bodies[0]["lookups"]]
    assert asked == ["Møller ApS", "Alfa", "Væk"]
    assert [(row["company_name"], row["error"]) for row in rows] == [
        ("Møller ApS", ""),
        ("", "invalid_parameter"),
        ("Alfa ApS", ""),
        ("", "invalid_parameter"),
        ("", "company_not_found"),
    ]
    assert (rows[2]["score"], rows[2]["ambiguous"], rows[0]["ambiguous"]) == ("90", "yes", "")
    assert rows[2]["alternatives"].startswith("12345682 Alfa Nord ApS (90) | ")
    assert rows[0]["owners"] == "Ane Prøve"
    # As the spreadsheet that wrote the input reads it.
    assert data.startswith(b"\xef\xbb\xbf")
    assert done.stderr.splitlines() == [
        "Looking up by column navn (name); not used: kunde",
        "2 found, of which 1 ambiguous, 3 not (2 invalid parameter, 1 company not found)",
    ]
    assert done.exit_code == 1


async def test_nothing_that_is_printed_acts_on_a_terminal_or_a_spreadsheet(shell: Shell) -> None:
    company = a_result(HOSTILE)
    shell.answers = {
        "/api/vat": [company, company],
        "/api/batch": [{"results": [{"company": company}]}],
        "/api/events": [a_page(an_event(type=HOSTILE))],
        "/api/webhooks/wh_1": [a_problem(HOSTILE, 404, f"{HOSTILE}\n{HOSTILE}")],
    }
    commands = (
        ("lookup", "dk", "12345674"),
        ("lookup", "dk", "12345674", "--json"),
        ("batch", "-"),
        ("events", "follow", "--until-now"),
        ("webhooks", "show", "wh_1"),
    )

    rows = b"country,vat\ndk,12345674\n"
    done = [await shell.run(*arguments, given=rows) for arguments in commands]

    printed = "".join(f"{each.stdout}{each.stderr}" for each in done)
    assert all(letter.isprintable() or letter in "\t\r\n" for letter in printed)
    assert json.loads(done[1].stdout)["name"] == HOSTILE
    [row] = csv.DictReader(io.StringIO(done[2].stdout))
    assert row["company_name"].startswith("'=Alfa")


async def test_a_name_is_shown_as_it_is(shell: Shell) -> None:
    shell.answers["/api/vat"] = [a_result("[bold]:key:[/] \\")]

    assert "[bold]:key:[/] \\" in await shell.type_in("lookup", "dk", "12345674")


async def test_a_terminal_that_cannot_show_a_letter_shows_another(shell: Shell) -> None:
    shell.answers["/api/vat"] = [a_result("Łódź Møller ApS")]

    shown = await shell.execute("lookup", "dk", "12345674", PYTHONIOENCODING="ascii")

    assert shown.startswith("Name\t??d? M?ller ApS\n")


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["people", "programs"])
async def test_a_company_that_is_one_of_several_is_noted(
    shell: Shell, as_json: tuple[str, ...]
) -> None:
    match = {"type": "name", "score": 100, "others": 10}
    found = a_found_company(match=match)
    listed = {**found, "alternatives": [a_summary()]}
    shell.answers["/api"] = [found, listed, a_found_company()]
    note = "11 companies have this name; this is one of them."

    one, with_others, alone = [
        (await shell.run("search", "dk", "Bjarne", *as_json)).stderr for _ in range(3)
    ]

    assert one == f"{note} --include alternatives lists others.\n"
    assert (with_others, alone) == (f"{note}\n", "")


@pytest.mark.parametrize("program", ["bash", "zsh"])
async def test_the_shell_completes_options_after_the_commands_name(
    shell: Shell, program: str
) -> None:
    words = "company-registry webhooks list --pro"
    asked = {"_TYPER_COMPLETE_ARGS": words, "COMP_WORDS": words, "COMP_CWORD": "3"}

    done = await shell.execute(_COMPANY_REGISTRY_COMPLETE=f"complete_{program}", **asked)

    assert "--profile" in done


async def test_a_reader_says_that_the_host_does_not_answer_and_goes_on(shell: Shell) -> None:
    unavailable = a_problem("service_unavailable", 503, "try again later")
    shell.answers["/api/events"] = [unavailable, a_page(an_event())]

    done = await shell.run("events", "follow", "--count", "1")

    assert (done.exit_code, done.stdout) == (0, "2026-03-02T12:00:00Z webhook.test\n")
    [waiting, outage] = done.stderr.splitlines()
    assert waiting == "Waiting for events; Ctrl-C ends it."
    assert outage.startswith("service_unavailable: try again later; trying again in 0.")


async def test_a_reader_catches_up_and_goes_on_where_it_ended(shell: Shell) -> None:
    shell.answers["/api/events"] = [
        a_page(an_event("e1"), an_event("e2"), cursor="c2", has_more=True),
        a_page(an_event("e3"), cursor="c3"),
        a_page(an_event("e4"), cursor="c4", has_more=True),
    ]
    follow = ("events", "follow", "--cursor", "place", "--json")

    caught_up = await shell.run(*follow, "--until-now", "--after", "oldest")
    one = await shell.run(*follow, "--count", "1")

    assert [json.loads(line)["id"] for line in caught_up.stdout.splitlines()] == ["e1", "e2", "e3"]
    assert caught_up.stderr == ""
    assert json.loads(one.stdout)["id"] == "e4"
    assert [request.query.get("after") for request in shell.requests] == ["oldest", "c2", "c3"]
    assert shell.requests[2].query["limit"] == "1"
    assert (shell.home / "place").read_text() == "c4\n"


async def test_a_reader_begins_at_a_time(shell: Shell) -> None:
    shell.answers["/api/events"] = [
        a_page(an_event("e1"), cursor="c2", has_more=True),
        a_page(cursor="c3"),
    ]
    since = ("--since", "2026-03-02T06:00:00+0100")
    follow = ("events", "follow", "--until-now", "--watchlist", "wl_1", *since)

    read = await shell.run(*follow)
    refused = await shell.run(*follow, "--after", "latest")

    assert read.exit_code == 0
    assert [dict(request.query) for request in shell.requests] == [
        {"since": "2026-03-02T05:00:00Z", "limit": "100", "watchlist": "wl_1"},
        {"after": "c2", "limit": "100", "watchlist": "wl_1"},
    ]
    assert (refused.exit_code, refused.stderr.strip()) == (2, "Error: give --after or --since")


async def test_a_removed_company_is_printed_with_its_number_and_why_there_is_no_more(
    shell: Shell,
) -> None:
    removed = an_event(type="company.removed", country="dk", vat="12345674", data={})
    shell.answers["/api/events"] = [a_page(removed)]

    done = await shell.run("events", "follow", "--until-now")

    assert "company.removed dk:12345674 removed by order of its register" in done.stdout


async def test_catching_up_with_a_closed_port_ends_with_its_status(shell: Shell) -> None:
    done = await shell.run("events", "follow", "--until-now", "--url", "http://127.0.0.1:1")

    assert (done.exit_code, done.stdout) == (5, "")
    assert "could not connect to 127.0.0.1:1" in done.stderr


async def test_a_key_is_stored_once_the_service_accepts_it(shell: Shell) -> None:
    refused = a_problem("unauthorized", 401, "the key is unknown")
    shell.answers = {"/api/me": [refused, ME], "/api/webhooks": [{"webhooks": []}] * 2}
    of_acme = ("--profile", "acme")

    wrong = await shell.run("login", *of_acme, given=b"wrong.key\n")
    stored = await shell.run("login", *of_acme, given=f"{KEY}\n".encode())
    listed = await shell.run("webhooks", "list", *of_acme, API_KEY="another.key")
    await shell.run("webhooks", "list", COMPANY_REGISTRY_PROFILE="acme")
    out = await shell.run("logout", *of_acme)
    gone = await shell.run("webhooks", "list", *of_acme)

    [file] = (shell.home / "company-registry").iterdir()
    keys = [request.headers["Authorization"] for request in shell.requests]
    assert keys == ["Bearer wrong.key", *[f"Bearer {KEY}"] * 3]
    assert (wrong.exit_code, wrong.stdout) == (4, "")
    assert "Owner\tacme" in stored.stdout
    assert (listed.exit_code, listed.stderr, out.exit_code, gone.exit_code) == (0, "", 0, 2)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in stored.stdout + stored.stderr + file.read_text()


async def test_a_key_is_typed_without_echo(shell: Shell) -> None:
    shell.answers["/api/me"] = [ME]

    printed = await shell.type_in("login", keys=KEY)

    assert "API key: " in printed
    assert "Stored as profile default" in printed
    assert KEY not in printed
    assert KEY in (shell.home / "company-registry" / "profiles.json").read_text()


async def test_a_secret_is_rotated_after_a_question(shell: Shell) -> None:
    rotated = a_webhook(secret="whsec_1")
    shell.answers["/api/webhooks/wh_1/rotate-secret"] = [rotated] * 2
    rotate = ("webhooks", "rotate-secret", "wh_1")

    asked = await shell.type_in(*rotate, keys="n")
    before = len(shell.requests)
    agreed = await shell.type_in(*rotate, keys="y")
    skipped = await shell.run(*rotate, "--yes")

    assert (before, len(shell.requests)) == (0, 2)
    assert "signs too for 24 hours" in asked
    assert "whsec_1" in agreed
    assert "Secret\twhsec_1" in skipped.stdout


async def test_a_webhook_is_created_and_updated_by_what_is_given(shell: Shell) -> None:
    health = {"last_24h": {"succeeded": 1, "failed": 2}, "consecutive_failures": 0}
    shell.answers["/api/webhooks"] = [
        a_webhook(secret="whsec_1", health=health, filter={"industries": ["62", "41.2"]})
    ]
    shell.answers["/api/webhooks/wh_1"] = [WEBHOOK] * 4
    shell.answers["/api/webhooks/wh_1/deliveries"] = [{"deliveries": []}]
    shell.answers["/api/webhooks/wh_1/test"] = [{"delivery_id": "d1"}]
    (shell.home / "companies.txt").write_text("dk:12345674\n\ndk:12345682\n")
    update = ("webhooks", "update", "wh_1")
    filters = "--country no --form AS --industry 62 --industry 41.2 --municipality Oslo"
    more = ("--field", "address", "--watchlist", "wl_1", "--header", "X-Tenant: 7", "-e", "a.*")

    created = await shell.run(*CREATE, *filters.split(), *more)
    await shell.run(*update, "--company", "@companies.txt", "--endpoint", "https://example.com/")
    await shell.run(*update, "--filter", "-", "--clear", "forms", given=b'{"fields": ["name"]}')
    refused = await shell.run(*CREATE, "--header", "X-Tenant")
    shown = await shell.run("webhooks", "show", "wh_1")
    tested = await shell.run("webhooks", "test", "wh_1")
    await shell.run("webhooks", "delete", "wh_1", "--yes")

    companies = ["dk:12345674", "dk:12345682"]
    assert shell.bodies[:3] == [
        {
            "url": "https://example.com",
            "events": ["a.*"],
            "filter": {
                "countries": ["no"],
                "forms": ["AS"],
                "industries": ["62", "41.2"],
                "municipalities": ["Oslo"],
                "fields": ["address"],
                "watchlists": ["wl_1"],
            },
            "headers": {"X-Tenant": "7"},
            "description": None,
        },
        {"url": "https://example.com/", "filter": {"companies": companies}},
        {"filter": {"forms": [], "fields": ["name"]}},
    ]
    assert (WEBHOOK["url"] in shown.stdout, "d1" in tested.output) == (True, True)
    assert shell.requests[-1].method == "DELETE"
    for part in ("Secret\twhsec_1", "62, 41.2", "1 succeeded, 2 failed in 24 h"):
        assert part in created.stdout
    assert (refused.exit_code, refused.stdout) == (2, "")


def a_list(*names: str, cursor: str | None = None) -> dict[str, Any]:
    return {"companies": [a_result(name) for name in names], "total": 3, "cursor": cursor}


async def test_found_companies_are_written_as_csv_page_by_page(shell: Shell) -> None:
    shell.answers["/api/companies"] = [a_list("Alfa", HOSTILE, cursor="next"), a_list("Beta")]

    done = await shell.run(
        *("find", "--industry", "62", "--municipality", "Oslo", "--employees-min", "50"),
        *("--no-advertising-protected", "--country", "no", "--watchlist", "wl_1", "--csv"),
    )

    first, second = (dict(request.query) for request in shell.requests)
    assert first == {
        "industry": "62",
        "municipality": "Oslo",
        "employees_min": "50",
        "country": "no",
        "advertising_protected": "false",
        "watchlist": "wl_1",
        "limit": "100",
    }
    assert second == {**first, "after": "next"}
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["name"] for row in rows] == ["Alfa", "'" + "=Alfa ]0;owned  2J  ApS", "Beta"]
    assert [rows[0][name] for name in ("country", "vat", "status")] == ["dk", "12345674", "active"]
    assert (done.exit_code, done.stderr) == (0, "3 companies\n")


async def test_a_town_that_is_nearly_one_is_told(shell: Shell) -> None:
    near = [{"parameter": "city", "value": "Olso", "near": ["OSLO", "OSLOFJORD"]}]
    shell.answers["/api/companies"] = [{**a_list(), "total": 0, "did_you_mean": near}]

    done = await shell.run("find", "--city", "Olso", "--sort", "-status_since")

    assert shell.requests[0].query["sort"] == "-status_since"
    expected = "No company has the town Olso; did you mean OSLO or OSLOFJORD?"
    assert expected in " ".join(done.stderr.split())


async def test_codes_are_listed_by_their_words(shell: Shell) -> None:
    def code(number: str, text: str, english: str) -> dict[str, Any]:
        texts = {"text": text, "text_en": english, "short": None}
        return {"country": "dk", "code": number, **texts, "companies": 3}

    codes = [
        code("582900", "Anden udgivelse af software", "Publishing"),
        code("620100", "Computerprogrammering", "Computer programming and consultancy"),
    ]
    shell.answers["/api/codes/industries"] = [{"codes": codes}] * 2

    shown = await shell.run("codes", "industries", "Software", "--country", "dk")
    printed = await shell.run("codes", "industries", "computer", "--json")

    assert dict(shell.requests[0].query) == {"country": "dk"}
    assert shown.stdout == "dk 582900\tAnden udgivelse af software\t\tPublishing\t3\n"
    assert [json.loads(line)["code"] for line in printed.stdout.splitlines()] == ["620100"]
    shell.answers["/api/codes/industries"] = [{"codes": codes}]
    mistyped = await shell.run("codes", "industries", "sofware")
    assert (mistyped.stdout, "did you mean software?" in mistyped.stderr) == ("", True)


async def test_people_are_shown_a_page_and_programs_every_company(shell: Shell) -> None:
    shell.answers["/api/companies"] = [
        a_list("Alfa", cursor="next"),
        a_list("Alfa", cursor="next"),
        a_list("Beta"),
    ]

    shown = await shell.run("find", "-q", "alfa", "--limit", "1")
    every = await shell.run("--json", "find")

    assert shown.stdout.startswith("dk 12345674\tAlfa\t")
    assert dict(shell.requests[0].query) == {"q": "alfa", "limit": "1"}
    assert [json.loads(line)["name"] for line in every.stdout.splitlines()] == ["Alfa", "Beta"]


LIST = {
    "id": "wl_1",
    "name": "Customers",
    "description": None,
    "size": 0,
    "created_at": "2026-03-02T12:00:00Z",
    "updated_at": "2026-03-02T12:00:00Z",
}
COMPANIES = "/api/watchlists/wl_1/companies"


def a_change(**fields: Any) -> dict[str, Any]:
    return {
        "added": 0,
        "present": 0,
        "removed": 0,
        "size": 0,
        "unknown": [],
        "invalid": [],
        **fields,
    }


@pytest.mark.parametrize(
    "content, sent",
    [
        ("dk:12345674\nDK 12345674\n\nno:123456785\n", "dk:12345674 DK_12345674 no:123456785"),
        ("company\ndk:12345674\nno:123456785\n", "dk:12345674 no:123456785"),
        ("Kunder\nDK12345674\ndk:12345674\nDK12345674\n", "DK12345674 dk:12345674"),
        ("Land;CVR;Navn\nDanmark;12 34 56 74;Alfa\n", "Danmark:12_34_56_74"),
        ("country,company_vat,error\ndk,12345674,\nno,123456785,\n", "dk:12345674 no:123456785"),
        ("decision,company_country,company_vat\nmatch,dk,12345674\nreview,dk,10000009\nnone,,\n"
         "match,no,123456785\n", "dk:12345674 no:123456785"),
        ("navn;cvr;orgnr\nA;;NO 310 345 679 MVA\nB;12345674.0;\n",
         "NO_310_345_679_MVA 12345674.0"),
    ],
    ids=["lines", "column", "words", "spreadsheet", "result", "matches", "columns"],
)  # fmt: skip
async def test_companies_of_a_file_are_added_to_a_watchlist_as_they_are_written(
    shell: Shell, tmp_path: Path, content: str, sent: str
) -> None:
    (tmp_path / "customers.csv").write_text(content)
    shell.answers[COMPANIES] = [a_change(added=2, size=2)]

    done = await shell.run("watchlists", "add", "wl_1", "--file", "customers.csv")

    assert (done.exit_code, shell.requests[0].method) == (0, "PATCH")
    companies = [each.replace("_", " ") for each in sent.split()]
    assert shell.bodies == [{"add": companies, "remove": [], "skip_invalid": True}]
    assert "2 added, 0 there before, 0 removed; the list has 2." in done.stderr


async def test_a_row_that_names_no_company_is_printed_and_the_rest_is_added(
    shell: Shell, tmp_path: Path
) -> None:
    rows = "Liste\n\nland;cvr\nDK;12345674\nSverige;12345674\n;4,10000E+07\nDK;\n"
    (tmp_path / "k.csv").write_text(rows)
    bad = [
        {"parameter": "add[1]", "value": "Sverige:12345674", "message": "is neither"},
        {"parameter": "add[2]", "value": "4,10000E+07", "message": "digits are lost"},
    ]
    shell.answers[COMPANIES] = [a_change(added=1, size=1, invalid=bad)] * 2
    command = ("watchlists", "add", "wl_1", "--file", "k.csv", "--country", "dk")

    done, as_json = await shell.run(*command), await shell.run("--json", *command)

    added = ["DK:12345674", "Sverige:12345674", "4,10000E+07"]
    assert shell.bodies[0] == {
        "add": added, "remove": [], "country": "dk", "skip_invalid": True,
    }  # fmt: skip
    assert done.exit_code == as_json.exit_code == 1
    assert "1 added" in done.stderr
    assert done.stdout.splitlines() == [
        "k.csv row 5: Sverige:12345674 – is neither",
        "k.csv row 6: 4,10000E+07 – digits are lost",
        "k.csv row 7:  – the row has no registration number",
    ]
    assert json.loads(as_json.stdout)["invalid"][0] == {
        "file": "k.csv", "row": 5, "value": "Sverige:12345674", "message": "is neither",
    }  # fmt: skip


async def test_many_companies_are_added_by_several_requests(shell: Shell) -> None:
    shell.answers[COMPANIES] = [
        a_change(added=9_999, size=9_999, unknown=["dk:10000000"]),
        a_change(added=1, size=10_000),
    ]
    given = "\n".join(f"dk:{number}" for number in range(10_000_000, 10_010_001)).encode()

    done = await shell.run("--json", "watchlists", "add", "wl_1", "-f", "-", given=given)

    assert [len(body["add"]) for body in shell.bodies] == [10_000, 1]
    assert json.loads(done.stdout) == a_change(added=10_000, size=10_000, unknown=["dk:10000000"])
    assert done.exit_code == 1


async def test_a_file_without_companies_is_refused(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("Navn\nAlfa\n")

    names = await shell.run("watchlists", "add", "wl_1", "--file", "names.csv")

    assert (names.exit_code, shell.requests) == (2, [])
    assert "no column of registration numbers" in names.stderr


async def test_a_watchlist_is_sent_by_email(shell: Shell) -> None:
    digest = example("Digest")
    shell.answers["/api/watchlists/wl_1/digests"] = [digest, {"digests": [digest], "enabled": True}]
    shell.answers["/api/watchlists/wl_1/digests/dg_1"] = [{}]

    ran = [
        await shell.run("watchlists", *words)
        for words in (
            ("send-to", "wl_1", "news@example.com", "--period", "immediate"),
            ("digests", "wl_1"),
            ("stop-sending", "wl_1", "dg_1"),
        )
    ]

    assert [one.exit_code for one in ran] == [0] * 3
    assert shell.bodies[0] == {"address": "news@example.com", "period": "immediate"}
    assert "news@example.com" in ran[1].stdout
    assert shell.requests[-1].method == "DELETE"


async def test_a_watchlist_is_created_listed_shown_and_deleted(shell: Shell) -> None:
    path = "/api/watchlists/wl_1"
    shell.answers["/api/watchlists"] = [LIST, {"watchlists": [LIST]}]
    shell.answers[path] = [LIST, {}]
    shell.answers[COMPANIES] = [
        {"companies": ["dk:12345674"], "cursor": "dk:12345674"},
        {"companies": ["no:123456785"], "cursor": None},
        a_change(removed=1),
    ]

    ran = [
        await shell.run("watchlists", *words)
        for words in (
            ("create", "Customers"),
            ("list",),
            ("show", "wl_1"),
            ("show", "wl_1", "--companies"),
            ("remove", "wl_1", "dk:12345674"),
            ("delete", "wl_1", "--yes"),
        )
    ]

    assert [one.exit_code for one in ran] == [0] * 6
    assert "Customers" in ran[1].stdout
    assert ran[3].stdout == "dk:12345674\nno:123456785\n"
    assert shell.bodies[-2]["remove"] == ["dk:12345674"]
    assert shell.requests[-1].method == "DELETE"
