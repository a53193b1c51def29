"""The history and the group of a company, as pages."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.builders.answers import AT, a_found_company, a_group, a_history_entry
from tests.fakes.portal import Portal, Shown
from tests.fakes.portal import portal as a_portal

COMPANY = a_found_company(vat="12345674", name="Prøve ApS")
UNITS = "/api/companies/dk/12345674/production_units"
HISTORY = "/api/companies/dk/12345674/history"
GROUP = "/api/companies/dk/12345674/group"
UNIT = {"number": "1012345670", "name": "Prøve Aarhus", "status": "active"}
NOT_FOUND = {"code": "company_not_found", "detail": "none"}
SEEN = a_history_entry()
DATED = a_history_entry(
    time="1999-11-15",
    dated=True,
    type="company.status_changed",
    changes=[{"field": "status_text", "old": None, "new": "NORMAL"}],
)
CIRCULAR = a_group(
    links=[
        {"owner": "12345682", "owned": "12345674", "circle": True},
        {"owner": "12345674", "owned": "12345682", "circle": True},
    ],
    ultimate_owners=None,
    truncated=True,
    shareholders_known=False,
)


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    """A signed-in browser."""
    async with a_portal() as portal:
        portal.api.give("/api/vat", COMPANY)
        portal.api.give(UNITS, {"production_units": [], "total": 0, "cursor": None})
        await portal.sign_in()
        yield portal


SHOWN: dict[str, Shown] = {
    "the history of a company": Shown(
        {
            HISTORY: (200, {"history": [SEEN, DATED], "known_from": AT, "cursor": "h2"}),
        },
        "/companies/dk/12345674?history=h1",
        200,
        [
            "<strong>Owners changed</strong>",
            "<strong>Status</strong>",
            '<tr><th scope="row">trade names <span class="hint">only what differs</span></th>',
            '<span class="tag">the register’s date</span>',
            '<time datetime="1999-11-15">15 Nov 1999</time>',
            f'Every change since <time datetime="{AT.replace("Z", "+00:00")}">',
            'href="/companies/dk/12345674?history=h2#history" rel="next">Show more</a>',
            'href="/companies/dk/12345674#history">Newest</a>',
        ],
        ["cannot be shown"],
    ),
    "a company whose history fails": Shown(
        {
            HISTORY: (503, {"code": "service_unavailable", "detail": "no database"}),
        },
        "/companies/dk/12345674",
        200,
        ["<h1>Prøve ApS", "The history cannot be shown. The service cannot answer"],
        [],
    ),
    "a company whose history cannot be read": Shown(
        {HISTORY: (200, {"nothing": "known"})},
        "/companies/dk/12345674",
        200,
        ["<h1>Prøve ApS", "The history cannot be shown."],
        [],
    ),
    "a group": Shown(
        {GROUP: (200, a_group())},
        "/companies/dk/12345674/group",
        200,
        [
            "<h1>The group of Prøve ApS</h1>",
            '<g class="box box-self">',
            '<g class="box box-ended">',
            '<g class="box box-person">',
            ">50–66.67 %</text>",
            "ultimately 50–66.67 %</text>",
            '<li><a href="/companies/dk/12345682">Ejer ApS</a>, 50–66.67 %',
            "<li>Carla Prøve, 100 %",
        ],
        ["The group goes on", "no shareholders", "circle of ownership", "/group?levels"],
    ),
    "a group with a circle that goes on, in a register without shareholders": Shown(
        {GROUP: (200, CIRCULAR)},
        "/companies/dk/12345674/group",
        200,
        [
            "The group goes on",
            'href="/companies/dk/12345674/group?levels=10"',
            "has no shareholders",
            "a circle of ownership, which is not followed",
            'class="link circle"',
            '<span class="tag">circle</span> <span class="hint">this company</span>',
        ],
        ["Ultimate owners</h2>"],
    ),
    "a group of one": Shown(
        {GROUP: (200, a_group(companies=a_group()["companies"][:1], links=[]))},
        "/companies/dk/12345674/group?levels=10",
        200,
        ["No owners and no subsidiaries are known."],
        ['<svg class="chain"', "as a list"],
    ),
    "a group that fails": Shown(
        {GROUP: (404, NOT_FOUND)},
        "/companies/dk/12345674/group",
        404,
        ["No company has this number."],
        [],
    ),
    "production units": Shown(
        {
            UNITS: (200, {"production_units": [UNIT], "total": 8000, "cursor": "u2"}),
        },
        "/companies/dk/12345674?units=u1",
        200,
        [
            "Prøve Aarhus",
            "1 of 8,000",
            'href="/companies/dk/12345674?units=u2#units"',
            "First page",
        ],
        [],
    ),
}


@pytest.mark.parametrize("page", SHOWN.values(), ids=SHOWN)
async def test_a_page_says_what_the_api_answers(portal: Portal, page: Shown) -> None:
    await portal.says(page)


async def test_the_boxes_of_a_picture_lead_to_the_companies_of_ten_levels(portal: Portal) -> None:
    portal.api.give(GROUP, a_group())

    text = await portal.shown("/companies/dk/12345674/group?levels=10")

    assert "levels=10" in portal.api.queries
    [drawing] = re.findall(r"<svg class=\"chain\".*?</svg>", text, re.DOTALL)
    others = ["/companies/dk/12345682", "/companies/dk/12345712"]
    assert re.findall(r'href="([^"]+)"', drawing) == others
