"""Limits of a public port, and the state that its connections share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from aiohttp import web

from common.runtime.public_port.bounds import Bound
from common.runtime.public_port.connection_table import ConnectionTable
from common.runtime.public_port.metrics import ConnectionMetrics

#: Answers a request that never reaches the application, because there is no room (503), it is no
#: HTTP (400, with aiohttp's error), or the application has failed (500).
Refuse = Callable[[HTTPStatus, BaseException | None], web.Response]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of a public port; times are in seconds, sizes in bytes of all connections."""

    max_connections: int
    #: The whole head of a request, from the connection or from the head's first byte on.
    head: float = 15.0
    #: The whole body, from the end of the head on.
    body: float = 10.0
    #: Bytes unsent at the beginning of such a period must have left by its end.
    send: float = 60.0
    unfinished_requests: int = 32 * 2**20
    unsent_responses: int = 32 * 2**20


@dataclass(slots=True)
class Shared:
    """State shared by the connections of one port."""

    refuse: Refuse
    limits: ConnectionLimits
    metrics: ConnectionMetrics
    table: ConnectionTable = field(init=False)
    unfinished: Bound = field(init=False)
    unsent: Bound = field(init=False)

    def __post_init__(self) -> None:
        self.table = ConnectionTable(self.limits.max_connections)
        self.unfinished = Bound(self.limits.unfinished_requests, "unfinished_requests")
        self.unsent = Bound(self.limits.unsent_responses, "unsent_responses")
        self.metrics.watch(self.table)
