"""Pages on paper, which are evidence: what they say, and on how many sheets."""

import re

import pytest
from playwright.async_api import expect

from tests.browsing.portal import Portal

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

#: A sheet in the page tree of a PDF.
SHEET = re.compile(rb"/Type\s*/Page\b(?!s)")


async def test_a_company_prints_as_a_report_of_three_sheets(portal: Portal) -> None:
    await portal.go("/companies/dk/12345674")
    await expect(portal.heading("Prøvefabrikken ApS")).to_be_visible()

    pdf = await portal.page.pdf(prefer_css_page_size=True)
    await portal.page.emulate_media(media="print")
    text = await portal.page.locator("body").inner_text()

    assert 1 <= len(SHEET.findall(pdf)) <= 3
    for part in (
        "Prøvefabrikken ApS",
        "12345674",
        "Active",
        "retrieved ",
        "with the key ",
        f"{portal.url}/companies/dk/12345674",
        "Founded as ApS KBIL 17 NR. 0000",
    ):
        assert part in text
    for part in ("Sign out", "Watchlists", "Alert me", "Download", "What these roles mean"):
        assert part not in text


async def test_a_group_is_fitted_to_sheets(portal: Portal) -> None:
    await portal.go("/companies/dk/12345674/group")
    await expect(portal.heading("The group of Prøvefabrikken ApS")).to_be_visible()

    pdf = await portal.page.pdf(prefer_css_page_size=True)
    await portal.page.emulate_media(media="print")
    box = await portal.page.locator(".picture svg").bounding_box()
    text = await portal.page.locator("body").inner_text()

    assert 1 <= len(SHEET.findall(pdf)) <= 3
    assert box is not None
    viewport = portal.page.viewport_size
    assert viewport is not None
    assert box["width"] <= viewport["width"]
    assert "retrieved " in text
    assert "Size" not in text
