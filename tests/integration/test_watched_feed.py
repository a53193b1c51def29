"""The feed of the companies in watchlists: gateway, lookup service and registry over MongoDB."""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pytest

import webhook_registry.watchlists.watchlist_operations as watched_module
from common.contracts.company import CompanyKey
from common.contracts.events import EventReply, EventRequest, FeedFilter, FeedPage, FeedRequest
from common.contracts.failures import Failure
from common.contracts.watchlists import WatchedReply, WatchedRequest, Watchlist, WatchlistId
from common.mongo import Database
from gateway.access.clients import Caller
from gateway.events.feed import WatchedEvents
from gateway.problems import WatchlistNotFound, problem_of
from register_store import feed as feed_module
from tests.builders.outbox import Outbox, bodies
from tests.builders.webhooks import NOON
from webhook_registry.replies import WATCHLIST_NOT_FOUND
from webhook_registry.watchlists.watchlist_operations import AnswerWatched
from webhook_store.watchlists import Members, Watchlists

pytestmark = pytest.mark.integration

LIST, OTHER = WatchlistId("wl_1"), WatchlistId("wl_2")


@dataclass
class Feed:
    """The feed as the gateway reads it, without a broker between the services."""

    outbox: Outbox
    webhooks: Database

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:  # noqa: ARG002
        return await self.outbox.feed.read(request)

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        raise NotImplementedError

    async def watched(
        self,
        request: WatchedRequest,
        *,
        caller: Caller,  # noqa: ARG002
    ) -> WatchedReply:
        answer = AnswerWatched(Watchlists(self.webhooks), Members(self.webhooks))
        [reply] = await answer([request])
        if isinstance(reply, Failure):
            raise problem_of(reply)
        return reply

    async def make(self, watchlist_id: WatchlistId, *companies: str, owner: str = "acme") -> None:
        keys = [CompanyKey.parse(company) for company in companies]
        new = Watchlist(
            id=watchlist_id,
            owner=owner,
            name="a",
            description=None,
            size=len(keys),
            created_at=NOON,
            updated_at=NOON,
        )
        await Watchlists(self.webhooks).create(new)
        await Members(self.webhooks).add(watchlist_id, keys)

    async def read(
        self,
        *lists: WatchlistId,
        after: int | None = None,
        companies: tuple[str, ...] = (),
        recent: bool = False,
        limit: int = 100,
    ) -> FeedPage:
        limits = FeedFilter(watchlists=lists, companies=companies)
        request = FeedRequest(owner="acme", after=after, recent=recent, filter=limits, limit=limit)
        return await WatchedEvents(self, self).page(request, caller=Caller("1", "key"))


@pytest.fixture(name="feed", params=[0, 200], ids=["compared", "whole"])
def _feed(
    outbox: Outbox,
    empty_webhooks_db: Database,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Feed:
    """A feed whose lists count as large, or as small."""
    monkeypatch.setattr(watched_module, "MAX_WHOLE", request.param)
    return Feed(outbox, empty_webhooks_db)


async def test_events_of_the_companies_in_one_of_the_lists_are_read(feed: Feed) -> None:
    await feed.make(LIST, "no:1", "no:9")
    await feed.make(OTHER, "no:2")
    for number in range(1, 5):
        await feed.outbox.published(f"event {number}", company=f"no:{number}")

    one = await feed.read(LIST)
    both = await feed.read(LIST, OTHER)
    with_others = await feed.read(LIST, companies=("no:4",))

    assert (bodies(one), one.position, one.has_more) == (["event 1"], 4, False)
    assert bodies(both) == ["event 1", "event 2"]
    assert bodies(with_others) == ["event 1", "event 4"]


async def test_a_change_of_the_list_applies_to_the_next_page(feed: Feed) -> None:
    await feed.make(LIST, "no:1")
    await feed.outbox.published("a", company="no:1")
    first = await feed.read(LIST)
    await feed.outbox.published("b", company="no:2")
    await Members(feed.webhooks).add(LIST, [CompanyKey.parse("no:2")])
    await Members(feed.webhooks).remove(LIST, [CompanyKey.parse("no:1")])

    second = await feed.read(LIST, after=first.position)

    assert (bodies(first), bodies(second)) == (["a"], ["b"])
    assert bodies(await feed.read(LIST)) == ["b"]


async def test_a_long_feed_is_read_by_bounded_steps_without_a_gap(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MAX_POSITIONS", 3)
    await feed.make(LIST, "no:1")
    for number in range(10):
        await feed.outbox.published(f"{number}", company=f"no:{number % 4}")

    read, page = [], await feed.read(LIST, limit=1)
    while True:
        read += bodies(page)
        if not page.has_more:
            break
        page = await feed.read(LIST, after=page.position, limit=1)

    assert (read, page.position) == (["1", "5", "9"], 10)


async def test_the_newest_events_of_a_list_come_first_on_request(feed: Feed) -> None:
    await feed.make(LIST, "no:1")
    for number in range(6):
        await feed.outbox.published(f"{number}", company=f"no:{number % 2}")

    page = await feed.read(LIST, recent=True, limit=2)

    assert (bodies(page), page.position) == (["3", "5"], 6)


async def test_an_empty_list_has_no_events(feed: Feed) -> None:
    await feed.make(LIST)
    await feed.outbox.published("a", company="no:1")

    page = await feed.read(LIST)

    assert (bodies(page), page.position, page.has_more) == ([], 1, False)


async def test_another_owners_list_is_not_found(feed: Feed) -> None:
    await feed.make(LIST, "no:1", owner="other")

    with pytest.raises(WatchlistNotFound):
        await feed.read(LIST)


async def test_the_numbers_of_a_list_are_those_of_its_last_change(
    outbox: Outbox, webhooks_db: Database
) -> None:
    feed = Feed(outbox, webhooks_db)
    await feed.make(LIST, "dk:87654325", "dk:12345674", "no:923609016")
    lists, members = Watchlists(webhooks_db), Members(webhooks_db)
    answer = AnswerWatched(lists, members)
    request = WatchedRequest(owner="acme", watchlists=(LIST,), numbers=True)

    async def numbers() -> list[int]:
        [reply] = await answer([request])
        assert isinstance(reply, WatchedReply)
        assert reply.numbers is not None
        return [int(each) for one in reply.numbers.values() for each in np.frombuffer(one, "<u4")]

    assert await numbers() == [12345674, 87654325, 923609016]
    watchlist = await lists.find("acme", LIST)
    assert watchlist is not None
    later = NOON + timedelta(milliseconds=1)
    gone = [CompanyKey.parse("dk:12345674")]
    await members.change(watchlist, add=[], remove=gone, at=later)
    assert await numbers() == [87654325, 923609016]
    # Kept until the list says that it was changed.
    await members.remove(LIST, [CompanyKey.parse("dk:87654325")])
    assert await numbers() == [87654325, 923609016]
    others = request.model_copy(update={"owner": "other"})
    assert await answer([others]) == [WATCHLIST_NOT_FOUND]
