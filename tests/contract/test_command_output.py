"""What `company-registry` prints is in words for people and JSON for programs, and never Python."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from itertools import cycle, islice
from typing import Any

import pytest
import typer
from aiohttp import web
from aiohttp.test_utils import TestServer

from company_registry.cli.app import app
from company_registry.cli.output import text_of
from company_registry.models import Share
from tests.builders.openapi import example, operations, resolved
from tests.contract.test_client_command import KEY, Shell, shell

__all__ = ["shell"]

#: Arguments of each command, some of which show more than one answer.
COMMANDS = [
    "lookup dk 12345674 --include owners,roles,production_units,einvoicing,subsidiaries",
    "search dk prøven --include alternatives",
    "find --limit 1",
    "find --csv",
    "codes industries",
    "codes forms",
    "export --country dk",
    "export --country dk --csv --include owners,roles,subsidiaries,annual_accounts",
    "mirror --country dk --to mirror.sqlite",
    "suggest dk prø",
    "units dk 12345674",
    "einvoicing dk 12345674",
    "owners dk 12345674",
    "roles dk 12345674",
    "history dk 12345674",
    "group dk 12345674",
    "registers",
    "accounts dk 12345674",
    "batch customers.csv --include owners",
    "match customers.csv",
    "listen --forward {url}/hook --count 1",
    "login",
    "logout",
    "key",
    "events follow --count 1",
    "events follow --count 1 --watchlist wl_1",
    "events show e1",
    "webhooks list",
    "webhooks create https://example.com/",
    "webhooks update wh_1 --description x",
    "webhooks show wh_1",
    "webhooks enable wh_1",
    "webhooks disable wh_1",
    "webhooks rotate-secret wh_1 --yes",
    "webhooks delete wh_1 --yes",
    "webhooks deliveries wh_1",
    "webhooks deliveries wh_1 --delivery d1",
    "webhooks test wh_1",
    "webhooks retry wh_1 d1",
    "webhooks recover wh_1 --since 2026-03-02",
    "watchlists list",
    "watchlists create Kunder",
    "watchlists show wl_1",
    "watchlists show wl_1 --companies",
    "watchlists add wl_1 dk:12345674 no:310345679 x y z",
    "watchlists remove wl_1 dk:12345674 no:310345679 x y z",
    "watchlists digests wl_1",
    "watchlists send-to wl_1 a@example.com",
    "watchlists stop-sending wl_1 dg_1",
    "watchlists feed wl_1 --yes",
    "watchlists delete wl_1 --yes",
    "keys list",
    "keys create Web",
    "keys rotate key_1 --yes",
    "keys end key_1 --yes",
    "keys requests key_1",
    "customer-files list",
    "customer-files decisions cf_1",
    "customer-files delete cf_1 --yes",
]
#: `mcp` serves until it is ended, and prints nothing.
SILENT = {"mcp", "webhooks rotate"}

PYTHON = re.compile(
    r"\b(True|False|None|datetime|Decimal|Enum)\b|[\[({]['\"]|\[\]|\{\}|\(\)|\w+\(\w+=|<\w+ object"
)
CUSTOMERS = "navn,cvr\nPrøven,12345674\nPrøven Salg,12345682\n"


def commands_of(group: Any, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def answer_to(method: str, path: str) -> tuple[int, Any] | None:
    """Status and largest example of an operation's answer, on one page."""
    for template, verb, operation in operations():
        if verb != method or not re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            continue
        status = next(each for each in operation["responses"] if each.startswith("2"))
        described = resolved(operation["responses"][status])
        if "application/json" not in described.get("content", {}):
            return int(status), None
        *_, shown = described["content"]["application/json"]["examples"].values()
        value = resolved(shown)["value"]
        return int(status), {**value, "cursor": None} if "cursor" in value else value
    return None


@pytest.fixture
async def registry(shell: Shell) -> AsyncIterator[Shell]:
    """Answers every request with the examples of the OpenAPI document."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path == "/hook":
            return web.Response()
        if request.path == "/api/export":
            line = json.dumps(example("CompanyWithEverything")).encode() + b"\n"
            return web.Response(body=line, headers={"Events-Cursor": "1"})
        if request.path == "/api/events":
            page = example("EventPage")
            return web.json_response({**page, "events": page["events"][:1], "has_more": False})
        found = answer_to(request.method.lower(), request.path)
        assert found is not None, request.path
        status, body = found
        if "results" in (body or ()):
            [asked] = (each for each in (await request.json()).values() if isinstance(each, list))
            body = {"results": list(islice(cycle(body["results"]), len(asked)))}
        return (
            web.Response(status=status) if body is None else web.json_response(body, status=status)
        )

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(application) as server:
        shell.url = f"http://127.0.0.1:{server.port}"
        (shell.home / "customers.csv").write_text(CUSTOMERS)
        yield shell


def test_every_command_is_listed() -> None:
    known = set(commands_of(typer.main.get_command(app)))

    listed = {name for name in known for line in COMMANDS if f"{line} ".startswith(f"{name} ")}
    assert listed | SILENT == known


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_prints_no_python(registry: Shell, command: str) -> None:
    arguments = command.format(url=registry.url).split()
    on_terminal = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "240"}
    given = f"{KEY}\n".encode()

    if arguments == ["logout"]:
        await registry.run("login", given=given)
    piped = await registry.run(*arguments, given=given)
    if arguments == ["logout"]:
        await registry.run("login", given=given)
    shown = await registry.run(*arguments, given=given, **on_terminal)

    documents = (
        "--delivery" in command
        or command.startswith(("events show", "customer-files decisions"))
        or command == "export --country dk"
    )
    for done in (piped, shown):
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        said = done.stderr if documents else done.output
        assert done.output
        assert PYTHON.search(said) is None, said


@pytest.mark.parametrize("command", [line for line in COMMANDS if "--csv" not in line])
async def test_json_of_a_command_is_json(registry: Shell, command: str) -> None:
    arguments = command.format(url=registry.url).split()

    done = await registry.run(*arguments, "--json", given=f"{KEY}\n".encode())

    if "--companies" not in command:
        for line in done.stdout.splitlines():
            json.loads(line)


@pytest.mark.parametrize(
    "value, text",
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (97.5, "97.5"),
        ("None", "None"),
        ((), ""),
        (["a", None, True], "a, , yes"),
        ({"register": "cvr", "other": None, "parts": ("a", "b")}, "register: cvr, parts: a, b"),
        (Share(min="5", max="9.99"), "min: 5, max: 9.99"),
    ],
)
def test_a_cell_is_in_words(value: object, text: str) -> None:
    assert text_of(value) == text
