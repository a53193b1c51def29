"""Contents of the portal's pages: menus, times, searches, companies, webhooks, hostile texts."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from portal.adapters.http.context import Links
from tests.builders.answers import (
    a_page,
    a_problem,
    a_summary,
    a_webhook,
    an_attempt,
    an_event,
    an_invalid,
)
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

AT = "2026-07-02T22:30:00Z"
COMPANY: dict[str, Any] = {
    "country": "dk",
    "vat": "12345674",
    "name": "Prøve ApS",
    "status": "bankrupt",
    "status_text": "UNDER KONKURS",
    "form": {"code": "80", "description": "Anpartsselskab"},
    "phone": "12345678",
    "email": "post@example.com",
    "website": "www.example.com",
    "advertising_protected": True,
    "revision": 2,
    "match": {"type": "vat", "score": 100},
    "source": {"register": "cvr", "updated_at": AT},
    "owners": [
        {"name": "Ejer ApS", "type": "company", "vat": "12345682", "role": "owner"},
        {"name": "Carla Prøve", "type": "person", "role": "general_partner"},
    ],
    "roles": [{"role": "board_chair", "role_text": "FORMAND", "name": "A", "type": "person"}],
    "einvoicing": [],
}
WEBHOOK = a_webhook(secret="whsec_1", created_at=AT, updated_at=AT)
ATTEMPT = an_attempt(attempted_at=AT)
DELIVERY: dict[str, Any] = {
    "delivery_id": "d1",
    "event_id": "e1",
    "event_type": "webhook.test",
    "status": "pending",
    "body": "{}",
}
UNITS = "/api/companies/dk/12345674/production_units"
NO_UNITS: dict[str, Any] = {"production_units": [], "total": 0, "cursor": None}
HOOK, OF_DELIVERY = "/api/webhooks/wh_1", "/api/webhooks/wh_1/deliveries/d1"


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    """A signed-in browser, of a key with every scope."""
    async with a_portal() as portal:
        portal.api.give(HOOK, WEBHOOK)
        portal.api.give(UNITS, NO_UNITS)
        portal.api.give(f"{HOOK}/deliveries", {"deliveries": [ATTEMPT]})
        await portal.sign_in()
        yield portal


# Menus


@pytest.mark.parametrize(
    "scopes, names, home",
    [
        (["lookup"], ["Search", "Companies", "Customers", "Key"], "/"),
        (["webhooks", "events"], ["Webhooks", "Watchlists", "Events", "Key"], "/webhooks"),
        ([], ["Key"], "/key"),
    ],
)
async def test_a_menu_has_only_what_the_key_may_use(
    scopes: list[str], names: list[str], home: str
) -> None:
    async with a_portal() as portal:
        portal.api.give("/api/me", {**ME, "scopes": scopes})

        signed_in = await portal.sign_in()
        text = await portal.shown("/key")

    assert signed_in.headers["Location"] == home
    [menu] = re.findall(r"<nav aria-label=\"Main\">.*?</nav>", text, re.DOTALL)
    assert re.findall(r">([A-Z]\w+)</a>", menu) == names


async def test_a_company_offers_no_webhook_and_reads_no_events_without_their_scopes() -> None:
    async with a_portal() as portal:
        portal.api.give("/api/me", {**ME, "scopes": ["lookup"]})
        portal.api.give("/api/vat", {**COMPANY, "owners": []})
        portal.api.give(UNITS, NO_UNITS)
        await portal.sign_in()

        text = await portal.shown("/companies/dk/12345674")

    assert "Subscribe to changes" not in text
    assert "History" not in text
    assert "/api/events" not in [path for _, path, _ in portal.api.requests]


async def test_pages_link_to_the_reference_and_to_where_a_key_comes_from() -> None:
    links = Links("https://api.example.com/docs", "mailto:keys@example.com")

    async with a_portal(links=links) as portal:
        text = await portal.shown("/sign-in")

    assert 'href="https://api.example.com/docs"' in text
    assert 'href="mailto:keys@example.com"' in text


# Times


@pytest.mark.parametrize(
    "cookie, time",
    [
        ("Europe%2FCopenhagen", "3 Jul 2026, 00:30:00 CEST"),
        ("America/New_York", "2 Jul 2026, 18:30:00 EDT"),
        ("", "2 Jul 2026, 22:30:00 UTC"),
        ("../../etc/passwd", "2 Jul 2026, 22:30:00 UTC"),
        ("Europe/Nowhere", "2 Jul 2026, 22:30:00 UTC"),
    ],
)
async def test_all_times_are_in_one_zone_which_the_page_names(
    portal: Portal, cookie: str, time: str
) -> None:
    portal.client.session.cookie_jar.update_cookies({"zone": cookie}, portal.client.make_url("/"))

    text = await portal.shown("/webhooks/wh_1")

    assert f'<time datetime="{AT}">{time}</time>' in text
    assert re.search(r"All times are in \w+", text)


async def test_typed_times_are_of_the_zone(portal: Portal) -> None:
    portal.client.session.cookie_jar.update_cookies(
        {"zone": "Europe/Copenhagen"}, portal.client.make_url("/")
    )
    portal.api.give(f"{HOOK}/recover", {"count": 1}, 202)

    await portal.post("/webhooks/wh_1/recover", {"since": "2026-07-02T12:00"})

    assert portal.api.bodies[-1] == {"since": "2026-07-02T10:00:00Z"}
    assert "1 delivery is sent again." in await portal.shown("/webhooks/wh_1")


# Searches


async def test_a_word_that_many_names_share_leads_to_a_list(portal: Portal) -> None:
    listed = [
        a_summary(name="Prøve Holding ApS"),
        a_summary(name="Ny ApS", matched_name="Gammel Holding ApS"),
    ]
    portal.api.fail("/api", 404, "company_not_found")
    portal.api.give("/api/suggest", {"suggestions": listed, "cursor": "c2"})

    text = await portal.shown("/?q=holding&country=dk")
    following = await portal.shown("/?q=holding&country=dk&after=c2")

    assert "No company matches" not in text
    assert "Searched as a name." in text
    assert "Prøve Holding ApS" in text
    assert "as “Gammel Holding ApS”" in text
    assert "/?q=holding&amp;country=dk&amp;after=c2" in text
    assert "First page" in following
    assert "after=c2" in portal.api.queries


async def test_a_page_that_was_never_given_is_refused(portal: Portal) -> None:
    portal.api.give(
        "/api/suggest", an_invalid("after", "must be the cursor of an earlier answer"), 400
    )

    assert (await portal.get("/?q=holding&country=no&after=zzz")).status == 400


async def test_a_text_without_any_company_says_how_it_was_understood(portal: Portal) -> None:
    portal.api.fail("/api", 404, "company_not_found")
    portal.api.give("/api/suggest", {"suggestions": [], "cursor": None})

    text = await portal.shown("/?q=Torggate+16")

    assert "No company matches" in text
    assert "Searched as a name and as an address." in text


@pytest.mark.parametrize(
    "type_, understood", [("address", "an address"), ("name", "a name")], ids=str
)
async def test_a_result_says_how_the_text_was_understood(
    portal: Portal, type_: str, understood: str
) -> None:
    other = a_summary(name="Anden ApS")
    match = {"match": {"type": type_, "score": 100}, "alternatives": [other]}
    portal.api.give("/api", {**COMPANY, **match})
    portal.api.give("/api/suggest", {"suggestions": [a_summary(vat="12345674", name="Prøve ApS")]})

    text = await portal.shown("/?q=Torggate+16&country=dk")

    assert f"Searched as {understood}." in text
    assert "Anden ApS" in text
    assert text.count("Prøve ApS</a>") == 1


@pytest.mark.parametrize(
    "match, said",
    [
        ({"type": "name", "score": 100, "others": 10}, "11 companies have this name"),
        ({"type": "name", "score": 91, "others": 1}, "2 companies match this name equally well"),
        ({"type": "phone", "score": 100, "others": 1}, "2 companies have this phone number"),
        ({"type": "address", "score": 100, "others": 1200}, "1,201 companies are at this address"),
    ],
    ids=str,
)
async def test_a_result_that_is_one_of_several_says_so(
    portal: Portal, match: dict[str, object], said: str
) -> None:
    other = a_summary(name="Anden ApS")
    portal.api.give("/api", {**COMPANY, "match": match, "alternatives": [other]})
    portal.api.give("/api/suggest", {"suggestions": []})

    text = await portal.shown("/?q=Torggate+16&country=dk")

    assert f"<strong>{said}</strong>; this is one of them." in text
    assert "Anden ApS" in text


async def test_an_identifier_leads_to_its_company(portal: Portal) -> None:
    portal.api.give("/api", COMPANY)

    response = await portal.get("/?q=DK12345674")

    assert response.headers["Location"] == "/companies/dk/12345674"
    assert "Searched as a registration number." in await portal.shown("/key")


async def test_an_invalid_text_has_its_fault_at_the_field(portal: Portal) -> None:
    portal.api.give("/api", an_invalid("search", "give at least `two` letters"), 400)

    text = await portal.shown("/?q=x")

    assert '<p class="fault" id="q-fault" role="alert">Give at least two letters.</p>' in text
    assert 'aria-describedby="q-fault"' in text


# Companies


async def test_a_company_is_in_words_with_links(portal: Portal) -> None:
    portal.api.give("/api/vat", COMPANY)
    unknown = {"status": 404, "code": "company_not_found"}
    portal.api.give("/api/batch", {"results": [{"problem": unknown}]})

    text = await portal.shown("/companies/dk/12345674")

    assert 'href="tel:+4512345678"' in text
    assert 'href="mailto:post@example.com"' in text
    assert 'href="https://www.example.com" rel="noopener noreferrer nofollow"' in text
    assert "Private limited company" in text
    assert "Chair of the board" in text
    assert "is fully liable for a limited partnership" in text
    assert '<span class="state state-bad">Bankrupt</span>' in text
    assert "an administrator has taken over" in text
    [drawing] = re.findall(r"<svg class=\"chain\".*?</svg>", text, re.DOTALL)
    assert re.findall(r'href="([^"]+)"', drawing) == ["/companies/dk/12345682"]


async def test_a_removed_company_is_a_page_with_its_day_alone(portal: Portal) -> None:
    portal.api.fail("/api/vat", 410, "company_removed", removed_on="2026-03-02")
    portal.api.fail("/api", 410, "company_removed", removed_on="2026-03-02")

    answer = await portal.get("/companies/dk/12345674")
    searched = await portal.shown("/?q=12345674&country=dk")

    text = await answer.text()
    assert answer.status == 410
    assert "<h1>Removed</h1>" in text
    for page in (text, searched):
        assert "Its register had this company removed on 2026-03-02." in page


async def test_a_number_that_no_company_can_have_is_said_to_be_none(portal: Portal) -> None:
    portal.api.fail("/api", 404, "company_not_found")
    mistyped = await portal.shown("/?q=DK99999999")
    message = "a Danish registration number is 8 digits; this is a Norwegian one: give country=no"
    portal.api.give("/api", an_invalid("search", message), 400)
    elsewhere = await portal.shown("/?q=NO+310+345+679+MVA&country=dk")

    assert "DK99999999 is no valid registration number: its check digit is wrong." in mistyped
    assert "No company matches" not in mistyped
    assert "this is a Norwegian one: choose Norway" in elsewhere


async def test_a_long_list_says_how_many_entries_it_has(portal: Portal) -> None:
    entry = {"identifier": "0088:5790000000005", "scheme": "0088"}
    company = {**COMPANY, "owners": [], "einvoicing": [entry], "einvoicing_total": 6500}
    portal.api.give("/api/vat", company)
    portal.api.give(UNITS, NO_UNITS)
    change = {"field": "einvoicing", "old": [], "new": [entry], "partial": True}
    portal.api.give("/api/events", a_page(an_event("e1", data={"changes": [change]})))

    text = await portal.shown("/companies/dk/12345674")
    events = await portal.shown("/events")

    assert text.count("The first 1 of ") == 1
    assert "of 6,500; the API" in text
    assert "only what differs" in events


async def test_production_units_are_pages_with_their_total(portal: Portal) -> None:
    unit = {"number": "1012345670", "name": "Prøve Aarhus", "status": "active"}
    page = {"production_units": [unit], "total": 8000, "cursor": "u2"}
    portal.api.give("/api/vat", {**COMPANY, "owners": []})
    portal.api.give(UNITS, page)

    text = await portal.shown("/companies/dk/12345674")
    following = await portal.shown("/companies/dk/12345674?units=u2")

    assert "Prøve Aarhus" in text
    assert "1 of 8,000" in text
    assert 'href="/companies/dk/12345674?units=u2#units"' in text
    assert "after=u2" in portal.api.queries
    assert "First page" in following


# Webhooks and deliveries


async def test_a_rotation_asks_first(portal: Portal) -> None:
    portal.api.give(f"{HOOK}/rotate-secret", WEBHOOK)

    asked = await portal.shown("/webhooks/wh_1/rotate")
    requests = [path for method, path, _ in portal.api.requests if method == "POST"]
    done = await (await portal.post("/webhooks/wh_1/rotate")).text()

    assert "For 24 hours" in asked
    assert requests == []
    assert "whsec_1" in done


async def test_a_rotation_within_the_overlap_says_when_it_is_possible(portal: Portal) -> None:
    pending = a_problem("rotation_pending", 409, possible_from=AT)
    portal.api.give(f"{HOOK}/rotate-secret", pending, 409)

    await portal.post("/webhooks/wh_1/rotate")

    assert "again from 2 Jul 2026, 22:30:00 UTC" in await portal.shown("/webhooks/wh_1")


async def test_a_filter_of_attempts_has_its_fault_at_the_field(portal: Portal) -> None:
    response = await portal.get("/webhooks/wh_1/deliveries?since=soon&until=2026-07-02T12:00")

    text = await response.text()
    assert response.status == 400
    assert '<p class="fault" id="since-fault">Enter a date and a time.</p>' in text
    assert 'id="until-fault"' not in text


async def test_a_filter_of_events_has_its_fault_at_the_field(portal: Portal) -> None:
    portal.api.give("/api/events", an_invalid("companies", "must be a list"), 400)

    response = await portal.get("/events?companies=se:1")

    text = await response.text()
    assert response.status == 400
    assert "Write each as country and number, such as dk:12345674." in text
    assert re.search(r'<input id="companies"[^>]* aria-invalid="true"[^>]* autofocus', text)
    assert "events.js" not in text


@pytest.mark.parametrize("given", ["", "soon"])
async def test_a_recovery_without_a_time_has_its_fault_at_the_field(
    portal: Portal, given: str
) -> None:
    response = await portal.post("/webhooks/wh_1/recover", {"since": given})

    text = await response.text()
    assert response.status == 400
    assert '<p class="fault" id="since-fault">Enter a date and a time.</p>' in text
    assert not portal.api.bodies


async def test_a_recovery_that_the_api_refuses_has_its_fault_at_the_field(portal: Portal) -> None:
    refused = an_invalid("since", "give a time before until and now", code="invalid_body")
    portal.api.give(f"{HOOK}/recover", refused, 400)

    text = await (await portal.post("/webhooks/wh_1/recover", {"since": "2026-07-02T12:00"})).text()

    assert "Give a time before until and now." in text
    assert 'value="2026-07-02T12:00"' in text


async def test_a_test_leads_to_its_delivery_which_is_awaited(portal: Portal) -> None:
    portal.api.give(f"{HOOK}/test", {"delivery_id": "d1"}, 202)
    portal.api.fail(OF_DELIVERY, 404, "delivery_not_found")

    response = await portal.post("/webhooks/wh_1/test")
    path = response.headers["Location"]
    coming = await portal.shown(path)
    portal.api.give(OF_DELIVERY, DELIVERY)
    waiting = await portal.shown(path)
    portal.api.give(OF_DELIVERY, {**DELIVERY, "attempts": [ATTEMPT]})
    arrived = await portal.shown(path)

    assert path == "/webhooks/wh_1/deliveries/d1?seen=0&tries=0"
    for text in (coming, waiting):
        assert 'data-refresh="/webhooks/wh_1/deliveries/d1?seen=0&amp;tries=1"' in text
        assert 'http-equiv="refresh"' in text
    assert "data-refresh" not in arrived
    assert "The attempt failed. The connection was refused." in arrived


async def test_a_result_that_does_not_come_is_awaited_for_a_while(portal: Portal) -> None:
    portal.api.give(OF_DELIVERY, DELIVERY)

    text = await portal.shown("/webhooks/wh_1/deliveries/d1?seen=0&tries=60")
    portal.api.fail(OF_DELIVERY, 404, "delivery_not_found")
    missing = await portal.get("/webhooks/wh_1/deliveries/d1?seen=0&tries=60")

    assert "data-refresh" not in text
    assert "no result yet" in text
    assert missing.status == 404


@pytest.mark.parametrize("pending", [False, True])
async def test_a_retry_awaits_the_next_attempt(portal: Portal, *, pending: bool) -> None:
    portal.api.give(OF_DELIVERY, {**DELIVERY, "attempts": [ATTEMPT]})
    portal.api.give(f"{OF_DELIVERY}/retry", {"delivery_id": "d1"}, 202)
    if pending:
        portal.api.fail(f"{OF_DELIVERY}/retry", 409, "delivery_pending")

    response = await portal.post("/webhooks/wh_1/deliveries/d1/retry")

    assert response.headers["Location"].endswith("?seen=1&tries=0")
    assert "Waiting for the result" in await portal.shown(response.headers["Location"])


async def test_a_retry_of_a_disabled_webhook_says_what_to_do(portal: Portal) -> None:
    portal.api.give(OF_DELIVERY, DELIVERY)
    portal.api.fail(f"{OF_DELIVERY}/retry", 409, "webhook_disabled")

    response = await portal.post("/webhooks/wh_1/deliveries/d1/retry")

    text = await portal.shown(response.headers["Location"])
    assert "The webhook is disabled. Enable it first." in text


# Texts of registers and of other users that would be markup, or a link that runs a script


HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
SCRIPT = "javascript:alert(1)//www.example.com"
ADDRESS = dict.fromkeys(("text", "street", "postal_code", "city", "municipality"), HOSTILE)
UNIT = {"number": HOSTILE, "name": HOSTILE, "status": "active", "address": ADDRESS}
COMPANY_OF_OTHERS: dict[str, Any] = {
    **COMPANY,
    "name": HOSTILE,
    "trade_names": [HOSTILE],
    "former_names": [HOSTILE],
    "status_text": HOSTILE,
    "form": {"code": HOSTILE, "description": HOSTILE},
    "address": ADDRESS,
    "phone": f"tel:{HOSTILE}",
    "email": f"x@example.com?subject={HOSTILE}",
    "website": SCRIPT,
    "match": {"type": "name", "score": 90, "matched_name": HOSTILE},
    "owners": [{"name": HOSTILE, "type": "person", "role": "owner", "role_text": HOSTILE}],
    "roles": [{"role": "board_chair", "role_text": HOSTILE, "name": HOSTILE, "type": "person"}],
    "einvoicing": [{"identifier": HOSTILE, "scheme": HOSTILE, "document_types": [HOSTILE]}],
}
HOOK_OF_OTHERS = {
    **WEBHOOK,
    "url": f"https://example.com/{HOSTILE}",
    "description": HOSTILE,
    "headers": ["X-Mark", HOSTILE],
    "filter": {"companies": [], "municipalities": [HOSTILE], "forms": [HOSTILE]},
}
CHANGED = {"company": None, "changes": [{"field": HOSTILE, "old": HOSTILE, "new": HOSTILE}]}
EVENT = an_event(HOSTILE, type="company.updated", country="dk", vat="12345674", data=CHANGED)
ANSWERS: dict[str, Any] = {
    "/api/me": {**ME, "name": HOSTILE, "owner": HOSTILE},
    "/api": COMPANY_OF_OTHERS,
    "/api/vat": COMPANY_OF_OTHERS,
    "/api/suggest": {"suggestions": [a_summary(name=HOSTILE, city=HOSTILE)], "cursor": HOSTILE},
    "/api/companies": {
        "companies": [COMPANY_OF_OTHERS],
        "total": 1,
        "cursor": HOSTILE,
        "facets": {"municipality": [{"value": value, "count": 1} for value in (HOSTILE, "b")]},
    },
    UNITS: {"production_units": [UNIT], "total": 2, "cursor": HOSTILE},
    "/api/webhooks": {"webhooks": [HOOK_OF_OTHERS]},
    HOOK: HOOK_OF_OTHERS,
    f"{HOOK}/deliveries": {
        "deliveries": [{**ATTEMPT, "error": HOSTILE, "event_type": HOSTILE}],
        "cursor": HOSTILE,
    },
    f"{HOOK}/deliveries/d1": {**DELIVERY, "body": f'{{"a": "{SCRIPT}{HOSTILE}"', "attempts": []},
    "/api/events": a_page(EVENT, cursor=HOSTILE, has_more=True),
    "/api/event-types": {
        "event_types": [{"name": "company.updated", "description": HOSTILE, "schema": {}}]
    },
}
PAGES = [
    "/companies/dk/12345674",
    f"/companies?city={HOSTILE}",
    f"/?country=dk&q={HOSTILE}",
    "/webhooks",
    "/webhooks/new",
    "/webhooks/wh_1",
    "/webhooks/wh_1/edit",
    "/webhooks/wh_1/deliveries",
    "/webhooks/wh_1/deliveries/d1",
    "/events",
    "/key",
]


@pytest.mark.parametrize("path", PAGES)
async def test_no_text_becomes_markup_or_a_link_that_runs_a_script(
    portal: Portal, path: str
) -> None:
    for of_api, body in ANSWERS.items():
        portal.api.give(of_api, body)
    await portal.sign_in()  # the session keeps the owner's name

    response = await portal.get(path)
    text = await response.text()

    assert response.status == 200, text
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "<img" not in text
    links = re.findall(r"(?:href|src|action)=\"([^\"]*)\"", text)
    assert links
    assert not [
        each for each in links if each.lower().lstrip().startswith(("javascript:", "data:"))
    ]
