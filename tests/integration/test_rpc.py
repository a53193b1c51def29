"""Asking and answering over a real RabbitMQ."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random

import aio_pika
import pytest

from common.contracts.company import Country
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.messaging.connection import BrokerUnavailable, SupervisedConnection, supervised
from common.messaging.rpc import Asked, Result, RpcFailed
from common.messaging.rpc_client import (
    DeadlineExceeded,
    NoConsumer,
    Route,
    RpcClient,
    rpc_client,
)
from common.messaging.rpc_server import PREFETCH, QUEUE_LIMIT, RpcServer, serving
from local_stack.management import Management

pytestmark = pytest.mark.integration

ROUTE = Route("rpc.lookup.dk")
#: Seconds in which anything on this machine has happened.
SOON = 10.0


def a_request(term: str) -> LookupRequest:
    question = Question(type=SearchType.VAT, term=term)
    return LookupRequest(country=Country.DK, questions=(question,))


def term_of(asked: Asked[LookupRequest]) -> str:
    return asked.request.questions[0].term


@dataclass
class Echo:
    """Answers with what it was asked, and notes the lists that came."""

    lists: list[list[str]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, asked: Sequence[Asked[LookupRequest]]) -> Sequence[Result]:
        self.lists.append([term_of(item) for item in asked])
        self.asked.set()
        if "wait" in self.lists[-1]:
            await self.gate.wait()
        return [self._result(term_of(item)) for item in asked]

    def _result(self, term: str) -> Result:
        match term:
            case "unknown":
                return Failure(code=FailureCode.COMPANY_NOT_FOUND, detail="no such company")
            case "away":
                raise Unavailable("the database cannot be reached")
            case "broken":
                raise ValueError("a fault of ours")
            case _:
                return LookupReply(body=term.encode(), tag="t")


@dataclass
class Rpc:
    """A client and the connections it uses."""

    client: RpcClient
    links: tuple[SupervisedConnection, ...]

    async def ask(self, term: str, *, route: Route = ROUTE, limit: float = SOON) -> bytes:
        reply = await self.client.call(
            route, a_request(term), LookupReply, limit=limit, request_id=f"request-{term}"
        )
        return reply.body

    async def ready(self) -> None:
        for link in self.links:
            await link.until_ready(SOON)


@pytest.fixture
async def rpc(amqp_url: str) -> AsyncIterator[Rpc]:
    ids: Iterator[int] = count()
    async with AsyncExitStack() as stack:
        publishing, consuming = [
            await stack.enter_async_context(supervised(amqp_url, name=name, random=Random(1)))
            for name in ("asker.publish", "asker.consume")
        ]
        client = await stack.enter_async_context(
            rpc_client(publishing, consuming, new_id=lambda: f"id-{next(ids)}")
        )
        made = Rpc(client, (publishing, consuming))
        await made.ready()
        yield made


@asynccontextmanager
async def a_server(amqp_url: str, handler: Echo) -> AsyncIterator[SupervisedConnection]:
    async with supervised(amqp_url, name="server", random=Random(2)) as link:
        await link.until_ready(SOON)
        server = RpcServer(link, ROUTE.queue, LookupRequest, handler)
        async with serving(link, server, drain_limit=SOON):
            yield link


async def test_an_answer_comes_back_to_who_asked(rpc: Rpc, amqp_url: str) -> None:
    async with a_server(amqp_url, Echo()):
        answers = await asyncio.gather(*(rpc.ask(str(number)) for number in range(300)))

    assert answers == [str(number).encode() for number in range(300)]


async def test_requests_that_wait_together_share_a_message(rpc: Rpc, amqp_url: str) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo):
        await asyncio.gather(*(rpc.ask(str(number)) for number in range(100)))

    assert len(echo.lists) == 1
    assert len(echo.lists[0]) == 100


async def test_a_failure_is_its_askers_alone(rpc: Rpc, amqp_url: str) -> None:
    async with a_server(amqp_url, Echo()):
        found, failed = await asyncio.gather(
            rpc.ask("1"), rpc.ask("unknown"), return_exceptions=True
        )

    assert found == b"1"
    assert isinstance(failed, RpcFailed)
    assert failed.failure.code is FailureCode.COMPANY_NOT_FOUND


@pytest.mark.parametrize(
    "term, code",
    [("away", FailureCode.SERVICE_UNAVAILABLE), ("broken", FailureCode.INTERNAL_ERROR)],
)
async def test_a_handler_that_fails_says_so_and_serves_on(
    rpc: Rpc, amqp_url: str, term: str, code: FailureCode
) -> None:
    async with a_server(amqp_url, Echo()):
        with pytest.raises(RpcFailed) as failed:
            await rpc.ask(term)
        answer = await rpc.ask("next")

    assert failed.value.failure.code is code
    assert answer == b"next"


async def test_when_nobody_serves_it_is_known_before_any_deadline(rpc: Rpc) -> None:
    async with asyncio.timeout(SOON):
        with pytest.raises(NoConsumer):
            await rpc.ask("1", limit=3 * SOON)


async def test_an_answer_after_its_deadline_is_dropped(rpc: Rpc, amqp_url: str) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo):
        with pytest.raises(DeadlineExceeded):
            await rpc.ask("wait", limit=0.2)
        echo.gate.set()
        answer = await rpc.ask("next")

    assert answer == b"next"
    assert not rpc.client.waiting_for_replies


async def test_one_more_than_may_wait_is_refused_at_once(rpc: Rpc, amqp_url: str) -> None:
    narrow = Route(ROUTE.queue, in_flight=1, max_batch_size=1, max_pending=2)
    echo = Echo()
    async with a_server(amqp_url, echo), asyncio.TaskGroup() as group:
        first = group.create_task(rpc.ask("wait", route=narrow))
        await echo.asked.wait()
        waiting = [group.create_task(rpc.ask(term, route=narrow)) for term in ("a", "b")]
        await asyncio.sleep(0)

        with pytest.raises(NoConsumer):
            await rpc.ask("c", route=narrow)
        echo.gate.set()

    assert [await task for task in (first, *waiting)] == [b"wait", b"a", b"b"]


async def test_a_full_queue_sheds_load_at_once_and_serves_the_rest(rpc: Rpc, amqp_url: str) -> None:
    one_each = Route(ROUTE.queue, in_flight=QUEUE_LIMIT + PREFETCH + 50, max_batch_size=1)
    echo = Echo()
    async with a_server(amqp_url, echo), asyncio.TaskGroup() as group:
        asking = [
            group.create_task(_outcome(rpc, one_each)) for _ in range(QUEUE_LIMIT + PREFETCH + 50)
        ]
        async with asyncio.timeout(SOON):
            while sum(task.done() for task in asking) < 50:
                await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED, timeout=0.1)
        refused = [task.result() for task in asking if task.done()]
        echo.gate.set()

    outcomes = [task.result() for task in asking]
    assert set(refused) == {"refused"}
    assert outcomes.count("answered") == QUEUE_LIMIT + PREFETCH


async def _outcome(rpc: Rpc, route: Route) -> str:
    try:
        await rpc.ask("wait", route=route, limit=3 * SOON)
    except NoConsumer:
        return "refused"
    return "answered"


async def test_both_sides_come_back_after_their_connections_were_closed(
    rpc: Rpc, amqp_url: str, vhost: str, management: Management
) -> None:
    async with a_server(amqp_url, Echo()):
        before = await rpc.ask("before")
        await _close_all(management, vhost)
        after = await _answered(rpc, "after")

    assert (before, after) == (b"before", b"after")


async def test_a_request_under_way_when_the_connections_close_fails_and_does_not_hang(
    rpc: Rpc, amqp_url: str, vhost: str, management: Management
) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo):
        asking = asyncio.create_task(rpc.ask("wait", limit=SOON))
        await echo.asked.wait()
        await _close_all(management, vhost)

        with pytest.raises(BrokerUnavailable):
            await asking
        echo.gate.set()


async def test_a_server_whose_queue_is_deleted_serves_it_again(rpc: Rpc, amqp_url: str) -> None:
    async with a_server(amqp_url, Echo()):
        await rpc.ask("before")
        async with await aio_pika.connect(amqp_url) as operator:
            await (await operator.channel()).queue_delete(ROUTE.queue)
        after = await _answered(rpc, "after")

    assert after == b"after"


async def test_without_a_broker_asking_fails_at_once() -> None:
    async with AsyncExitStack() as stack:
        nowhere = "amqp://guest:guest@127.0.0.1:1/"
        link = await stack.enter_async_context(supervised(nowhere, name="asker", random=Random(1)))
        client = await stack.enter_async_context(rpc_client(link, link, new_id=lambda: "id"))

        async with asyncio.timeout(SOON):
            with pytest.raises(BrokerUnavailable):
                await Rpc(client, (link,)).ask("1", limit=3 * SOON)


async def _answered(rpc: Rpc, term: str) -> bytes:
    """Asks until there is an answer, as clients do after a 503; at most `SOON` seconds."""
    async with asyncio.timeout(SOON):
        while True:
            try:
                return await rpc.ask(term, limit=1)
            except (Unavailable, DeadlineExceeded):
                await rpc.ready()


async def _close_all(management: Management, vhost: str) -> None:
    """Closes the connections of client and server from the broker's side."""
    assert await asyncio.to_thread(lambda: management.close_connections(vhost, at_least=3)) == 3
