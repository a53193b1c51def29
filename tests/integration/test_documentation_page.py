"""The documentation page in Chromium."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from tests.browsing import chromium
from tests.builders.openapi import example
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.webhooks import Registrar

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PHONE, DESKTOP = ViewportSize(width=390, height=844), ViewportSize(width=1280, height=900)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def gateway() -> AsyncIterator[Gateway]:
    async with a_gateway(registrar=Registrar()) as running:
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


async def opened(browser: Browser, gateway: Gateway, viewport: ViewportSize) -> Reference:
    page = await browser.new_page(viewport=viewport)
    reference = Reference(page)
    page.on("console", lambda message: reference.errors.append(message.text))
    page.on("pageerror", lambda error: reference.errors.append(str(error)))
    page.on("request", lambda request: reference.hosts.add(urlsplit(request.url).hostname))
    await page.goto(str(gateway.client.make_url("/docs")))
    await expect(page.locator(".opblock")).not_to_have_count(0)
    return reference


@pytest.mark.parametrize(
    "viewport,operation_id", [(PHONE, "lookUp"), (DESKTOP, "lookUpByVat")], ids=["phone", "desktop"]
)
async def test_a_lookup_can_be_tried(
    browser: Browser, gateway: Gateway, viewport: ViewportSize, operation_id: str
) -> None:
    reference = await opened(browser, gateway, viewport)
    first = await reference.page.locator(".opblock").first.bounding_box()

    response = await reference.execute(operation_id)

    await expect(response.locator(".response-col_status")).to_contain_text("200")
    await expect(response).to_contain_text(example("Company")["name"])
    assert reference.errors == []
    assert reference.hosts == {"127.0.0.1"}
    # Operations are on the first screen, and nothing needs to be scrolled sideways.
    assert first is not None
    assert first["y"] < viewport["height"]
    assert await reference.page.evaluate("document.body.scrollWidth") == viewport["width"]


async def test_operations_with_a_key_a_body_and_a_path_parameter_can_be_tried(
    browser: Browser, gateway: Gateway
) -> None:
    reference = await opened(browser, gateway, PHONE)
    await reference.authorize(gateway.issue()["X-API-Key"])

    created = await reference.execute("createWebhook")
    await expect(created.locator(".response-col_status")).to_contain_text("201")
    [webhook_id] = re.findall(r'"id": "(wh_\w+)"', await created.inner_text())
    shown = reference.operation("getWebhook")
    await shown.locator(".opblock-summary-control").click()
    await shown.get_by_placeholder("id").fill(webhook_id)
    await shown.locator("button.execute").click()

    await expect(shown.locator(".live-responses-table .response")).to_contain_text(webhook_id)
