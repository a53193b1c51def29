"""Keys in the portal: their list, the form of a new one, replacement and end."""

from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest

from company_registry.key_models import OwnedKey
from portal.domain.keys import HEIGHT, bars
from tests.builders.openapi import example
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

LISTED: dict[str, Any] = {
    **example("KeyList")["keys"][0],
    "days": [
        {"day": "2026-02-01", "requests": 1, "refused": 0},
        {"day": "2026-03-01", "requests": 2400, "refused": 12},
        {"day": "2026-03-02", "requests": 1, "refused": 1},
    ],
}
KEYS: dict[str, Any] = {**example("KeyList"), "keys": [LISTED]}
ISSUED: dict[str, Any] = example("IssuedKey")
ID = LISTED["key_id"]
FORM = {"name": "sync", "kind": "secret", "scopes": "lookup"}


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        portal.api.give("/api/me", {**ME, "scopes": ["lookup", "keys"]})
        portal.api.give("/api/keys", KEYS)
        portal.api.give("POST /api/keys", ISSUED, 201)
        portal.api.give(f"/api/keys/{ID}/rotate", ISSUED, 201)
        await portal.sign_in()
        yield portal


async def test_the_keys_are_listed_with_their_use(portal: Portal) -> None:
    text = await portal.shown("/keys")

    for part in ("nightly sync", ID, "2,402 requests in 30 days, 13 refused", "the operator"):
        assert part in text
    assert text.count('<rect class="bar-day"') == 2
    assert text.count('<rect class="bar-bad"') == 2
    # The menu has one page of keys.
    assert text.count('href="/keys"') == 1
    assert "Copy a whole register" in text.partition("may not do")[2]


async def test_the_key_in_use_says_what_it_may_not_do(portal: Portal) -> None:
    text = await portal.shown("/key")

    assert "Copy a whole register" in text.partition("It may not")[2]
    assert 'href="/keys"' in text


@pytest.mark.parametrize(
    "fields, sent",
    [
        (FORM, {"name": "sync", "scopes": ["lookup"]}),
        (
            {**FORM, "rate_count": "60", "rate_unit": "3600", "expires_at": "2027-01-01T00:00"},
            {
                "name": "sync",
                "scopes": ["lookup"],
                "rate": {"count": 60, "window_seconds": 3600},
                "expires_at": "2027-01-01T00:00:00Z",
            },
        ),
        (
            {
                "name": "form",
                "kind": "publishable",
                "origins": "https://a.example\r\nhttps://b.example",
                "visitor_count": "5",
                "visitor_unit": "60",
            },
            {
                "name": "form",
                "origins": ["https://a.example", "https://b.example"],
                "visitor_rate": {"count": 5, "window_seconds": 60},
            },
        ),
    ],
)
async def test_a_key_is_created_as_chosen_and_shown_once(
    portal: Portal, fields: dict[str, str], sent: dict[str, Any]
) -> None:
    response = await portal.post("/keys/new", fields)

    assert portal.api.bodies == [sent]
    assert ISSUED["key"] in await response.text()
    assert response.headers["Cache-Control"] == "no-store"
    assert ISSUED["key"] not in await portal.shown("/keys")


@pytest.mark.parametrize(
    "fields, field",
    [
        ({**FORM, "name": ""}, "name"),
        ({"name": "a", "kind": "secret"}, "scopes"),
        ({"name": "a", "kind": "publishable"}, "origins"),
        ({**FORM, "rate_count": "many"}, "rate"),
        ({**FORM, "expires_at": "soon"}, "expires_at"),
    ],
)
async def test_a_fault_is_said_at_its_field(
    portal: Portal, fields: dict[str, str], field: str
) -> None:
    response = await portal.post("/keys/new", fields)

    assert response.status == 400
    assert f'id="{field}-fault"' in await response.text()
    assert not portal.api.bodies


async def test_what_the_api_refuses_is_said_at_its_field(portal: Portal) -> None:
    errors = [{"parameter": "rate", "message": "your key has 60 in 60 s"}]
    portal.api.fail("POST /api/keys", 403, "forbidden", errors=errors)

    response = await portal.post("/keys/new", FORM)

    assert response.status == 403
    assert "Your key has 60 in 60 s." in await response.text()


async def test_a_key_is_replaced_after_a_question(portal: Portal) -> None:
    question = await portal.shown(f"/keys/{ID}/rotate")
    response = await portal.post(f"/keys/{ID}/rotate", {"overlap": "3600"})
    wrong = await portal.post(f"/keys/{ID}/rotate", {"overlap": "5"})

    assert "nightly sync" in question
    assert portal.api.bodies == [{"overlap_seconds": 3600}]
    assert ISSUED["key"] in await response.text()
    assert wrong.status == 400


async def test_a_key_is_ended_after_a_question(portal: Portal) -> None:
    portal.api.give(f"DELETE /api/keys/{ID}", "")
    question = await portal.shown(f"/keys/{ID}/end")
    response = await portal.post(f"/keys/{ID}/end")

    assert "refused within 10 s" in question
    assert ("DELETE", f"/api/keys/{ID}") in [each[:2] for each in portal.api.requests]
    assert response.headers["Location"] == "/keys"
    assert (await portal.get("/keys/unknown/end")).status == 404


async def test_the_requests_of_a_key_are_listed_by_status_and_id(portal: Portal) -> None:
    portal.api.give("/api/keys/id/requests", example("KeyRequestList"))
    portal.api.give(f"/api/keys/{ID}/requests", {"requests": []})

    own = await portal.shown("/key/requests?status=4xx")
    other = await portal.shown(f"/keys/{ID}/requests?request_id=r-1")
    wrong = await portal.get("/key/requests?status=9xx")

    for part in ("/api?country=dk&amp;vat=…", "Company not found", "3.2 ms"):
        assert part in own
    assert "No request with this id is kept" in other
    assert {"status=4xx", "request_id=r-1", "limit=1000"} <= set(portal.api.queries)
    assert wrong.status == 400


async def test_an_error_of_the_api_leads_to_its_request(portal: Portal) -> None:
    portal.api.fail("/api/keys", 500, "internal_error", request_id="r-1")

    text = await portal.shown("/keys")

    assert 'href="/key/requests?request_id=r-1"' in text


async def test_without_the_scope_the_menu_has_the_key_in_use_alone() -> None:
    async with a_portal() as portal:
        await portal.sign_in()
        text = await portal.shown("/key")

    assert 'href="/key"' in text
    assert 'href="/keys"' not in text


def test_the_highest_day_fills_the_plot_and_the_least_can_be_seen() -> None:
    days = OwnedKey.model_validate(LISTED).days
    found = bars(days, today=date(2026, 3, 2))

    assert [each.day for each in found] == ["2026-02-01", "2026-03-01", "2026-03-02"]
    assert [each.x for each in found] == [0, 280, 290]
    assert [(each.answered_height, each.refused_height) for each in found] == [
        (2, 0),
        (HEIGHT - 2, 2),
        (0, 2),
    ]
