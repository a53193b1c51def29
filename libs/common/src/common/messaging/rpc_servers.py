"""The servers that an RPC client knows, and the links over which it reaches them.

Each server has a queue of its own at each node of the broker that it is connected to (ADR 0037).
A client asks for these queues through the exchange of the request queue, which has the request
queue's name and routes to all of them, over each of its links. The first answer is used: the
link, and of each server the queue. So messages avoid a node that hangs or is far away.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Final

from aio_pika import ExchangeType
from aio_pika.abc import AbstractConnection
from prometheus_client import Counter, Gauge, Histogram

from common.contracts.contract import Contract
from common.contracts.failures import NEUTRAL
from common.messaging.connection import CONNECT_TIMEOUT, SupervisedConnection
from common.messaging.rpc import (
    NO_HEADERS,
    SERVER,
    Call,
    Content,
    ContentChannel,
    PendingCalls,
    encode_requests,
    never,
)

#: Seconds that a question waits for its server.
QUESTION = 1.0
#: Seconds without a connection or a server until calls fail at once.
OUTAGE = 2.0
#: Part of the calls that may be sent again for want of a reply, and how many of them at once.
REPEATED, BURST = 0.1, 1024.0
#: Queues of servers above which a client asks less often: every client asks every server, and the
#: answers of all are to grow with the clients alone (ADR 0061).
FEW_QUEUES: Final = 16
#: The cause of calls that fail because too many of their client are pending.
CLIENT_OVERLOAD: Final = "client_overload"


_LATENCY = Histogram(
    "rpc_request_duration_seconds",
    "From request to reply",
    ["queue"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
_IN_FLIGHT = Gauge("rpc_requests_in_flight", "Requests waiting for a reply", ["queue"])
FAILED = Counter("rpc_request_failures_total", "Failed requests by cause", ["queue", "cause"])
_CAUSES = (
    *("broker_unavailable", "overload", CLIENT_OVERLOAD, "undecodable", "no_consumer"),
    *sorted(NEUTRAL),
)
_RESENT = Counter(
    "rpc_requests_resent_total", "Requests that were sent again, by reason", ["queue", "reason"]
)
_BATCH = Histogram(
    "rpc_request_batch_size",
    "Requests in a message",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)


class ResendReason(Enum):
    """The reason for which a request was sent again."""

    CONNECTION_LOST = "connection_lost"
    SERVER_LOST = "server_lost"
    NO_REPLY = "no_reply"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Route:
    """A request queue and how it is used; a client uses a queue in one way.

    Two messages in flight measured best for indexed reads: one is processed while the next is in
    transit. A search takes longer than its transport, so more and smaller batches keep one slow
    search from delaying others.
    """

    queue: str
    #: Messages that a server has not answered yet.
    in_flight: int = 2
    max_batch_size: int = 128
    #: Further requests are rejected immediately: they would only time out.
    max_pending: int = 4096
    #: Messages and pending requests of one client, where clients take turns. A message then has
    #: the requests of one client, so that nobody's slow request delays another's.
    client_in_flight: int | None = None
    client_pending: int | None = None
    #: False for requests that must not be carried out twice. They are sent again only when the
    #: broker returns them.
    is_repeatable: bool = True


class Server:
    """A process that serves a route."""

    __slots__ = (
        "answered",
        "asked_at",
        "in_flight",
        "is_refusing",
        "is_suspect",
        "name",
        "queues",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        #: The queue for the next message is the first.
        self.queues: list[str] = []
        #: Messages that it has not answered yet.
        self.in_flight = 0
        #: True if it has refused requests or let them wait, and nothing has arrived from it since.
        #: It gets messages if no other server is left.
        self.is_suspect = False
        #: True if it has refused all requests of a message: one that is only late is better.
        self.is_refusing = False
        #: The last question that it has answered, and the time at which it was last asked.
        self.answered = 0
        self.asked_at = float("-inf")


_LOAD = attrgetter("is_refusing", "is_suspect", "in_flight")


class Servers:
    """The known servers of a route, by their queues."""

    def __init__(self) -> None:
        self._servers: dict[str, Server] = {}
        self._by_queue: dict[str, Server] = {}
        #: Time at which the last server left.
        self.left_at = float("-inf")

    def __iter__(self) -> Iterator[Server]:
        return iter(self._servers.values())

    def __len__(self) -> int:
        return len(self._servers)

    @property
    def queues(self) -> Sequence[str]:
        """The queues of all servers."""
        return tuple(self._by_queue)

    def best(self) -> Server | None:
        """Returns the server with the fewest messages in flight, a suspect one as the last."""
        return min(self._servers.values(), key=_LOAD, default=None)

    def introduced(self, queue: str, name: str, question: int) -> bool:
        """Notes the answer to a question; returns whether the queue is new."""
        server = self._servers.setdefault(name, Server(name))
        is_new = queue not in self._by_queue
        if is_new:
            self._by_queue[queue] = server
            server.queues.append(queue)
        server.is_suspect = server.is_refusing = False
        if question > server.answered:
            server.answered = question
            server.queues.sort(key=lambda each: each != queue)
        return is_new

    def remove(self, queue: str, now: float) -> None:
        """Forgets a queue that does not exist any more, and a server without any."""
        server = self._by_queue.pop(queue, None)
        if server is not None:
            server.queues.remove(queue)
            if not server.queues:
                del self._servers[server.name]
                self.left_at = now

    def begin(self, server: Server) -> None:
        """Counts a message to the server, which comes last among equals from now on."""
        server.in_flight += 1
        if len(self._servers) > 1 and server.name in self._servers:
            self._servers[server.name] = self._servers.pop(server.name)


class RouteQueue:
    """The pending calls of a route, and its servers."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.pending = PendingCalls(route.client_in_flight)
        self.servers = Servers()
        #: Time of the last question to all servers, and of their last answer.
        self.asked_at = float("-inf")
        self.introduced_at = float("-inf")
        self.pump_is_due = False
        #: Calls waiting for a reply, and those that may be sent again for want of one.
        self.open_calls = 0
        self.budget = BURST
        _IN_FLIGHT.labels(route.queue).set_function(lambda: self.open_calls)
        # Cached, since looking up a labelled child costs more than counting with it.
        self.latency = _LATENCY.labels(route.queue)
        self.batch_size = _BATCH.labels(route.queue)
        for cause in _CAUSES:  # Prometheus sees no increase in a counter's first sample
            FAILED.labels(route.queue, cause)
        for reason in ResendReason:
            _RESENT.labels(route.queue, reason.value)

    def free_server(self) -> Server | None:
        """Returns the best server if it may get another message."""
        best = self.servers.best()
        return None if best is None or best.in_flight >= self.route.in_flight else best

    def is_due(self, now: float, interval: float) -> bool:
        """Returns whether all servers are to be asked now."""
        scale = max(1.0, len(self.servers.queues) / FEW_QUEUES)
        return now - self.asked_at >= interval * scale

    def send_again(self, calls: Iterable[Call], reason: ResendReason) -> None:
        """Makes the calls of a message pending again, before all others."""
        again = [call for call in calls if not call.answer.done()]
        self.pending.put_back(again)
        _RESENT.labels(self.route.queue, reason.value).inc(len(again))

    def overload(self, client: str) -> str | None:
        """Returns the cause for which a further call of a client fails: it would only time out."""
        if len(self.pending) >= self.route.max_pending:
            return "overload"
        limit = self.route.client_pending
        is_over = limit is not None and self.pending.of(client) >= limit
        return CLIENT_OVERLOAD if is_over else None


class Link:
    """One connection, over which requests are published and their replies consumed.

    Both share it although the broker may block a connection that publishes: replies need no acks,
    so they arrive over a blocked connection as well.
    """

    def __init__(
        self,
        connection: SupervisedConnection,
        queues: Sequence[str],
        *,
        replied: Callable[["Link", Content], None],
        returned: Callable[[Content], None],
        lost: Callable[["Link"], None],
    ) -> None:
        self.supervised = connection
        self._queues = queues
        self._queue = ""
        self._content: ContentChannel | None = None
        self._on_reply, self._on_return, self._on_loss = replied, returned, lost

    @property
    def is_up(self) -> bool:
        """True while requests can be published."""
        return self._content is not None

    async def attach(self, connection: AbstractConnection) -> None:
        """Declares the exchanges of the request queues, and a queue for the replies."""
        channel = await self.supervised.open_channel(connection, confirms=False)
        # A message to an exchange that does not exist would close the channel.
        for queue in self._queues:
            await channel.declare_exchange(
                queue, ExchangeType.FANOUT, durable=True, timeout=CONNECT_TIMEOUT
            )
        replies = await self.supervised.declare_own_queue(channel)
        content = await self.supervised.content_of(channel)
        content.take(delivered=lambda reply: self._on_reply(self, reply), returned=self._on_return)
        await replies.consume(never, no_ack=True, timeout=CONNECT_TIMEOUT)
        self._queue, self._content = replies.name, content

    def detach(self) -> None:
        """Drops the channel; what was sent over it has no reply any more."""
        self._content = None
        self._on_loss(self)

    def publish(  # noqa: PLR0913 (the properties of a message)
        self,
        routing_key: str,
        items: Sequence[tuple[str, int, Contract]],
        correlation_id: str,
        *,
        exchange: str = "",
        headers: Mapping[str, str] = NO_HEADERS,
        seconds: float = QUESTION,
    ) -> bool:
        """Publishes a message that the broker drops after `seconds`; False if the link is down."""
        if self._content is None:
            return False
        content = Content(routing_key, correlation_id, self._queue, encode_requests(items), headers)
        expiration = max(int(seconds * 1000), 1)
        try:
            self._content.publish(content, exchange=exchange, expiration=expiration, mandatory=True)
        except ConnectionError:
            self._content = None  # `detach` follows
            return False
        return True


class Links:
    """The links of a client, the one for the next message first."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = list(links)
        #: Time from which there is no link, if there is none.
        self._down_since = float("-inf")
        self._questions = 0
        self._answered = 0

    def best(self) -> Link | None:
        """Returns the link for the next message, of those that are up."""
        return next((link for link in self._links if link.is_up), None)

    async def attach(self) -> None:
        """Adds the links to their connections."""
        for link in self._links:
            await link.supervised.add(link)

    def close(self) -> None:
        """Removes the links, which drops what was sent over them."""
        for link in self._links:
            link.supervised.remove(link)
        self._down_since = float("-inf")
        for link in tuple(self._links):
            link.detach()

    def ask(self, route: str, *queues: str) -> None:
        """Asks servers of a route, over each link: those of the queues, or without any all.

        A channel's first message to a queue of another node makes RabbitMQ wait for that node's
        answer. So none may be left to a moment in which that node hangs.
        """
        self._questions += 1
        for link in self._links:
            for queue in queues or (route,):
                exchange = "" if queues else route
                link.publish(queue, (), f"{route} {self._questions}", exchange=exchange)

    def answered(self, link: Link, reply: Content) -> tuple[str, str, int] | None:
        """Returns route, server and number of the question that a reply answers.

        None for another reply, as one to a call of which nothing is known any more.
        """
        route, _, number = reply.correlation_id.rpartition(" ")
        if not route or reply.reply_to is None:
            return None
        if int(number) > self._answered:
            self._answered = int(number)
            self._links.sort(key=lambda each: each is not link)
        return route, reply.headers.get(SERVER, reply.reply_to), int(number)

    def lost(self, now: float) -> bool:
        """Notes that a link is lost; returns whether it was the last."""
        if any(link.is_up for link in self._links):
            return False
        # A broker that is short of a resource blocks the connections to every node.
        if not any(link.supervised.is_blocked for link in self._links):
            self._down_since = now
        return True

    def are_down(self, now: float) -> bool:
        """Returns whether there has been no link for so long that calls fail at once."""
        return self.best() is None and now - self._down_since >= OUTAGE
