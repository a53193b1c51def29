"""The portal in a browser, against the whole system."""

import csv
import os
import re
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Literal

import feedparser
import pytest
import pytest_asyncio
from playwright.async_api import Browser, FilePayload, ViewportSize, expect

from company_registry import verify
from tests.browsing import chromium
from tests.browsing.portal import DESKTOP, PHONE, Portal, opened
from tests.delivery.receiver import Receiver, receiving
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

#: Folder for the guide's pictures, if they are to be made: docs/portal.
PICTURES = os.environ.get("PICTURES")
GUIDE = (Path(__file__).parents[2] / "docs" / "portal.md").read_text()

#: A name and a description that would act on a page that is not careful.
HOSTILE = """<script>alert(1)</script>"'><img src=x onerror=alert(1)>{{7*7}}</title>"""

_NUMBERS = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def _browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def browser(_browser: Browser) -> AsyncIterator[Browser]:
    """The browser that these tests share; each has windows of its own."""
    yield _browser
    for context in _browser.contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="module")
async def receiver(running: Running) -> AsyncIterator[Receiver]:
    async with receiving(running.certificates) as receiver:
        yield receiver


@pytest_asyncio.fixture(loop_scope="module")
async def key(running: Running) -> str:
    """The key of an owner of its own."""
    return await running.issue_key(f"portal-{next(_NUMBERS)}")


@pytest_asyncio.fixture(loop_scope="module")
async def portal(browser: Browser, portal_url: str, key: str) -> AsyncIterator[Portal]:
    """A browser that is signed in; at the end nothing of it was injected or went wrong."""
    portal = await opened(browser, portal_url)
    await portal.sign_in(key)
    await expect(portal.heading("Find a company")).to_be_visible()
    yield portal
    assert portal.errors == []
    assert portal.dialogs == []


async def test_a_company_is_found_by_keyboard_in_the_suggestions(portal: Portal) -> None:
    box = portal.page.get_by_role("combobox", name="Name, number")
    await box.press_sequentially("prøvefabrikken n")

    option = portal.page.get_by_role("option").first
    await expect(option).to_contain_text("PRØVEFABRIKKEN NORGE AS")
    await box.press("ArrowDown")
    await expect(option).to_have_attribute("aria-selected", "true")
    await box.press("Enter")

    await expect(portal.heading("PRØVEFABRIKKEN NORGE AS")).to_be_visible()


async def test_companies_are_narrowed_down_by_keyboard_and_downloaded(portal: Portal) -> None:
    page = portal.page
    await portal.go("/companies")
    total = page.locator("#total")
    everywhere = await total.inner_text()

    await page.locator("#municipality").press_sequentially("Oslo")
    await expect(total).not_to_have_text(everywhere)
    await expect(page.locator("#municipality")).to_be_focused()
    await page.get_by_role("link", name="Private limited company (AS)").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="Remove Legal form: AS")).to_be_visible()
    await expect(total).to_be_focused()
    await expect(page).to_have_url(re.compile(r"municipality=Oslo.*&form=AS"))
    number = (await total.inner_text()).split()[0]
    link = await page.get_by_role("link", name="Download CSV").get_attribute("href")
    download = await page.request.get(f"{portal.url}{link}")

    lines = (await download.text()).splitlines()
    assert len(lines) == 1 + int(number)
    assert all("OSLO" in line.upper() for line in lines[1:])
    await page.go_back()
    await expect(page.get_by_role("link", name="Remove Legal form: AS")).to_have_count(0)


#: A customer that is found, one for a person to decide, and one of no register.
CUSTOMERS = """Kunde;Firmanavn;Postnr.;By
1;Prøvefabrikken ApS;1112;København K
2;Prøvefabriken;;
3;Findes Slet Ikke Nogen Steder;;
"""


async def choose_customers(portal: Portal) -> None:
    """Chooses a spreadsheet, and waits for its columns."""
    await portal.go("/customers")
    file: FilePayload = {"name": "kunder.csv", "mimeType": "", "buffer": CUSTOMERS.encode()}
    await portal.page.locator("#file").set_input_files(file)
    await portal.page.get_by_role("button", name="Read the columns").press("Enter")
    await expect(portal.heading("Which column is what?")).to_be_visible()


async def match_customers(portal: Portal) -> None:
    """Matches them, and waits for the piles."""
    await portal.page.get_by_role("button", name="Match 3 rows").press("Enter")
    await expect(portal.page.locator(".piles")).to_be_visible()


async def test_customers_are_matched_and_reviewed_by_keys(portal: Portal) -> None:
    page = portal.page
    await choose_customers(portal)
    await expect(page.get_by_label("Firmanavn")).to_have_value("name")
    await match_customers(portal)

    await portal.go("/customers/rows/1")
    await expect(page.locator(".candidate button").first).to_be_focused()
    await page.keyboard.press("1")
    await expect(page.locator(".piles")).to_be_visible()
    await portal.go("/customers/rows/0")
    await expect(page.locator(".candidate button").first).to_be_focused()
    await page.keyboard.press("0")
    await expect(page.locator(".piles")).to_be_visible()
    await portal.go("/customers/rows/0")
    await expect(page.locator(".candidate button").first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(".piles")).to_be_visible()

    rows = await (await page.request.get(f"{portal.url}/customers.csv")).text()
    decided = [row["Decision"] for row in csv.DictReader(rows.splitlines())]
    assert decided == ["match (by hand)", "match (by hand)", "none"]
    assert rows.count("12345674") >= 1


async def test_a_watchlist_shows_changes_and_is_followed_by_a_webhook(
    running: Running, portal: Portal, register: Register, receiver: Receiver
) -> None:
    number, page = "310987003", portal.page
    await register.load("no-enheter", an_entity(number, "PRØVELISTEN AS"))
    await portal.go("/watchlists")
    await page.get_by_label("Name").fill("My customers")
    await page.keyboard.press("Enter")
    await page.get_by_label("Add companies").fill(f"NO {number}")
    await portal.press("Add")
    await expect(page.locator(".watched")).to_contain_text("PRØVELISTEN AS")
    watchlist = page.url
    await portal.press("Subscribe to changes")
    secret = await portal.create_webhook(receiver.url("/watched"), description="Of the list")

    await register.load("no-enheter", an_entity(number, "NYE PRØVELISTEN AS"))

    delivery = await receiver.next("/watched")
    verify(delivery.headers, delivery.body, secret)
    await page.goto(watchlist)
    event = page.locator(".event").first
    await expect(event.locator(".new").first).to_have_text("NYE PRØVELISTEN AS")
    await expect(page.get_by_role("link", name="Of the list")).to_be_visible()
    await portal.press("New address")
    address = await page.locator("#address").inner_text()
    feed = await page.request.get(address)
    assert feedparser.parse(await feed.body()).entries[0].title == "NYE PRØVELISTEN AS has changed"
    token = address.partition("token=")[2]
    assert token
    assert not [name for name in running.system.services if token in running.system.log_of(name)]
    await page.goto(watchlist)
    await portal.press("End the feed")
    assert (await page.request.get(address)).status == 404
    await portal.press("Delete …")
    await portal.press("Delete")
    await expect(page.get_by_text("Not deleted.")).to_be_visible()


async def test_a_company_is_a_page_and_a_document(portal: Portal) -> None:
    await portal.go("/companies/dk/12345674")

    page = portal.page
    await expect(page.get_by_role("link", name="Prøvefabrikken Holding ApS").first).to_be_visible()
    await expect(page.get_by_text("0088:5790000000005")).to_be_visible()
    document = await page.request.get(f"{portal.url}/companies/dk/12345674.json")
    assert (await document.json())["name"] == "Prøvefabrikken ApS"
    document = await page.request.get(f"{portal.url}/companies/dk/12345674.xml")
    assert "<name>Prøvefabrikken ApS</name>" in await document.text()


#: Whether the frame of a picture shows the box of the company itself.
IS_OWN_SHOWN = """frame => {
  const outer = frame.getBoundingClientRect();
  const own = frame.querySelector(".box-self").getBoundingClientRect();
  return own.left >= outer.left && own.right <= outer.right
    && own.top >= outer.top && own.bottom <= outer.bottom;
}"""


async def test_a_group_is_a_picture_that_scrolls_and_zooms_and_leads_to_its_companies(
    browser: Browser, portal_url: str, key: str
) -> None:
    portal = await opened(browser, portal_url, viewport=PHONE)
    await portal.sign_in(key)
    await expect(portal.heading("Find a company")).to_be_visible()
    await portal.go("/companies/dk/12345674")
    await portal.press("The whole group on one picture")

    page, frame = portal.page, portal.page.locator(".picture")
    drawing = frame.locator("svg")
    await expect(drawing).to_be_visible()
    await page.wait_for_load_state()  # until the script has run
    assert await frame.evaluate(IS_OWN_SHOWN)
    whole = await drawing.bounding_box()
    await page.get_by_label("50 %", exact=True).check()
    half = await drawing.bounding_box()
    assert whole is not None
    assert half is not None
    assert half["width"] == pytest.approx(whole["width"] / 2, abs=2)
    await page.get_by_label("150 %", exact=True).check()
    assert await frame.evaluate(IS_OWN_SHOWN)
    hidden = "e => e.querySelector('svg').getBoundingClientRect().width - e.scrollWidth"
    assert await frame.evaluate(hidden) <= 1
    await page.get_by_label("Fit", exact=True).check()
    fitting, box = await drawing.bounding_box(), await frame.bounding_box()
    assert fitting is not None
    assert box is not None
    assert fitting["width"] <= box["width"]
    await frame.get_by_role("link", name="Prøvefabrikken Holding ApS").focus()
    await page.keyboard.press("Enter")
    await expect(portal.heading("Prøvefabrikken Holding ApS")).to_be_visible()
    assert portal.errors == []


async def test_a_subscriber_sees_a_change_live_and_its_delivery_and_retries_it(
    portal: Portal, register: Register, receiver: Receiver
) -> None:
    number = "310987001"
    await register.load("no-enheter", an_entity(number, "PRØVEPORTALEN AS"))
    await portal.go(f"/companies/no/{number}")
    await portal.press("Subscribe to changes")
    secret = await portal.create_webhook(receiver.url("/portal"), description="My company")
    await portal.press("Go to the webhook")
    webhook = portal.page.url.removeprefix(portal.url)
    await portal.go(f"/events?companies=no:{number}")
    await expect(portal.page.get_by_text("Live", exact=True)).to_be_visible()

    await register.load("no-enheter", an_entity(number, "NYE PRØVEPORTALEN AS"))

    event = portal.page.locator("#events .event").first
    await expect(event).to_contain_text("company.updated")
    await expect(event.locator(".old").first).to_have_text("PRØVEPORTALEN AS")
    await expect(event.locator(".new").first).to_have_text("NYE PRØVEPORTALEN AS")
    delivery = await receiver.next("/portal")
    verify(delivery.headers, delivery.body, secret)
    await portal.go(f"{webhook}/deliveries")
    await portal.page.locator("tbody td a").first.click()
    await expect(portal.page.locator("#body-text")).to_contain_text('"NYE PRØVEPORTALEN AS"')
    await portal.press("Send again")
    await receiver.next("/portal", number=2)
    await expect(portal.page.locator("#progress")).to_contain_text("The attempt succeeded")
    await expect(portal.page.locator(".timeline .succeeded")).to_have_count(2)
    await portal.go(f"/companies/no/{number}")
    await expect(portal.page.locator("#history ~ .timeline .seen")).not_to_have_count(0)


async def test_a_webhook_is_edited_tested_rotated_disabled_enabled_recovered_and_deleted(
    portal: Portal, receiver: Receiver
) -> None:
    page = portal.page
    await portal.go("/webhooks/new")
    secret = await portal.create_webhook(receiver.url("/managed"), description="Managed")
    await portal.press("Go to the webhook")
    webhook = page.url
    await portal.press("Send")
    await expect(page.locator("#progress")).to_contain_text("The attempt succeeded")
    delivery = await receiver.next("/managed")
    verify(delivery.headers, delivery.body, secret)

    await page.goto(webhook)
    await portal.press("Edit")
    await page.get_by_label("Description").fill("Renamed")
    await page.get_by_label("Denmark").check()
    await portal.press("Save")
    await expect(portal.heading("Renamed")).to_be_visible()
    await portal.press("Rotate the secret …")
    await expect(page.get_by_text("For 24 hours")).to_be_visible()
    await portal.press("Rotate the secret")
    assert await page.locator("#secret").inner_text() != secret
    await portal.press("Go to the webhook")
    await portal.press("Disable")
    await expect(page.get_by_text("Disabled", exact=True).first).to_be_visible()
    await portal.press("Enable")
    await page.get_by_label("Recover from").fill("2026-11-01T00:00")
    await portal.press("Recover")
    await portal.press("Delete …")
    await portal.press("Delete")

    await expect(portal.heading("No webhooks yet")).to_be_visible()


async def test_single_events_are_chosen_by_keyboard_and_the_form_says_what_arrives(
    portal: Portal, receiver: Receiver
) -> None:
    page, said = portal.page, portal.page.locator("#arrivals")
    await portal.go("/webhooks/new")
    await expect(said).to_have_text(
        "This webhook receives every event about any company in both registers."
    )

    await page.get_by_role("radio", name="All events").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.get_by_role("checkbox", name="owners.changed").focus()
    await page.keyboard.press("Space")
    await page.get_by_label("Norway").check()
    await expect(said).to_have_text(
        "This webhook receives owners.changed events about any company in Norway."
    )
    await portal.create_webhook(receiver.url("/single"), description="Single")
    await portal.press("Go to the webhook")

    await expect(page.locator(".facts-list code").first).to_have_text("owners.changed")
    assert await page.get_by_text("*", exact=True).count() == 0


async def test_a_form_of_another_site_leaves_the_user_signed_in(portal: Portal) -> None:
    page = portal.page
    await page.route(
        "http://other.example/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<form method="post" action="{portal.url}/sign-in"><button>Go</button></form>',
        ),
    )
    await page.goto("http://other.example/")

    await page.get_by_role("button", name="Go").click()

    await expect(portal.heading("Not sent")).to_be_visible()
    await portal.go("/key")
    await expect(portal.heading("API key")).to_be_visible()


async def test_nothing_of_a_hostile_name_or_url_acts(
    portal: Portal, register: Register, receiver: Receiver
) -> None:
    number, page = "310987002", portal.page
    await register.load("no-enheter", an_entity(number, f"PRØVEONDSKAB {HOSTILE}"))
    await portal.go(f"/companies/no/{number}")
    await expect(page.locator("h1")).to_contain_text("<script>alert(1)</script>")
    await portal.press("Subscribe to changes")
    await portal.create_webhook(receiver.url("/%22%3E%3Cscript%3Ealert(1)"), description=HOSTILE)
    await portal.press("Go to the webhook")
    await expect(page.locator("h1")).to_contain_text("{{7*7}}")
    await portal.go(f"/events?companies=no:{number}")
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    await register.load("no-enheter", an_entity(number, f"PRØVEONDSKAP {HOSTILE}"))
    await expect(page.locator("#events .event")).not_to_have_count(0)
    for path in (
        "/",
        "/webhooks",
        f"/?q={number}",
        f"/?q=%22%3E{HOSTILE}",
        "/events?type=%22%3E<b>",
    ):
        await portal.go(path)
    await portal.go("/")
    await portal.search_box.press_sequentially("prøveonds")
    await expect(page.get_by_role("option").first).to_contain_text("<img src=x")

    assert await page.locator("img[src='x']").count() == 0


async def test_all_pages_except_the_live_ones_work_without_scripts(
    browser: Browser, portal_url: str, key: str, receiver: Receiver
) -> None:
    portal = await opened(browser, portal_url, java_script_enabled=False)
    await portal.sign_in(key)
    await portal.search_box.fill("prøvefabrikken")
    await portal.press("Search")
    await portal.page.locator(".result h3 a").first.click()
    await portal.press("Subscribe to changes")
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


async def test_on_a_phone_the_plot_begins_with_the_newest_hour_and_attempts_are_cards(
    browser: Browser, portal_url: str, key: str, receiver: Receiver
) -> None:
    portal = await opened(
        browser, portal_url, viewport=PHONE, timezone_id="Asia/Kolkata", has_touch=True
    )
    await portal.sign_in(key)
    await portal.go("/webhooks/new")
    await portal.create_webhook(receiver.url("/phone"), description="Phone")
    await portal.press("Go to the webhook")
    webhook = portal.page.url
    await portal.press("Send")
    await expect(portal.page.locator("#progress")).to_contain_text("The attempt succeeded")
    await portal.page.goto(f"{webhook}/deliveries")

    await expect(portal.page.locator("rect.bar-good").first).to_be_in_viewport()
    card = portal.page.get_by_role("row").filter(has_text="webhook.test")
    box = await card.bounding_box()
    assert box is not None
    assert box["width"] <= PHONE["width"]
    # Half an hour apart from whole hours, so neither UTC nor this machine's zone.
    await expect(card.locator("time")).to_contain_text("IST")


#: Colours depend on the scheme and the layout on the window: two of four looks show every fault.
LOOKS: list[tuple[ViewportSize, Literal["dark", "light"]]] = [(DESKTOP, "light"), (PHONE, "dark")]
if PICTURES:
    LOOKS = [(DESKTOP, "dark"), (PHONE, "light"), *LOOKS]


async def test_pages_are_accessible_and_fit_their_window(
    browser: Browser, portal_url: str, key: str, receiver: Receiver
) -> None:
    portal = await opened(browser, portal_url, viewport=PHONE, reduced_motion="reduce")
    faults: dict[str, object] = {}

    async def look(name: str) -> None:
        """Looks at the open page in each window and scheme; the next steps are made on a phone."""
        for viewport, scheme in LOOKS:
            await portal.page.set_viewport_size(viewport)
            await portal.page.emulate_media(color_scheme=scheme)
            found = await portal.violations()
            overflow = await portal.overflow(narrowest=viewport == PHONE)
            if found or overflow > 0:
                faults[f"{name}-{scheme}"] = (found, overflow)
            file = f"{name}-{scheme}-{viewport['width']}.png"
            if PICTURES and f"portal/{file}" in GUIDE:
                await portal.page.screenshot(path=Path(PICTURES) / file)

    await portal.go("/sign-in")
    await look("sign-in")
    await portal.sign_in(key)
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
    await choose_customers(portal)
    await look("customers-columns")
    await match_customers(portal)
    await look("customers-piles")
    await portal.go("/customers?pile=matched")
    await look("customers-matched")
    await portal.go("/customers/rows/1")
    await look("customers-row")
    await portal.go("/customers?pile=matched")
    await portal.press("Save as a watchlist")
    await expect(portal.heading("Customers")).to_be_visible()
    await portal.page.get_by_label("Add companies").fill("no:310987001 no:310345679")
    await portal.press("Add and remove")
    await expect(portal.page.get_by_label("Add companies")).to_have_value("")
    await look("watchlist")
    await portal.go("/watchlists")
    await look("watchlists")
    await portal.go("/companies/dk/12345674")
    await look("company")
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
    await portal.go("/events?after=oldest&companies=no:310987001")
    await look("events")
    await portal.go("/nothing")
    await look("error")

    assert faults == {}
