"""Layout of the portal's pages in a browser, over an API whose answers a test sets."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, ViewportSize, expect

from tests.browsing.portal import DESKTOP, PHONE
from tests.browsing.portal import Portal as Window
from tests.builders.accounts import accounts_of
from tests.builders.answers import AT, a_found_company, a_page, a_webhook
from tests.fakes.portal import KEY, ME, Portal
from tests.fakes.portal import portal as a_portal

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        yield portal


#: A company whose name and industry take more than a line.
COMPANY: Final = a_found_company(
    name="Prøvefabrikken Norge og Danmark Holding ApS",
    industry={"code": "62.01", "description": "Programming, consultancy and related activities"},
    address={"text": "Prøvevej 1, 1112 København K", "city": "København K"},
    founded="2001-02-03",
)
#: A list with everything that can stand above its rows.
LISTED: Final[dict[str, Any]] = {
    "companies": [COMPANY] * 9,
    "total": 9,
    "cursor": None,
    "facets": {"form": [{"value": each, "count": 5, "text": each} for each in ("AS", "ENK")]},
}


async def test_three_companies_are_above_the_fold(portal: Portal, window: Window) -> None:
    portal.api.give("/api/companies", LISTED)

    await window.go("/companies?municipality=Oslo")

    third = await window.page.locator("tbody tr").nth(2).bounding_box()
    assert third is not None
    assert third["y"] + third["height"] <= 900


def a_large_group(size: int) -> dict[str, Any]:
    """A group of companies that own five others each, and some of them another part."""
    numbers = [f"{100_000_000 + place}" for place in range(size)]
    levels, links = {numbers[0]: 0}, list[dict[str, Any]]()
    for place, owned in enumerate(numbers[1:], start=1):
        owner = numbers[(place - 1) // 5]
        levels[owned] = levels[owner] + 1
        held = [(owner, "99.99"), *([(numbers[0], "1.19")] if place % 7 == 0 else [])]
        links += [
            {"owner": each, "owned": owned, "share": {"min": share, "max": share}}
            for each, share in held
        ]
    companies = [
        {"vat": vat, "name": f"PRØVESELSKAP {vat} EIENDOM AS", "status": "active", "level": level}
        for vat, level in levels.items()
    ]
    return {"country": "no", "vat": numbers[0], "companies": companies, "links": links}


async def test_a_group_of_250_companies_is_readable_and_prints_a_page_for_each_level(
    portal: Portal, window: Window
) -> None:
    group = a_large_group(250)
    portal.api.give(f"/api/companies/no/{group['vat']}/group", group)
    path = f"/companies/no/{group['vat']}/group"

    for size in (DESKTOP, PHONE):
        await window.page.set_viewport_size(size)
        await window.go(path)

        assert await window.overflow() == 0
        await expect(window.page.locator(".box-self")).to_be_in_viewport()
        # The names of boxes are as large as text elsewhere.
        name = window.page.locator(".chain .name tspan").first
        assert await name.evaluate("each => each.getBoundingClientRect().height") >= 14
    await expect(window.page.locator(".levels")).to_be_hidden()
    pdf = await window.page.pdf(format="A4")

    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == max(
        one["level"] for one in group["companies"]
    )


async def test_a_menu_is_one_row_on_a_phone_and_shows_the_open_page(
    portal: Portal, window: Window
) -> None:
    await window.page.set_viewport_size(PHONE)

    await window.go("/key")

    links = window.page.get_by_role("navigation", name="Main").get_by_role("link")
    tops = await links.evaluate_all("links => links.map(each => each.getBoundingClientRect().top)")
    assert len(tops) == 7
    assert len(set(tops)) == 1
    await expect(links.last).to_be_in_viewport(ratio=1)
    assert await window.overflow(narrowest=True) == 0


async def test_the_name_of_a_key_is_cut_only_where_there_is_no_room(
    portal: Portal, window: Window
) -> None:
    portal.api.give("/api/me", {**ME, "owner": "Prøvefabrikken"})
    await window.sign_out()
    await window.sign_in(KEY)
    name = window.page.get_by_text("Prøvefabrikken · tests", exact=True)

    widths = await name.evaluate("each => [each.scrollWidth, each.clientWidth]")

    assert widths[0] == widths[1]


async def test_cards_beside_each_other_have_one_height(portal: Portal, window: Window) -> None:
    portal.api.give("/api/webhooks/wh_1", a_webhook(headers=[f"X-{each}" for each in range(9)]))
    portal.api.give("/api/webhooks/wh_1/deliveries", {"deliveries": []})

    await window.go("/webhooks/wh_1")

    heights = await window.page.locator(".columns > .card").evaluate_all(
        "cards => cards.map(each => each.getBoundingClientRect().height)"
    )
    assert len(heights) == 2
    assert heights[0] == heights[1]


async def test_candidates_of_a_review_have_an_address_and_bars_that_begin_in_one_line(
    portal: Portal, window: Window
) -> None:
    page, found = window.page, {"country": "dk", "vat": COMPANY["vat"], "name": COMPANY["name"]}
    evidence = {"name": 100, "address": 50, "phone": 7}
    candidate = {**found, "status": "active", "score": 0.8, "evidence": evidence}
    result = {"id": "0", "decision": "review", "candidates": [candidate]}
    portal.api.give("/api/match", {"results": [result]})
    portal.api.give("/api/batch", {"results": [{"company": {**COMPANY, "phone": "12345678"}}]})
    await window.go("/customers")
    file: FilePayload = {"name": "kunder.csv", "mimeType": "", "buffer": b"Firmanavn;By\nPrufe;\n"}
    await page.locator("#file").set_input_files(file)
    await window.press("Read the columns")
    await window.press("Match 1 row")
    await window.press("Review 1 row")

    await expect(page.get_by_role("listitem").locator("address")).to_contain_text(
        "Prøvevej 1, 1112 København K12345678"
    )
    lefts = await page.get_by_role("meter").evaluate_all(
        "bars => bars.map(each => each.getBoundingClientRect().left)"
    )
    assert len(lefts) == 3
    assert len(set(lefts)) == 1
    portal.api.fail("/api/batch", 503, "service_unavailable")
    await page.reload()
    await expect(page.get_by_role("button", name="1: this one")).to_be_visible()
    await expect(page.locator("address")).to_have_count(0)


async def test_events_are_those_of_a_watchlist_that_is_chosen_by_its_name(
    portal: Portal, window: Window
) -> None:
    watchlist = {"id": "wl_1", "name": "Suppliers", "size": 2, "created_at": AT, "updated_at": AT}
    portal.api.give("/api/watchlists", {"watchlists": [watchlist]})
    portal.api.give("/api/events", a_page())
    await window.go("/events")

    await window.page.get_by_label("Watchlist").select_option("Suppliers")
    await window.press("Show")

    await expect(window.page.get_by_label("Watchlist")).to_have_value("wl_1")
    assert "watchlist=wl_1" in portal.api.queries


#: Folder for the guide's picture, if it is to be made: docs/portal.
PICTURES: Final = os.environ.get("PICTURES")
#: Five years of a company and of its group, with a loss, a remark and figures that are not told.
ACCOUNTS: Final = [
    accounts_of(
        year,
        f"{scope}{year}",
        scope=scope,
        currency="DKK",
        standard="local_gaap",
        size_class="B",
        audit={"type": "audit", "going_concern": year == 2025 and scope == "company"},
        documents={"pdf": "https://documents.example/a.pdf", "document": "https://a.example/a.xml"},
        revenue=None if scope == "company" else f"{times * (year - 2000) * 1_517_000}",
        gross_profit=f"{times * (year - 2015) * 517_000}",
        profit=f"{times * (2024 - year) * 248_310 + 11}",
        assets=f"{times * (year - 2010) * 901_100}",
        equity=f"{times * 2_100_500}",
        employees="12",
    ).model_dump(mode="json")
    for year in range(2025, 2020, -1)
    for scope, times in (("group", 3), ("company", 1))
]


#: Windows, and a sheet of A4.
@pytest.mark.parametrize(
    "viewport, medium",
    [(DESKTOP, "screen"), (PHONE, "screen"), (ViewportSize(width=794, height=1123), "print")],
    ids=["1280", "390", "print"],
)
async def test_annual_accounts_fit_and_tell_a_loss_in_each_window_and_in_print(
    portal: Portal, window: Window, viewport: ViewportSize, medium: Literal["screen", "print"]
) -> None:
    company = {**COMPANY, "owners": [], "roles": [], "einvoicing": [], "production_units": []}
    portal.api.give("/api/vat", {**company, "annual_accounts": ACCOUNTS, "accounts_state": "ok"})
    units = f"/api/companies/dk/{COMPANY['vat']}/production_units"
    portal.api.give(units, {"production_units": [], "total": 0, "cursor": None})
    page = window.page
    await page.set_viewport_size(viewport)
    await page.emulate_media(media=medium, color_scheme="light")

    await window.go(f"/companies/dk/{COMPANY['vat']}")

    card = page.get_by_role("region", name="Annual accounts")
    remark, loss = card.get_by_text("Remarks on the accounts"), card.locator(".loss").first
    tops = [await each.evaluate("each => each.getBoundingClientRect().top") for each in
            (remark, card.get_by_role("table").first)]  # fmt: skip
    assert tops == sorted(tops)
    assert await window.violations() == []
    assert await window.overflow() == 0
    await expect(card.get_by_role("heading")).to_have_text(
        ["Annual accounts", "The company alone DKK", "The group DKK"]
    )
    # Without colours a loss is bold and has its sign, and its bar is hatched; paper has no bars.
    assert int(await loss.evaluate("each => getComputedStyle(each).fontWeight")) >= 600
    await expect(loss).to_have_text("−248,299")
    hatched = card.locator("rect[fill='url(#loss)']").first
    await expect(hatched).to_be_visible(visible=medium == "screen")
    if PICTURES and (medium, viewport) == ("screen", DESKTOP):
        await card.screenshot(path=Path(PICTURES) / "accounts-light-1280.png")
