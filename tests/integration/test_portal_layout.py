"""Layout of the portal's pages in a browser, over an API whose answers a test sets."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from playwright.async_api import Browser

from tests.browsing import chromium
from tests.browsing.portal import Portal as Window
from tests.browsing.portal import opened
from tests.builders.answers import a_found_company
from tests.fakes.portal import KEY, Portal
from tests.fakes.portal import portal as a_portal

pytestmark = pytest.mark.integration


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        yield portal


@pytest.fixture
async def window(browser: Browser, portal: Portal) -> Window:
    """A signed-in browser."""
    window = await opened(browser, str(portal.client.make_url("/")).rstrip("/"))
    await window.sign_in(KEY)
    await window.heading("Find a company").wait_for()
    return window


#: A company whose name and industry take more than a line.
COMPANY: Final = a_found_company(
    name="Prøvefabrikken Norge og Danmark Holding ApS",
    industry={"code": "62.01", "description": "Programming, consultancy and related activities"},
    address={"text": "Prøvevej 1, 1112 København K", "city": "København K"},
    founded="2001-02-03",
)
#: A list with everything that can stand above its rows.
LISTED: Final[dict[str, Any]] = {
    "companies": [COMPANY] * 9,
    "total": 9,
    "cursor": None,
    "facets": {"form": [{"value": each, "count": 5, "text": each} for each in ("AS", "ENK")]},
}


async def test_three_companies_are_above_the_fold(portal: Portal, window: Window) -> None:
    portal.api.give("/api/companies", LISTED)

    await window.go("/companies?municipality=Oslo")

    third = await window.page.locator("tbody tr").nth(2).bounding_box()
    assert third is not None
    assert third["y"] + third["height"] <= 900
