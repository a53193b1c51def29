"""Atom feeds of watchlists, over the registry, the stored events and the gateway's HTTP."""

import io
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import feedparser
import orjson
import pytest
from structlog.testing import capture_logs

from common.contracts.events import EventReply, EventRequest, FeedPage, FeedRequest
from common.contracts.failures import Failure, Unavailable
from common.contracts.watchlists import WatchedReply, WatchedRequest
from common.contracts.webhook_api import Operation
from common.mongo import Database
from common.runtime.public_port.rates import Rate
from gateway.access.clients import Caller
from gateway.problems import problem_of
from tests.builders.outbox import Outbox
from tests.builders.webhooks import OWNER, a_call
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.webhook_registry import World
from tests.fakes.webhooks import Registrar
from webhook_registry.watchlists.watchlist_operations import AnswerWatched
from webhook_store.collections import WATCHLISTS
from webhook_store.watchlists import Members, Watchlists

pytestmark = pytest.mark.integration

COMPANY, OTHER = "dk:12345674", "no:123456785"
HOSTILE = "<script>alert('1')</script> ]]> &amp; \x00\x1b\ud7ff￾ “A/S”\nLine \U0001f9fe"


class Service:
    """A gateway whose ports are the registry's and the feed's own code, without a broker."""

    def __init__(self, gateway: Gateway, world: World, outbox: Outbox) -> None:
        self.gateway, self.world, self.outbox = gateway, world, outbox

    async def watchlist(self, *companies: str) -> str:
        made = await self.world.do(
            Operation.CREATE_WATCHLIST, body=orjson.dumps({"name": "Kunder & <Co>"})
        )
        watchlist_id = str(orjson.loads(made.body)["id"])
        body = orjson.dumps({"add": companies})
        await self.world.do(Operation.CHANGE_WATCHED, watchlist_id=watchlist_id, body=body)
        return watchlist_id

    async def feed(self, watchlist_id: str) -> str:
        """The new address of the list's feed, without its host."""
        answer = await self.gateway.client.post(
            f"/api/watchlists/{watchlist_id}/feed", headers=self.gateway.issue(owner=OWNER)
        )
        assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
        url = urlsplit((await answer.json())["url"])
        assert (url.scheme, url.netloc) == ("https", "registry.example.com")
        return f"{url.path}?{url.query}"

    async def read(self, address: str, **headers: str) -> Any:
        answer = await self.gateway.get(address, headers=headers)
        assert answer.status == 200
        given = {"content-type": answer.headers["Content-Type"]}
        return feedparser.parse(io.BytesIO(await answer.read()), response_headers=given)

    async def status(self, address: str, **headers: str) -> int:
        return (await self.gateway.get(address, headers=headers)).status

    async def happened(self, number: int, company: str = COMPANY, **fields: Any) -> str:
        """Publishes an event about a company; returns its id."""
        event_id = f"00000000-0000-5000-8000-{number:012d}"
        country, _, vat = company.partition(":")
        body = {
            "id": event_id,
            "type": "company.updated",
            "occurred_at": f"2026-03-02T05:00:{number:02d}Z",
            "country": country,
            "vat": vat,
            "revision": number,
            "data": {
                "company": {"name": fields.pop("name", "Prøve ApS")},
                "changes": [{"field": "trade_names", "old": None, "new": ["A", "B"]}],
            },
            **fields,
        }
        await self.outbox.published(
            event_id, company=company, body=orjson.dumps(body), revision=number
        )
        return event_id


class Feed:
    def __init__(self, outbox: Outbox, webhooks: Database) -> None:
        self.stored = outbox
        self.answer = AnswerWatched(Watchlists(webhooks), Members(webhooks))

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:  # noqa: ARG002
        return await self.stored.feed.read(request)

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        raise NotImplementedError

    async def watched(self, request: WatchedRequest, *, caller: Caller) -> WatchedReply:  # noqa: ARG002
        [reply] = await self.answer([request])
        if isinstance(reply, Failure):
            raise problem_of(reply)
        return reply


@pytest.fixture(name="service")
async def _service(outbox: Outbox, empty_webhooks_db: Database) -> AsyncIterator[Service]:
    world = World(empty_webhooks_db)
    feed = Feed(outbox, empty_webhooks_db)
    async with a_gateway(
        registrar=Registrar(world),
        ports={"events": feed, "watchlists": feed},
        public_url="https://registry.example.com",
        portal_url="https://portal.example.com",
        anonymous_rate=Rate(5, 60),
    ) as gateway:
        yield Service(gateway, world, outbox)


async def test_a_reader_sees_the_events_of_the_list_alone(service: Service) -> None:
    address = await service.feed(await service.watchlist(COMPANY))
    first, second = await service.happened(1), await service.happened(2)
    await service.happened(3, OTHER)

    feed = await service.read(address)

    assert not feed.bozo
    assert (feed.version, feed.feed.title) == ("atom10", "Changes: Kunder & <Co>")
    assert feed.feed.updated == "2026-03-02T05:00:02Z"
    assert [entry.id for entry in feed.entries] == [f"urn:uuid:{each}" for each in (second, first)]
    entry = feed.entries[0]
    assert entry.title == "Prøve ApS: trade names changed"
    assert entry.link == "https://portal.example.com/companies/dk/12345674"
    assert entry.content[0].type == "text/plain"
    assert entry.content[0].value == "DK 12345674\nTrade name: A\nTrade name: B"


async def test_a_list_without_events_has_an_empty_feed(service: Service) -> None:
    for companies in ((), (COMPANY,)):
        feed = await service.read(await service.feed(await service.watchlist(*companies)))

        assert not feed.bozo
        assert (feed.entries, feed.feed.updated) == ([], "2026-03-02T12:00:00Z")


async def test_texts_of_registers_stay_texts(service: Service) -> None:
    address = await service.feed(await service.watchlist(COMPANY))
    changes = [{"field": "name", "old": HOSTILE, "new": "x" * 1000}]
    data = {"company": {"name": HOSTILE}, "changes": changes}
    await service.happened(1, data=data)

    answer = await service.gateway.get(address)
    document = await answer.read()
    feed = feedparser.parse(io.BytesIO(document), sanitize_html=False)

    assert not feed.bozo
    assert feed.entries[0].title == (
        "<script>alert('1')</script> ]]> &amp; \ud7ff “A/S” Line \U0001f9fe: name changed"
    )
    found = ElementTree.fromstring(document).iter()  # noqa: S314 (it is ours)
    names = {element.tag.rpartition("}")[2] for element in found}
    assert names <= {
        *("feed", "id", "title", "updated", "author", "name", "entry", "link", "content"),
    }
    assert "<script>alert('1')</script>" in feed.entries[0].content[0].value
    assert len(feed.entries[0].content[0].value) < 500


async def test_events_of_newer_kinds_and_units_have_a_title(service: Service) -> None:
    address = await service.feed(await service.watchlist(COMPANY))
    unit: dict[str, Any] = {"company": None, "changes": [], "production_unit": {"name": "Lager"}}
    await service.happened(1, type="production_unit.created", data=unit)
    await service.happened(2, type="company.moved")

    feed = await service.read(address)

    assert [entry.title for entry in feed.entries] == [
        "Prøve ApS: company moved",
        "DK 12345674: new production unit",
    ]
    assert feed.entries[1].content[0].value == "DK 12345674\nProduction unit Lager"


async def test_a_token_opens_its_own_list_alone(service: Service) -> None:
    one, other = await service.watchlist(COMPANY), await service.watchlist(OTHER)
    address, _ = await service.feed(one), await service.feed(other)
    token = address.partition("=")[2]

    assert await service.status(address) == 200
    assert await service.status(address.replace(one, other)) == 404
    for path in ("/api/me", f"/api/watchlists/{one}", "/api/events", f"/api/events?token={token}"):
        assert await service.status(path, Authorization=f"Bearer {token}") in (400, 401, 429)
    # Nor does a hash open it, which the database has.
    [stored] = [each for each in await service.world.stored(WATCHLISTS) if each["_id"] == one]
    assert token not in str(stored)
    stolen = stored["feed"]["token_hash"]
    assert await service.status(f"{address.partition('=')[0]}={stolen}") == 404


async def test_a_renewed_or_ended_address_and_a_deleted_list_are_not_found(
    service: Service,
) -> None:
    watchlist_id = await service.watchlist(COMPANY)
    old = await service.feed(watchlist_id)
    new = await service.feed(watchlist_id)

    assert (await service.status(old), await service.status(new)) == (404, 200)

    await service.world.do(Operation.END_FEED, watchlist_id=watchlist_id)
    assert await service.status(new) == 404
    last = await service.feed(watchlist_id)
    await service.world.do(Operation.DELETE_WATCHLIST, watchlist_id=watchlist_id)
    assert await service.status(last) == 404
    assert "feed" not in str(await service.world.stored(WATCHLISTS))


async def test_a_list_says_whether_its_feed_has_an_address(service: Service) -> None:
    watchlist_id = await service.watchlist(COMPANY)

    async def has_feed() -> bool:
        shown = await service.world.do(Operation.GET_WATCHLIST, watchlist_id=watchlist_id)
        return bool(orjson.loads(shown.body)["has_feed"])

    seen = [await has_feed()]
    await service.feed(watchlist_id)
    seen.append(await has_feed())
    await service.world.do(Operation.END_FEED, watchlist_id=watchlist_id)

    assert [*seen, await has_feed()] == [False, True, False]


async def test_a_redelivered_renewal_keeps_the_address_that_the_client_has(
    service: Service,
) -> None:
    watchlist_id = await service.watchlist(COMPANY)
    renewal = {"watchlist_id": watchlist_id, "call_id": a_call(77)}
    reply = await service.world.do(Operation.RENEW_FEED, **renewal)

    with pytest.raises(Unavailable):
        await service.world.do(Operation.RENEW_FEED, **renewal)

    url = orjson.loads(reply.body)["url"]
    assert await service.status(url) == 200


async def test_an_unchanged_feed_is_not_sent_again(service: Service) -> None:
    address = await service.feed(await service.watchlist(COMPANY))
    await service.happened(1)
    headers = (await service.gateway.get(address)).headers
    tag, modified = headers["ETag"], headers["Last-Modified"]

    unchanged = await service.gateway.get(address, headers={"If-None-Match": tag})
    since = await service.status(address, **{"If-Modified-Since": modified})
    # The tag counts before the time (RFC 9110, 13.2.2).
    other = {"If-None-Match": '"another"', "If-Modified-Since": modified}
    both = await service.status(address, **other)
    await service.happened(2)

    assert (unchanged.status, await unchanged.read()) == (304, b"")
    assert (since, both) == (304, 200)
    assert await service.status(address, **{"If-None-Match": tag}) == 200


async def test_each_token_has_its_rate_and_guesses_are_counted_by_address(
    service: Service,
) -> None:
    address = await service.feed(await service.watchlist(COMPANY))
    other = await service.feed(await service.watchlist(OTHER))
    statuses = [await service.status(address) for _ in range(6)]
    of_other = await service.status(other)
    guesses = [await service.status(f"{address}{number}") for number in range(6)]

    assert (statuses, of_other) == ([200] * 5 + [429], 200)
    assert guesses == [404] * 5 + [429]
    assert await service.status(other) == 429


async def test_the_token_is_in_no_log_and_no_metric(service: Service) -> None:
    address = await service.feed(await service.watchlist(COMPANY))
    token = address.partition("=")[2]

    with capture_logs() as logs:
        statuses = [await service.status(address), await service.status(f"{address}x")]

    assert statuses == [200, 404]
    assert [each["route"] for each in logs if each["event"] == "request.done"] == [
        "/api/watchlists/{watchlist_id}/feed.atom"
    ] * 2
    found = [*map(str, logs), *map(str, service.gateway.registry.collect())]
    assert not [each for each in found if token in each]
