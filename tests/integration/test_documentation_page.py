"""The documentation page in Chromium."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from common.mongo import connected, database
from tests.browsing import new_page
from tests.builders.openapi import DOCUMENT, example, operations
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.webhook_registry import World
from tests.fakes.webhooks import Registrar

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

#: Contrast below which text cannot be read; some of Swagger UI's own is below the 4.5 of WCAG.
LEAST_CONTRAST = 3.0

BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
DARK = "rgb(28, 32, 34)"
#: The id of each operation, what it says of keys, and its locks.
KEYS = """operations => operations.map(each => [
  each.id,
  each.querySelector(".key-note").innerText,
  each.querySelectorAll(".authorization__btn").length,
])"""
PHONE, DESKTOP = ViewportSize(width=390, height=844), ViewportSize(width=1280, height=900)


@pytest_asyncio.fixture(loop_scope="module")
async def gateway(mongo_url: str, module_webhooks: str) -> AsyncIterator[Gateway]:
    async with connected(mongo_url, name="test", operation_timeout=None) as mongo:
        world = World(database(mongo, module_webhooks))
        async with a_gateway(registrar=Registrar(world)) as running:
            yield running


@dataclass
class Reference:
    """An opened page; `errors` has violations of its policy and other errors of the console."""

    page: Page
    errors: list[str] = field(default_factory=list)
    hosts: set[str | None] = field(default_factory=set)

    def operation(self, operation_id: str) -> Locator:
        return self.page.locator(f".opblock[id$='-{operation_id}']")

    async def execute(self, operation_id: str) -> Locator:
        """The response to a request with the example values."""
        operation = self.operation(operation_id)
        await operation.locator(".opblock-summary-control").click()
        await operation.locator("button.execute").click()
        return operation.locator(".live-responses-table .response")

    async def authorize(self, key: str) -> None:
        await self.page.locator(".btn.authorize").click()
        form = self.page.locator(".auth-container", has_text="X-API-Key")
        await form.locator("input").fill(key)
        await form.get_by_role("button", name="Apply credentials").click()
        await self.page.locator(".btn-done").first.click()


async def opened(
    browser: Browser,
    gateway: Gateway,
    viewport: ViewportSize,
    scheme: Literal["light", "dark"] = "light",
) -> Reference:
    page = await new_page(browser, viewport=viewport, color_scheme=scheme)
    reference = Reference(page)
    page.on("console", lambda message: reference.errors.append(message.text))
    page.on("pageerror", lambda error: reference.errors.append(str(error)))
    page.on("request", lambda request: reference.hosts.add(urlsplit(request.url).hostname))
    await page.goto(str(gateway.client.make_url("/docs")))
    await expect(page.locator(".opblock")).not_to_have_count(0)
    return reference


async def tried(reference: Reference, operation_id: str) -> None:
    """A lookup can be tried, and nothing needs to be scrolled sideways."""
    response = await reference.execute(operation_id)

    await expect(response.locator(".response-col_status")).to_contain_text("200")
    await expect(response).to_contain_text(example("Company")["name"])
    assert reference.errors == []
    assert reference.hosts == {"127.0.0.1"}
    size = reference.page.viewport_size
    assert size is not None
    assert await reference.page.evaluate("document.body.scrollWidth") == size["width"]


async def begins_with_operations(reference: Reference) -> None:
    """The page begins with operations below closed explanations."""
    explanations = reference.page.locator(".info details")
    links = reference.page.get_by_role("navigation").get_by_role("link")

    await expect(explanations).to_have_count(DOCUMENT["info"]["description"].count("<details"))
    for explanation in await explanations.all():
        await expect(explanation).not_to_have_attribute("open", "")
    await expect(reference.page.locator(".opblock").first).to_be_in_viewport()
    tags = [tag["name"] for tag in DOCUMENT["tags"]]
    assert await links.all_inner_texts() == ["Guides", *tags]
    await links.last.click()
    await expect(reference.operation("docs")).to_be_in_viewport()


async def test_on_a_phone_operations_with_and_without_a_key_can_be_tried(
    browser: Browser, gateway: Gateway
) -> None:
    reference = await opened(browser, gateway, PHONE)
    await begins_with_operations(reference)
    await tried(reference, "lookUp")
    # With a key, a body and a path parameter.
    await reference.authorize(gateway.issue()["X-API-Key"])

    created = await reference.execute("createWebhook")
    await expect(created.locator(".response-col_status")).to_contain_text("201")
    [webhook_id] = re.findall(r'"id": "(wh_\w+)"', await created.inner_text())
    shown = reference.operation("getWebhook")
    await shown.locator(".opblock-summary-control").click()
    await shown.get_by_placeholder("id").fill(webhook_id)
    await shown.locator("button.execute").click()

    await expect(shown.locator(".live-responses-table .response")).to_contain_text(webhook_id)


async def test_on_a_desktop_locks_say_which_operations_need_a_key_and_the_dark_can_be_read(
    browser: Browser, gateway: Gateway
) -> None:
    reference = await opened(browser, gateway, DESKTOP, "dark")
    await begins_with_operations(reference)
    await can_be_read_in_the_dark(reference)

    await reference.page.emulate_media(color_scheme="light")
    await tried(reference, "lookUpByVat")

    assert await reference.page.evaluate(BACKGROUND) != DARK
    shown = await reference.page.locator(".opblock:has(.key-note)").evaluate_all(KEYS)
    assert {each.rpartition("-")[2]: [note, locks] for each, note, locks in shown} == {
        described["operationId"]: (
            ["no key needed", 0] if {} in described.get("security", [{}]) else ["key needed", 1]
        )
        for _, _, described in operations()
    }


async def can_be_read_in_the_dark(reference: Reference) -> None:
    operation = reference.operation("createWebhook")
    await operation.locator(".opblock-summary-control").click()
    await expect(operation.locator(".headers").first).to_be_visible()
    rules = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    found: Mapping[str, Any] = (await Axe().run(reference.page, options=rules)).response

    assert await reference.page.evaluate(BACKGROUND) == DARK
    assert [
        node["html"]
        for violation in found["violations"]
        for node in violation["nodes"]
        if node["any"][0]["data"]["contrastRatio"] < LEAST_CONTRAST
    ] == []
