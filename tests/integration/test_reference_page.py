"""The API reference page in a browser, in both schemes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from tests.browsing import chromium
from tests.builders.openapi import operations
from tests.fakes.gateway import gateway

Scheme = Literal["light", "dark"]

DARK = "rgb(28, 32, 34)"

#: Contrast below which text cannot be read; some of Swagger UI's own is below the 4.5 of WCAG.
LEAST_CONTRAST = 3.0


#: Milliseconds; the page has 1.6 MB of scripts.
TIMEOUT = 60_000


@asynccontextmanager
async def reference(scheme: Scheme) -> AsyncIterator[Page]:
    """The page as it is opened, which reports no error."""
    async with gateway() as served, chromium() as browser:
        page = await browser.new_page(color_scheme=scheme)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.extend([line.text] * (line.type == "error")))
        await page.goto(str(served.client.make_url("/docs")))
        await expect(page.locator(".opblock").first).to_be_visible(timeout=TIMEOUT)
        yield page
        assert faults == []


async def test_explanations_are_open_and_only_operations_that_need_a_key_have_a_lock() -> None:
    async with reference("light") as page:
        explanations = page.locator(".info details")

        assert await background(page) != DARK
        await expect(explanations).to_have_count(7, timeout=TIMEOUT)
        for explanation in await explanations.all():
            await expect(explanation).to_have_attribute("open", "")
        for _, _, operation in operations():
            row = page.locator(f"#operations-{operation['tags'][0]}-{operation['operationId']}")
            needs_key = {} not in operation.get("security", [{}])
            note = "key needed" if needs_key else "no key needed"
            await expect(row.locator(".key-note")).to_have_text(note, timeout=TIMEOUT)
            await expect(row.locator(".authorization__btn")).to_have_count(int(needs_key))


async def test_the_page_is_dark_where_its_reader_prefers_that_and_can_be_read() -> None:
    async with reference("dark") as page:
        await page.locator("#operations-Webhooks-createWebhook .opblock-summary-control").click()
        headers = page.locator("#operations-Webhooks-createWebhook .headers").first
        await expect(headers).to_be_visible(timeout=TIMEOUT)
        rules = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
        found: Mapping[str, Any] = (await Axe().run(page, options=rules)).response

        assert await background(page) == DARK
        assert [
            node["html"]
            for violation in found["violations"]
            for node in violation["nodes"]
            if node["any"][0]["data"]["contrastRatio"] < LEAST_CONTRAST
        ] == []


async def background(page: Page) -> str:
    script = "getComputedStyle(document.documentElement).backgroundColor"
    color: str = await page.evaluate(script)
    return color
