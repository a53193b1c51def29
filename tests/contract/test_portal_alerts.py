"""Alerts about a company and a watchlist in the portal: the forms, and what is received already."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.builders.answers import AT, a_page, a_webhook, an_event, an_invalid
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

LIST: dict[str, Any] = {
    "id": "wl_1",
    "name": "Kunder",
    "size": 1,
    "has_feed": False,
    "created_at": AT,
    "updated_at": AT,
}
DIGEST = {
    "id": "dg_1",
    "address": "news@example.com",
    "period": "daily",
    "events": ["company.status_changed"],
    "fields": ["status"],
    "state": "unconfirmed",
    "created_at": AT,
}
DIGESTS = "/api/watchlists/wl_1/digests"
CHANGE = {"added": 1, "present": 0, "removed": 0, "size": 2, "unknown": []}
OF_COMPANY = "/alerts?company=dk:12345674&name=Pr%C3%B8ve+ApS"
FORM = {
    "company": "dk:12345674",
    "list": "wl_1",
    "mail": "news@example.com",
    "period": "immediate",
    "back": "/companies/dk/12345674",
}


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        portal.api.give("/api/watchlists", {"watchlists": [LIST]})
        portal.api.give("/api/watchlists/wl_1", LIST)
        portal.api.give(DIGESTS, {"digests": [DIGEST], "enabled": True})
        portal.api.give(f"POST {DIGESTS}", DIGEST, 201)
        portal.api.give("PATCH /api/watchlists/wl_1/companies", CHANGE)
        portal.api.give("/api/webhooks", {"webhooks": [a_webhook(description="Nightly")]})
        owners = {"field": "owners", "old": [], "new": []}
        event = an_event(type="owners.changed", country="dk", vat="12345674")
        portal.api.give("/api/events", a_page({**event, "data": {"changes": [owners]}}))
        await portal.sign_in()
        yield portal


async def test_the_forms_are_in_order_and_say_how_often_alerts_would_come(portal: Portal) -> None:
    text = await portal.shown(OF_COMPANY)

    titles = [">E-mail</h2>", ">Feed</h2>", ">Webhook</h2>"]
    assert sorted(titles, key=text.index) == titles
    assert 'Owners <span class="hint">about 1 a month</span>' in text
    assert 'Annual accounts <span class="hint">none in the last 30 days</span>' in text
    assert "Kunder, which has it" in text
    asked = {each.replace("%3A", ":") for each in portal.api.queries}
    assert {"companies=dk:12345674", "since=2026-01-31T12:05:00Z"} <= asked


async def test_what_is_received_already_is_said(portal: Portal) -> None:
    text = await portal.shown(OF_COMPANY)

    assert "company=dk:12345674" in portal.api.queries
    assert 'On the list <a href="/watchlists/wl_1">Kunder</a>' in text
    assert "not confirmed yet, about bankruptcies and endings, of Kunder" in text
    assert "Nightly</a>" in text


async def test_an_e_mail_is_of_a_list_that_gets_the_company_and_about_what_was_chosen(
    portal: Portal,
) -> None:
    answer = await portal.post("/alerts/mail", {**FORM, "about": "owners"})

    assert answer.headers["Location"] == "/companies/dk/12345674"
    assert portal.api.bodies == [
        {"add": ["dk:12345674"], "remove": [], "skip_invalid": True},
        {
            "address": "news@example.com",
            "period": "immediate",
            "events": ["owners.changed"],
            "fields": ["owners"],
        },
    ]
    assert "news@example.com is asked to confirm of Kunder." in await portal.shown("/watchlists")


async def test_an_address_that_is_refused_keeps_the_form(portal: Portal) -> None:
    refused = an_invalid("address", "give one e-mail address", code="invalid_body")
    portal.api.give(f"POST {DIGESTS}", refused, 400)

    answer = await portal.post("/alerts/mail", {**FORM, "mail": "<b>", "about": "owners"})

    text = await answer.text()
    assert answer.status == 400
    assert "Give one e-mail address." in text
    assert 'value="&lt;b&gt;"' in text
    assert 'name="about" value="owners" checked' in text


async def test_a_feed_that_has_an_address_is_not_replaced_unasked(portal: Portal) -> None:
    address = "https://api.example.com/api/watchlists/wl_1/feed.atom?token=t"
    portal.api.give("POST /api/watchlists/wl_1/feed", {"url": address})
    first = await (await portal.post("/alerts/feed", FORM)).text()
    portal.api.give("/api/watchlists/wl_1", {**LIST, "has_feed": True})

    again = await portal.post("/alerts/feed", FORM)

    assert address in first
    assert again.headers["Location"] == "/watchlists/wl_1/feed"


async def test_a_webhook_begins_with_what_was_chosen(portal: Portal) -> None:
    types = [{"name": "owners.changed", "description": "d", "schema": {}}]
    portal.api.give("/api/event-types", {"event_types": types})

    answer = await portal.get("/alerts/webhook?company=dk:12345674&about=owners")
    form = await portal.shown(answer.headers["Location"])

    assert "receives owners.changed events about the company dk:12345674" in form
    assert 'name="types" value="owners.changed" checked' in form


async def test_a_key_that_may_not_watch_sees_no_alerts(portal: Portal) -> None:
    portal.api.give("/api/me", {**ME, "scopes": ["lookup"]})
    portal.api.fail("/api/watchlists", 403, "forbidden")
    await portal.sign_in()

    assert (await portal.get(OF_COMPANY)).status == 403
