"""Pages in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from local_stack import packages
from tests.delivery.waiting import SOON

# Of five seconds for what is expected and 30 for an action. A busy machine needs more: the API
# reference alone takes several seconds of a processor.
expect.set_options(timeout=SOON * 1000)


async def new_page(of: Browser | BrowserContext, **options: Any) -> Page:
    """A page whose actions wait as long as every other effect in a test."""
    page = await of.new_page(**options)
    page.set_default_timeout(2 * SOON * 1000)
    return page


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Chromium, until the body ends."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=packages.chromium(),
            args=["--no-sandbox"],  # tests run as root in CI
        )
        yield browser
        await browser.close()
