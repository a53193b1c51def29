"""Calls of an RPC client by request queue, and the servers of each queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from prometheus_client import Counter, Gauge, Histogram

from common.contracts.failures import NEUTRAL
from common.messaging.rpc import RpcFailed, Undecodable, decode_results
from common.messaging.rpc_pending import Call, PendingCalls

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
_LIST = Histogram(
    "rpc_request_batch_size",
    "Requests in a message",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)


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


@dataclass(slots=True, eq=False)
class Server:
    """A process that serves a route, by its own queue."""

    queue: str
    in_flight: int = 0
    probed_at: float = float("-inf")


class RouteQueue:
    """The pending calls of a route, and its servers."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.pending = PendingCalls(route.client_in_flight)
        self.servers: dict[str, Server] = {}
        #: Time of the last request for the servers' queue names.
        self.asked_at = float("-inf")
        self.pump_is_due = False
        #: Calls waiting for a reply.
        self.open_calls = 0
        _IN_FLIGHT.labels(route.queue).set_function(lambda: self.open_calls)
        # Cached, since looking up a labelled child costs more than counting with it.
        self.latency = _LATENCY.labels(route.queue)
        self.batch_size = _LIST.labels(route.queue)
        for cause in _CAUSES:  # Prometheus sees no increase in a counter's first sample
            FAILED.labels(route.queue, cause)

    def free_server(self) -> Server | None:
        """Returns the server with the fewest messages in flight, if it may get another."""
        best = min(self.servers.values(), key=attrgetter("in_flight"), default=None)
        return None if best is None or best.in_flight >= self.route.in_flight else best

    def begin(self, server: Server, calls: Sequence[Call]) -> None:
        """Counts a message to the server, which comes last among equals from now on."""
        server.in_flight += 1
        self.pending.sent(calls[0].client)
        if len(self.servers) > 1:
            self.servers[server.queue] = self.servers.pop(server.queue)

    def end(self, server: Server, calls: Sequence[Call]) -> None:
        """Takes back `begin`."""
        server.in_flight -= 1
        self.pending.ended(calls[0].client)

    def overload(self, client: str) -> str | None:
        """Returns the cause for which a further call of a client fails: it would only time out."""
        if len(self.pending) >= self.route.max_pending:
            return "overload"
        limit = self.route.client_pending
        is_over = limit is not None and self.pending.of(client) >= limit
        return CLIENT_OVERLOAD if is_over else None


def fail_all(calls: Iterable[Call], error: RpcFailed) -> None:
    """Fails the calls that have no answer yet."""
    for call in calls:
        if not call.answer.done():
            call.answer.set_exception(error)


def answer_all(calls: Sequence[Call], body: bytes) -> None:
    """Gives each call its result from a reply's body; raises Undecodable."""
    results = decode_results(body)
    if len(results) != len(calls):
        raise Undecodable(f"{len(calls)} requests got {len(results)} results")
    for call, (failure, reply) in zip(calls, results, strict=True):
        if call.answer.done():
            continue
        if failure is not None:
            call.answer.set_exception(RpcFailed(failure))
        else:
            call.answer.set_result(reply or {})


class Batch(NamedTuple):
    """A message that waits for its reply until the last deadline of its calls."""

    route_queue: RouteQueue
    server: Server
    calls: list[Call]
    sent_at: float
    deadline: float
