"""Readiness for `/readyz` and `/metrics`: named checks of a process's dependencies."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto

import structlog
from prometheus_client import Gauge

from common.contracts.failures import Unavailable

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
