"""News of a watchlist by e-mail: from the portal to a mailbox, through real processes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import expect

from common.mongo import connected, database
from local_stack.system import Service
from tests.browsing.portal import Portal
from tests.delivery.waiting import SOON, eventually
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity
from tests.mail_server import (
    PASSWORD,
    USER,
    MailServer,
    certificate_in,
    link_in,
    mail_server,
    text_of,
)
from webhook_store.collections import DIGESTS

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

ADDRESS = "officer@example.com"
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class Post:
    """A mail server, and the processes that send to it."""

    def __init__(self, running: Running, server: MailServer, authority: Path) -> None:
        self.running, self.server, self.authority = running, server, authority

    @contextmanager
    def sender(self, name: str) -> Iterator[Service]:
        """A process that sends during the body."""
        system = self.running.system
        sender = system.start(
            "webhook_registry",
            name=name,
            command=("digests",),
            smtp_host="127.0.0.1",
            smtp_port=str(self.server.port),
            smtp_username=USER,
            smtp_password=PASSWORD,
            smtp_ca_file=str(self.authority),
            mail_from="Registry <news@example.com>",
            public_url=system.base_url,
            digest_interval="PT0.2S",
        )
        try:
            yield sender
        finally:
            sender.process.stop()

    async def messages(self, number: int) -> None:
        """Waits for so many messages, however often each was sent."""

        async def ids() -> set[str]:
            return {message["Message-ID"] for message in self.server.messages}

        await eventually(ids, lambda found: len(found) >= number)

    async def claims_end(self) -> None:
        """Lets the time of a claim pass, which a process that was killed has left."""
        async with connected(self.running.system.mongo_url, name="tests") as mongo:
            digests = database(mongo, self.running.names.webhooks)[DIGESTS]
            await digests.update_many(
                {"claim": {"$exists": True}}, {"$set": {"claim.until": LONG_AGO}}
            )
            await digests.update_many(
                {"failing_since": {"$exists": True}}, {"$set": {"due_at": LONG_AGO}}
            )


@pytest_asyncio.fixture(loop_scope="session")
async def post(running: Running, tmp_path: Path) -> AsyncIterator[Post]:
    context, authority = certificate_in(tmp_path)
    async with mail_server(context) as server:
        yield Post(running, server, authority)


async def watched(portal: Portal, register: Register, number: str, address: str = ADDRESS) -> str:
    """The address of the portal's page of a new list with a new company."""
    page = portal.page
    await register.load("no-enheter", an_entity(number, "POSTPRØVEN AS"))
    await portal.go("/watchlists")
    await page.get_by_label("Name").fill("My customers")
    await page.keyboard.press("Enter")
    await page.get_by_label("Numbers").fill(f"NO {number}")
    await portal.press("Add")
    await expect(page.get_by_text("1 added.")).to_be_visible()
    await page.get_by_role("link", name="Alerts", exact=True).click()
    await page.get_by_label("Address", exact=True).fill(address)
    await page.get_by_label("When").select_option("immediate")
    await portal.press("Send changes")
    await expect(page.get_by_text(f"{address} is asked to confirm.")).to_be_visible()
    return page.url.partition("#")[0]


async def confirmed(portal: Portal, post: Post) -> None:
    """Opens the link of the request to confirm in the browser, and presses its button."""
    await post.messages(1)
    page = portal.page
    await page.goto(post.running.system.base_url + link_in(post.server.messages[0], "confirm"))
    await expect(page.get_by_role("heading", name="Receive news by e-mail?")).to_be_visible()
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("heading", name="Your address is confirmed.")).to_be_visible()
    post.server.accepted.clear()


async def test_changes_are_sent_from_confirmation_to_the_end(
    running: Running, portal: Portal, register: Register, post: Post
) -> None:
    number, page = "310987011", portal.page
    watchlist = await watched(portal, register, number)
    with post.sender("digests-1") as one, post.sender("digests-2") as two:
        one.wait_until_ready()
        two.wait_until_ready()
        await confirmed(portal, post)

        await register.load("no-enheter", an_entity(number, "NYE POSTPRØVEN AS"))
        await post.messages(1)
        await register.load("no-enheter", an_entity(number, "NYERE POSTPRØVEN AS"))
        await post.messages(2)

        first, second = post.server.messages
        assert first["Subject"] == second["Subject"] == "1 change – My customers"
        assert "Name: POSTPRØVEN AS → NYE POSTPRØVEN AS" in text_of(first)
        await page.goto(watchlist)
        await expect(page.locator("#email ~ ul")).to_contain_text("Confirmed")
        link = first["List-Unsubscribe"].strip("<>")
        async with aiohttp.ClientSession() as session:
            form = {"List-Unsubscribe": "One-Click"}
            async with session.post(link, data=form) as answer:
                assert answer.status == 200
        await page.goto(watchlist)
        await expect(page.locator("#email ~ ul")).to_contain_text("Unsubscribed")
        await page.goto(link)
        await expect(page.get_by_role("heading", name="You are unsubscribed.")).to_be_visible()
        await page.goto(watchlist)
        await portal.press(f"Remove {ADDRESS}")
        await expect(page.get_by_text("The address is removed.")).to_be_visible()
        assert (await page.request.get(link)).status == 404
    token = link.partition("token=")[2]
    logs = "".join(running.system.log_of(name) for name in running.system.services)
    assert "digest.sent" in logs
    assert token not in logs
    assert ADDRESS not in logs
    assert PASSWORD not in logs


async def test_messages_survive_processes_that_are_killed_before_and_after_one_is_accepted(
    portal: Portal, register: Register, post: Post
) -> None:
    number, server = "310987020", post.server
    # An address is asked to confirm once a day.
    await watched(portal, register, number, f"{number}@example.com")
    with post.sender("digests-1") as sender:
        await confirmed(portal, post)
        server.on_data = kill = Kill(sender)
        await register.load("no-enheter", an_entity(number, "NYE POSTPRØVEN AS"))
        await kill.done()
    server.on_data = None
    before = list(server.accepted)
    await post.claims_end()
    with post.sender("digests-2") as sender:
        await post.messages(1)
        server.on_accepted = kill = Kill(sender)
        await register.load("no-enheter", an_entity(number, "NYERE POSTPRØVEN AS"))
        await kill.done()
    server.on_accepted = None
    await post.claims_end()
    with post.sender("digests-3"):
        await register.load("no-enheter", an_entity(number, "NYESTE POSTPRØVEN AS"))
        await post.messages(3)

    assert before == []
    first, second, again, third = server.messages
    # A message that was accepted unknown to the process has the id of its repetition.
    assert again["Message-ID"] == second["Message-ID"]
    assert text_of(again) == text_of(second)
    for message, name in ((first, "NYE"), (second, "NYERE"), (third, "NYESTE")):
        assert f"→ {name} POSTPRØVEN AS" in text_of(message)


class Kill:
    """Kills a process when it is called."""

    def __init__(self, service: Service) -> None:
        self._service, self._killed = service, asyncio.Event()

    async def __call__(self) -> None:
        self._service.process.kill()
        self._killed.set()

    async def done(self) -> None:
        await asyncio.wait_for(self._killed.wait(), SOON)
