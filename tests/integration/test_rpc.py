"""RPC over RabbitMQ."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import aio_pika
import pytest
import trustme
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from prometheus_client import REGISTRY
from yarl import URL

from common.contracts.company import Country
from common.contracts.contract import TraceContext, parse
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.requests import LOOK_UP
from common.messaging.rpc import Result, RpcFailed, RpcRequest, encode_requests, encode_results
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_server import MAX_HELD, MAX_REPLY, RpcServer
from common.messaging.rpc_servers import CLIENT_OVERLOAD, Route
from common.runtime import tracing
from local_stack.management import Management
from tests.delivery.broker import NOWHERE, connections, until_bound
from tests.delivery.waiting import SOON, until_connected

pytestmark = pytest.mark.integration

ROUTE = LOOK_UP.route(Country.DK)
#: Bytes of a long reply, with the few around them.
LONG = 1_000_000


def a_request(term: str) -> LookupRequest:
    question = Question(type=SearchType.VAT, term=term)
    return LookupRequest(country=Country.DK, questions=(question,))


def code_of(outcome: object) -> FailureCode:
    assert isinstance(outcome, RpcFailed)
    return outcome.failure.code


def term_of(request: LookupRequest) -> str:
    return request.questions[0].term


@dataclass
class Echo:
    """Replies with the request's term, and records the lists and results."""

    lists: list[list[str]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    #: By request id, as they were reported.
    results: dict[str, Result] = field(default_factory=dict)
    traces: dict[str, TraceContext | None] = field(default_factory=dict)
    #: The trace and the request of each list.
    worked_in: list[tuple[TraceContext | None, str | None]] = field(default_factory=list)

    async def __call__(self, requests: Sequence[LookupRequest]) -> Sequence[Result]:
        self.lists.append([term_of(request) for request in requests])
        self.worked_in.append((tracing.CURRENT.get(), tracing.REQUEST_ID.get()))
        self.asked.set()
        if "wait" in self.lists[-1]:
            await self.gate.wait()
        return [self._result(term_of(request)) for request in requests]

    def report(
        self, asked: Sequence[RpcRequest[LookupRequest]], results: Sequence[Result], _seconds: float
    ) -> None:
        self.traces |= {item.request_id: item.trace for item in asked}
        self.results |= {item.request_id: each for item, each in zip(asked, results, strict=True)}

    def _result(self, term: str) -> Result:
        match term:
            case "unknown":
                return Failure(code=FailureCode.COMPANY_NOT_FOUND, detail="no such company")
            case "away":
                raise Unavailable("the database cannot be reached")
            case "broken":
                raise ValueError("a fault of ours")
            case "long":
                return LookupReply(body=bytes(LONG), tag="t")
            case _:
                return LookupReply(body=term.encode(), tag="t")


@dataclass
class Rpc:
    """A client, the connections it uses, and servers for it."""

    client: RpcClient
    connections: tuple[SupervisedConnection, ...]
    amqp_url: str

    async def ask(self, term: str, *, request_id: str | None = None, **options: Any) -> bytes:
        """Returns the reply; `options` are a route, a timeout and the client that asks."""
        request_id = request_id or f"request-{term}"
        given = {"route": ROUTE, "timeout": SOON, "request_id": request_id, **options}
        reply = await self.client.call(given.pop("route"), a_request(term), LookupReply, **given)
        return reply.body

    async def ask_all(self, *terms: str, **options: Any) -> list[bytes | BaseException]:
        """Asks at once; returns the reply or the failure of each."""
        asked = (self.ask(term, **options) for term in terms)
        return await asyncio.gather(*asked, return_exceptions=True)

    async def refused(self, term: str, **options: Any) -> RpcFailed:
        with pytest.raises(RpcFailed) as failed:
            await self.ask(term, **options)
        return failed.value

    async def until_answered(self, term: str, **options: Any) -> bytes:
        """Asks until there is an answer, as clients do after a 503; at most `SOON` seconds."""
        async with asyncio.timeout(SOON):
            while True:
                try:
                    return await self.ask(term, timeout=1, **options)
                except RpcFailed:
                    await asyncio.sleep(0)  # on a connection that closes a call fails at once
                    await until_connected(*self.connections)

    @asynccontextmanager
    async def server(
        self, echo: Echo | None = None, *, together: bool = True
    ) -> AsyncIterator[Echo]:
        """Answers requests during the body."""
        echo = Echo()
        async with connections(self.amqp_url, "server") as [connection]:
            server = RpcServer(
                (connection,),
                ROUTE.queue,
                LookupRequest,
                echo,
                report=echo.report,
                together=together,
            )
            async with server.serving(drain_timeout=SOON):
                yield echo


@asynccontextmanager
async def over_tls(amqp_url: str, folder: Path) -> AsyncIterator[str]:
    """The broker's URL behind a TLS server of a CA of its own."""
    authority, plain = trustme.CA(), URL(amqp_url)
    authority.cert_pem.write_to_path(folder / "ca.crt")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
        target.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(plain.host, plain.port)
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    server = await asyncio.start_server(forward, "localhost", 0, ssl=context)
    try:
        port = server.sockets[0].getsockname()[1]
        secure = plain.with_scheme("amqps").with_host("localhost").with_port(port)
        yield str(secure.with_query(cafile=str(folder / "ca.crt")))
    finally:
        server.close()


@pytest.fixture
async def rpc(amqp_url: str) -> AsyncIterator[Rpc]:
    async with a_client(amqp_url) as made:
        yield made


@asynccontextmanager
async def a_client(amqp_url: str) -> AsyncIterator[Rpc]:
    async with (
        connections(amqp_url, "asker.publish", "asker.consume") as (publishing, consuming),
        RpcClient(publishing, consuming, queues=(ROUTE.queue,)) as client,
    ):
        yield Rpc(client, (publishing, consuming), amqp_url)


@dataclass
class Silent:
    """A server that takes requests and never answers them; while it stands still, nothing."""

    requests: int = 0
    stands_still: bool = False


@asynccontextmanager
async def a_silent_server(amqp_url: str) -> AsyncIterator[Silent]:
    silent = Silent()
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)

        async def take(message: AbstractIncomingMessage) -> None:
            if message.body != encode_requests(()):
                silent.requests += 1
            elif not silent.stands_still:
                introduction = aio_pika.Message(
                    encode_results(()),
                    correlation_id=message.correlation_id,
                    reply_to=queue.name,
                )
                await channel.default_exchange.publish(introduction, message.reply_to or "")

        await queue.consume(take, no_ack=True)
        await queue.bind(ROUTE.queue)
        yield silent


async def test_a_reply_reaches_its_caller(rpc: Rpc) -> None:
    async with rpc.server():
        answers = await rpc.ask_all(*map(str, range(300)))

    assert answers == [str(number).encode() for number in range(300)]


async def test_requests_and_long_replies_pass_through_tls(amqp_url: str, tmp_path: Path) -> None:
    terms = [f"{number}{'a' * 500_000}" for number in range(4)]
    async with over_tls(amqp_url, tmp_path) as url, a_client(url) as rpc, rpc.server():
        answers = await rpc.ask_all(*terms)

    assert answers == [term.encode() for term in terms]


async def test_a_reply_that_is_too_long_for_the_broker_holds_what_fits(rpc: Rpc) -> None:
    def connections_lost() -> float | None:
        return REGISTRY.get_sample_value("broker_connections_lost_total", {"connection": "server"})

    async with rpc.server():
        await rpc.ask("before")  # until a server is known, all calls wait together
        lost = connections_lost()
        outcomes = await asyncio.gather(
            *(rpc.ask("long", request_id=f"request-{number}") for number in range(40)),
            return_exceptions=True,
        )
        again = await rpc.ask("long")

    refused = [code_of(outcome) for outcome in outcomes if not isinstance(outcome, bytes)]
    assert len(refused) == 39 - MAX_REPLY // LONG
    assert set(refused) == {FailureCode.UNAVAILABLE}
    assert len(again) == LONG
    assert connections_lost() == lost


async def test_pending_requests_share_a_message(rpc: Rpc) -> None:
    async with rpc.server() as echo:
        await rpc.ask("before")  # until a server is known, all calls wait together
        await rpc.ask_all(*map(str, range(100)))

    # The first waits for no other, and all others wait together.
    assert [len(batch) for batch in echo.lists] == [1, 1, 99]


@pytest.mark.parametrize("together", [True, False])
async def test_each_request_of_a_batch_keeps_its_trace(rpc: Rpc, *, together: bool) -> None:
    async def ask_in(trace: TraceContext | None, number: int) -> None:
        tracing.CURRENT.set(trace)
        await rpc.ask(str(number))

    traces = [parse(f"00-{number:032x}-{7:016x}-01", f"n={number}") for number in range(50)]
    async with rpc.server(together=together) as echo:
        await asyncio.gather(*(ask_in(trace, number) for number, trace in enumerate(traces)))

    assert [echo.traces[f"request-{number}"] for number in range(50)] == traces


async def test_the_handler_of_one_request_works_in_its_trace(rpc: Rpc) -> None:
    trace = TraceContext(f"00-{1:032x}-{2:016x}-01")
    tracing.CURRENT.set(trace)
    async with rpc.server() as echo:
        await rpc.ask("1", request_id="mine")

    assert echo.worked_in == [(trace, "mine")]


async def test_a_failure_reaches_only_its_caller(rpc: Rpc) -> None:
    async with rpc.server():
        found, failed = await rpc.ask_all("1", "unknown")

    assert found == b"1"
    assert code_of(failed) is FailureCode.COMPANY_NOT_FOUND
    # It is a reply, and not a failure of the service.
    [failures] = [each for each in REGISTRY.collect() if each.name == "rpc_request_failures"]
    counted = {sample.labels["cause"] for sample in failures.samples}
    assert FailureCode.COMPANY_NOT_FOUND.value not in counted


@pytest.mark.parametrize(
    "term, code", [("away", FailureCode.UNAVAILABLE), ("broken", FailureCode.INTERNAL)]
)
@pytest.mark.parametrize("together", [True, False])
async def test_a_handler_that_raises_fails_the_request_without_a_text_and_serves_on(
    rpc: Rpc, term: str, code: FailureCode, *, together: bool
) -> None:
    async with rpc.server(together=together):
        failed = await rpc.refused(term)
        answer = await rpc.ask("next")

    assert failed.failure == Failure(code=code)
    assert answer == b"next"


@pytest.mark.parametrize("together", [True, False])
async def test_a_request_that_cannot_be_answered_spares_its_neighbours(
    rpc: Rpc, *, together: bool
) -> None:
    async with rpc.server(together=together) as echo:
        before, failed, after = await rpc.ask_all("1", "broken", "2")

    assert (before, after) == (b"1", b"2")
    assert code_of(failed) is FailureCode.INTERNAL
    assert echo.results["request-broken"] == Failure(code=FailureCode.INTERNAL)


async def test_an_outage_fails_a_batch_without_trying_each_request(rpc: Rpc) -> None:
    async with rpc.server() as echo:
        await rpc.ask("before")
        first, *others = await rpc.ask_all("1", "away", "2")

    assert echo.lists == [["before"], ["1"], ["away", "2"]]
    assert first == b"1"
    assert [code_of(outcome) for outcome in others] == [FailureCode.UNAVAILABLE] * 2


async def test_each_request_of_a_batch_keeps_its_own_deadline(rpc: Rpc) -> None:
    async with rpc.server(together=False) as echo, asyncio.TaskGroup() as group:
        await rpc.ask("before")
        # The first is sent alone; the others share a message.
        patient = [group.create_task(rpc.ask("wait")) for _ in range(2)]
        late = await asyncio.gather(
            rpc.refused("wait", timeout=0.2, request_id="hasty"), rpc.refused("wait", timeout=0.3)
        )
        echo.gate.set()

    assert [code_of(failed) for failed in late] == [FailureCode.DEADLINE_EXCEEDED] * 2
    assert [task.result() for task in patient] == [b"wait"] * 2
    assert echo.results["hasty"] == Failure(code=FailureCode.DEADLINE_EXCEEDED)


async def test_what_is_done_in_time_is_answered_beside_what_is_not(rpc: Rpc) -> None:
    async with rpc.server(together=False):
        await rpc.ask("before")
        # They share a message, whose reply comes before the deadline that they share, too.
        first, late, second = await rpc.ask_all("1", "wait", "2", timeout=0.5)

    assert (first, second) == (b"1", b"2")
    assert code_of(late) is FailureCode.DEADLINE_EXCEEDED


async def test_calls_that_failed_without_a_server_take_no_place_of_later_ones(rpc: Rpc) -> None:
    narrow = Route(ROUTE.queue, max_pending=2)
    for _ in range(5):
        await rpc.refused("unserved", route=narrow)

    async with rpc.server():
        assert await rpc.until_answered("served", route=narrow) == b"served"


async def test_calls_without_an_answer_in_time_take_no_place_of_later_ones(rpc: Rpc) -> None:
    async with rpc.server() as echo:
        late = [await rpc.refused("wait", timeout=0.1) for _ in range(ROUTE.in_flight + 1)]
        echo.gate.set()
        answer = await rpc.ask("next")

    assert {code_of(failed) for failed in late} == {FailureCode.DEADLINE_EXCEEDED}
    assert answer == b"next"


async def test_a_request_beyond_the_maximum_pending_is_refused_at_once(rpc: Rpc) -> None:
    narrow = Route(ROUTE.queue, in_flight=1, max_batch_size=1, max_pending=2)
    async with rpc.server() as echo:
        first = asyncio.create_task(rpc.ask("wait", route=narrow))
        await echo.asked.wait()
        waiting = asyncio.create_task(rpc.ask_all("a", "b", route=narrow))
        await settled()

        refused = await rpc.refused("c", route=narrow)
        echo.gate.set()

        assert [await first, *await waiting] == [b"wait", b"a", b"b"]
    assert code_of(refused) is FailureCode.UNAVAILABLE


async def test_a_client_with_many_requests_delays_and_refuses_none_but_its_own(rpc: Rpc) -> None:
    fair = Route(ROUTE.queue, in_flight=2, max_batch_size=2, client_in_flight=1, client_pending=3)
    async with rpc.server() as echo:
        first = asyncio.create_task(rpc.ask("wait", route=fair, client="busy"))
        await echo.asked.wait()
        waiting = asyncio.create_task(rpc.ask_all("0", "1", "2", route=fair, client="busy"))
        await settled()

        refused = await rpc.refused("too many", route=fair, client="busy")
        answer = await rpc.ask("quiet", route=fair, client="quiet")
        echo.gate.set()

        assert [await first, *await waiting] == [b"wait", b"0", b"1", b"2"]
    assert refused.cause == CLIENT_OVERLOAD
    assert answer == b"quiet"
    assert echo.lists == [["wait"], ["quiet"], ["0", "1"], ["2"]]


async def settled() -> None:
    """Returns when calls that were begun are pending."""
    for _ in range(2):
        await asyncio.sleep(0)


async def test_requests_beyond_what_a_server_holds_fail_at_once_and_the_rest_is_served(
    rpc: Rpc,
) -> None:
    one_each = Route(ROUTE.queue, in_flight=2 * MAX_HELD, max_batch_size=1)
    async with rpc.server() as echo:
        served = asyncio.create_task(rpc.ask_all(*["wait"] * MAX_HELD, route=one_each))
        await echo.asked.wait()
        refused = await rpc.ask_all(*["more"] * 10, route=one_each)
        echo.gate.set()

        assert set(await served) == {b"wait"}
    assert [code_of(outcome) for outcome in refused] == [FailureCode.UNAVAILABLE] * 10


async def test_messages_go_to_the_server_with_the_fewest_in_flight(rpc: Rpc) -> None:
    one_each = Route(ROUTE.queue, in_flight=4, max_batch_size=1)
    async with rpc.server() as first, rpc.server() as second:
        while not (first.lists and second.lists):
            await rpc.ask("1", route=one_each)
        for echo in (first, second):
            echo.lists.clear()
        asked = asyncio.create_task(rpc.ask_all(*["wait"] * 6, route=one_each))
        await _until(lambda: len(first.lists) + len(second.lists) == 6)
        shares = len(first.lists), len(second.lists)
        for echo in (first, second):
            echo.gate.set()
        await asked

    assert shares == (3, 3)


@pytest.mark.parametrize("is_repeatable", [True, False])
async def test_of_the_requests_of_a_server_that_dies_another_answers_only_repeatable_ones(
    rpc: Rpc, amqp_url: str, *, is_repeatable: bool
) -> None:
    route = replace(ROUTE, is_repeatable=is_repeatable)
    async with AsyncExitStack() as stack:
        silent = await stack.enter_async_context(a_silent_server(amqp_url))
        asked = asyncio.create_task(rpc.ask_all("1", route=route))
        await _until(lambda: silent.requests == 1)
        async with rpc.server() as echo:
            await stack.aclose()
            [outcome] = await asked

    if is_repeatable:
        assert outcome == b"1"
    else:
        assert code_of(outcome) is FailureCode.UNAVAILABLE
        assert not echo.lists


async def test_a_request_that_the_broker_returns_is_sent_to_another_server_whatever_it_does(
    rpc: Rpc, amqp_url: str
) -> None:
    async with a_silent_server(amqp_url):
        await rpc.refused("1", timeout=0.1)  # makes it known
    async with rpc.server():
        assert await rpc.ask("2", route=replace(ROUTE, is_repeatable=False)) == b"2"


async def test_a_small_part_of_the_requests_is_sent_again_for_want_of_a_reply(
    rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.messaging.rpc_servers.BURST", 2.0)
    monkeypatch.setattr("common.messaging.rpc_client.REPEATED", 0.0)
    one_each = Route(ROUTE.queue, in_flight=9, max_batch_size=1)
    async with rpc.server() as echo:
        asked = asyncio.create_task(rpc.ask_all(*["wait"] * 5, route=one_each))
        await _until(lambda: len(echo.lists) == 7)
        echo.gate.set()

        assert await asked == [b"wait"] * 5
    assert len(echo.lists) == 7


async def test_a_server_that_stands_still_gets_no_further_requests(rpc: Rpc, amqp_url: str) -> None:
    async with a_silent_server(amqp_url) as silent:
        failed = await rpc.refused("1", timeout=0.3)
        silent.stands_still = True
        async with rpc.server():
            answers = [await rpc.until_answered("next"), *await rpc.ask_all(*["next"] * 4)]
        requests = silent.requests

    assert code_of(failed) is FailureCode.DEADLINE_EXCEEDED
    assert answers == [b"next"] * 5
    assert requests <= 2


@pytest.fixture
def close_all(management: Management, vhost: str) -> Callable[[], Awaitable[None]]:
    """Closes the connections of client and server from the broker's side."""

    async def close() -> None:
        closing = asyncio.to_thread(management.close_connections, vhost, at_least=3)
        assert await closing == 3

    return close


async def test_client_and_server_reconnect_and_declare_what_was_deleted_meanwhile(
    rpc: Rpc, amqp_url: str, close_all: Callable[[], Awaitable[None]]
) -> None:
    async with rpc.server():
        before = await rpc.ask("before")
        async with await aio_pika.connect(amqp_url) as operator:
            channel = await operator.channel()
            await channel.exchange_delete(ROUTE.queue)
        await close_all()
        after = await rpc.until_answered("after")

    assert (before, after) == (b"before", b"after")


async def test_a_server_restores_its_binding(
    rpc: Rpc, amqp_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.messaging.connection.DECLARE_INTERVAL", 0.05)
    async with rpc.server(), await aio_pika.connect(amqp_url) as operator:
        await (await operator.channel()).exchange_delete(ROUTE.queue)

        await until_bound(operator, ROUTE.queue)


async def test_a_request_in_flight_on_lost_connections_is_not_sent_again_unless_it_is_repeatable(
    rpc: Rpc, close_all: Callable[[], Awaitable[None]]
) -> None:
    """tests/integration/test_rpc_faults.py has those that are."""
    async with rpc.server() as echo:
        route = replace(ROUTE, is_repeatable=False)
        asking = asyncio.create_task(rpc.ask_all("wait", route=route))
        await echo.asked.wait()
        await close_all()
        [outcome] = await asking
        echo.gate.set()
        await rpc.until_answered("after")

    assert code_of(outcome) is FailureCode.UNAVAILABLE
    assert echo.lists.count(["wait"]) == 1


async def test_the_queue_of_a_server_is_its_own_and_waits_for_no_disk(
    rpc: Rpc, vhost: str, management: Management
) -> None:
    """RabbitMQ 4.3 refuses a queue that is neither durable nor exclusive."""
    async with rpc.server():
        await rpc.ask("1")
        queues = await asyncio.to_thread(management.queues, vhost)

    assert {(queue["exclusive"], queue["durable"]) for queue in queues} == {(True, False)}


class OwnQueue:
    """An attachment with a queue of its own, and the names that it has had."""

    def __init__(self, connection: SupervisedConnection) -> None:
        self.names: list[str] = []
        self._supervised = connection
        self._channel: AbstractChannel | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        self._channel = await self._supervised.open_channel(connection, confirms=False)
        self.names.append((await self._supervised.declare_own_queue(self._channel)).name)

    def detach(self) -> None:
        self._channel = None

    async def lose(self) -> None:
        """Deletes the queue; the broker sends no notice, since the queue has no consumer."""
        assert self._channel is not None
        await self._channel.queue_delete(self.names[-1])


@pytest.mark.parametrize("lost", [0, 1])
async def test_a_connection_is_renewed_when_the_broker_has_lost_one_of_its_own_queues(
    amqp_url: str, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    monkeypatch.setattr("common.messaging.connection.QUEUE_INTERVAL", 0.05)
    async with connections(amqp_url, "owner") as [connection]:
        own = [OwnQueue(connection), OwnQueue(connection)]
        for each in own:
            await connection.add(each)
        await own[lost].lose()

        await _until(lambda: all(len(each.names) > 1 for each in own))
        await until_connected(connection)

    assert [len(set(each.names)) for each in own] == [2, 2]


async def test_a_call_without_a_broker_fails_at_once() -> None:
    async with (
        asyncio.timeout(SOON),
        supervised(NOWHERE, name="asker", random=Random(1)) as connection,
        RpcClient(connection, queues=(ROUTE.queue,)) as client,
    ):
        failed = await Rpc(client, (connection,), NOWHERE).refused("1", timeout=3 * SOON)

    assert code_of(failed) is FailureCode.UNAVAILABLE


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not happened():  # noqa: ASYNC110 (the parts under test have no event for it)
            await asyncio.sleep(0.01)
