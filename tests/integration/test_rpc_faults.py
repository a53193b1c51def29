"""RPC over two nodes of a broker, of which one dies, freezes or is cut off: every read is answered.

The nodes are two proxies in front of one broker: what matters to client and server is that the
connections to one node end or fall silent together.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

import pytest
from yarl import URL

from common.contracts.company import Country
from common.contracts.failures import FailureCode, Unavailable
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.requests import LOOK_UP
from common.messaging.rpc import Result, RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_server import Dependency, RpcServer
from common.messaging.rpc_servers import Route
from common.runtime.tasks import background
from tests.delivery.waiting import SOON, eventually, until_connected

pytestmark = pytest.mark.integration

ROUTE = LOOK_UP.route(Country.NO)
REQUEST = LookupRequest(
    country=Country.NO, questions=(Question(type=SearchType.VAT, term="123456785"),)
)


@dataclass
class Node:
    """A way to the broker that can be ended, frozen and opened again."""

    broker: URL
    port: int = 0
    #: Seconds by which it is farther away than the broker, each way.
    delay: float = 0.0
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _thawed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return str(self.broker.with_port(self.port))

    async def start(self) -> None:
        self._thawed.set()
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def kill(self) -> None:
        """Ends all connections and takes no new ones."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    def freeze(self) -> None:
        """Passes nothing on; connections stay."""
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self.broker.host, self.broker.port)
        ends = {writer, there[1]}
        self._writers |= ends
        with suppress(ConnectionError):
            await asyncio.gather(self._copy(reader, there[1]), self._copy(there[0], writer))
        self._writers -= ends

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await self._thawed.wait()
                await asyncio.sleep(self.delay)
                target.write(data)
                await target.drain()
        finally:
            target.close()


@dataclass
class Replier:
    """A handler that says which server it is of, and can stand still or be without database."""

    name: str
    requests: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    is_away: bool = False

    def __post_init__(self) -> None:
        self.gate.set()

    async def __call__(self, requests: Sequence[LookupRequest]) -> Sequence[Result]:
        self.requests += len(requests)
        await self.gate.wait()
        if self.is_away:
            raise Unavailable("the database cannot be reached")
        return [LookupReply(body=self.name.encode(), tag="t") for _ in requests]


def unreported(*_args: object) -> None:
    """Logs nothing."""


@dataclass
class Asker:
    client: RpcClient
    connections: Sequence[SupervisedConnection]

    async def ask(self, route: Route = ROUTE, timeout: float = SOON) -> str:
        reply = await self.client.call(
            route, REQUEST, LookupReply, timeout=timeout, request_id="test"
        )
        return reply.body.decode()

    async def ask_many(self, count: int = 50) -> set[str]:
        """The servers of so many answers, one after the other; raises if any has none."""
        return {await self.ask() for _ in range(count)}


@pytest.fixture
async def nodes(amqp_url: str) -> AsyncIterator[tuple[Node, Node]]:
    first, second = Node(URL(amqp_url)), Node(URL(amqp_url))
    for node in (first, second):
        await node.start()
    yield first, second
    for node in (first, second):
        node.thaw()
        node.kill()


@asynccontextmanager
async def connected_to(name: str, *urls: str) -> AsyncIterator[Sequence[SupervisedConnection]]:
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(
                supervised(url, name=f"{name}-{number}", random=Random(1))
            )
            for number, url in enumerate(urls)
        ]
        await until_connected(*connections)
        yield connections


@asynccontextmanager
async def a_server(
    handler: Replier, *urls: str, dependencies: Sequence[Dependency] = ()
) -> AsyncIterator[Sequence[SupervisedConnection]]:
    async with connected_to(handler.name, *urls) as connections:
        server = RpcServer(
            connections,
            ROUTE.queue,
            LookupRequest,
            handler,
            report=unreported,
            together=True,
            dependencies=dependencies,
        )
        async with server.serving(drain_timeout=SOON):
            yield connections


@asynccontextmanager
async def an_asker(*urls: str) -> AsyncIterator[Asker]:
    async with (
        connected_to("asker", *urls) as connections,
        RpcClient(*connections, queues=(ROUTE.queue,)) as client,
    ):
        yield Asker(client, connections)


async def test_no_read_fails_when_the_node_of_a_client_dies(
    nodes: tuple[Node, Node], amqp_url: str
) -> None:
    first, second = nodes
    replier = Replier("a")
    async with (
        a_server(replier, amqp_url),
        an_asker(first.url, second.url) as asker,
        asyncio.TaskGroup() as group,
    ):
        await asker.ask()
        replier.gate.clear()
        in_flight = [group.create_task(asker.ask()) for _ in range(20)]
        while replier.requests == 1:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(0.01)
        first.kill()
        replier.gate.set()

        await asker.ask_many()

    assert {task.result() for task in in_flight} == {"a"}


@pytest.mark.parametrize("how", ["kill", "freeze"])
async def test_no_read_fails_when_the_node_of_a_server_dies_or_freezes(
    nodes: tuple[Node, Node], amqp_url: str, how: str
) -> None:
    first, second = nodes
    replier = Replier("a")
    async with (
        a_server(replier, first.url, second.url),
        an_asker(amqp_url) as asker,
        asyncio.TaskGroup() as group,
    ):
        await asker.ask()
        getattr(first, how)()
        tasks = [group.create_task(asker.ask()) for _ in range(20)]
        await asker.ask_many()
        first.thaw()

    assert {task.result() for task in tasks} == {"a"}


async def test_no_read_fails_when_the_node_of_client_and_servers_freezes(
    nodes: tuple[Node, Node],
) -> None:
    first, second = nodes
    async with (
        a_server(Replier("a"), first.url, second.url),
        a_server(Replier("b"), second.url, first.url),
        an_asker(first.url, second.url) as asker,
        asyncio.TaskGroup() as group,
    ):
        await asker.ask_many()
        first.freeze()
        tasks = [group.create_task(asker.ask()) for _ in range(20)]
        await asker.ask_many()
        first.thaw()
        await asker.ask_many()

    assert {task.result() for task in tasks} <= {"a", "b"}


@pytest.mark.parametrize("who", ["client", "server"])
async def test_a_read_takes_the_near_node(
    nodes: tuple[Node, Node], amqp_url: str, who: str
) -> None:
    first, second = nodes
    both, near = (first.url, second.url), (amqp_url,)
    async with (
        a_server(Replier("a"), *(both if who == "server" else near)),
        an_asker(*(both if who == "client" else near)) as asker,
    ):
        clock = asyncio.get_running_loop().time

        async def seconds() -> float:
            started = clock()
            await asker.ask()
            return clock() - started

        for node, other in ((first, second), (second, first)):
            # Less than what a probe waits for, and what passes the node takes longer.
            node.delay, other.delay = 0.1, 0.0
            assert await eventually(seconds, lambda taken: taken < 0.1)


async def test_a_server_that_stands_still_has_its_requests_answered_by_another(
    nodes: tuple[Node, Node], amqp_url: str
) -> None:
    first, _ = nodes
    async with (
        a_server(Replier("frozen"), first.url),
        an_asker(amqp_url) as asker,
    ):
        await asker.ask()
        first.freeze()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asker.ask()) for _ in range(20)]
            async with a_server(Replier("other"), amqp_url):
                await asyncio.wait(tasks)
                first.thaw()

    assert {task.result() for task in tasks} == {"other"}


async def test_a_read_that_one_server_refuses_is_answered_by_another(amqp_url: str) -> None:
    away, other = Replier("away"), Replier("other")
    async with (
        a_server(away, amqp_url),
        a_server(other, amqp_url),
        an_asker(amqp_url) as asker,
    ):
        while await asker.ask_many(10) != {"away", "other"}:
            pass
        away.is_away = True

        assert await asker.ask_many() == {"other"}


async def test_a_read_that_every_server_refuses_fails_at_once(amqp_url: str) -> None:
    first, second = Replier("a"), Replier("b")
    first.is_away = second.is_away = True
    async with (
        a_server(first, amqp_url),
        a_server(second, amqp_url),
        an_asker(amqp_url) as asker,
    ):
        for _ in range(5):
            with pytest.raises(RpcFailed) as failed:
                await asker.ask()

            assert failed.value.failure.code is FailureCode.UNAVAILABLE
    assert first.requests + second.requests <= 10


async def test_a_read_waits_while_the_only_server_connects_again(
    nodes: tuple[Node, Node], amqp_url: str
) -> None:
    first, _ = nodes
    async with a_server(Replier("a"), first.url), an_asker(amqp_url) as asker:
        await asker.ask()
        first.kill()
        await first.start()

        assert await asker.ask_many(5) == {"a"}


async def test_a_read_waits_while_the_client_connects_again(
    nodes: tuple[Node, Node], amqp_url: str
) -> None:
    first, _ = nodes
    async with a_server(Replier("a"), amqp_url), an_asker(first.url) as asker:
        await asker.ask()
        first.kill()
        await first.start()

        assert await asker.ask_many(5) == {"a"}


async def test_a_call_that_waited_for_a_connection_in_vain_was_unavailable(
    nodes: tuple[Node, Node], amqp_url: str
) -> None:
    first, second = nodes
    async with a_server(Replier("a"), amqp_url), an_asker(first.url, second.url) as asker:
        await asker.ask()
        for node in nodes:
            node.kill()

        with pytest.raises(RpcFailed) as failed:
            await asker.ask(timeout=0.3)

    assert failed.value.failure.code is FailureCode.UNAVAILABLE


async def test_a_call_that_waited_for_a_server_in_vain_was_unavailable(amqp_url: str) -> None:
    async with an_asker(amqp_url) as asker:
        async with a_server(Replier("a"), amqp_url):
            await asker.ask()

        with pytest.raises(RpcFailed) as failed:
            await asker.ask(timeout=0.3)

    assert failed.value.failure.code is FailureCode.UNAVAILABLE


async def test_calls_fail_at_once_after_an_outage_of_some_seconds(
    nodes: tuple[Node, Node], amqp_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.messaging.rpc_servers.OUTAGE", 0.1)
    first, second = nodes
    async with a_server(Replier("a"), amqp_url), an_asker(first.url, second.url) as asker:
        await asker.ask()
        for node in nodes:
            node.kill()

        async with asyncio.timeout(SOON):
            for _ in range(3):
                with pytest.raises(RpcFailed) as failed:
                    await asker.ask_many()
                assert failed.value.cause == "broker_unavailable"


async def test_a_call_that_takes_long_is_asked_of_a_second_server(amqp_url: str) -> None:
    slow, other = Replier("slow"), Replier("other")
    async with a_server(slow, amqp_url), a_server(other, amqp_url), an_asker(amqp_url) as asker:
        while await asker.ask_many(10) != {"slow", "other"}:
            pass
        slow.gate.clear()
        answered = await asker.ask_many(4)
        slow.gate.set()

    assert answered == {"other"}


async def test_a_server_without_its_database_gets_no_calls_until_a_check_succeeds(
    amqp_url: str,
) -> None:
    away, other = Replier("away"), Replier("other")

    async def check() -> None:
        if away.is_away:
            raise Unavailable("the database cannot be reached")

    dependency = Dependency(check)
    async with (
        background(dependency.run()),
        a_server(away, amqp_url, dependencies=[dependency]),
        a_server(other, amqp_url),
        an_asker(amqp_url) as asker,
    ):
        while await asker.ask_many(10) != {"away", "other"}:
            pass
        away.is_away = True
        first = await asker.ask_many()
        while not dependency.is_lost:
            await asker.ask()
        requests = away.requests
        lost = await asker.ask_many()
        is_left = away.requests == requests
        away.is_away = False
        while await asker.ask() != "away":
            pass

    assert first == lost == {"other"}
    assert is_left


async def test_a_server_that_cannot_answer_yet_gets_no_calls(
    amqp_url: str,
) -> None:
    starting, is_built = Replier("starting"), asyncio.Event()

    async def answers() -> None:
        pass

    async def check() -> None:
        if not is_built.is_set():
            raise Unavailable("the search index is being built")

    database, index = Dependency(answers), Dependency(check)
    async with (
        background(database.run()),
        background(index.run()),
        a_server(starting, amqp_url, dependencies=[database, index]),
        an_asker(amqp_url) as asker,
    ):
        with pytest.raises(RpcFailed) as alone:
            await asker.ask(timeout=0.3)
        is_served_alone = await asker.client.is_served(ROUTE)
        async with a_server(Replier("other"), amqp_url):
            assert await asker.client.is_served(ROUTE)
            beside_another = await asker.ask_many()
            requests = starting.requests
            is_built.set()
            while await asker.ask() != "starting":
                pass

    assert alone.value.failure.code is FailureCode.UNAVAILABLE
    assert not is_served_alone
    assert beside_another == {"other"}
    assert requests == 0


async def test_a_dependency_is_checked_although_nothing_suspects_it() -> None:
    checked = asyncio.Event()

    async def check() -> None:
        checked.set()
        raise Unavailable("the database cannot be reached")

    dependency = Dependency(check, interval=0.0)
    async with background(dependency.run()), asyncio.timeout(SOON):
        await checked.wait()
        while not dependency.is_lost:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(0)

    assert dependency.is_lost
