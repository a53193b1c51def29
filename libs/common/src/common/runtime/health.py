"""Readiness for `/readyz`, metrics of every process, and the operational port that serves them."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from importlib.metadata import version

import prometheus_client
import structlog
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Gauge, Histogram, generate_latest

from common.contracts.failures import Unavailable
from common.runtime.public_port.server import KEEP_ALIVE, listening, protocol_log

#: Returns None when healthy, else a message for operators, or raises: any exception is a failure.
Check = Callable[[], Awaitable[str | None]]

#: Seconds until a check fails; Kubernetes probes every few seconds.
CHECK_TIMEOUT = 1.5

_READY = Gauge("service_ready", "1 if the process is ready, as /readyz reports")
_DEPENDENCY_UP = Gauge("dependency_up", "1 if the check of /readyz succeeds", ["dependency"])

log = structlog.get_logger()


class Required(Enum):
    """The condition under which a failing check makes the process unready."""

    ALWAYS = auto()
    #: Until it has succeeded once. A pod with a wrong password never replaces a good one, and a
    #: later outage takes no pod out of service.
    FIRST = auto()
    NEVER = auto()


@dataclass
class _Named:
    check: Check
    required: Required
    last_result: str | None = None

    async def result(self, name: str) -> str:
        """Returns `ok` or a message; never raises."""
        cause: BaseException | None = None
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                result = await self.check() or "ok"
        except TimeoutError:
            result = "no answer in time"
        except Unavailable as outage:
            result, cause = str(outage), outage.__cause__
        except Exception as error:  # noqa: BLE001 (any failure of a check is a failed check)
            result, cause = "the check failed; the log has the cause", error
        if result not in ("ok", self.last_result):
            log.warning("health.check_failed", check=name, result=result, cause=repr(cause))
        if result == "ok" and self.required is Required.FIRST:
            self.required = Required.NEVER
        self.last_result = result
        return result


@dataclass
class Health:
    """The checks of one process, and whether it accepts work at all."""

    checks: dict[str, _Named] = field(default_factory=dict)
    #: False until the process has started, and again during shutdown.
    serving: bool = False

    def add(self, name: str, check: Check, *, required: Required = Required.ALWAYS) -> None:
        """Adds a check; one that is not required is reported but does not change the status."""
        self.checks[name] = _Named(check, required)

    async def report(self) -> tuple[bool, dict[str, str]]:
        """Returns readiness of the process, and each check's result (`ok` or a message).

        Sets the metrics `service_ready` and `dependency_up` to the same.
        """
        # A copy: while the process starts, checks are added.
        checks = dict(self.checks)
        found = await asyncio.gather(*(check.result(name) for name, check in checks.items()))
        results = dict(zip(checks, found, strict=True))
        ready = self.serving and all(
            results[name] == "ok" or check.required is Required.NEVER
            for name, check in checks.items()
        )
        _READY.set(ready)
        for name, result in results.items():
            _DEPENDENCY_UP.labels(name).set(result == "ok")
        return ready, results


#: Seconds between measurements; Prometheus scrapes every 15 to 60 seconds.
_INTERVAL = 1.0

_BUILD = Gauge("build_info", "Always 1", ["service", "version", "revision"])
_LAG = Histogram(
    "event_loop_lag_seconds",
    "Delay of a timer in the event loop, measured every second",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)


def describe_build(service: str) -> None:
    """Sets `build_info`; images carry the commit in REVISION, and all packages have one version."""
    # Their time stamps double the series of each counter, and nothing reads them.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    _BUILD.labels(service, version("common"), os.environ.get("REVISION", "unknown")).set(1)


async def measure_loop_lag() -> None:
    """Measures until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _INTERVAL
        await asyncio.sleep(_INTERVAL)
        _LAG.observe(max(0.0, loop.time() - due))


def admin_port(health: Health, *, host: str, port: int) -> AbstractAsyncContextManager[int]:
    """Serves the operational paths while the body runs; yields the port (for port 0)."""

    async def alive(_request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ready(_request: web.Request) -> web.Response:
        is_ready, checks = await health.report()
        body = {"status": "ok" if is_ready else "unavailable", "checks": checks}
        return web.json_response(body, status=200 if is_ready else 503)

    async def metrics(_request: web.Request) -> web.Response:
        await health.report()  # sets the metrics of readiness
        return web.Response(
            body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    app = web.Application()
    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=protocol_log(),
        # No path reads a body, so none is awaited or decompressed.
        auto_decompress=False,
        lingering_time=0,
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=1,
    )
    return listening(runner, host=host, port=port)
