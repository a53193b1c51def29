"""The Python client and its command against the whole system."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from company_registry import (
    AsyncClient,
    Client,
    Event,
    FileCursor,
    Lookup,
    WebhookFilter,
    WebhookNotFound,
    verify,
)
from tests.delivery.receiver import Receiver
from tests.delivery.waiting import SOON, eventually
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

SECRET = "whsec_HcSPnfews4js58abO2H+gp0NELDlYuKSQu4sGT4UksQ="

COMMAND = str(Path(sys.executable).with_name("company-registry"))


@pytest.fixture
async def registry(running: Running) -> AsyncIterator[AsyncClient]:
    """A client of an owner of its own."""
    async with AsyncClient(running.system.base_url, await running.issue_key("client")) as registry:
        yield registry
        for webhook in await registry.list_webhooks():
            await registry.delete_webhook(webhook.id)


@pytest.fixture
def blocking(running: Running) -> Iterator[Client]:
    with Client(running.system.base_url, running.key) as client:
        yield client


def test_a_company_is_found_by_number_and_by_text_with_every_included_part(
    blocking: Client,
) -> None:
    company = blocking.lookup(
        "dk", "12345674", include=["owners", "roles", "production_units", "einvoicing"]
    )
    past = blocking.lookup(
        "dk", "12345674", as_of=datetime.now(ZoneInfo("Europe/Copenhagen")).date()
    )
    did = list(blocking.history("dk", "12345674"))
    by_phone = blocking.lookup("no", "+47 22 33 44 55", by="phone")
    searched = blocking.search("dk", "+45 12 34 56 78")
    suggested = blocking.suggest("dk", "prøvefab", limit=2)
    [norwegian] = blocking.suggest("no", "prøvefabrikken n", limit=1)

    assert blocking.me().owner == "e2e"
    assert company.name == "Prøvefabrikken ApS"
    assert company.owners
    assert company.roles
    assert past.known_from is not None
    assert "1999-11-15" in {entry.time for entry in did if entry.dated}
    assert company.production_units
    assert company.einvoicing
    assert by_phone.vat == "310345679"
    assert (searched.vat, searched.match.type, searched.alternatives) == ("12345674", "phone", ())
    assert suggested[0].vat == "12345674"
    assert len(suggested) == 2
    assert norwegian.vat == "310345679"


def test_a_batch_of_any_number_has_its_results_in_order(blocking: Client) -> None:
    known, unknown = Lookup("dk", "12345674"), Lookup("no", "999999999")
    invalid, inferred = Lookup("dk", "1"), Lookup("no", "prøvefabrikken norge", by=None)

    results = list(blocking.batch([known, unknown, invalid, inferred] * 30))

    assert [result.lookup for result in results] == [known, unknown, invalid, inferred] * 30
    assert [result.company.vat if result.company else None for result in results[:4]] == [
        "12345674",
        None,
        None,
        "310345679",
    ]
    assert [result.error and result.error.code for result in results[:4]] == [
        None,
        "company_not_found",
        "invalid_parameter",
        None,
    ]


async def test_a_webhook_is_managed_and_its_deliveries_verify(
    registry: AsyncClient, receiver: Receiver
) -> None:
    created = await registry.create_webhook(
        receiver.url("/client"),
        ["company.*"],
        filter=WebhookFilter(countries=("dk",)),
        description="mine",
    )
    assert created.secret is not None

    accepted = await registry.send_test(created.id)
    delivery = await receiver.next("/client")
    verify(delivery.headers, delivery.body, created.secret)
    attempts = await eventually(
        lambda: registry.list_attempts(created.id), lambda page: bool(page.deliveries)
    )
    sent = await eventually(
        lambda: registry.get_delivery(created.id, accepted.delivery_id),
        lambda delivery: delivery.status != "pending",
    )
    await registry.retry_delivery(created.id, accepted.delivery_id)
    again = await receiver.next("/client", number=2)
    rotated = await registry.rotate_secret(created.id)
    disabled = await registry.update_webhook(created.id, status="disabled", description=None)

    assert [attempt.status for attempt in attempts.deliveries] == ["succeeded"]
    assert sent.body == delivery.body.decode()
    assert (again.delivery_id, again.body) == (accepted.delivery_id, delivery.body)
    assert rotated.secret not in (None, created.secret)
    assert (disabled.status, disabled.description) == ("disabled", None)
    assert [each.id for each in await registry.list_webhooks()] == [created.id]
    await registry.delete_webhook(created.id)
    with pytest.raises(WebhookNotFound):
        await registry.get_webhook(created.id)


async def first(events: AsyncGenerator[Event], count: int) -> list[Event]:
    """The next events of a feed that does not end."""
    found: list[Event] = []
    async with asyncio.timeout(SOON), aclosing(events):
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_events_are_read_on_where_the_last_reader_ended(
    registry: AsyncClient, register: Register, tmp_path: Path
) -> None:
    number, cursor = "310986001", FileCursor(tmp_path / "cursor")

    await register.load("no-enheter", an_entity(number, "PRØVELESEREN AS"))
    created = await registry.event_page(companies=[f"no:{number}"], wait=10)
    cursor.save(created.cursor)
    await register.load("no-enheter", an_entity(number, "PRØVELESERINNEN AS"))

    [event] = await first(registry.events(companies=[f"no:{number}"], cursor=cursor, wait=5), 1)

    assert [each.type for each in created.events] == ["company.created"]
    assert event.type == "company.updated"
    assert (await registry.get_event(event.id)) == event


class TestCommand:
    """`company-registry`, as people and programs run it."""

    def run(
        self, running: Running, *arguments: str, key: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "BASE_URL": running.system.base_url}
        environment["API_KEY"] = running.key if key is None else key
        return subprocess.run(
            [COMMAND, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SOON,
            check=False,
        )

    def test_a_company_is_shown_as_a_table_and_as_json(self, running: Running) -> None:
        table = self.run(running, "lookup", "dk", "12345674", "--include", "owners")
        document = self.run(running, "--json", "search", "no", "prøvefabrikken", "norge")

        assert table.returncode == 0
        assert "Prøvefabrikken Holding ApS" in table.stdout
        assert json.loads(document.stdout)["vat"] == "310345679"

    async def test_a_webhook_is_created_shown_tested_and_deleted(
        self, running: Running, receiver: Receiver
    ) -> None:
        key = await running.issue_key("command")

        async def command(*arguments: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(self.run, running, *arguments, key=key)

        url = receiver.url("/command")
        created = json.loads((await command("--json", "webhooks", "create", url)).stdout)
        await command("webhooks", "test", created["id"])
        delivery = await receiver.next("/command")
        verify(delivery.headers, delivery.body, created["secret"])
        shown = await command("webhooks", "show", created["id"])
        deleted = await command("webhooks", "delete", "--yes", created["id"])
        left = await command("--json", "webhooks", "list")

        assert url in shown.stdout
        assert deleted.returncode == 0
        assert json.loads(left.stdout) == []

    async def test_listen_posts_signed_events_to_the_developers_machine(
        self, running: Running, register: Register
    ) -> None:
        number, received = "310986002", asyncio.Queue[tuple[dict[str, str], bytes]]()

        async def hook(request: web.Request) -> web.Response:
            await received.put((dict(request.headers), await request.read()))
            return web.Response(status=202)

        app = web.Application()
        app.router.add_post("/hook", hook)
        async with TestServer(app) as server:
            process = await asyncio.create_subprocess_exec(
                # The shell makes tests in the background ignore it.
                *("env", "--default-signal=INT"),
                COMMAND,
                *("--json", "listen", "--after", "oldest", "--company", f"no:{number}"),
                *("--secret", SECRET, "--forward", str(server.make_url("/hook"))),
                env={**os.environ, "BASE_URL": running.system.base_url, "API_KEY": running.key},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                await register.load("no-enheter", an_entity(number, "PRØVELYTTEREN AS"))
                async with asyncio.timeout(SOON):
                    headers, body = await received.get()
                    assert process.stdout is not None
                    shown = json.loads(await process.stdout.readline())
            finally:
                process.send_signal(signal.SIGINT)
                await asyncio.wait_for(process.communicate(), SOON)

        verify(headers, body, SECRET)
        assert json.loads(body)["type"] == "company.created"
        assert shown["response_code"] == 202
        assert process.returncode == 0
