"""`company-registry` over real HTTP: what it sends, prints and stores."""

import asyncio
import csv
import io
import json
import os
import shlex
import stat
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.builders.companies import a_company

COMMAND = str(Path(sys.executable).with_name("company-registry"))
SOON = 30
KEY = "id.secret"
ME = {
    "key_id": "id",
    "name": "nightly",
    "owner": "acme",
    "scopes": ["lookup"],
    "rate": {"count": 10, "window_seconds": 60, "remaining": 9, "reset_seconds": 1},
    "created_at": "2026-03-02T12:00:00Z",
}
WEBHOOK = {
    "id": "wh_1",
    "url": "https://example.com/",
    "events": ["*"],
    "status": "enabled",
    "created_at": "2026-03-02T12:00:00Z",
    "updated_at": "2026-03-02T12:00:00Z",
}
HOSTILE = "=Alfa\x1b]0;owned\x07\x9b2J\u202e ApS"


def a_result(name: str, *others: float) -> dict[str, Any]:
    """A company as the service answers it, with alternatives of these scores."""
    alternatives = [
        {"vat": "12345682", "name": "Alfa Nord ApS", "status": "active", "score": score}
        for score in others
    ]
    return {
        **a_company(vat="12345674").model_dump(mode="json"),
        "name": name,
        "revision": 1,
        "match": {"type": "name", "score": 90},
        "source": {"register": "cvr"},
        "owners": [{"name": "Ane Prøve", "type": "person"}],
        "alternatives": alternatives,
    }


def an_event(number: int) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "type": "webhook.test",
        "occurred_at": f"2026-03-02T12:00:0{number}Z",
    }


def a_page(*numbers: int, cursor: str, has_more: bool = False) -> dict[str, Any]:
    events = [an_event(number) for number in numbers]
    return {"events": events, "cursor": cursor, "has_more": has_more}


@dataclass
class Service:
    """Answers with the next document of a path, and records the requests."""

    url: str = ""
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        self.bodies.append(await request.json() if request.can_read_body else None)
        answer = self.answers[request.path].pop(0)
        status = answer["status"] if "code" in answer else 200
        return web.json_response(answer, status=status)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    service = Service()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", service.handle)
    async with TestServer(app) as running:
        service.url = str(running.make_url("")).rstrip("/")
        yield service


@dataclass(frozen=True, slots=True)
class Done:
    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs the command with a home of its own."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(self.home)}

    async def run(self, *arguments: str, given: bytes = b"", **environment: str) -> Done:
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            *arguments,
            env={**self.environment, **environment},
            cwd=self.home,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(given), SOON)
        return Done(process.returncode or 0, out.decode(), err.decode())


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize(
    "place",
    [
        lambda options: [*options, "webhooks", "list"],
        lambda options: ["webhooks", *options, "list"],
        lambda options: ["webhooks", "list", *options],
    ],
    ids=["before", "between", "after"],
)
async def test_the_shared_options_stand_before_and_after_the_commands_name(
    service: Service, shell: Shell, place: Callable[[Sequence[str]], list[str]]
) -> None:
    service.answers["/api/webhooks"] = [{"webhooks": [WEBHOOK]}]

    done = await shell.run(*place(["--url", service.url, "--key", KEY, "--json"]))

    [request] = service.requests
    assert json.loads(done.out) == [WEBHOOK]
    assert request.headers["Authorization"] == f"Bearer {KEY}"


async def test_the_version_is_printed(shell: Shell) -> None:
    done = await shell.run("--version")

    assert (done.status, done.out) == (0, "company-registry 1.0.0\n")


async def test_a_spreadsheet_has_every_row_in_its_result(service: Service, shell: Shell) -> None:
    text = (
        "kunde;land;navn\r\nA1;Danmark;Møller ApS\r\nA2;Sverige;Beta\r\nA3;DK;Alfa\r\nA4;DK;x;y\r\n"
        "A5;danmark;Væk\r\n"
    )
    (shell.home / "kunder.csv").write_bytes(text.encode("cp1252"))
    missing = {"code": "company_not_found", "status": 404, "detail": "no company matches"}
    found = [a_result("Møller ApS", 80), a_result("Alfa ApS", 90, 70)]
    service.answers["/api/batch"] = [
        {"results": [{"company": found[0]}, {"company": found[1]}, {"problem": missing}]}
    ]

    done = await shell.run(
        *("batch", "kunder.csv", "--url", service.url, "--include", "owners", "--out", "found.csv")
    )

    data = (shell.home / "found.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), delimiter=";"))
    assert [lookup["name"] for lookup in service.bodies[0]["lookups"]] == [
        "Møller ApS",
        "Alfa",
        "Væk",
    ]
    assert [row["company_name"] for row in rows] == ["Møller ApS", "", "Alfa ApS", "", ""]
    assert [row["error"] for row in rows] == [
        *("", "invalid_parameter", "", "invalid_parameter", "company_not_found"),
    ]
    assert (rows[2]["score"], rows[2]["ambiguous"], rows[0]["ambiguous"]) == ("90", "yes", "")
    assert rows[2]["alternatives"].startswith("12345682 Alfa Nord ApS (90) | ")
    assert rows[0]["owners"] == "Ane Prøve"
    # As the spreadsheet that wrote the input reads it.
    assert data.startswith(b"\xef\xbb\xbf")
    assert done.err.splitlines() == [
        "Looking up by column navn (name)",
        "2 found, of which 1 ambiguous, 3 not",
    ]
    assert done.status == 1


async def test_nothing_that_is_printed_acts_on_a_terminal_or_a_spreadsheet(
    service: Service, shell: Shell
) -> None:
    company = a_result(HOSTILE)
    service.answers |= {
        "/api/vat": [company, company],
        "/api/batch": [{"results": [{"company": company}]}],
        "/api/events": [a_page(1, cursor="c1") | {"events": [an_event(1) | {"type": HOSTILE}]}],
        "/api/webhooks/wh_1": [{"code": HOSTILE, "status": 404, "detail": f"{HOSTILE}\n{HOSTILE}"}],
    }
    commands = [
        ("lookup", "dk", "12345674"),
        ("lookup", "dk", "12345674", "--json"),
        ("batch", "-"),
        ("events", "follow", "--until-now"),
        ("webhooks", "show", "wh_1"),
    ]

    done = [
        await shell.run(*each, "--url", service.url, given=b"country,vat\ndk,12345674\n")
        for each in commands
    ]

    printed = "".join(f"{each.out}{each.err}" for each in done)
    assert all(letter.isprintable() or letter in "\t\r\n" for letter in printed)
    assert json.loads(done[1].out)["name"] == HOSTILE
    [row] = csv.DictReader(io.StringIO(done[2].out))
    assert row["company_name"].startswith("'=Alfa")


async def test_a_name_is_shown_as_it_is(service: Service, shell: Shell) -> None:
    service.answers["/api/vat"] = [a_result("[bold]:key:[/] \\")]

    shown = await typed(shell, ["lookup", "dk", "12345674", "--url", service.url], "")

    assert "[bold]:key:[/] \\" in shown


async def test_a_terminal_that_cannot_show_a_letter_shows_another(
    service: Service, shell: Shell
) -> None:
    service.answers["/api/vat"] = [a_result("Łódź Møller ApS")]

    done = await shell.run(
        "lookup", "dk", "12345674", "--url", service.url, PYTHONIOENCODING="ascii"
    )

    assert done.out.startswith("Name\t??d? M?ller ApS\n")


@pytest.mark.parametrize("shell_name", ["bash", "zsh"])
async def test_the_shell_completes_options_after_the_commands_name(
    shell: Shell, shell_name: str
) -> None:
    words = "company-registry webhooks list --pro"

    done = await shell.run(
        _COMPANY_REGISTRY_COMPLETE=f"complete_{shell_name}",
        _TYPER_COMPLETE_ARGS=words,
        COMP_WORDS=words,
        COMP_CWORD="3",
    )

    assert "--profile" in done.out


async def test_a_reader_says_that_the_host_does_not_answer_and_goes_on(
    service: Service, shell: Shell
) -> None:
    unavailable = {"code": "service_unavailable", "status": 503, "detail": "try again later"}
    service.answers["/api/events"] = [unavailable, a_page(1, cursor="c1")]

    done = await shell.run("events", "follow", "--count", "1", "--url", service.url)

    assert done.status == 0
    assert done.out == "2026-03-02T12:00:01Z webhook.test\n"
    [waiting, outage] = done.err.splitlines()
    assert waiting == "Waiting for events; Ctrl-C ends it."
    assert outage.startswith("service_unavailable: try again later; trying again in 0.")


async def test_a_reader_catches_up_and_goes_on_where_it_ended(
    service: Service, shell: Shell
) -> None:
    service.answers["/api/events"] = [
        a_page(1, 2, cursor="c2", has_more=True),
        a_page(3, cursor="c3"),
        a_page(4, cursor="c4", has_more=True),
    ]
    follow = ("events", "follow", "--cursor", "place", "--url", service.url, "--json")

    caught_up = await shell.run(*follow, "--until-now", "--after", "oldest")
    one = await shell.run(*follow, "--count", "1")

    asked = [dict(request.query) for request in service.requests]
    assert [json.loads(line)["id"] for line in caught_up.out.splitlines()] == ["e1", "e2", "e3"]
    assert caught_up.err == ""
    assert json.loads(one.out)["id"] == "e4"
    assert [query.get("after") for query in asked] == [None, "c2", "c3"]
    assert asked[2]["limit"] == "1"
    assert (shell.home / "place").read_text() == "c4\n"


async def test_catching_up_with_a_closed_port_ends_with_its_status(shell: Shell) -> None:
    done = await shell.run("events", "follow", "--until-now", "--url", "http://127.0.0.1:1")

    assert (done.status, done.out) == (5, "")
    assert "could not connect to 127.0.0.1:1" in done.err


async def test_a_key_is_stored_once_the_service_accepts_it(service: Service, shell: Shell) -> None:
    refused = {"code": "unauthorized", "status": 401, "detail": "the key is unknown"}
    service.answers |= {"/api/me": [refused, ME], "/api/webhooks": [{"webhooks": []}] * 2}
    login = ("login", "--url", service.url, "--profile", "acme")

    wrong = await shell.run(*login, given=b"wrong.key\n")
    stored = await shell.run(*login, given=f"{KEY}\n".encode())
    listed = await shell.run("webhooks", "list", "--profile", "acme", API_KEY="another.key")
    await shell.run("webhooks", "list", COMPANY_REGISTRY_PROFILE="acme")
    out = await shell.run("logout", "--profile", "acme")
    gone = await shell.run("webhooks", "list", "--profile", "acme")

    [file] = (shell.home / "company-registry").iterdir()
    keys = [request.headers["Authorization"] for request in service.requests]
    assert keys == ["Bearer wrong.key", *[f"Bearer {KEY}"] * 3]
    assert (wrong.status, wrong.out) == (4, "")
    assert "Owner\tacme" in stored.out
    assert (listed.status, listed.err, out.status, gone.status) == (0, "", 0, 2)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in stored.out + stored.err + file.read_text()


async def test_a_key_is_typed_without_echo(service: Service, shell: Shell) -> None:
    service.answers["/api/me"] = [ME]

    printed = await typed(shell, ["login", "--url", service.url], KEY)

    assert "API key: " in printed
    assert "Stored as profile default" in printed
    assert KEY not in printed
    assert KEY in (shell.home / "company-registry" / "profiles.json").read_text()


async def test_a_secret_is_rotated_after_a_question(service: Service, shell: Shell) -> None:
    service.answers["/api/webhooks/wh_1/rotate-secret"] = [WEBHOOK | {"secret": "whsec_1"}] * 2
    rotate = ["webhooks", "rotate-secret", "wh_1", "--url", service.url]

    asked = await typed(shell, rotate, "n")
    before = len(service.requests)
    agreed = await typed(shell, rotate, "y")
    skipped = await shell.run(*rotate, "--yes")

    assert (before, len(service.requests)) == (0, 2)
    assert "signs too for 24 hours" in asked
    assert "whsec_1" in agreed
    assert "Secret\twhsec_1" in skipped.out


async def test_a_webhook_is_updated_by_what_is_given(service: Service, shell: Shell) -> None:
    service.answers["/api/webhooks/wh_1"] = [WEBHOOK] * 2
    (shell.home / "companies.txt").write_text("dk:12345674\n\ndk:12345682\n")
    update = ("webhooks", "update", "wh_1", "--url", service.url)

    await shell.run(*update, "--company", "@companies.txt", "--endpoint", "https://example.com/")
    await shell.run(*update, "--filter", "-", "--clear", "forms", given=b'{"fields": ["name"]}')

    assert service.bodies == [
        {
            "url": "https://example.com/",
            "filter": {"companies": ["dk:12345674", "dk:12345682"]},
        },
        {"filter": {"forms": [], "fields": ["name"]}},
    ]


async def typed(shell: Shell, arguments: Sequence[str], keys: str) -> str:
    """Returns the output of a terminal in which keys are typed at the command's question."""
    process = await asyncio.create_subprocess_exec(
        *("script", "--quiet", "--return", "--command", shlex.join([COMMAND, *arguments])),
        "/dev/null",
        env=shell.environment,
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
