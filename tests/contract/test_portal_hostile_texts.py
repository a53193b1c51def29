"""Texts of registers and of other users that would be markup, or a link that runs a script."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.test_portal_pages import ATTEMPT, COMPANY, DELIVERY, HOOK, UNITS, WEBHOOK
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

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
SUMMARY = {"vat": "12345674", "name": HOSTILE, "status": "active", "score": 90, "city": HOSTILE}
EVENT = {
    "id": HOSTILE,
    "type": "company.updated",
    "occurred_at": "2026-03-02T12:00:00Z",
    "country": "dk",
    "vat": "12345674",
    "revision": 2,
    "data": {"company": None, "changes": [{"field": HOSTILE, "old": HOSTILE, "new": HOSTILE}]},
}
FAILED = {**ATTEMPT, "error": HOSTILE, "event_type": HOSTILE}
ANSWERS: dict[str, Any] = {
    "/api/me": {**ME, "name": HOSTILE, "owner": HOSTILE},
    "/api": COMPANY_OF_OTHERS,
    "/api/vat": COMPANY_OF_OTHERS,
    "/api/suggest": {"suggestions": [SUMMARY], "cursor": HOSTILE},
    UNITS: {"production_units": [UNIT], "total": 2, "cursor": HOSTILE},
    "/api/webhooks": {"webhooks": [HOOK_OF_OTHERS]},
    HOOK: HOOK_OF_OTHERS,
    f"{HOOK}/deliveries": {"deliveries": [FAILED], "cursor": HOSTILE},
    f"{HOOK}/deliveries/d1": {**DELIVERY, "body": f'{{"a": "{SCRIPT}{HOSTILE}"', "attempts": []},
    "/api/events": {"events": [EVENT], "cursor": HOSTILE, "has_more": True},
    "/api/event-types": {
        "event_types": [{"name": "company.updated", "description": HOSTILE, "schema": {}}]
    },
}
PAGES = [
    "/companies/dk/12345674",
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


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        for path, body in ANSWERS.items():
            portal.api.answers[path] = (200, body)
        await portal.sign_in()
        yield portal


@pytest.mark.parametrize("path", PAGES)
async def test_a_text_never_becomes_markup(portal: Portal, path: str) -> None:
    response = await portal.get(path)
    text = await response.text()

    assert response.status == 200, text
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "<img" not in text


@pytest.mark.parametrize("path", PAGES)
async def test_no_link_runs_a_script(portal: Portal, path: str) -> None:
    text = await (await portal.get(path)).text()

    links = re.findall(r"(?:href|src|action)=\"([^\"]*)\"", text)
    assert links
    assert not [
        link for link in links if link.lower().lstrip().startswith(("javascript:", "data:"))
    ]
