"""Pages of the registers: memory, and unreadable entries."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, cast
from weakref import ref

import pytest
from aiohttp import ClientSession
from yarl import URL

from ingest.following.register_client import (
    Answer,
    Call,
    RegisterClient,
    RegisterFault,
    RetryPolicy,
)
from ingest.loading.stores import Position
from ingest.registers.brreg.api import RoleFeed, UpdateFeed
from ingest.registers.brreg.sync import NO_ENTITIES
from ingest.registers.cvr.sync import DK_COMPANIES, MAX_DOCUMENTS, CvrDocuments
from tests.builders.companies import TODAY

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


class ScriptedRegister(RegisterClient):
    """Answers 200 with what `content` makes of a call."""

    def __init__(self, content: Callable[[Call], Any]) -> None:
        session, retry_policy = cast(ClientSession, None), cast(RetryPolicy, None)
        super().__init__(session, URL("http://register"), register="cvr", retry_policy=retry_policy)
        self._content = content

    async def ask(self, call: Call) -> Answer:
        return Answer(200, {}, self._content(call))


class Content(dict[str, Any]):
    """Can be referred to weakly."""


class Scroll:
    """Three pages of CVR, the last of them empty; notes at each which earlier ones there are."""

    def __init__(self) -> None:
        self.asked: list[Call] = []
        self.held: list[int] = []
        self._given: list[ref[Content]] = []

    def __call__(self, call: Call) -> Content:
        self.held.append(sum(given() is not None for given in self._given))
        hits = [{"_id": "1"}] if len(self.asked) < 2 else []
        self.asked.append(call)
        content = Content(hits={"hits": hits}, _scroll_id="next")
        self._given.append(ref(content))
        return content


async def test_one_page_of_danish_documents_is_in_memory_at_a_time() -> None:
    scroll = Scroll()
    register = ScriptedRegister(scroll)
    documents = CvrDocuments(register, DK_COMPANIES, page_size=3000, today=lambda: TODAY)

    pages = [page async for page in documents.loaded_since(NOON)]

    assert len(pages) == 2
    assert scroll.held == [0, 0, 0]
    assert scroll.asked[0].json["size"] == MAX_DOCUMENTS == 100


def role_event(number: int, time: str | None) -> dict[str, Any]:
    return {"id": str(number), "time": time, "data": {"organisasjonsnummer": "987654325"}}


async def test_a_feed_of_roles_without_times_or_with_future_times_ends() -> None:
    times = [None, "2206-01-01T00:00:00Z", "2026-11-02T11:00:00Z"]
    events = [role_event(number, times[number % 3]) for number in range(6)]
    feed = RoleFeed(ScriptedRegister(lambda _: events), page_size=6, now=lambda: NOON)
    pages = [await feed.page(Position(NOON - timedelta(days=1)))]
    while not pages[-1].is_last and len(pages) < 9:
        pages.append(await feed.page(pages[-1].position))

    assert [len(page.notices) for page in pages] == [6, 0]
    assert {page.position.at for page in pages} == {NOON - timedelta(hours=1)}
    assert all(set(one.position.seen) <= set(two.position.seen) for one, two in pairwise(pages))


def an_update(number: int) -> dict[str, Any]:
    return {"oppdateringsid": number, "dato": "never", "organisasjonsnummer": "987654325"}


async def test_a_feed_of_only_unreadable_entries_is_a_fault_of_the_register() -> None:
    asked: list[str] = []

    def content(call: Call) -> Any:
        asked.append(call.url.query["size"])
        entries = [an_update(number) for number in range(1, int(asked[-1]) + 1)]
        return {"_embedded": {"oppdaterteEnheter": entries}}

    feed = UpdateFeed(ScriptedRegister(content), NO_ENTITIES.part, page_size=100)

    with pytest.raises(RegisterFault, match="10,000 consecutive entries"):
        await feed.page(Position(NOON))

    assert asked == ["100", "10000"]


async def test_unreadable_role_events_keep_the_cursor_and_are_reported_once_per_page() -> None:
    sound = role_event(1, "2026-11-02T11:00:00Z")
    events = [sound, role_event(2, "never"), {**role_event(3, "never"), "data": None}]
    feed = RoleFeed(ScriptedRegister(lambda _: events), page_size=6, now=lambda: NOON)

    page = await feed.page(Position(NOON - timedelta(days=1)))

    assert page.position == Position(NOON - timedelta(hours=1), seen=("1",))
    assert (page.is_last, page.unreadable_tail, len(page.faults)) == (True, 2, 2)
    assert [mention.number for mention in page.notices] == ["987654325"] * 2
