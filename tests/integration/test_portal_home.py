"""The portal's home page in a browser: recent searches, the keyboard, and the order of cards."""

from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from tests.browsing.portal import PHONE
from tests.browsing.portal import Portal as Window
from tests.builders.answers import a_summary
from tests.fakes.portal import KEY, ME, OTHER_KEY, Portal
from tests.fakes.portal import portal as a_portal

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SUGGESTION: Final = a_summary(vat="12345674", name="Prøve ApS", city=None, matched_name=None)


@pytest_asyncio.fixture(loop_scope="module")
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        portal.api.give("/api/suggest", {"suggestions": [], "cursor": None})
        portal.api.fail("/api", 404, "company_not_found")
        yield portal


async def search(window: Window, text: str) -> None:
    """Searches from the home page, and returns to it."""
    await window.search_box.fill(text)
    await window.search_box.press("Enter")
    await window.page.get_by_text("No company matches").wait_for()
    await window.go("/")


def recent(window: Window) -> Locator:
    return window.page.get_by_role("region", name="Recent searches")


async def test_recent_searches_are_the_last_eight_each_once(window: Window) -> None:
    await expect(recent(window)).to_be_hidden()
    await expect(window.page.get_by_text("Try prøvefabrikken")).to_be_visible()

    for number in range(9):
        await search(window, f"Firma {number}")
    await search(window, "firma 3")

    links = recent(window).get_by_role("link")
    assert await links.all_inner_texts() == [
        "firma 3", "Firma 8", "Firma 7", "Firma 6", "Firma 5", "Firma 4", "Firma 2", "Firma 1",
    ]  # fmt: skip
    await expect(window.page.get_by_text("Try prøvefabrikken")).to_be_hidden()


async def test_a_recent_search_is_made_again_and_all_are_cleared_by_keyboard(
    window: Window,
) -> None:
    await window.page.get_by_label("Register", exact=True).select_option("Norway")
    await search(window, "<b>Åse & Co")

    await window.page.keyboard.press("Tab")
    link = recent(window).get_by_role("link", name="<b>Åse & Co, Norway")
    await link.focus()
    await window.page.keyboard.press("Enter")
    await expect(window.search_box).to_have_value("<b>Åse & Co")
    await expect(window.page.get_by_label("Register", exact=True)).to_have_value("no")
    await window.page.go_back()
    await recent(window).get_by_role("button", name="Clear").focus()
    await window.page.keyboard.press("Enter")

    await expect(recent(window)).to_be_hidden()
    await expect(window.search_box).to_be_focused()
    await window.page.reload()
    await expect(recent(window)).to_be_hidden()


async def test_a_suggestion_that_was_chosen_leads_to_its_company_again(
    portal: Portal, window: Window
) -> None:
    portal.api.give("/api/suggest", {"suggestions": [SUGGESTION], "cursor": None})
    await window.search_box.press_sequentially("prøve")
    await window.page.locator("#suggestions li").first.click()
    await window.page.wait_for_url("**/companies/*/12345674")

    await window.go("/")

    link = recent(window).get_by_role("link", name="Prøve ApS")
    await expect(link).to_have_attribute("href", "/companies/dk/12345674")


async def test_a_search_box_that_cannot_suggest_says_so(portal: Portal, window: Window) -> None:
    portal.api.fail("/api/suggest", 504, "lookup_timeout")

    await window.search_box.press_sequentially("prøve")
    listed = window.page.locator("#suggestions")
    await expect(listed).to_have_text("Denmark and Norway cannot be searched at the moment.")
    await window.page.keyboard.press("ArrowDown")
    await window.page.keyboard.press("Enter")

    await expect(window.page.get_by_role("alert")).to_be_visible()


async def test_searches_end_with_the_session_and_are_of_one_key(
    portal: Portal, window: Window
) -> None:
    await search(window, "Åse Nordmann")
    portal.api.give("/api/me", {**ME, "owner": "others"})
    await window.page.context.clear_cookies()  # as after half an hour
    await window.sign_in(OTHER_KEY)
    await expect(window.page.get_by_text("others · tests", exact=True)).to_be_visible()
    await expect(recent(window)).to_be_hidden()
    portal.api.give("/api/me", ME)
    await window.page.context.clear_cookies()
    await window.sign_in(KEY)
    await expect(recent(window).get_by_role("link")).to_have_text(["Åse Nordmann"])
    await window.sign_out()
    await window.heading("Sign in").wait_for()

    kept = await window.page.evaluate("JSON.stringify(localStorage)")

    assert kept == "{}"


async def test_on_a_phone_changes_come_before_webhooks_and_registers(window: Window) -> None:
    await window.page.set_viewport_size(PHONE)

    tops = await window.page.get_by_role("heading", level=2).evaluate_all(
        "all => all.filter(each => each.checkVisibility())"
        ".map(each => [each.textContent, each.getBoundingClientRect().top])"
    )

    assert [text for text, _ in sorted(tops, key=lambda one: one[1])] == [
        "Latest changes in your watchlists",
        "Webhooks",
        "Registers",
    ]
    await expect(window.search_box).to_be_focused()
    assert await window.overflow(narrowest=True) == 0
