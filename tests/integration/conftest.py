"""Fixtures of the integration tests."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from common.mongo import Database
from tests.browsing import chromium
from tests.browsing.portal import Portal as Window
from tests.browsing.portal import opened
from tests.builders.loading import Loader
from tests.builders.outbox import Outbox
from tests.conftest import DatabaseNames
from tests.fakes.portal import KEY, Portal
from tests.syncing.world import World, a_world


@pytest.fixture
async def world(mongo_url: str, database_names: DatabaseNames) -> AsyncIterator[World]:
    """Registers of 25 companies each over HTTP, and an empty database that follows them."""
    async with a_world(mongo_url, database_names.register) as world:
        yield world


@pytest.fixture
def outbox(register_db: Database) -> Outbox:
    """The empty outbox of a register, and the bus that it publishes to."""
    return Outbox(register_db)


@pytest.fixture
def store(register_db: Database) -> Loader:
    """An empty register into which records are loaded."""
    return Loader(register_db)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def window(browser: Browser, portal: Portal) -> AsyncIterator[Window]:
    """A signed-in window of the module's browser, on the home page of its portal."""
    window = await opened(browser, str(portal.client.make_url("/")).rstrip("/"))
    await window.sign_in(KEY)
    await window.heading("Find a company").wait_for()
    yield window
    await window.page.context.close()
    assert window.errors == []
