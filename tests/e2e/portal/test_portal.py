"""Companies, customers and watchlists in the portal, and what it refuses."""

import csv
import re

import feedparser
import pytest
from playwright.async_api import Browser, expect

from company_registry import verify
from tests.browsing.portal import PHONE, Portal, opened
from tests.delivery.receiver import Receiver
from tests.delivery.waiting import eventually
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

#: A name and a description that would act on a page that is not careful.
HOSTILE = """<script>alert(1)</script>"'><img src=x onerror=alert(1)>{{7*7}}</title>"""


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
    await page.get_by_role("link", name="Private limited company (Norway, AS)").focus()
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


async def test_customers_are_matched_and_reviewed_by_keys(portal: Portal) -> None:
    page = portal.page
    await portal.choose_customers()
    await expect(page.get_by_label("Firmanavn")).to_have_value("name")
    await portal.match_customers()

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
    await portal.add_companies(f"NO {number}")
    await expect(page.get_by_text("1 added.")).to_be_visible()
    watchlist = page.url
    await page.goto(f"{watchlist}?numbers=all")
    await expect(page.locator(".watched")).to_contain_text("PRØVELISTEN AS")
    await page.goto(watchlist)
    await portal.new_webhook_of_list()
    secret = await portal.create_webhook(receiver.url("/watched"), description="Of the list")

    await register.load("no-enheter", an_entity(number, "NYE PRØVELISTEN AS"))

    delivery = await receiver.next("/watched")
    verify(delivery.headers, delivery.body, secret)
    await page.goto(f"{watchlist}?tab=changes")
    event = page.locator(".event").first
    await expect(event.locator(".new").first).to_have_text("NYE PRØVELISTEN AS")

    async def rows() -> str:
        await page.goto(f"{watchlist}?status=active&q=nye")
        return " ".join(await page.locator("#list tbody tr").all_inner_texts())

    await eventually(rows, lambda text: "NYE PRØVELISTEN AS" in text)
    assert "Name changed" in await rows()
    await expect(page.locator(".tiles li").last).to_have_text("1 changed this week")
    download = await page.request.get(f"{watchlist}/companies.csv?q=nye")
    assert number in await download.text()
    await page.goto(f"{watchlist}?tab=alerts")
    await expect(page.get_by_role("link", name="Of the list")).to_be_visible()
    await portal.press("Get an address")
    address = await page.locator("#address").inner_text()
    feed = await page.request.get(address)
    assert (
        feedparser.parse(await feed.body()).entries[0].title == "NYE PRØVELISTEN AS: name changed"
    )
    token = address.partition("token=")[2]
    assert token
    assert not [name for name in running.system.services if token in running.system.log_of(name)]
    await page.goto(f"{watchlist}?tab=alerts")
    await portal.press("New address …")
    await expect(portal.heading("Give the feed a new address?")).to_be_visible()
    await portal.press("Keep the old one")
    await portal.press("End the feed")
    assert (await page.request.get(address)).status == 404
    await page.goto(f"{watchlist}?tab=settings")
    await portal.press("Delete …")
    await portal.press("Delete")
    await expect(page.get_by_text("Not deleted.")).to_be_visible()


async def test_companies_are_added_to_a_watchlist_where_they_are_seen(portal: Portal) -> None:
    page = portal.page
    await portal.go("/companies/dk/12345674")
    await page.locator("summary", has_text="Add to watchlist").press("Enter")
    await page.get_by_label("Watchlist", exact=True).select_option("New list …")
    await page.get_by_label("Name of the new list").fill(HOSTILE[:60])
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("1 added.")).to_be_visible()

    await portal.go("/companies?q=prøvefabrikken&country=no")
    await page.get_by_label("Tick").first.check()
    await page.get_by_label("Add to watchlist").select_option(HOSTILE[:60])
    await portal.press("Add ticked")
    await expect(page.get_by_text("1 added.")).to_be_visible()
    await portal.press("Show it")

    await expect(page.locator("#list tbody tr")).to_have_count(2)
    await expect(page.locator(".tiles li").first).to_have_text("2 companies")
    await page.get_by_label("Tick").first.check()
    await portal.press("Remove ticked")
    await expect(page.get_by_text("1 removed: ")).to_be_visible()
    await expect(page.locator("#list tbody tr")).to_have_count(1)
    await portal.press("Undo")
    await expect(page.locator("#list tbody tr")).to_have_count(2)


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
    await portal.press("Alert me")
    await portal.press("Go to its URL …")
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
