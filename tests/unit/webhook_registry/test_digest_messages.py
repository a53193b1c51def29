"""Messages about changes: the worst first, in the subject and below it."""

from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from common.contracts.watchlists import Digest, DigestState, Period
from webhook_registry.watchlists.digest_messages import Changes, Messages, gravity, rank
from webhook_store.digests import Range

MESSAGES = Messages(
    Address("News", "news", "example.com"),
    "https://registry.example.com",
    "https://portal.example.com",
    ZoneInfo("Europe/Copenhagen"),
)


def an_event(type_: str, *changes: tuple[str, Any, Any], name: str = "Prøve ApS") -> dict[str, Any]:
    return {
        "type": type_,
        "occurred_at": "2026-11-26T13:03:00Z",
        "country": "dk",
        "vat": "12345674",
        "data": {
            "company": {"name": name},
            "changes": [{"field": field, "old": old, "new": new} for field, old, new in changes],
        },
    }


RENAMED = an_event("company.updated", ("name", "Prøven ApS", "Prøve <b>&</b> ApS"))
OWNED = an_event("owners.changed", ("owners", [], [{"name": "Aud"}]))
BANKRUPT = an_event(
    "company.status_changed", ("status", "active", "bankrupt"), name="Konkurs <i>ApS"
)
ENDED = an_event("company.status_changed", ("status", "active", "ended"))
BACK = an_event("company.status_changed", ("status", "bankrupt", "active"))
REMOVED = an_event("company.removed") | {"data": {"company": None, "changes": []}}


def news(changes: Changes) -> EmailMessage:
    at = datetime(2026, 11, 27, tzinfo=UTC)
    digest = Digest(
        id="dg_1",
        owner="acme",
        watchlist_id="wl_1",
        address="officer@example.com",
        period=Period.DAILY,
        state=DigestState.CONFIRMED,
        created_at=at,
    )
    return MESSAGES.news(digest, "token", "All suppliers", Range(1, 9), changes, at=at)


def part(message: EmailMessage, subtype: str) -> str:
    body = message.get_body((subtype,))
    assert isinstance(body, EmailMessage)
    content: str = body.get_content()
    return content


def test_the_worst_is_first() -> None:
    events = [RENAMED, an_event("einvoicing.changed"), OWNED, REMOVED, BACK, ENDED, BANKRUPT]

    assert [events.index(each) for each in sorted(events, key=rank)] == [6, 5, 3, 4, 2, 0, 1]
    assert [gravity(each) for each in events] == ["", "", "", "removed", "", "ended", "bankrupt"]


@pytest.mark.parametrize("changes, summary", [
    (Changes((), 4, {"bankrupt": 1}), "1 bankrupt, 3 other changes"),
    (Changes((), 3, {"ended": 1, "bankrupt": 2}), "2 bankrupt, 1 ended"),
    (Changes((), 2, {"removed": 1}), "1 removed by the register, 1 other change"),
    (Changes((), 1), "1 change"),
    (Changes((), 2000, {"bankrupt": 1}, is_more=True), "1 bankrupt, more than 1,999 other changes"),
    (Changes((), 0, is_incomplete=True), "no changes"),
])  # fmt: skip
def test_the_subject_says_the_worst_first(changes: Changes, summary: str) -> None:
    subject = str(news(changes)["Subject"])

    assert subject == f"{summary[0].upper()}{summary[1:]} – All suppliers"


def test_each_change_has_its_time_and_says_what_changed() -> None:
    message = news(Changes([BANKRUPT, RENAMED], 2, {"bankrupt": 1}))

    text, page = part(message, "plain"), part(message, "html")
    assert (
        "Konkurs <i>ApS: bankrupt\n  DK 12345674, 26 Nov 2026, 14:03 CET\n"
        "  Status: active → bankrupt\n  https://portal.example.com/companies/dk/12345674\n"
    ) in text
    assert "Name: Prøven ApS → Prøve <b>&</b> ApS" in text
    assert 'Konkurs &lt;i&gt;ApS</a> <span class="state state-bad">Bankrupt</span>' in page
    assert "DK 12345674, 26 Nov 2026, 14:03 CET" in page
    assert '<span class="old">Prøven ApS</span> → Prøve &lt;b&gt;&amp;&lt;/b&gt; ApS' in page
    assert page.index("Konkurs") < page.index("Prøven")
