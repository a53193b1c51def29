"""What `/readyz` answers: named checks of the things a process depends on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

#: Answers None when all is well, else a word on what is not. It must not wait for long.
Check = Callable[[], Awaitable[str | None]]

#: A check that has not answered by then has failed; Kubernetes asks every few seconds.
CHECK_TIMEOUT = 1.5


@dataclass(frozen=True, slots=True)
class _Named:
    check: Check
    required: bool


@dataclass
class Health:
    """The checks of one process, and whether it is meant to get work at all."""

    checks: dict[str, _Named] = field(default_factory=dict)
    #: Off until the process has started, and again when it begins to stop.
    serving: bool = False

    def add(self, name: str, check: Check, *, required: bool = True) -> None:
        """Adds a check; one that is not required shows in the body and changes no status."""
        self.checks[name] = _Named(check, required)

    async def report(self) -> tuple[bool, dict[str, str]]:
        """Whether the process is ready, and each check's word (`ok` or what is wrong)."""
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
