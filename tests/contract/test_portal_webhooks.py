"""Webhooks in the portal: their form, what can be done with one, deliveries, and watchlists."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from portal.adapters import reading
from tests.builders.answers import (
    AT,
    a_found_company,
    a_page,
    a_problem,
    a_webhook,
    an_attempt,
    an_event,
    an_invalid,
)
from tests.contract.test_portal_customers import RESULTS, matched, read_here, upload
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

LIST = {"id": "wl_1", "name": "Kunder", "size": 2, "created_at": AT, "updated_at": AT}
DIGEST: dict[str, Any] = {
    "id": "dg_1",
    "address": "officer@example.com",
    "period": "daily",
    "state": "ended",
    "created_at": AT,
    "ended_reason": "refused",
    "last_error": "550 <no> such mailbox",
}
HOOK, LISTED = "/api/webhooks/wh_1", "/api/watchlists/wl_1"
ALERTS = "/watchlists/wl_1?tab=alerts"
OF_DELIVERY, COMPANIES = f"{HOOK}/deliveries/d1", f"{LISTED}/companies"
WEBHOOK = a_webhook(events=["company.*", "owners.changed"], secret="whsec_1")
FOLLOWING = a_webhook(description="CRM", filter={"watchlists": ["wl_1"]})
ATTEMPT = an_attempt(attempted_at=AT)
DELIVERY: dict[str, Any] = {
    "delivery_id": "d1",
    "event_id": "e1",
    "event_type": "webhook.test",
    "status": "pending",
    "body": "{}",
}
TYPES: dict[str, object] = {
    "event_types": [
        {"name": name, "description": f"Text of {name}.", "schema": {}}
        for name in ("company.created", "company.updated", "owners.changed", "webhook.test")
    ]
}
CHANGED = [{"field": "name", "old": "Old ApS", "new": "New ApS"}]
MISSING = {"problem": a_problem("company_not_found", 404)}
#: A fault that the client does not repeat by itself.
FAULT = {"problem": a_problem("internal_error", 500)}


@pytest.fixture
async def portal(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Portal]:
    monkeypatch.setattr(reading, "_read", read_here)
    async with a_portal() as portal:
        company = a_found_company(country="dk", vat="12345674", name="Prøve ApS")
        event = an_event(type="company.updated", data={"company": None, "changes": CHANGED})
        for path, body in {
            HOOK: WEBHOOK,
            f"{HOOK}/deliveries": {"deliveries": [ATTEMPT]},
            "/api/event-types": TYPES,
            "/api/watchlists": {"watchlists": [LIST]},
            LISTED: LIST,
            f"{LISTED}/digests": {"digests": [DIGEST], "enabled": True},
            COMPANIES: {"companies": ["dk:12345674", "no:1"], "cursor": "no:1"},
            "/api/companies": {"companies": [company], "total": 1, "cursor": None},
            "/api/batch": {"results": [{"company": company}, MISSING]},
            "/api/events": a_page(event),
            "/api/webhooks": {"webhooks": [FOLLOWING, a_webhook(description="Other")]},
        }.items():
            portal.api.give(path, body)
        await portal.sign_in()
        yield portal


# The form of a webhook


@pytest.mark.parametrize(
    "fields, sent",
    [
        ({"choice": "all"}, {"events": ["*"]}),
        ({"choice": "families"}, {"events": ["company.*"]}),
        ({"choice": "types"}, {"events": ["owners.changed"]}),
        ({"choice": "all", "watchlists": "wl_1"}, {"filter": {"watchlists": ["wl_1"]}}),
        ({"headers": "X-Token: a:b", "description": "D"}, {"headers": {"X-Token": "a:b"}}),
    ],
)
async def test_a_webhook_receives_what_was_chosen_and_nothing_else(
    portal: Portal, fields: dict[str, str], sent: dict[str, Any]
) -> None:
    portal.api.give("/api/webhooks", WEBHOOK, 201)
    url = "https://example.com/"
    chosen = {"url": url, "families": "company.*", "types": "owners.changed", "once": "k"}

    text = await (await portal.post("/webhooks/new", {**chosen, **fields})).text()

    body = portal.api.bodies[-1]
    given = {name: body[name] for name in sent}
    if "filter" in sent:
        given["filter"] = {name: body["filter"][name] for name in sent["filter"]}
    assert given == sent
    assert (body["url"], body.get("description")) == (url, fields.get("description"))
    assert portal.api.requests[-1][2]["Idempotency-Key"] == "k"
    assert "whsec_1" in text


async def test_a_choice_of_no_event_is_refused_at_its_field(portal: Portal) -> None:
    response = await portal.post("/webhooks/new", {"url": "https://e", "choice": "types"})

    text = await response.text()
    assert response.status == 400
    assert not portal.api.bodies
    for part in ('id="events-fault"', 'aria-describedby="events-fault"', 'value="https://e"'):
        assert part in text


@pytest.mark.parametrize("path", ["/webhooks/new", "/webhooks/wh_1/edit"])
async def test_a_form_says_what_will_arrive_before_it_is_saved(portal: Portal, path: str) -> None:
    fields = {"choice": "families", "families": "owners.*", "countries": "no", "preview": "yes"}

    page = await (await portal.post(path, fields)).text()
    of_script = await (await portal.post("/webhooks/arriving", fields)).text()

    assert of_script == "This webhook receives owners.* events about any company in Norway."
    assert of_script in page
    assert not portal.api.bodies


@pytest.mark.parametrize(
    "types, sent",
    [
        (["company.created", "company.updated", "owners.changed"], None),
        (["company.created", "owners.changed"], ["company.created", "owners.changed"]),
    ],
    ids=["unchanged", "changed"],
)
async def test_an_edited_webhook_changes_only_what_was_edited(
    portal: Portal, types: list[str], sent: list[str] | None
) -> None:
    limits = {"countries": ["dk"], "companies": ["dk:12345674"]}
    portal.api.give(HOOK, {**WEBHOOK, "filter": limits, "headers": ["X-Old"]})
    fields = {"csrf": await portal.token(), "choice": "types", "countries": "dk"}
    form = [*fields.items(), *(("types", each) for each in types)]

    kept = await portal.client.post("/webhooks/wh_1/edit", data=form, allow_redirects=False)
    first = portal.api.bodies[-1]
    form += [("headers", "X-New: 1")]
    await portal.client.post("/webhooks/wh_1/edit", data=form, allow_redirects=False)

    assert kept.headers["Location"] == "/webhooks/wh_1"
    # Families with single events stay while no other is chosen.
    assert (first.get("events"), first.get("headers")) == (sent, None)
    # A part of a filter that is emptied is cleared.
    assert (first["filter"]["countries"], first["filter"]["companies"]) == (["dk"], [])
    assert portal.api.bodies[-1]["headers"] == {"X-Old": None, "X-New": "1"}


async def test_a_form_offers_watchlists_and_keeps_those_of_the_webhook(portal: Portal) -> None:
    portal.api.give(HOOK, {**FOLLOWING, "filter": {"watchlists": ["wl_1", "wl_gone"]}})

    new = await portal.shown("/webhooks/new?watchlist=wl_1&name=Kunder")
    edited = await portal.shown("/webhooks/wh_1/edit")

    assert 'name="watchlists" value="wl_1" checked' in new
    assert "about any company of a watchlist." in new
    for part in ('value="wl_1" checked', 'value="wl_gone" checked'):
        assert part in edited


#: By the request of the API that is refused: its problem, the form, and what its page has.
REFUSED: dict[str, tuple[Any, str, dict[str, str], list[str]]] = {
    "POST /api/webhooks": (
        an_invalid("filter.companies[1]", "give `country` and number", code="invalid_body"),
        "/webhooks/new",
        {"url": "https://example.com/", "companies": "dk:12345674 se:1"},
        [
            "“se:1” is not valid. Give country and number.",
            r'<textarea id="companies"[^>]* aria-invalid="true" autofocus[^>]*companies-fault',
        ],
    ),
    f"PATCH {HOOK}": (
        an_invalid("url", "is required", code="invalid_body"),
        "/webhooks/wh_1/edit",
        {"url": ""},
        ['id="url-fault">Enter the address that deliveries are sent to.'],
    ),
    f"POST {HOOK}/recover": (
        an_invalid("since", "give a time before until and now", code="invalid_body"),
        "/webhooks/wh_1/recover",
        {"since": "2026-07-02T12:00"},
        ["Give a time before until and now.", 'value="2026-07-02T12:00"'],
    ),
    "POST /api/watchlists": (
        an_invalid("name", "give 1 to 100 characters", code="invalid_body"),
        "/watchlists",
        {"name": "", "description": "kept"},
        ['<p class="fault" id="name-fault">Give 1 to 100 characters.</p>', 'value="kept"'],
    ),
    f"PATCH {LISTED}": (
        an_invalid("name", "give 1 to 100 characters", code="invalid_body"),
        "/watchlists/wl_1",
        {"name": "", "description": "kept"},
        ['<p class="fault" id="name-fault">Give 1 to 100 characters.</p>', 'value="kept"'],
    ),
    f"PATCH {COMPANIES}": (
        an_invalid("add[1]", "give `country` and number", code="invalid_body"),
        "/watchlists/wl_1/companies",
        {"add": "dk:12345674 se:1"},
        ["“se:1” is not valid. Give country and number.", ">dk:12345674 se:1</textarea>"],
    ),
}


@pytest.mark.parametrize("of_api", REFUSED)
async def test_a_refused_form_has_its_fault_at_the_field(portal: Portal, of_api: str) -> None:
    problem, path, fields, has = REFUSED[of_api]
    portal.api.give(of_api, problem, 400)

    response = await portal.post(path, fields)

    text = await response.text()
    assert response.status == 400
    assert [part for part in has if part not in text and not re.search(part, text)] == []
    assert "the request is invalid" not in text


@pytest.mark.parametrize(
    "path, since, has",
    [
        ("/webhooks/wh_1/recover", "", 'id="since-fault">Enter a date and a time.</p>'),
        ("/webhooks/wh_1/recover", "soon", 'id="since-fault">Enter a date and a time.</p>'),
        (
            "/webhooks/wh_1/deliveries?since=soon&until=2026-07-02T12:00",
            None,
            'id="since-fault">Enter a date and a time.</p>',
        ),
        ("/events?companies=se:1", None, "Write each as country and number, such as dk:12345674."),
    ],
)
async def test_a_value_that_cannot_be_read_has_its_fault_at_the_field(
    portal: Portal, path: str, since: str | None, has: str
) -> None:
    portal.api.give("/api/events", an_invalid("companies", "must be a list"), 400)

    sent = portal.get(path) if since is None else portal.post(path, {"since": since})
    response = await sent

    text = await response.text()
    assert response.status == 400
    assert has in text
    assert re.search(r'<input id="\w+"[^>]* aria-invalid="true" autofocus', text)
    assert 'id="until-fault"' not in text
    assert "events.js" not in text
    assert not portal.api.bodies


# Secrets and deliveries


async def test_a_rotation_asks_first_and_says_when_the_next_is_possible(portal: Portal) -> None:
    portal.api.give(f"{HOOK}/rotate-secret", WEBHOOK)

    asked = await portal.shown("/webhooks/wh_1/rotate")
    requests = [path for _, path, _ in portal.api.requests]
    done = await (await portal.post("/webhooks/wh_1/rotate")).text()
    pending = a_problem("rotation_pending", 409, possible_from=AT)
    portal.api.give(f"{HOOK}/rotate-secret", pending, 409)
    await portal.post("/webhooks/wh_1/rotate")

    assert "For 24 hours" in asked
    assert f"{HOOK}/rotate-secret" not in requests
    assert "whsec_1" in done
    assert "again from 2 Mar 2026, 12:00:00 UTC" in await portal.shown("/webhooks/wh_1")


async def test_a_test_leads_to_its_delivery_which_is_awaited(portal: Portal) -> None:
    portal.api.give(f"{HOOK}/test", {"delivery_id": "d1"}, 202)
    portal.api.fail(OF_DELIVERY, 404, "delivery_not_found")

    response = await portal.post("/webhooks/wh_1/test")
    path = response.headers["Location"]
    coming = await portal.shown(path)
    too_late = await portal.get("/webhooks/wh_1/deliveries/d1?seen=0&tries=60")
    portal.api.give(OF_DELIVERY, DELIVERY)
    waiting = await portal.shown(path)
    without = await portal.shown("/webhooks/wh_1/deliveries/d1?seen=0&tries=60")
    portal.api.give(OF_DELIVERY, {**DELIVERY, "attempts": [ATTEMPT]})
    arrived = await portal.shown(path)

    assert path == "/webhooks/wh_1/deliveries/d1?seen=0&tries=0"
    for text in (coming, waiting):
        assert 'data-refresh="/webhooks/wh_1/deliveries/d1?seen=0&amp;tries=1"' in text
        assert 'http-equiv="refresh"' in text
    assert too_late.status == 404
    assert "no result yet" in without
    assert "data-refresh" not in without + arrived
    assert "The attempt failed. The connection was refused." in arrived


@pytest.mark.parametrize(
    "refused, query, said",
    [
        (None, "?seen=1&tries=0", "Waiting for the result"),
        ("delivery_pending", "?seen=1&tries=0", "Waiting for the result"),
        ("webhook_disabled", "", "The webhook is disabled. Enable it first."),
    ],
)
async def test_a_retry_awaits_the_next_attempt_or_says_why_there_is_none(
    portal: Portal, refused: str | None, query: str, said: str
) -> None:
    portal.api.give(OF_DELIVERY, {**DELIVERY, "attempts": [ATTEMPT]})
    portal.api.give(f"{OF_DELIVERY}/retry", {"delivery_id": "d1"}, 202)
    if refused is not None:
        portal.api.fail(f"{OF_DELIVERY}/retry", 409, refused)

    response = await portal.post("/webhooks/wh_1/deliveries/d1/retry")

    assert response.headers["Location"] == f"/webhooks/wh_1/deliveries/d1{query}"
    assert said in await portal.shown(response.headers["Location"])


# Watchlists


async def test_a_webhook_has_one_status_everywhere_and_says_what_follows(portal: Portal) -> None:
    health = {
        "failing_since": AT,
        "consecutive_failures": 3,
        "next_attempt_at": "2026-03-02T12:37:00Z",
        "disables_at": "2026-03-02T14:37:00Z",
        "last_24h": {"succeeded": 0, "failed": 3},
    }
    failing = a_webhook(health=health, filter={"watchlists": ["wl_1"]})
    portal.api.give(HOOK, failing)
    portal.api.give("/api/webhooks", {"webhooks": [failing]})

    for path in ("/webhooks", "/webhooks/wh_1", "/", ALERTS):
        text = await portal.shown(path)
        assert ('<span class="state state-bad">Failing</span>' in text, path) == (True, path)
        assert "Enabled</span>" not in text
        if path != ALERTS:
            assert 'Next attempt <time datetime="2026-03-02T12:37:00Z">' in text
            assert 'disabled <time datetime="2026-03-02T14:37:00Z">' in text
    assert "3 attempts in a row have failed." in await portal.shown("/webhooks/wh_1")


async def test_a_watchlist_has_its_companies_changes_and_webhooks(portal: Portal) -> None:
    listed = await portal.shown("/watchlists")
    text = await portal.shown("/watchlists/wl_1?numbers=all&after=dk:1")
    events = await portal.shown("/events?watchlist=wl_1")
    portal.api.give("/api/batch", {"results": [FAULT, FAULT]})
    late = await portal.shown("/watchlists/wl_1?numbers=all")

    assert "2 companies" in listed
    for part in (
        "Prøve ApS</a>",
        'NO 1 <span class="hint">Its register has had the company removed',
        'href="/watchlists/wl_1?numbers=all&amp;after=no%3A1#companies"',
    ):
        assert part in text
    assert "CRM" in await portal.shown(ALERTS)
    changes = await portal.shown("/watchlists/wl_1?tab=changes")
    assert '<span class="old">Old ApS</span>' in changes
    assert "/companies/no/1" not in text
    assert "Other" not in text
    assert "/events/live?watchlist=wl_1&amp;after=c1" in events
    assert {"watchlist=wl_1", "after=dk:1"} <= set(portal.api.queries)
    # A company that cannot be looked up now is not called removed.
    assert "no:1</a>" in late
    assert "had the company removed" not in late


async def test_without_their_scopes_companies_have_no_names_and_changes_are_not_read(
    portal: Portal,
) -> None:
    portal.api.give("/api/me", {**ME, "scopes": ["webhooks"]})
    portal.api.give("/api/webhooks", {"webhooks": []})
    await portal.sign_in()

    text = await portal.shown("/watchlists/wl_1")

    assert "dk:12345674</a>" in text
    assert "Latest changes" not in text
    assert "No webhook follows this list." in await portal.shown(ALERTS)


async def test_a_watchlist_is_created_changed_and_deleted(portal: Portal) -> None:
    portal.api.give("/api/watchlists", LIST, 201)
    change = {"added": 1, "present": 0, "removed": 1, "size": 2, "unknown": ["no:999999999"]}

    created = await portal.post("/watchlists", {"name": " Kunder ", "description": ""})
    await portal.post("/watchlists/wl_1", {"name": "Nye", "description": "Alle"})
    portal.api.give(COMPANIES, change)
    changed = await portal.post(
        "/watchlists/wl_1/companies",
        {"add": "DK 12345682, no:999999999", "remove": "dk:12345674"},
    )
    said = await portal.shown("/key")
    asked = await portal.shown("/watchlists/wl_1/delete")
    deleted = await portal.post("/watchlists/wl_1/delete")

    assert portal.api.bodies == [
        {"name": "Kunder", "description": None},
        {"name": "Nye", "description": "Alle"},
        {"add": ["DK 12345682", "no:999999999"], "remove": ["dk:12345674"], "skip_invalid": True},
    ]
    assert created.headers["Location"] == changed.headers["Location"] == "/watchlists/wl_1"
    assert "1 added, 1 removed. In no register, and not added: no:999999999." in said
    assert "Delete this watchlist?" in asked
    assert deleted.headers["Location"] == "/watchlists"
    used = a_problem("watchlist_in_use", 409, "wh_1 use this watchlist in their filter")
    portal.api.give(LISTED, used, 409)
    kept = await portal.post("/watchlists/wl_1/delete")
    assert kept.headers["Location"] == f"{ALERTS}#subscribed"
    assert "Not deleted. Wh_1 use this watchlist" in await portal.shown("/key")


async def test_the_address_of_a_feed_is_shown_once(portal: Portal) -> None:
    portal.api.give(f"{LISTED}/feed", {"url": "https://api.example.com/feed.atom?token=t1"})

    portal.api.give(LISTED, {**LIST, "has_feed": False})
    without = await portal.shown(ALERTS)
    answer = await portal.post("/watchlists/wl_1/feed")
    portal.api.give(LISTED, {**LIST, "has_feed": True})
    asked = await portal.shown("/watchlists/wl_1/feed")
    shown, later = await answer.text(), await portal.shown(ALERTS)
    ended = await portal.post("/watchlists/wl_1/feed/end")

    assert '<code id="address">https://api.example.com/feed.atom?token=t1</code>' in shown
    assert "token=t1" not in later
    assert "Get an address" in without
    assert "End the feed" not in without
    assert "Give the feed a new address?" in asked
    assert 'href="/watchlists/wl_1/feed">New address …</a>' in later
    assert "Get an address" not in later
    assert ended.headers["Location"] == ALERTS
    assert "The feed is ended" in await portal.shown(ALERTS)


async def test_a_watchlist_is_sent_to_addresses(portal: Portal) -> None:
    shown = await portal.shown(ALERTS)
    added = {**DIGEST, "state": "unconfirmed", "address": "new@example.com"}
    portal.api.give(f"{LISTED}/digests", added, 201)
    portal.api.give(f"{LISTED}/digests/dg_1", {})
    done = await portal.post(
        "/watchlists/wl_1/digests", {"mail": " new@example.com ", "period": "immediate"}
    )
    said = await portal.shown("/key")
    removed = await portal.post("/watchlists/wl_1/digests/remove", {"digest": "dg_1"})

    assert "officer@example.com" in shown
    assert "refused: 550 &lt;no&gt; such mailbox" in shown
    assert portal.api.bodies == [{"address": "new@example.com", "period": "immediate"}]
    assert done.headers["Location"] == removed.headers["Location"] == f"{ALERTS}#email"
    assert "new@example.com is asked to confirm." in said
    assert "The address is removed." in await portal.shown("/key")


@pytest.mark.parametrize("chosen, created", [("", True), ("wl_1", False)], ids=["new", "existing"])
async def test_matched_customers_are_saved_as_a_watchlist(
    portal: Portal, chosen: str, *, created: bool
) -> None:
    portal.api.give("/api/match", {"results": RESULTS})
    await upload(portal)
    await matched(portal)
    text = await portal.shown("/customers?pile=matched")
    portal.api.fail("/api/watchlists", 409, "watchlist_limit_reached")
    refused = await portal.post("/customers/watchlist", {"name": "Mine"})
    said = await portal.shown("/key")
    portal.api.give("/api/watchlists", LIST, 201)
    portal.api.give(COMPANIES, {"added": 1, "present": 0, "removed": 0, "size": 1})
    portal.api.bodies.clear()

    response = await portal.post("/customers/watchlist", {"watchlist": chosen, "name": "Mine"})

    assert '<option value="wl_1">Kunder</option>' in text
    assert refused.headers["Location"] == "/customers?pile=matched"
    assert "Not saved." in said
    assert response.headers["Location"] == "/watchlists/wl_1"
    assert portal.api.bodies == [
        *([{"name": "Mine", "description": None}] if created else []),
        {"add": ["dk:12345674"], "remove": []},
    ]


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"state": "unconfirmed"}, "the request to confirm waits"),
        ({"state": "unconfirmed", "asked_at": AT}, "asked to confirm <time"),
        ({"state": "confirmed", "asked_at": AT}, "nothing sent yet"),
        ({"state": "confirmed", "asked_at": AT, "sent_at": AT}, "last sent <time"),
    ],
)
async def test_a_digest_is_sent_once_it_has_changes_and_not_with_the_request_to_confirm(
    portal: Portal, fields: dict[str, str], said: str
) -> None:
    digest = {**DIGEST, "ended_reason": None, "last_error": None, **fields}
    portal.api.give(f"{LISTED}/digests", {"digests": [digest], "enabled": True})

    text = await portal.shown(ALERTS)

    assert said in text
    assert ("last sent" in text) is ("sent_at" in fields)


async def test_the_list_says_what_each_webhook_receives(portal: Portal) -> None:
    text = await portal.shown("/webhooks")

    assert "This webhook receives every event about any company of a watchlist." in text
    assert 'href="/webhooks/event-types"' in text


async def test_types_of_events_are_shown_with_an_example(portal: Portal) -> None:
    listed = {
        **TYPES,
        "event_types": [
            {**each, "example": {"type": each["name"]}}
            for each in TYPES["event_types"]  # type: ignore[attr-defined]
        ],
    }
    portal.api.give("/api/event-types", listed)

    text = await portal.shown("/webhooks/event-types")

    assert "Text of owners.changed." in text
    assert "&#34;type&#34;: &#34;owners.changed&#34;" in text


@pytest.mark.parametrize("period", ["day", "week", "month", "other"])
async def test_the_plot_has_a_period_and_its_bars_lead_to_their_attempts(
    portal: Portal, period: str
) -> None:
    now = datetime.now(UTC).isoformat()
    portal.api.give(f"{HOOK}/deliveries", {"deliveries": [an_attempt(attempted_at=now)]})

    text = await portal.shown(f"/webhooks/wh_1/deliveries?period={period}")

    shown = "day" if period == "other" else period
    assert f'?period={shown}" aria-current="true"' in text
    bars = re.findall(
        r'href="([^"]*since=[^"]*)#list" aria-label="[^"]*[ :]1 (?:succeeded|failed)', text
    )
    assert len(bars) == 1
    assert f"period={shown}&amp;since=" in bars[0]
