"""Pages in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright, expect

from local_stack import packages
from tests.delivery.waiting import SOON

# Of five seconds, which a busy machine needs for less than a page.
expect.set_options(timeout=SOON * 1000)


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
