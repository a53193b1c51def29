"""Readiness for `/readyz`: named checks of a process's dependencies."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

#: Returns None when healthy, else a message. It must not wait for long.
Check = Callable[[], Awaitable[str | None]]

#: Seconds until a check fails; Kubernetes probes every few seconds.
CHECK_TIMEOUT = 1.5


@dataclass(frozen=True, slots=True)
class _Named:
    check: Check
    required: bool


@dataclass
class Health:
    """The checks of one process, and whether it accepts work at all."""

    checks: dict[str, _Named] = field(default_factory=dict)
    #: False until the process has started, and again during shutdown.
    serving: bool = False

    def add(self, name: str, check: Check, *, required: bool = True) -> None:
        """Adds a check; an optional one is in the body but does not change the status."""
        self.checks[name] = _Named(check, required)

    async def report(self) -> tuple[bool, dict[str, str]]:
        """Whether the process is ready, and each check's result (`ok` or a message)."""
        names = list(self.checks)
        words = await asyncio.gather(*(_word(self.checks[name].check) for name in names))
        failed = [
            name
            for name, word in zip(names, words, strict=True)
            if word != "ok" and self.checks[name].required
        ]
        return self.serving and not failed, dict(zip(names, words, strict=True))


async def _word(check: Check) -> str:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            return await check() or "ok"
    except TimeoutError:
        return "no answer in time"
