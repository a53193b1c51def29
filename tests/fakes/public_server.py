"""A server of tests that reads HTTP as public ports do."""

from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client import CollectorRegistry

from common.runtime.public_port.connections import ConnectionLimits, ConnectionMetrics, Refuse
from common.runtime.public_port.server import PublicRunner


class PublicServer(TestServer):
    """`handler_cancellation` says what happens to the request of a client that disconnects."""

    def __init__(
        self,
        app: web.Application,
        refuse: Refuse,
        *,
        handler_cancellation: bool = False,
        body_timeout: float = 10,
    ) -> None:
        super().__init__(app)
        self._refuse = refuse
        self._handler_cancellation = handler_cancellation
        self._limits = ConnectionLimits(max_connections=100, body=body_timeout)

    async def _make_runner(self, **options: Any) -> web.AppRunner:
        # aiohttp's test server always cancels.
        return PublicRunner(
            self.app,
            self._refuse,
            limits=self._limits,
            metrics=ConnectionMetrics(CollectorRegistry()),
            **{**options, "handler_cancellation": self._handler_cancellation},
        )
