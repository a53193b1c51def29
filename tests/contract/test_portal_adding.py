"""Adding companies to a watchlist from the pages of the portal that show companies."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.builders.answers import AT, a_found_company, a_group, a_problem, a_summary, an_invalid
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

COMPANIES = "/api/watchlists/wl_1/companies"
LIST = {"id": "wl_1", "name": "Kunder", "size": 2, "created_at": AT, "updated_at": AT}
EFFECT = {"added": 1, "present": 1, "removed": 0, "size": 3, "unknown": []}
HISTORY: dict[str, Any] = {"history": [], "known_from": None, "cursor": None}
UNITS: dict[str, Any] = {"production_units": [], "total": 0, "cursor": None}
OF_ONE = "/companies/dk/12345674"


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        company = a_found_company(vat="12345674", country="dk", name="Prøve ApS")
        others = [{**company, "vat": "12345682", "name": "Alfa ApS"}, company]
        for path, body in {
            "/api/vat": company,
            "/api/suggest": {"suggestions": [a_summary()], "cursor": None},
            f"/api{OF_ONE}/history": HISTORY,
            f"/api{OF_ONE}/production_units": UNITS,
            f"/api{OF_ONE}/group": a_group(),
            "/api/companies": {"companies": others, "total": 2, "cursor": None},
            "/api/watchlists": {"watchlists": [LIST]},
            "/api/watchlists/wl_1": LIST,
            COMPANIES: EFFECT,
        }.items():
            portal.api.give(path, body)
        await portal.sign_in()
        yield portal


@pytest.mark.parametrize(
    "path, parts",
    [
        (OF_ONE, ['name="company" value="dk:12345674"', ">Add</button>"]),
        (f"{OF_ONE}/group", ['name="company" value="dk:', "Add ticked"]),
        (
            "/companies?city=Oslo",
            [
                '<input type="checkbox" name="company" value="dk:12345682" form="adding"',
                'name="shown" value="dk:12345674"',
                "Add these 2",
                'name="back" value="/companies?city=Oslo"',
            ],
        ),
        ("/?country=dk&q=alfa&after=c1", ['action="/watchlists/add"']),
    ],
)
async def test_pages_with_companies_offer_the_lists_of_the_owner(
    portal: Portal, path: str, parts: list[str]
) -> None:
    text = await portal.shown(path)

    for part in (*parts, '<option value="wl_1">Kunder</option>', "New list …"):
        assert part in text


async def test_a_key_that_may_not_change_lists_is_not_offered_them(portal: Portal) -> None:
    portal.api.give("/api/me", {**ME, "scopes": ["lookup"]})
    await portal.sign_in()

    assert 'id="adding"' not in await portal.shown(OF_ONE)
    assert 'type="checkbox" name="company"' not in await portal.shown("/companies")


async def test_a_page_is_shown_while_lists_cannot_be_read(portal: Portal) -> None:
    portal.api.fail("/api/watchlists", 503, "service_unavailable")

    text = await portal.shown(OF_ONE)

    assert "Prøve ApS" in text
    assert 'id="adding"' not in text


@pytest.mark.parametrize(
    "fields, added",
    [
        ({"company": "dk:12345674", "shown": "dk:12345682"}, ["dk:12345674"]),
        ({"all": "1", "company": "dk:12345674", "shown": "dk:12345682"}, ["dk:12345682"]),
    ],
    ids=["ticked", "all"],
)
async def test_companies_are_added_and_a_note_leads_to_the_list(
    portal: Portal, fields: dict[str, str], added: list[str]
) -> None:
    answer = await portal.post(
        "/watchlists/add", {**fields, "watchlist": "wl_1", "back": "/companies?city=Oslo"}
    )
    text = await portal.shown("/companies")

    assert answer.headers["Location"] == "/companies?city=Oslo"
    assert portal.api.bodies == [{"add": added, "remove": [], "skip_invalid": True}]
    assert "Watchlist Kunder: 1 added, 1 there already." in text
    assert '<a href="/watchlists/wl_1">Show it</a>' in text
    assert "Show it" not in await portal.shown("/companies")


async def test_a_new_list_is_created_for_the_companies(portal: Portal) -> None:
    portal.api.give("POST /api/watchlists", LIST, 201)

    await portal.post(
        "/watchlists/add", {"company": "dk:12345674", "watchlist": "new", "name": " Kunder "}
    )

    assert portal.api.bodies[0] == {"name": "Kunder", "description": None}
    assert portal.api.bodies[1]["add"] == ["dk:12345674"]


@pytest.mark.parametrize(
    "of_api, problem, said",
    [
        ("", {}, "Tick the companies to add first."),
        (
            "POST /api/watchlists",
            an_invalid("name", "give 1 to 100 characters", code="invalid_body"),
            "Nothing was added. Give 1 to 100 characters.",
        ),
        (
            f"PATCH {COMPANIES}",
            a_problem("watchlist_limit_reached", 409, "it would have too many"),
            "Nothing was added. It would have too many.",
        ),
        ("/api/watchlists/wl_1", a_problem("watchlist_not_found", 404), "You have no such"),
    ],
)
async def test_a_note_says_why_nothing_was_added(
    portal: Portal, of_api: str, problem: dict[str, Any], said: str
) -> None:
    portal.api.give(of_api, problem, problem.get("status", 400))
    chosen = "new" if of_api.startswith("POST") else "wl_1"
    fields = {"company": "dk:12345674"} if of_api else {}

    answer = await portal.post(
        "/watchlists/add", {**fields, "watchlist": chosen, "back": "//evil.example"}
    )

    assert answer.headers["Location"] == "/watchlists"
    assert said in await portal.shown("/key")
