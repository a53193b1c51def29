"""Messages of RPC channels, from and to bytes on a socket."""

import asyncio
import socket
from collections.abc import Iterable
from random import Random

import pamqp.frame
import pytest
from aiohappyeyeballs import AddrInfoType
from pamqp import commands
from pamqp.body import ContentBody
from pamqp.header import ContentHeader
from yarl import URL

from common.messaging.rpc import (
    HEARTBEAT,
    Content,
    ContentProtocol,
    MessageReader,
    encode_message,
)
from common.messaging.transport import ContentTransport, Nodes

TAKEN, OTHER = 2, 3
FRAME_MAX = 4096


def a_delivery(body: bytes, *, channel: int = TAKEN, **properties: object) -> list[bytes]:
    """The frames of a message as the broker sends it, made by pamqp."""
    deliver = commands.Basic.Deliver(
        "consumer", 7, redelivered=False, exchange="", routing_key="queue"
    )
    return _message(deliver, body, channel, properties)


def a_return(body: bytes, **properties: object) -> list[bytes]:
    returned = commands.Basic.Return(312, "NO_ROUTE", "rpc", "rpc.lookup.dk")
    return _message(returned, body, TAKEN, properties)


def _message(
    method: pamqp.frame.FrameTypes, body: bytes, channel: int, properties: dict[str, object]
) -> list[bytes]:
    header = ContentHeader(0, len(body), commands.Basic.Properties(**properties))  # type: ignore[arg-type]
    size = 1000
    parts = [ContentBody(body[at : at + size]) for at in range(0, len(body), size)]
    return [pamqp.frame.marshal(frame, channel) for frame in (method, header, *parts)]


class Received:
    """A protocol with one taken channel, and what came of the bytes it received."""

    def __init__(self) -> None:
        self.now = 0.0
        self.delivered: list[Content] = []
        self.returned: list[Content] = []
        self._reader = asyncio.StreamReader()
        self._protocol = ContentProtocol(self._reader, lambda: self.now)
        self._protocol.readers[TAKEN] = MessageReader(self.delivered.append, self.returned.append)

    def feed(self, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self._protocol.data_received(chunk)

    async def others(self) -> bytes:
        """The bytes that aiormq got."""
        self._reader.feed_eof()
        return await self._reader.read()


@pytest.fixture
async def received() -> Received:
    return Received()


@pytest.mark.parametrize(
    "size, chunk", [(0, 1), (1, 100_000), (1000, 7), (2500, 1), (2500, 1000), (2500, 100_000)]
)
async def test_a_message_is_read_from_chunks_of_any_size(
    received: Received, size: int, chunk: int
) -> None:
    body = bytes(index % 251 for index in range(size))
    stream = b"".join(a_delivery(body, correlation_id="c", reply_to="amq.gen-1"))

    received.feed(stream[at : at + chunk] for at in range(0, len(stream), chunk))

    assert received.delivered == [Content("", "c", "amq.gen-1", body)]


async def test_of_messages_of_other_clients_the_texts_among_the_headers_are_read(
    received: Received,
) -> None:
    stream = a_delivery(
        b"{}",
        content_type="application/json",
        headers={"a": "é", "b": "", "c": 1, "d": "after"},
        delivery_mode=2,
        priority=4,
        correlation_id="id",
        reply_to="replies",
        expiration="1800",
    )

    received.feed(stream)

    headers = {"a": "é", "b": "", "d": "after"}
    assert received.delivered == [Content("", "id", "replies", b"{}", headers)]


async def test_returned_and_delivered_messages_are_distinguished(received: Received) -> None:
    received.feed([*a_return(b"request", correlation_id="sent"), *a_delivery(b"reply")])

    assert received.returned == [Content("rpc.lookup.dk", "sent", None, b"request")]
    assert [each.body for each in received.delivered] == [b"reply"]


async def test_frames_of_other_channels_and_other_methods_are_left_as_they_are(
    received: Received,
) -> None:
    method, header, body = a_delivery(b"taken")
    elsewhere = a_delivery(b"elsewhere", channel=OTHER)
    closed = pamqp.frame.marshal(commands.Channel.Close(404, "NOT_FOUND", 60, 20), TAKEN)

    received.feed([method, elsewhere[0], header, *elsewhere[1:], body, closed])

    assert [each.body for each in received.delivered] == [b"taken"]
    assert await received.others() == b"".join([*elsewhere, closed])


async def test_aiormq_gets_a_heartbeat_for_the_frames_that_it_does_not_see(
    received: Received,
) -> None:
    received.feed(a_delivery(b"taken"))
    received.now += 5
    received.feed(a_delivery(b"taken"))

    assert await received.others() == HEARTBEAT


@pytest.mark.parametrize("size", [0, 1, FRAME_MAX - 8, FRAME_MAX - 7, 3 * FRAME_MAX])
def test_a_published_message_reads_as_amqp(size: int) -> None:
    body = bytes(size)

    stream = encode_message(
        TAKEN,
        Content("rpc.lookup.dk", "c", "r", body, {"name": "é", "empty": ""}),
        exchange="rpc",
        expiration=1800,
        mandatory=True,
        frame_max=FRAME_MAX,
    )
    method, header, *parts = _read(stream)

    assert isinstance(method, commands.Basic.Publish)
    assert (method.exchange, method.routing_key) == ("rpc", "rpc.lookup.dk")
    assert (method.mandatory, method.immediate) == (True, False)
    assert isinstance(header, ContentHeader)
    properties = header.properties
    assert (properties.correlation_id, properties.reply_to) == ("c", "r")
    assert (properties.expiration, properties.delivery_mode) == ("1800", 1)
    assert properties.headers == {"name": "é", "empty": ""}
    assert b"".join(part.value for part in parts if isinstance(part, ContentBody)) == body


def test_headers_that_do_not_fit_into_a_frame_are_left_out() -> None:
    headers = {"long": "x" * FRAME_MAX}

    stream = encode_message(
        TAKEN, Content("rpc.lookup.dk", "c", None, b"{}", headers), frame_max=FRAME_MAX
    )

    _method, header, _body = _read(stream)

    assert isinstance(header, ContentHeader)
    assert (header.properties.correlation_id, header.properties.headers) == ("c", None)


def _read(stream: bytes) -> list[pamqp.frame.FrameTypes]:
    """The frames as pamqp reads them, each on the taken channel and no longer than allowed."""
    found = []
    while stream:
        size, channel, frame = pamqp.frame.unmarshal(stream)
        assert (channel, size <= FRAME_MAX) == (TAKEN, True)
        found.append(frame)
        stream = stream[size:]
    return found


async def test_a_dead_address_of_the_broker_delays_neither_the_next_one_nor_the_end_of_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()

    def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEARTBEAT)
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    # A listener whose backlog is full answers no further connection, as a host that is gone.
    with socket.socket() as dead, socket.socket() as first, socket.socket() as second:
        dead.bind(("127.0.0.1", 0))
        dead.listen(0)
        for waiting in (first, second):
            waiting.settimeout(0)
            waiting.connect_ex(dead.getsockname())
        found: list[AddrInfoType] = [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)
            for address in (dead.getsockname(), server.sockets[0].getsockname())
        ]

        async def resolved(*_: object, **_options: object) -> list[AddrInfoType]:
            return found

        monkeypatch.setattr(loop, "getaddrinfo", resolved)

        async with asyncio.timeout(10), server:
            reader, writer = await ContentTransport(Nodes(Random(1))).create(
                URL("amqp://broker:5672"), ssl_context_provider=None
            )
            received = await reader.readexactly(len(HEARTBEAT))
            kept = writer.get_extra_info("socket")
            timeout = kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            writer.close()

    assert received == HEARTBEAT
    assert timeout == 3_000


def addresses(*hosts: str) -> list[AddrInfoType]:
    kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    return [(*kind, (host, 5672)) for host in hosts]


def test_a_connection_prefers_unused_nodes_and_the_one_that_it_lost_least() -> None:
    nodes = Nodes(Random(1))
    for host in ("10.0.0.1", "10.0.0.2"):
        nodes.use(host)
    before = nodes.in_order(addresses("10.0.0.1", "10.0.0.2", "10.0.0.3"))
    nodes.leave("10.0.0.2")

    found = nodes.in_order(addresses("10.0.0.1", "10.0.0.2", "10.0.0.3"))

    assert before[:1] == addresses("10.0.0.3")
    assert found == addresses("10.0.0.3", "10.0.0.2", "10.0.0.1")


def test_processes_do_not_all_choose_the_same_node() -> None:
    hosts = addresses("10.0.0.1", "10.0.0.2", "10.0.0.3")

    first = {Nodes(Random(seed)).in_order(hosts)[0][4][0] for seed in range(20)}

    assert first == {"10.0.0.1", "10.0.0.2", "10.0.0.3"}
