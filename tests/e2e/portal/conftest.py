"""A browser, an owner and a receiver for each story in the portal, on the shared system."""

from collections.abc import AsyncIterator
from itertools import count

import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browsing import chromium
from tests.browsing.portal import Portal, opened
from tests.delivery.receiver import Receiver, receiving
from tests.e2e.conftest import Running

_NUMBERS = count(1)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def browser(_browser: Browser) -> AsyncIterator[Browser]:
    """The browser that these tests share; each has windows of its own."""
    yield _browser
    for context in _browser.contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def receiver(running: Running) -> AsyncIterator[Receiver]:
    async with receiving(running.certificates) as receiver:
        yield receiver


@pytest_asyncio.fixture(loop_scope="session")
async def key(running: Running) -> str:
    """The key of an owner of its own."""
    return await running.issue_key(f"portal-{next(_NUMBERS)}")


@pytest_asyncio.fixture(loop_scope="session")
async def portal(browser: Browser, portal_url: str, key: str) -> AsyncIterator[Portal]:
    """A browser that is signed in; at the end nothing of it was injected or went wrong."""
    portal = await opened(browser, portal_url)
    await portal.sign_in(key)
    await expect(portal.heading("Find a company")).to_be_visible()
    yield portal
    # Shown where a test has failed.
    print(portal.page.url, await portal.page.locator("body").inner_text())  # noqa: T201
    assert portal.errors == []
    assert portal.dialogs == []
