"""Request queues of an RPC client: how each is used, its servers and its messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter

from prometheus_client import Counter, Gauge, Histogram

from common.contracts.failures import NEUTRAL
from common.messaging.rpc import Call, PendingCalls
from common.messaging.rpc_links import (
    FAR,
    PROBE,
    QUESTION,
    Link,
    RecentMessages,
    Server,
    ServerQueue,
)

_LATENCY = Histogram(
    "rpc_request_duration_seconds",
    "From request to reply",
    ["queue"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
_IN_FLIGHT = Gauge("rpc_requests_in_flight", "Requests waiting for a reply", ["queue"])
FAILED = Counter("rpc_request_failures_total", "Failed requests by cause", ["queue", "cause"])
#: The cause of calls that fail because too many of their client are pending.
CLIENT_OVERLOAD = "client_overload"
_CAUSES = (
    *("broker_unavailable", "overload", CLIENT_OVERLOAD, "undecodable", "no_consumer"),
    *sorted(NEUTRAL),
)
_RESENT = Counter(
    "rpc_requests_resent_total", "Requests that were sent again, by reason", ["queue", "reason"]
)
HEDGED = Counter(
    "rpc_requests_hedged_total", "Slow requests that were sent to a second server", ["queue"]
)
_LIST = Histogram(
    "rpc_request_batch_size",
    "Requests in a message",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)


#: Seconds between questions to all servers for their queues, while there are calls.
_DISCOVERY = 2.0
#: Queues of servers above which a client asks less often: every client asks every server, and the
#: answers of all are to grow with the clients alone (ADR 0061).
FEW_QUEUES = 16


class ResendReason(Enum):
    """The reason for which a request was sent again."""

    CONNECTION_LOST = "connection_lost"
    SERVER_LOST = "server_lost"
    #: Its connection or its server left a probe unanswered.
    SILENCE = "silence"
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
    #: False for requests that a server must not carry out twice at the same time. They are sent
    #: again only when the server's queue is gone.
    is_repeatable: bool = True


_LOAD = attrgetter("rank", "load")


class RouteQueue:
    """The pending calls of a route, and its servers."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.pending = PendingCalls(route.client_in_flight)
        self.recent = RecentMessages(route.max_batch_size)
        self.servers: dict[str, Server] = {}
        self.queues: dict[str, ServerQueue] = {}
        #: Time of the last request for the servers' queue names.
        self.asked_at = float("-inf")
        #: Time at which a server last introduced itself as serving.
        self.introduced_at = float("-inf")
        #: True if a message took unusually long since that request.
        self.was_slow = False
        #: Time at which the last server left.
        self.left_at = float("-inf")
        self.pump_is_due = False
        #: Calls waiting for a reply.
        self.open_calls = 0
        _IN_FLIGHT.labels(route.queue).set_function(lambda: self.open_calls)
        # Cached, since looking up a labelled child costs more than counting with it.
        self.latency = _LATENCY.labels(route.queue)
        self.batch_size = _LIST.labels(route.queue)
        for cause in _CAUSES:  # Prometheus sees no increase in a counter's first sample
            FAILED.labels(route.queue, cause)
        for reason in ResendReason:
            _RESENT.labels(route.queue, reason.value)
        HEDGED.labels(route.queue)

    def add(self, queue: str, server: str) -> ServerQueue:
        """Returns the queue of a server, which is known from now on."""
        known = self.queues.get(queue)
        if known is None:
            process = self.servers.setdefault(server, Server(server))
            known = self.queues[queue] = ServerQueue(queue, process)
            process.queues.append(known)
            process.judge()
        return known

    def remove(self, queue: str, now: float) -> None:
        """Forgets a queue that does not exist any more, and a server without any."""
        known = self.queues.pop(queue, None)
        if known is not None:
            known.server.queues.remove(known)
            known.server.judge()
            if not known.server.queues:
                del self.servers[known.server.name]
                self.left_at = now

    def best_server(self) -> Server | None:
        """Returns a server with the fewest messages in flight, of those that serve if any does."""
        return min(self.servers.values(), key=_LOAD, default=None)

    def free_server(self, *, beside: Server | None = None) -> Server | None:
        """Returns the best server, `beside` another one, if it may get another message."""
        if beside is None:
            best = self.best_server()
        else:
            others = (server for server in self.servers.values() if server is not beside)
            best = min(others, key=_LOAD, default=None)
        return None if best is None or best.in_flight >= self.route.in_flight else best

    @property
    def is_whole(self) -> bool:
        """True if there are servers, and each of their queues serves."""
        return bool(self.servers) and not any(
            queue.silence.is_silent or queue.server.refuses for queue in self.queues.values()
        )

    @property
    def question_interval(self) -> float:
        """Seconds between questions to all servers; fewer while one is missing, or far away."""
        interval = _DISCOVERY if self.is_whole and not self.was_slow else PROBE
        return interval * max(1.0, len(self.queues) / FEW_QUEUES)

    def waits(self, seconds: float) -> None:
        """Notes that a message has waited so long: a link or a queue may be far away since."""
        if seconds > FAR and not self.was_slow:
            self.was_slow = self.recent.is_slow(seconds)

    def is_served_beside(self, queue: ServerQueue) -> bool:
        """Returns whether a message could go to a server that serves, by another queue."""
        best = self.best_server()
        return best is not None and best.rank == 0 and best.queues[0] is not queue

    def begin(self, server: Server, calls: Sequence[Call]) -> None:
        """Counts a message to the server, which comes last among equals from now on."""
        server.in_flight += 1
        self.pending.sent(calls[0].client)
        if len(self.servers) > 1 and server.name in self.servers:
            self.servers[server.name] = self.servers.pop(server.name)

    def end(self, server: Server, calls: Sequence[Call]) -> None:
        """Takes back `begin`."""
        server.in_flight -= 1
        self.pending.ended(calls[0].client)

    def send_again(self, calls: Iterable[Call], reason: "ResendReason") -> None:
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


@dataclass(slots=True, eq=False)
class Batch:
    """A message that waits for its reply until the last deadline of its calls."""

    route_queue: RouteQueue
    queue: ServerQueue
    link: Link
    calls: list[Call]
    sent_at: float
    deadline: float
    #: False once its calls were sent again; its reply still counts if it is the first.
    is_open: bool = True
    #: True if another message has the same calls.
    is_hedged: bool = False

    def end(self) -> None:
        """Lets the server have another message instead."""
        if self.is_open:
            self.is_open = False
            self.route_queue.end(self.queue.server, self.calls)

    def probe(self, now: float) -> None:
        """Probes its link and each queue of its server: any, or a node between, may be lost.

        The server answers with its queue; the broker returns the message if the queue is gone.
        """
        self.link.probe(now)
        # All, since the calls of a server that is dead should not wait for its other queue next.
        for queue in self.queue.server.queues[:]:  # their order may change
            if self.link.silence.is_silent:
                queue.silence.heard()  # it is not known to be silent
            elif queue.silence.is_due(now):
                self.link.publish(queue.name, (), self.route_queue.route.queue, seconds=QUESTION)
