"""A watchlist in the portal as a portfolio: its table, its counts, and its changes."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from portal.adapters.http.views import watchlists
from tests.builders.answers import a_found_company, a_page, an_event
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

LISTED = "/api/watchlists/wl_1"
LIST: dict[str, Any] = {
    "id": "wl_1",
    "name": "Kunder",
    "description": None,
    "size": 1234,
    "created_at": "2026-03-02T12:00:00Z",
    "updated_at": "2026-03-02T12:00:00Z",
}
FACETS = {
    "status": [{"value": "active", "count": 1000}, {"value": "bankrupt", "count": 231}],
    "municipality": [{"value": "Oslo", "count": 600}, {"value": "Aarhus", "count": 300}],
}


def an_event_of(vat: str, id_: str, at: str | None = None) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {**an_event(), "id": id_, "country": "dk", "vat": vat, "occurred_at": at or now}


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        company = a_found_company(status="bankrupt")
        found = {"companies": [company], "total": 1231, "cursor": "c2", "facets": FACETS}
        for path, body in {
            LISTED: LIST,
            f"{LISTED}/companies": {"companies": ["dk:12345674"], "cursor": None},
            "/api/companies": found,
            "/api/webhooks": {"webhooks": []},
            "/api/events": a_page(an_event_of("12345674", "e1"), an_event_of("12345674", "e2")),
        }.items():
            portal.api.give(path, body)
        await portal.sign_in()
        yield portal


async def test_a_portfolio_is_a_table_with_its_counts_and_the_filters_of_companies(
    portal: Portal,
) -> None:
    text = await portal.shown("/watchlists/wl_1?municipality=Oslo")

    assert {"watchlist=wl_1", "municipality=Oslo"} <= set(portal.api.queries)
    for part in (
        "<strong>1,231</strong> companies</a>",
        'href="/watchlists/wl_1?status=bankrupt"><strong>231</strong> bankrupt</a>',
        "<strong>0</strong> ended</a>",
        "<strong>1</strong> changed this week</a>",
        'href="/watchlists/wl_1?tab=changes"><strong>1</strong> changed',
        '<span class="state state-bad">Bankrupt</span>',
        "3 companies of the list are no longer in their registers",
        'href="/watchlists/wl_1?municipality=Oslo&amp;sort=-employees"',
        'href="/watchlists/wl_1/companies.xlsx?municipality=Oslo"',
        'href="/watchlists/wl_1?municipality=Oslo&amp;after=c2"',
        '<option value="" selected>Any</option>',
    ):
        assert part in text
    assert re.search(r'<input type="checkbox" name="remove" value="dk:\d+" form="members"', text)


async def test_the_last_change_of_a_company_is_its_newest_event(portal: Portal) -> None:
    old = {**an_event_of("12345674", "e0"), "type": "company.created"}
    company = a_found_company()
    key = f"{company['country']}:{company['vat']}"
    portal.api.give(
        "/api/events", a_page({**old, "vat": company["vat"], "country": company["country"]})
    )

    text = await portal.shown("/watchlists/wl_1")

    assert "New company" in text
    assert f"companies={key}" in portal.api.queries


async def test_a_week_with_more_changes_than_are_read_says_so(portal: Portal) -> None:
    page = a_page(an_event_of("12345674", "e1"), an_event_of("87654325", "e2"), has_more=True)
    portal.api.give("/api/events", page)

    text = await portal.shown("/watchlists/wl_1?tab=changes")

    assert "<strong>more than 2</strong> changed this week" in text
    assert "More than 2 changes" in text


async def test_a_script_reads_the_list_alone(portal: Portal) -> None:
    response = await portal.get("/watchlists/wl_1", headers={"Sec-Fetch-Dest": "empty"})

    assert "changed this week" not in await response.text()
    assert not [part for part in portal.api.queries if part.startswith("since=")]


async def test_without_the_scope_of_lookups_a_list_has_numbers(portal: Portal) -> None:
    portal.api.give("/api/me", {**ME, "scopes": ["webhooks"]})
    await portal.sign_in()

    text = await portal.shown("/watchlists/wl_1")

    assert "dk:12345674</a>" in text
    assert "/api/companies" not in [path for _, path, _ in portal.api.requests]


async def test_a_list_can_be_changed_while_companies_cannot_be_found(portal: Portal) -> None:
    portal.api.fail("/api/companies", 503, "service_unavailable")

    response = await portal.get("/watchlists/wl_1")
    text = await response.text()

    assert response.status == 200
    assert "The service cannot answer at the moment." in text
    assert 'name="add"' in text


async def test_a_refused_filter_of_a_portfolio_has_its_fault_at_the_field(portal: Portal) -> None:
    response = await portal.get("/watchlists/wl_1?employees_min=many")

    assert response.status == 400
    assert "Enter a whole number." in await response.text()


async def test_a_download_has_the_companies_of_the_watchlist(portal: Portal) -> None:
    portal.api.give("/api/companies", {"companies": [a_found_company()], "total": 1})

    response = await portal.get("/watchlists/wl_1/companies.csv?status=active")

    assert response.status == 200
    assert "Registration number" in (await response.read()).decode("utf-8-sig")
    assert {"watchlist=wl_1", "status=active"} <= set(portal.api.queries)


async def test_ticked_companies_are_removed_and_the_filtered_page_follows(portal: Portal) -> None:
    change = {"added": 0, "present": 0, "removed": 1, "size": 2, "unknown": []}
    portal.api.give(f"PATCH {LISTED}/companies", change)
    back = "/watchlists/wl_1?status=ended"

    removed = await portal.post(
        "/watchlists/wl_1/companies",
        {"remove": "dk:12345674", "named": "dk:12345674 Kunde <b> ApS", "back": back},
    )
    shown = await portal.shown("/watchlists/wl_1")
    elsewhere = await portal.post("/watchlists/wl_1/companies", {"back": "//evil.example"})

    assert portal.api.bodies[0] == {"add": [], "remove": ["dk:12345674"], "skip_invalid": True}
    assert removed.headers["Location"] == back
    assert elsewhere.headers["Location"] == "/watchlists/wl_1"
    assert "1 removed: Kunde &lt;b&gt; ApS." in shown
    assert '<input type="hidden" name="add" value="dk:12345674">' in shown
    assert ">Undo</button>" in shown


async def test_a_part_that_could_not_be_read_says_so_and_is_not_empty(portal: Portal) -> None:
    fault = {"code": "internal_error", "status": 500, "detail": "It failed."}
    portal.api.fail(f"{LISTED}/digests", 503, "service_unavailable")
    portal.api.give("/api/batch", {"results": [{"problem": fault}]})

    portfolio = await portal.shown("/watchlists/wl_1?tab=alerts")
    numbers = await portal.shown("/watchlists/wl_1?numbers=all")

    assert '<h2 id="email">E-mail</h2><p class="hint">The service cannot answer' in portfolio
    assert "dk:12345674</a>" in numbers
    assert "Its name and status could not be read." in numbers


async def test_a_week_of_which_nothing_was_read_in_time_is_not_one_without_changes(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchlists, "_MAX_SECONDS", 0.0)

    text = await portal.shown("/watchlists/wl_1?tab=changes")

    assert "changed this week" not in text
    assert "The company registry does not respond." in text
