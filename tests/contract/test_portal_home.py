"""The portal's home page: each part as the key allows it, and what it says where a part fails."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, Final

import pytest

from company_registry import RegisterSource
from ingest.registers.table import sources
from portal.domain.home import freshness
from tests.builders.answers import AT, a_found_company, a_page, a_webhook, an_event
from tests.delivery.waiting import eventually
from tests.fakes.portal import ME, NOW, OTHER_KEY, Portal
from tests.fakes.portal import portal as a_portal

COMPANY: Final = a_found_company(name="Prøve ApS")
RENAMED: Final = [{"field": "name", "old": "Gammel ApS", "new": "<b>Ny</b> ApS"}]
HEALTH: Final[dict[str, Any]] = {"last_24h": {"succeeded": 40, "failed": 0}}

CHANGES, REGISTERS = "Latest changes in your watchlists", "Registers"
#: The heading where there are webhooks, or nothing is known of them, and where there are none.
TROUBLED, WEBHOOKS = "Webhooks that need attention", "Webhooks"


def a_watchlist(number: int = 1, **fields: Any) -> dict[str, Any]:
    named = {"id": f"wl_{number}", "name": f"List {number}", "size": 3}
    return {**named, "created_at": AT, "updated_at": AT, **fields}


def a_change(id_: str = "e1", **fields: Any) -> dict[str, Any]:
    data = {"company": COMPANY, "changes": RENAMED}
    subject = {"type": "company.updated", "country": "dk", "vat": "12345674", "revision": 2}
    return an_event(id_, **{**subject, "data": data, **fields})


def a_source(name: str, current_until: str | None = None, loaded_at: str | None = None) -> Any:
    return {"source": name, "current_until": current_until, "loaded_at": loaded_at}


def cards(text: str) -> dict[str, str]:
    """The text of each card, by its heading."""
    found = re.findall(r'<section class="card".*?</section>', text, re.DOTALL)
    headings = [re.search(r"<h2[^>]*>(.*?)</h2>", each) for each in found]
    return {
        heading[1]: " ".join(re.sub(r"<[^>]+>", " ", each).split())
        for heading, each in zip(headings, found, strict=True)
        if heading is not None
    }


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        await portal.sign_in()
        yield portal


# Which parts there are


@pytest.mark.parametrize(
    "scopes, parts, has_box",
    [
        (["lookup", "webhooks", "events"], {CHANGES, WEBHOOKS, REGISTERS}, True),
        (["lookup", "webhooks"], {WEBHOOKS, REGISTERS}, True),
        (["lookup", "events"], {REGISTERS}, True),
        (["webhooks", "events"], {CHANGES, WEBHOOKS, REGISTERS}, False),
        ([], {REGISTERS}, False),
    ],
    ids=["all", "no events", "no webhooks", "no lookups", "none"],
)
async def test_the_parts_are_those_of_the_scopes(
    scopes: list[str], parts: set[str], *, has_box: bool
) -> None:
    async with a_portal() as portal:
        portal.api.give("/api/me", {**ME, "scopes": scopes})
        await portal.sign_in()
        portal.api.requests.clear()

        text = await portal.shown("/")

    assert cards(text).keys() == parts
    assert ('<form class="search"' in text) is has_box
    assert ("/static/search.js" in text) is has_box
    assert text.count("<h1") == 1
    asked = {path for _, path, _ in portal.api.requests}
    assert ("/api/watchlists" in asked) is (CHANGES in parts)
    assert ("/api/webhooks" in asked) is (WEBHOOKS in parts)


async def test_a_new_key_is_told_what_to_do(portal: Portal) -> None:
    text = await portal.shown("/")

    assert re.search(r'<a class="button secondary" href="/watchlists">Create a watchlist', text)
    assert re.search(r'<a class="button secondary" href="/webhooks/new">Create a webhook', text)
    assert "No register has been loaded yet." in text
    assert 'Try <a href="/?q=' in text
    assert "/api/events" not in [path for _, path, _ in portal.api.requests]


@pytest.mark.parametrize("path", ["/?q=", "/?country=no&q=+"])
async def test_a_search_for_nothing_is_the_home_page(portal: Portal, path: str) -> None:
    text = await portal.shown(path)

    assert CHANGES in text
    assert ('<option value="no" selected>' in text) is ("no" in path)


# Failures of a part

FAILURES: Final = {
    "/api/watchlists": CHANGES,
    "/api/events": CHANGES,
    "/api/webhooks": TROUBLED,
    "/api/registers": REGISTERS,
}


async def a_full_page(portal: Portal) -> None:
    portal.api.give("/api/watchlists", {"watchlists": [a_watchlist()]})
    portal.api.give("/api/events", a_page(a_change()))
    portal.api.give("/api/registers", {"sources": [a_source("peppol", loaded_at=AT)]})


@pytest.mark.parametrize("path", FAILURES)
@pytest.mark.parametrize(
    "status, code, said",
    [
        (503, "service_unavailable", "The service cannot answer at the moment."),
        (403, "forbidden", "Your key may not do this."),
        (429, "rate_limited", "Your key has made as many requests as it may for now."),
    ],
)
async def test_a_part_that_fails_says_why_and_the_others_are_there(
    portal: Portal, path: str, status: int, code: str, said: str
) -> None:
    await a_full_page(portal)
    portal.api.fail(path, status, code)

    response = await portal.get("/")

    assert response.status == 200
    found = cards(await response.text())
    assert len(found) == 3
    assert [name for name, text in found.items() if said in text] == [FAILURES[path]]


async def test_an_answer_that_is_not_understood_is_a_part_that_fails(portal: Portal) -> None:
    await a_full_page(portal)
    portal.api.give("/api/webhooks", {"webhooks": [{"id": "wh_1"}]})

    found = cards(await portal.shown("/"))

    assert "answered in a way that this portal does not understand" in found[TROUBLED]
    assert "Prøve ApS" in found[CHANGES]


async def test_the_page_waits_no_longer_than_for_one_response() -> None:
    async with a_portal(timeout=0.3) as portal:
        # On a busy machine the other responses may be too late, too.
        await eventually(portal.sign_in, lambda response: response.status == 303)
        await a_full_page(portal)
        portal.api.held.add("/api/events")

        text = await eventually(lambda: portal.shown("/"), lambda text: "(Peppol)" in text)

    assert "The company registry does not respond." in cards(text)[CHANGES]


async def test_a_key_that_has_ended_ends_the_session(portal: Portal) -> None:
    portal.api.fail("/api/registers", 401, "unauthorized")

    response = await portal.get("/")

    assert response.headers["Location"] == "/sign-in?ended=key"
    assert (await portal.get("/webhooks")).status == 303


# The latest changes


async def test_changes_name_company_list_and_value_newest_first(portal: Portal) -> None:
    lists = [a_watchlist(1, name="<i>Kunder"), a_watchlist(2), a_watchlist(3, size=0)]
    older = a_change("e1", occurred_at="2026-03-01T11:00:00Z")
    portal.api.give("/api/watchlists", {"watchlists": lists})
    portal.api.give("/api/events", a_page(older, a_change("e2")))

    text = await portal.shown("/")

    said = cards(text)[CHANGES]
    # Each list is read by itself, and an event of both is there once.
    assert {"watchlist=wl_1", "watchlist=wl_2", "after=recent", "limit=10"} <= set(
        portal.api.queries
    )
    assert re.findall(r"5 minutes ago|1 Mar 2026", said) == ["5 minutes ago", "1 Mar 2026"]
    assert "Name: Gammel ApS → became &lt;b&gt;Ny&lt;/b&gt; ApS" in said
    assert '<a href="/companies/dk/12345674">Prøve ApS</a>' in text
    assert '<a href="/watchlists/wl_1">&lt;i&gt;Kunder</a>, <a href="/watchlists/wl_2">' in text
    assert 'href="/events?watchlist=wl_1&amp;watchlist=wl_2">All changes' in text


async def test_more_lists_than_three_are_read_at_once_and_at_most_ten(portal: Portal) -> None:
    lists = [a_watchlist(each, updated_at=f"2026-03-{each:02}T12:00:00Z") for each in range(1, 13)]
    portal.api.give("/api/watchlists", {"watchlists": lists})
    portal.api.give("/api/events", a_page(a_change()))

    said = cards(await portal.shown("/"))[CHANGES]

    [asked] = [each for each in portal.api.queries if each.startswith("watchlist=")]
    # The last changed first, in one request.
    assert asked.split("=")[1].split(",") == [f"wl_{each}" for each in range(12, 2, -1)]
    assert "Of the 10 lists that were changed last, of 12." in said
    assert "Prøve ApS" in said


@pytest.mark.parametrize(
    "event, said, unsaid",
    [
        ({"type": "company.removed", "data": {"company": None}}, "DK 12345674", "/companies/dk"),
        ({"type": "company.status_changed",
          "data": {"company": COMPANY,
                   "changes": [{"field": "status", "old": "active", "new": "bankrupt"},
                               {"field": "status_text", "old": None, "new": "Konkurs"}]}},
         "Status: Active → became Bankrupt", "Konkurs"),
        ({"type": "owners.changed",
          "data": {"company": COMPANY,
                   "changes": [{"field": "owners", "old": None, "new": [{"name": "Ole"}]}]}},
         "Owner: Ole", "{"),
        ({"data": {"company": COMPANY,
                   "changes": [*RENAMED, {"field": "shares", "old": 1, "new": 2}]}},
         "Number of shares: 1 → became 2", "None"),
        ({"type": "production_unit.ended",
          "data": {"company": COMPANY,
                   "production_unit": {"number": "1012345678", "name": "Lager"}}},
         "Production unit ended (Lager)", "1012345678"),
        ({"type": "one.of.a.later.release"}, "One of a later release", "None"),
    ],
    ids=["removed", "status", "owners", "several", "unit", "unknown"],
)  # fmt: skip
async def test_a_change_is_said_in_a_line(
    portal: Portal, event: dict[str, Any], said: str, unsaid: str
) -> None:
    portal.api.give("/api/watchlists", {"watchlists": [a_watchlist()]})
    portal.api.give("/api/events", a_page(a_change(**event)))

    text = await portal.shown("/")

    assert said in cards(text)[CHANGES]
    assert unsaid not in text


async def test_lists_without_companies_or_changes_say_so(portal: Portal) -> None:
    portal.api.give("/api/watchlists", {"watchlists": [a_watchlist(size=0)]})
    portal.api.give("/api/events", a_page())

    empty = await portal.shown("/")
    portal.api.give("/api/watchlists", {"watchlists": [a_watchlist()]})
    quiet = await portal.shown("/")

    assert '<a class="button secondary" href="/watchlists/wl_1">Add companies to List 1' in empty
    assert "No company in them has changed recently." in quiet


# Webhooks


async def test_webhooks_that_need_attention_are_named_the_most_urgent_first(portal: Portal) -> None:
    health = {**HEALTH, "failing_since": "2026-03-02T10:00:00Z", "consecutive_failures": 1200}
    webhooks = [
        a_webhook(id="wh_1", description="Fine", health=HEALTH),
        a_webhook(id="wh_2", description="Paused", status="disabled", disabled_reason="owner"),
        a_webhook(id="wh_3", description="Flaky",
                  health={"last_24h": {"succeeded": 40, "failed": 2}}),
        a_webhook(id="wh_4", description="<i>Failing", health=health),
        a_webhook(id="wh_5", status="disabled", disabled_reason="delivery_failed",
                  disabled_at="2026-03-02T11:00:00Z"),
        a_webhook(id="wh_6", description="New"),
    ]  # fmt: skip
    portal.api.give("/api/webhooks", {"webhooks": webhooks})

    text = await portal.shown("/")

    said = cards(text)[TROUBLED]
    assert re.findall(r'href="/webhooks/(wh_\d)"', text) == ["wh_5", "wh_4", "wh_3", "wh_2"]
    assert "All attempts of a delivery failed, 1 hour ago" in said
    assert "&lt;i&gt;Failing Failing 1,200 failures in a row, since 2 hours ago" in said
    assert "Flaky 2 of 42 failed in the last 24 hours" in said
    assert "Paused Disabled By you or a colleague" in said
    assert "2 others work." in said


async def test_of_many_webhooks_that_need_attention_five_are_named(portal: Portal) -> None:
    disabled = {"status": "disabled", "disabled_reason": "gone"}
    webhooks = [a_webhook(id=f"wh_{each}", **disabled) for each in range(7)]
    portal.api.give("/api/webhooks", {"webhooks": webhooks})

    said = cards(await portal.shown("/"))[TROUBLED]

    assert said.count("410") == 5
    assert "2 more need attention. No other webhook exists." in said


@pytest.mark.parametrize(
    "count, said", [(1, "None: your webhook works."), (3, "None: all 3 work.")]
)
async def test_webhooks_that_work_are_counted(portal: Portal, count: int, said: str) -> None:
    portal.api.give("/api/webhooks", {"webhooks": [a_webhook(health=HEALTH)] * count})

    assert said in cards(await portal.shown("/"))[TROUBLED]


# Registers


async def test_a_register_is_as_fresh_as_its_oldest_part(portal: Portal) -> None:
    sources = [
        a_source("dk-virksomhed", "2026-03-02T12:04:30Z", AT),
        a_source("dk-produktionsenhed", "2026-03-02T12:03:00Z"),
        a_source("no-enheter", "2026-03-02T12:04:00Z"),
        a_source("no-roller", "2026-03-02T08:00:00Z", AT),
        a_source("no-underenheter", None, AT),
        a_source("peppol", "2026-03-01T13:00:00Z"),
        a_source("se-bolag", None, "2026-02-20T12:00:00Z"),
    ]
    portal.api.give("/api/registers", {"sources": sources})

    said = cards(await portal.shown("/"))[REGISTERS]

    assert said == (
        "Registers Denmark (CVR) Current Last read 2 minutes ago "
        "Norway (Brønnøysund) Behind Owners and roles last read 4 hours ago "
        "E-invoicing (Peppol) Current Last read 23 hours ago "
        "se-bolag Not followed Last loaded 20 Feb 2026"
    )


@pytest.mark.parametrize(
    "parts, said",
    [
        ({"no-enheter": None}, "Loading All of it for the first time"),
        ({"no-enheter": AT, "no-roller": None}, "Loading Owners and roles for the first time"),
        ({"no-enheter": "2026-03-02T11:44:00Z"}, "Behind Last read 21 minutes ago"),
        ({"no-enheter": "2026-03-02T11:45:00Z"}, "Current Last read 20 minutes ago"),
        ({"no-enheter": "2026-03-02T13:00:00Z"}, "Current Last read just now"),
    ],
)
async def test_a_register_that_is_not_current_says_so(
    portal: Portal, parts: dict[str, str | None], said: str
) -> None:
    sources = [a_source(name, until) for name, until in parts.items()]
    portal.api.give("/api/registers", {"sources": sources})

    assert said in cards(await portal.shown("/"))[REGISTERS]


def test_every_source_belongs_to_a_register_with_a_name() -> None:
    late = NOW - timedelta(days=3)
    behind = [RegisterSource(source=name, current_until=late) for name in sources()]

    found = freshness(behind, NOW)

    assert [each.name for each in found] == [
        "Norway (Brønnøysund)",
        "Groups in Norway (Brønnøysund)",
        "Denmark (CVR)",
        "E-invoicing (Peppol)",
    ]
    alone = [RegisterSource(source=name, current_until=NOW) for name in ("dk-x", "no-x")]
    parts = [part for each in freshness([*behind, *alone], NOW) for part in each.parts]
    assert not set(parts) & set(sources())


async def test_another_key_has_searches_of_its_own(portal: Portal) -> None:
    portal.api.give("/api/me", {**ME, "owner": "Prøve & <co>"})
    await portal.sign_in(OTHER_KEY)

    assert 'data-who="Prøve &amp; &lt;co&gt; · tests"' in await portal.shown("/")
