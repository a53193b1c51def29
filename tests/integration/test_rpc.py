"""RPC over RabbitMQ."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import aio_pika
import pytest
import trustme
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from prometheus_client import REGISTRY
from prometheus_client.samples import Sample
from yarl import URL

from common.contracts.company import Country
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.contracts.topology import lookup_queue
from common.contracts.traces import TraceContext, parse
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.rpc import Asked, Result, RpcFailed, encode_requests, encode_results
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import CLIENT_OVERLOAD, Route
from common.messaging.rpc_server import MAX_HELD, MAX_REPLY, RpcServer
from common.runtime import tracing
from local_stack.management import Management
from tests.delivery.waiting import SOON, until_connected

pytestmark = pytest.mark.integration

ROUTE = Route(lookup_queue(Country.DK))
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
        self, asked: Sequence[Asked[LookupRequest]], results: Sequence[Result], _seconds: float
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
    """A client and the connections it uses."""

    client: RpcClient
    connections: tuple[SupervisedConnection, ...]

    async def ask(
        self,
        term: str,
        *,
        route: Route = ROUTE,
        timeout: float = SOON,
        request_id: str | None = None,
        client: str = "",
    ) -> bytes:
        reply = await self.client.call(
            route,
            a_request(term),
            LookupReply,
            timeout=timeout,
            request_id=request_id or f"request-{term}",
            client=client,
        )
        return reply.body

    async def ready(self) -> None:
        await until_connected(*self.connections)


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
    async with AsyncExitStack() as stack:
        publishing, consuming = [
            await stack.enter_async_context(supervised(amqp_url, name=name, random=Random(1)))
            for name in ("asker.publish", "asker.consume")
        ]
        client = await stack.enter_async_context(
            RpcClient(publishing, consuming, queues=(ROUTE.queue,))
        )
        made = Rpc(client, (publishing, consuming))
        await made.ready()
        yield made


@asynccontextmanager
async def a_server(
    amqp_url: str, handler: Echo, *, together: bool = True
) -> AsyncIterator[SupervisedConnection]:
    async with supervised(amqp_url, name="server", random=Random(2)) as connection:
        await until_connected(connection)
        server = RpcServer(
            (connection,),
            ROUTE.queue,
            LookupRequest,
            handler,
            report=handler.report,
            together=together,
        )
        async with server.serving(drain_timeout=SOON):
            yield connection


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


async def test_a_reply_reaches_its_caller(rpc: Rpc, amqp_url: str) -> None:
    async with a_server(amqp_url, Echo()):
        answers = await asyncio.gather(*(rpc.ask(str(number)) for number in range(300)))

    assert answers == [str(number).encode() for number in range(300)]


async def test_requests_and_long_replies_pass_through_tls(amqp_url: str, tmp_path: Path) -> None:
    term = "a" * 500_000
    async with over_tls(amqp_url, tmp_path) as url, a_client(url) as rpc, a_server(url, Echo()):
        answers = await asyncio.gather(*(rpc.ask(f"{number}{term}") for number in range(4)))

    assert answers == [f"{number}{term}".encode() for number in range(4)]


def connections_lost() -> float | None:
    return REGISTRY.get_sample_value("broker_connections_lost_total", {"connection": "server"})


async def test_a_reply_that_is_too_long_for_the_broker_holds_what_fits(
    rpc: Rpc, amqp_url: str
) -> None:
    async with a_server(amqp_url, Echo()):
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


async def test_pending_requests_share_a_message(rpc: Rpc, amqp_url: str) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo):
        await rpc.ask("before")  # until a server is known, all calls wait together
        await asyncio.gather(*(rpc.ask(str(number)) for number in range(100)))

    # The first waits for no other, and all others wait together.
    assert [len(batch) for batch in echo.lists] == [1, 1, 99]


@pytest.mark.parametrize("together", [True, False])
async def test_each_request_of_a_batch_keeps_its_trace(
    rpc: Rpc, amqp_url: str, *, together: bool
) -> None:
    echo = Echo()

    async def ask_in(trace: TraceContext | None, number: int) -> None:
        tracing.CURRENT.set(trace)
        await rpc.ask(str(number))

    traces = [parse(f"00-{number:032x}-{7:016x}-01", f"n={number}") for number in range(50)]
    async with a_server(amqp_url, echo, together=together):
        await asyncio.gather(*(ask_in(trace, number) for number, trace in enumerate(traces)))

    assert [echo.traces[f"request-{number}"] for number in range(50)] == traces


async def test_the_handler_of_one_request_works_in_its_trace(rpc: Rpc, amqp_url: str) -> None:
    echo = Echo()
    trace = TraceContext(f"00-{1:032x}-{2:016x}-01")
    tracing.CURRENT.set(trace)
    async with a_server(amqp_url, echo):
        await rpc.ask("1", request_id="mine")

    assert echo.worked_in == [(trace, "mine")]


async def test_a_failure_reaches_only_its_caller(rpc: Rpc, amqp_url: str) -> None:
    async with a_server(amqp_url, Echo()):
        found, failed = await asyncio.gather(
            rpc.ask("1"), rpc.ask("unknown"), return_exceptions=True
        )

    assert found == b"1"
    assert isinstance(failed, RpcFailed)
    assert failed.failure.code is FailureCode.COMPANY_NOT_FOUND
    # It is a reply, and not a failure of the service.
    counted = {sample.labels["cause"] for sample in failure_samples()}
    assert FailureCode.COMPANY_NOT_FOUND.value not in counted


def failure_samples() -> list[Sample]:
    return [
        sample
        for metric in REGISTRY.collect()
        if metric.name == "rpc_request_failures"
        for sample in metric.samples
    ]


@pytest.mark.parametrize(
    "term, code",
    [("away", FailureCode.UNAVAILABLE), ("broken", FailureCode.INTERNAL)],
)
@pytest.mark.parametrize("together", [True, False])
async def test_a_handler_that_raises_fails_the_request_without_a_text_and_serves_on(
    rpc: Rpc, amqp_url: str, term: str, code: FailureCode, *, together: bool
) -> None:
    async with a_server(amqp_url, Echo(), together=together):
        with pytest.raises(RpcFailed) as failed:
            await rpc.ask(term)
        answer = await rpc.ask("next")

    assert failed.value.failure == Failure(code=code)
    assert answer == b"next"


@pytest.mark.parametrize("together", [True, False])
async def test_a_request_that_cannot_be_answered_spares_its_neighbours(
    rpc: Rpc, amqp_url: str, *, together: bool
) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo, together=together):
        before, failed, after = await asyncio.gather(
            rpc.ask("1"), rpc.ask("broken"), rpc.ask("2"), return_exceptions=True
        )

    assert (before, after) == (b"1", b"2")
    assert isinstance(failed, RpcFailed)
    assert echo.results["request-broken"] == Failure(code=FailureCode.INTERNAL)


async def test_an_outage_fails_a_batch_without_trying_each_request(rpc: Rpc, amqp_url: str) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo):
        await rpc.ask("before")
        outcomes = await asyncio.gather(
            rpc.ask("1"), rpc.ask("away"), rpc.ask("2"), return_exceptions=True
        )

    assert echo.lists == [["before"], ["1"], ["away", "2"]]
    assert outcomes[0] == b"1"
    assert [code_of(outcome) for outcome in outcomes[1:]] == [FailureCode.UNAVAILABLE] * 2


async def test_each_request_of_a_batch_keeps_its_own_deadline(rpc: Rpc, amqp_url: str) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo, together=False), asyncio.TaskGroup() as group:
        await rpc.ask("before")
        # The first is sent alone; the others share a message.
        patient = [group.create_task(rpc.ask("wait")) for _ in range(2)]
        hasty, later = await asyncio.gather(
            rpc.ask("wait", timeout=1, request_id="hasty"),
            rpc.ask("wait", timeout=2),
            return_exceptions=True,
        )
        echo.gate.set()

    assert [code_of(hasty), code_of(later)] == [FailureCode.DEADLINE_EXCEEDED] * 2
    assert [task.result() for task in patient] == [b"wait"] * 2
    assert echo.results["hasty"] == Failure(code=FailureCode.DEADLINE_EXCEEDED)


async def test_a_missing_server_is_reported_before_the_deadline(rpc: Rpc) -> None:
    async with asyncio.timeout(SOON):
        with pytest.raises(RpcFailed) as failed:
            await rpc.ask("1", timeout=3 * SOON)

    assert failed.value.failure.code is FailureCode.UNAVAILABLE


async def test_calls_that_failed_without_a_server_take_no_place_of_later_ones(
    rpc: Rpc, amqp_url: str
) -> None:
    narrow = Route(ROUTE.queue, max_pending=2)
    for _ in range(5):
        with pytest.raises(RpcFailed):
            await rpc.ask("unserved", route=narrow)

    async with a_server(amqp_url, Echo()):
        assert await _answered(rpc, "served", route=narrow) == b"served"


async def test_calls_without_an_answer_in_time_take_no_place_of_later_ones(
    rpc: Rpc, amqp_url: str
) -> None:
    echo = Echo()
    async with a_server(amqp_url, echo):
        for _ in range(ROUTE.in_flight + 1):
            with pytest.raises(RpcFailed) as late:
                await rpc.ask("wait", timeout=0.1)
        echo.gate.set()
        answer = await rpc.ask("next")

    assert late.value.failure.code is FailureCode.DEADLINE_EXCEEDED
    assert answer == b"next"


async def test_a_request_beyond_the_maximum_pending_is_refused_at_once(
    rpc: Rpc, amqp_url: str
) -> None:
    narrow = Route(ROUTE.queue, in_flight=1, max_batch_size=1, max_pending=2)
    echo = Echo()
    async with a_server(amqp_url, echo), asyncio.TaskGroup() as group:
        first = group.create_task(rpc.ask("wait", route=narrow))
        await echo.asked.wait()
        waiting = [group.create_task(rpc.ask(term, route=narrow)) for term in ("a", "b")]
        await asyncio.sleep(0)

        with pytest.raises(RpcFailed) as refused:
            await rpc.ask("c", route=narrow)
        echo.gate.set()

    assert refused.value.failure.code is FailureCode.UNAVAILABLE
    assert [await task for task in (first, *waiting)] == [b"wait", b"a", b"b"]


async def test_a_client_with_many_requests_delays_and_refuses_none_but_its_own(
    rpc: Rpc, amqp_url: str
) -> None:
    fair = Route(ROUTE.queue, in_flight=2, max_batch_size=2, client_in_flight=1, client_pending=3)
    echo = Echo()
    async with a_server(amqp_url, echo), asyncio.TaskGroup() as group:
        first = group.create_task(rpc.ask("wait", route=fair, client="busy"))
        await echo.asked.wait()
        waiting = [group.create_task(rpc.ask(f"{n}", route=fair, client="busy")) for n in range(3)]
        await asyncio.sleep(0)

        with pytest.raises(RpcFailed) as refused:
            await rpc.ask("too many", route=fair, client="busy")
        answer = await rpc.ask("quiet", route=fair, client="quiet")
        echo.gate.set()

    assert refused.value.cause == CLIENT_OVERLOAD
    assert answer == b"quiet"
    assert [await task for task in (first, *waiting)] == [b"wait", b"0", b"1", b"2"]
    assert echo.lists == [["wait"], ["quiet"], ["0", "1"], ["2"]]


async def test_requests_beyond_what_a_server_holds_fail_at_once_and_the_rest_is_served(
    rpc: Rpc, amqp_url: str
) -> None:
    one_each = Route(ROUTE.queue, in_flight=2 * MAX_HELD, max_batch_size=1)
    echo = Echo()
    async with a_server(amqp_url, echo), asyncio.TaskGroup() as group:
        served = [group.create_task(rpc.ask("wait", route=one_each)) for _ in range(MAX_HELD)]
        await echo.asked.wait()
        refused = await asyncio.gather(
            *(rpc.ask("more", route=one_each) for _ in range(10)), return_exceptions=True
        )
        echo.gate.set()

    assert [code_of(outcome) for outcome in refused] == [FailureCode.UNAVAILABLE] * 10
    assert {task.result() for task in served} == {b"wait"}


async def test_messages_go_to_the_server_with_the_fewest_in_flight(rpc: Rpc, amqp_url: str) -> None:
    one_each = Route(ROUTE.queue, in_flight=4, max_batch_size=1)
    first, second = Echo(), Echo()
    async with a_server(amqp_url, first), a_server(amqp_url, second), asyncio.TaskGroup() as group:
        while not (first.lists and second.lists):
            await rpc.ask("1", route=one_each)
        for echo in (first, second):
            echo.lists.clear()
        asked = [group.create_task(rpc.ask("wait", route=one_each)) for _ in range(6)]
        await _until(lambda: len(first.lists) + len(second.lists) == len(asked))
        shares = len(first.lists), len(second.lists)
        for echo in (first, second):
            echo.gate.set()

    assert shares == (3, 3)


async def test_requests_of_a_server_that_dies_are_answered_by_another(
    rpc: Rpc, amqp_url: str
) -> None:
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        silent = await stack.enter_async_context(a_silent_server(amqp_url))
        asked = group.create_task(rpc.ask("1"))
        await _until(lambda: silent.requests == 1)
        async with a_server(amqp_url, Echo()):
            await stack.aclose()
            answer = await asked

    assert answer == b"1"


async def test_a_server_that_stands_still_gets_no_further_requests(rpc: Rpc, amqp_url: str) -> None:
    async with a_silent_server(amqp_url) as silent:
        with pytest.raises(RpcFailed) as failed:
            await rpc.ask("1", timeout=0.5)
        silent.stands_still = True
        async with a_server(amqp_url, Echo()):
            answers = [await _answered(rpc, "next")] + [await rpc.ask("next") for _ in range(4)]
        requests = silent.requests

    assert code_of(failed.value) is FailureCode.DEADLINE_EXCEEDED
    assert answers == [b"next"] * 5
    assert requests <= 2


async def test_client_and_server_reconnect(
    rpc: Rpc, amqp_url: str, vhost: str, management: Management
) -> None:
    async with a_server(amqp_url, Echo()):
        before = await rpc.ask("before")
        await _close_all(management, vhost)
        after = await _answered(rpc, "after")

    assert (before, after) == (b"before", b"after")


@pytest.mark.parametrize("is_repeatable", [True, False])
async def test_of_the_requests_in_flight_on_lost_connections_only_repeatable_ones_are_sent_again(
    rpc: Rpc, amqp_url: str, vhost: str, management: Management, *, is_repeatable: bool
) -> None:
    route, echo = replace(ROUTE, is_repeatable=is_repeatable), Echo()
    async with a_server(amqp_url, echo):
        asking = asyncio.create_task(rpc.ask("wait", route=route))
        await echo.asked.wait()
        await _close_all(management, vhost)
        if is_repeatable:
            echo.gate.set()
        [outcome] = await asyncio.gather(asking, return_exceptions=True)
        echo.gate.set()

    if is_repeatable:
        assert outcome == b"wait"
    else:
        assert code_of(outcome) is FailureCode.UNAVAILABLE
        assert echo.lists == [["wait"]]


async def test_a_server_declares_its_deleted_queue_and_exchange_again(
    rpc: Rpc, amqp_url: str, vhost: str, management: Management
) -> None:
    async with a_server(amqp_url, Echo()):
        await rpc.ask("before")
        async with await aio_pika.connect(amqp_url) as operator:
            channel = await operator.channel()
            await channel.exchange_delete(ROUTE.queue)
        await _close_all(management, vhost)
        after = await _answered(rpc, "after")

    assert after == b"after"


async def test_the_queue_of_a_server_is_its_own_and_waits_for_no_disk(
    rpc: Rpc, amqp_url: str, vhost: str, management: Management
) -> None:
    """RabbitMQ 4.3 refuses a queue that is neither durable nor exclusive."""
    async with a_server(amqp_url, Echo()):
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


async def test_a_connection_is_renewed_when_the_broker_has_lost_its_own_queue(
    amqp_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.messaging.connection.QUEUES_INTERVAL", 0.05)
    async with supervised(amqp_url, name="owner", random=Random(1)) as connection:
        await until_connected(connection)
        own = OwnQueue(connection)
        await connection.add(own)
        await own.lose()

        async with asyncio.timeout(SOON):
            while len(own.names) == 1:  # noqa: ASYNC110 (polled)
                await asyncio.sleep(0.01)
        await until_connected(connection)

    assert len(set(own.names)) == 2


async def test_a_call_without_a_broker_fails_at_once() -> None:
    async with AsyncExitStack() as stack:
        nowhere = "amqp://guest:guest@127.0.0.1:1/"
        connection = await stack.enter_async_context(
            supervised(nowhere, name="asker", random=Random(1))
        )
        client = await stack.enter_async_context(RpcClient(connection, queues=(ROUTE.queue,)))

        async with asyncio.timeout(SOON):
            with pytest.raises(RpcFailed) as failed:
                await Rpc(client, (connection,)).ask("1", timeout=3 * SOON)

    assert failed.value.failure.code is FailureCode.UNAVAILABLE


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not happened():  # noqa: ASYNC110 (the parts under test have no event for it)
            await asyncio.sleep(0.01)


async def _answered(rpc: Rpc, term: str, route: Route = ROUTE) -> bytes:
    """Asks until there is an answer, as clients do after a 503; at most `SOON` seconds."""
    async with asyncio.timeout(SOON):
        while True:
            try:
                return await rpc.ask(term, route=route, timeout=1)
            except RpcFailed:
                await asyncio.sleep(0)  # a call on a connection that is being closed fails at once
                await rpc.ready()


async def _close_all(management: Management, vhost: str) -> None:
    """Closes the connections of client and server from the broker's side."""
    assert await asyncio.to_thread(lambda: management.close_connections(vhost, at_least=3)) == 3
