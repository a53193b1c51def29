"""Looks at every page of the portal, in windows of two sizes, and without scripts."""

import os
import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, ViewportSize, expect

from tests.browsing.portal import DESKTOP, PHONE, WCAG, WCAG_OF_A_LOOK, Portal, opened
from tests.delivery.receiver import Receiver
from tests.delivery.waiting import eventually
from tests.e2e.register import Register, an_entity

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

#: Folder for the guide's pictures, if they are to be made: docs/portal.
PICTURES = os.environ.get("PICTURES")
GUIDE = (Path(__file__).parents[3] / "docs" / "portal.md").read_text()


async def a_change(register: Register) -> str:
    """The number of a company with events."""
    number = "310987004"
    for name in ("PRØVEPORTALEN AS", "NYE PRØVEPORTALEN AS"):
        await register.load("no-enheter", an_entity(number, name))
    return number


async def test_all_pages_except_the_live_ones_work_without_scripts(
    browser: Browser, portal_url: str, key: str, register: Register, receiver: Receiver
) -> None:
    await a_change(register)
    portal = await opened(browser, portal_url, java_script_enabled=False)
    await portal.sign_in(key)
    await portal.search_box.fill("prøvefabrikken")
    await portal.press("Search")
    await portal.page.locator(".result h3 a").first.click()
    await portal.press("Alert me")
    await portal.press("Go to its URL …")
    await portal.create_webhook(receiver.url("/plain"), description="Plain")
    await portal.press("Go to the webhook")
    webhook = portal.page.url
    await portal.press("Send")
    await receiver.next("/plain")
    # The browser itself looks for the result.
    await expect(portal.page.locator("#progress")).to_contain_text("The attempt succeeded")
    await portal.page.goto(f"{webhook}/edit")
    await portal.page.get_by_label("Families of events").check()
    await portal.page.get_by_role("checkbox", name="company.*").check()
    await portal.press("Check what will arrive")
    await expect(portal.page.locator("#arrivals")).to_contain_text("receives company.* events")
    await portal.go("/events?after=oldest")

    await expect(portal.page.locator("#events .event")).not_to_have_count(0)
    await portal.sign_out()
    await expect(portal.heading("Sign in")).to_be_visible()


async def a_busy_day(portal: Portal, register: Register, receiver: Receiver) -> None:
    """Opens a home page with everything that can be on it: searches, changes, failing webhooks."""
    page, first = portal.page, an_entity("310987005", "PRØVEBRYGGERIET AS")
    await register.load("no-enheter", first, an_entity("310987006", "PRØVEBAKERIET AS"))
    await portal.go("/watchlists")
    await page.get_by_label("Name").fill("Suppliers")
    await page.keyboard.press("Enter")
    await portal.add_companies("no:310987005 no:310987006")
    await portal.new_webhook_of_list()
    receiver.answer("/orders", 500)
    await portal.create_webhook(receiver.url("/orders"), description="Orders")
    await portal.go("/webhooks/new")
    await portal.create_webhook(receiver.url("/old"), description="The old intranet")
    await portal.press("Go to the webhook")
    await portal.press("Disable")
    await register.load(
        "no-enheter",
        {**first, "navn": "NYE PRØVEBRYGGERIET AS"},
        an_entity("310987006", "PRØVEBAKERIET AS", konkurs=True),
    )
    for text in ("Prøvebryggeriet", "NO 310 345 679", "prøvefabrikken"):
        await portal.go("/")
        await portal.search_box.fill(text)
        await portal.search_box.press("Enter")
        await page.wait_for_url(re.compile(r"q=|/companies/"))

    async def is_complete() -> bool:
        await portal.go("/")
        failed = page.get_by_text("All attempts of a delivery failed")
        bankrupt = page.locator(".news-what", has_text="Bankrupt")
        return await failed.count() > 0 and await bankrupt.count() > 0

    await eventually(is_complete, bool)
    await expect(page.locator("#recent a")).to_have_count(3)


#: Colours depend on the scheme and the layout on the window: two of four looks show every fault.
LOOKS: list[tuple[ViewportSize, Literal["dark", "light"]]] = [(DESKTOP, "light"), (PHONE, "dark")]
if PICTURES:
    LOOKS = [(DESKTOP, "dark"), (PHONE, "light"), *LOOKS]


async def test_pages_are_accessible_and_fit_their_window(
    browser: Browser, portal_url: str, key: str, register: Register, receiver: Receiver
) -> None:
    number = await a_change(register)
    portal = await opened(browser, portal_url, viewport=PHONE, reduced_motion="reduce")
    faults: dict[str, object] = {}

    async def look(name: str) -> None:
        """Looks at the open page in each window and scheme; the next steps are made on a phone."""
        for viewport, scheme in LOOKS:
            await portal.page.set_viewport_size(viewport)
            await portal.page.emulate_media(color_scheme=scheme)
            # Names and roles are the same in both, but for a link of narrow windows.
            found = await portal.violations(WCAG if viewport == PHONE else WCAG_OF_A_LOOK)
            overflow = await portal.overflow(narrowest=viewport == PHONE)
            if found or overflow > 0:
                faults[f"{name}-{scheme}"] = (found, overflow)
            file = f"{name}-{scheme}-{viewport['width']}.png"
            if PICTURES and f"portal/{file}" in GUIDE:
                await portal.page.screenshot(path=Path(PICTURES) / file)

    await portal.go("/sign-in")
    await look("sign-in")
    await portal.sign_in(key)
    await expect(portal.page.get_by_role("link", name="Create a watchlist")).to_be_visible()
    await look("home-of-a-new-key")
    await portal.search_box.press_sequentially("prøvefab")
    await expect(portal.page.get_by_role("option")).not_to_have_count(0)
    await look("search")
    await portal.go("/?q=prøvefabrikken")
    await look("results")
    await portal.go("/companies?municipality=Oslo")
    await look("companies")
    await portal.go("/companies?employees_min=many&form=zzz")
    await look("refused-filters")
    await portal.go("/customers")
    await look("customers")
    await portal.choose_customers()
    await look("customers-columns")
    await portal.match_customers()
    await look("customers-piles")
    await portal.go("/customers?pile=matched")
    await look("customers-matched")
    await portal.go("/customers/rows/1")
    await look("customers-row")
    await portal.go("/customers?pile=matched")
    await portal.press("Save as a watchlist")
    await expect(portal.heading("Customers")).to_be_visible()
    await portal.add_companies(f"no:{number} no:310345679")
    await expect(portal.page.get_by_text("2 added.")).to_be_visible()
    await look("watchlist")
    for tab in ("Changes", "Alerts", "Settings"):
        await portal.page.get_by_role("link", name=tab, exact=True).click()
        await expect(portal.page.locator(".tabs [aria-current]")).to_have_text(tab)
        await look(f"watchlist-{tab.lower()}")
    await portal.go("/watchlists")
    await look("watchlists")
    await portal.go("/companies/dk/12345674")
    await look("company")
    await portal.go("/companies/dk/12345674?as_of=2015-01-01")
    await look("company-on-a-day")
    await portal.go("/alerts?company=dk:12345674&name=Prøvefabrikken ApS")
    await look("alerts")
    await portal.go("/companies/dk/12345674/group")
    await look("group")
    await portal.go("/webhooks/new?company=dk:12345674&name=Prøvefabrikken ApS")
    await portal.page.get_by_label("Families of events").check()
    await portal.page.get_by_role("checkbox", name="company.*").check()
    await expect(portal.page.locator("#arrivals")).to_contain_text("company.* events")
    await portal.page.locator("#arrivals").scroll_into_view_if_needed()
    await look("form")
    await portal.create_webhook(receiver.url("/looks"), description="Prøvefabrikken")
    await look("secret")
    await portal.press("Go to the webhook")
    webhook = portal.page.url.removeprefix(portal.url)
    await portal.press("Send")
    await receiver.next("/looks")
    await expect(portal.page.locator("#progress")).to_contain_text("The attempt succeeded")
    await look("test")
    await portal.go(f"{webhook}/rotate")
    await look("rotate")
    await portal.go(webhook)
    await look("webhook")
    await portal.go("/webhooks")
    await look("webhooks")
    await portal.go(f"{webhook}/deliveries")
    await expect(portal.page.locator("tbody td a")).not_to_have_count(0)
    await look("deliveries")
    await portal.page.locator("tbody td a").first.click()
    await look("delivery")
    await portal.go("/events?after=oldest")
    await look("all-events")
    await portal.go(f"/events?after=oldest&companies=no:{number}")
    await look("events")
    await portal.go("/nothing")
    await look("error")
    await a_busy_day(portal, register, receiver)
    await look("home")

    assert faults == {}
