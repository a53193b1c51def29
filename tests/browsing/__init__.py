"""Pages in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from local_stack import packages


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
