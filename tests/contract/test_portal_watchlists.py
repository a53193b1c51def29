"""Watchlists in the portal: their companies, changes and webhooks, and saving customers as one."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from portal.adapters import reading
from tests.builders.answers import (
    AT,
    a_found_company,
    a_page,
    a_problem,
    a_webhook,
    an_event,
    an_invalid,
)
from tests.contract.test_portal_customers import RESULTS, matched, read_here, upload
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

LIST = {"id": "wl_1", "name": "Kunder", "size": 2, "created_at": AT, "updated_at": AT}
HERE, COMPANIES = "/api/watchlists/wl_1", "/api/watchlists/wl_1/companies"
CHANGED = [{"field": "name", "old": "Old ApS", "new": "New ApS"}]
HOOK = a_webhook(description="CRM", filter={"watchlists": ["wl_1"]})


@pytest.fixture
async def portal(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Portal]:
    monkeypatch.setattr(reading, "_read", read_here)
    async with a_portal() as portal:
        company = a_found_company(country="dk", vat="12345674", name="Prøve ApS")
        missing = {"problem": a_problem("company_not_found", 404)}
        portal.api.give("/api/watchlists", {"watchlists": [LIST]})
        portal.api.give(HERE, LIST)
        portal.api.give(COMPANIES, {"companies": ["dk:12345674", "no:1"], "cursor": "no:1"})
        portal.api.give("/api/batch", {"results": [{"company": company}, missing]})
        event = an_event(type="company.updated", data={"company": None, "changes": CHANGED})
        portal.api.give("/api/events", a_page(event))
        portal.api.give("/api/webhooks", {"webhooks": [HOOK, a_webhook(description="Other")]})
        await portal.sign_in()
        yield portal


async def test_a_watchlist_has_its_companies_changes_and_webhooks(portal: Portal) -> None:
    listed = await portal.shown("/watchlists")
    text = await portal.shown("/watchlists/wl_1?after=dk:1")

    assert "2 companies" in listed
    assert "Prøve ApS</a>" in text
    assert 'NO 1 <span class="hint">Its register has had the company removed' in text
    assert "/companies/no/1" not in text
    assert 'href="/watchlists/wl_1?after=no%3A1#companies"' in text
    assert '<td class="old">Old ApS' in text.replace("\n", "")
    assert "CRM" in text
    assert "Other" not in text
    assert {"watchlist=wl_1", "after=dk:1"} <= set(portal.api.queries)


async def test_a_company_that_cannot_be_looked_up_now_is_not_called_removed(
    portal: Portal,
) -> None:
    late = {"problem": a_problem("lookup_timeout", 504)}
    portal.api.give("/api/batch", {"results": [late, late]})

    text = await portal.shown("/watchlists/wl_1")

    assert "no:1</a>" in text
    assert "had the company removed" not in text


async def test_without_their_scopes_companies_have_no_names_and_changes_are_not_read() -> None:
    async with a_portal() as portal:
        portal.api.give("/api/me", {**ME, "scopes": ["webhooks"]})
        portal.api.give(HERE, LIST)
        portal.api.give(COMPANIES, {"companies": ["dk:12345674"]})
        portal.api.give("/api/webhooks", {"webhooks": []})
        await portal.sign_in()

        text = await portal.shown("/watchlists/wl_1")

    assert "dk:12345674</a>" in text
    assert "Latest changes" not in text
    assert "No webhook follows this list." in text


async def test_a_watchlist_is_created_renamed_and_deleted(portal: Portal) -> None:
    portal.api.give("/api/watchlists", LIST, 201)
    created = await portal.post("/watchlists", {"name": " Kunder ", "description": ""})
    await portal.post("/watchlists/wl_1", {"name": "Nye", "description": "Alle"})
    asked = await portal.shown("/watchlists/wl_1/delete")
    deleted = await portal.post("/watchlists/wl_1/delete")

    assert created.headers["Location"] == "/watchlists/wl_1"
    assert portal.api.bodies[-2:] == [
        {"name": "Kunder", "description": None},
        {"name": "Nye", "description": "Alle"},
    ]
    assert "Delete this watchlist?" in asked
    assert deleted.headers["Location"] == "/watchlists"


@pytest.mark.parametrize(
    "path, of_api",
    [("/watchlists", "POST /api/watchlists"), ("/watchlists/wl_1", f"PATCH {HERE}")],
)
async def test_a_refused_name_has_its_fault_at_the_field(
    portal: Portal, path: str, of_api: str
) -> None:
    refused = an_invalid("name", "give 1 to 100 characters", code="invalid_body")
    portal.api.give(of_api, refused, 400)

    response = await portal.post(path, {"name": "", "description": "kept"})

    text = await response.text()
    assert response.status == 400
    assert '<p class="fault" id="name-fault">Give 1 to 100 characters.</p>' in text
    assert 'value="kept"' in text


async def test_refused_companies_have_their_fault_at_the_field(portal: Portal) -> None:
    refused = an_invalid("add[1]", "give `country` and number", code="invalid_body")
    portal.api.give(f"PATCH {COMPANIES}", refused, 400)

    response = await portal.post("/watchlists/wl_1/companies", {"add": "dk:12345674 se:1"})

    text = await response.text()
    assert response.status == 400
    assert "“se:1” is not valid. Give country and number." in text
    assert ">dk:12345674 se:1</textarea>" in text


async def test_a_list_that_a_webhook_follows_names_it_when_it_is_to_be_deleted(
    portal: Portal,
) -> None:
    used = a_problem("watchlist_in_use", 409, "wh_1 use this watchlist in their filter")
    portal.api.give(HERE, used, 409)

    response = await portal.post("/watchlists/wl_1/delete")

    assert response.headers["Location"] == "/watchlists/wl_1#subscribed"
    assert "Not deleted. Wh_1 use this watchlist" in await portal.shown("/key")


async def test_companies_are_added_and_removed_and_the_unknown_are_named(portal: Portal) -> None:
    change = {"added": 1, "present": 0, "removed": 1, "size": 2, "unknown": ["no:999999999"]}
    portal.api.give(COMPANIES, change)

    response = await portal.post(
        "/watchlists/wl_1/companies",
        {"add": "DK 12345682, no:999999999", "remove": "dk:12345674"},
    )

    assert portal.api.bodies[-1] == {
        "add": ["DK 12345682", "no:999999999"],
        "remove": ["dk:12345674"],
        "skip_invalid": True,
    }
    assert response.headers["Location"] == "/watchlists/wl_1"
    assert "1 added, 1 removed. In no register, and not added: no:999999999." in (
        await portal.shown("/key")
    )


@pytest.mark.parametrize("chosen, created", [("", True), ("wl_1", False)], ids=["new", "existing"])
async def test_matched_customers_are_saved_as_a_watchlist(
    portal: Portal, chosen: str, *, created: bool
) -> None:
    portal.api.give("/api/match", {"results": RESULTS})
    await upload(portal)
    await matched(portal)
    text = await portal.shown("/customers?pile=matched")
    portal.api.give("/api/watchlists", LIST, 201)
    portal.api.give(COMPANIES, {"added": 1, "present": 0, "removed": 0, "size": 1})

    response = await portal.post("/customers/watchlist", {"watchlist": chosen, "name": "Mine"})

    assert '<option value="wl_1">Kunder</option>' in text
    assert response.headers["Location"] == "/watchlists/wl_1"
    assert ({"name": "Mine", "description": None} in portal.api.bodies) is created
    assert portal.api.bodies[-1] == {"add": ["dk:12345674"], "remove": []}


async def test_a_watchlist_that_is_refused_leaves_the_customers_as_they_are(
    portal: Portal,
) -> None:
    portal.api.give("/api/match", {"results": RESULTS})
    await upload(portal)
    await matched(portal)
    portal.api.fail("/api/watchlists", 409, "watchlist_limit_reached")

    response = await portal.post("/customers/watchlist", {"name": "Mine"})

    assert response.headers["Location"] == "/customers?pile=matched"
    assert "Not saved." in await portal.shown("/key")


# Webhooks and events


async def test_a_webhook_follows_a_watchlist(portal: Portal) -> None:
    form = await portal.shown("/webhooks/new?watchlist=wl_1&name=Kunder")
    portal.api.give("/api/webhooks", a_webhook(secret="whsec_1"), 201)

    await portal.post("/webhooks/new", {"url": "https://example.com/", "watchlists": "wl_1"})

    assert 'name="watchlists" value="wl_1" checked' in form
    assert "about any company of a watchlist." in form
    assert portal.api.bodies[-1]["filter"]["watchlists"] == ["wl_1"]


async def test_a_webhook_keeps_its_watchlists_when_it_is_edited(portal: Portal) -> None:
    portal.api.give("/api/webhooks/wh_1", {**HOOK, "filter": {"watchlists": ["wl_1", "wl_gone"]}})

    text = await portal.shown("/webhooks/wh_1/edit")

    assert 'value="wl_1" checked' in text
    assert 'value="wl_gone" checked' in text


async def test_events_of_a_watchlist_are_a_page_that_goes_on(portal: Portal) -> None:
    text = await portal.shown("/events?watchlist=wl_1")

    assert "/events/live?watchlist=wl_1&amp;after=c1" in text
    assert "watchlist=wl_1" in portal.api.queries


async def test_no_text_of_a_watchlist_becomes_markup(portal: Portal) -> None:
    hostile = "<script>alert(1)</script>"
    named: dict[str, Any] = {**LIST, "name": hostile, "description": hostile}
    portal.api.give("/api/watchlists", {"watchlists": [named]})
    portal.api.give(HERE, named)

    for path in ("/watchlists", "/watchlists/wl_1", "/watchlists/wl_1/delete", "/webhooks/new"):
        text = await portal.shown(path)
        assert "alert(1)" in text
        assert "<script>alert" not in text
