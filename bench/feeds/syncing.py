"""Runs `python -m lookup sync` against registers that this process serves."""

import asyncio
import resource
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from yarl import URL

from local_stack.system import System

#: Timeout of a pass in seconds.
_TIMEOUT = 1800.0

#: Unlimited downloads of files.
OFTEN = 1_000_000


@dataclass(frozen=True, slots=True)
class Pass:
    """The reports of a pass over a source, and the memory of its process."""

    line: Mapping[str, Any]
    peak_megabytes: float
    #: Of all its processes, the start of Python included.
    processor_seconds: float

    @property
    def seconds(self) -> float:
        milliseconds: float = self.line["duration_ms"]
        return milliseconds / 1000

    def results(self, word: str) -> int:
        """The number of records with this outcome."""
        count: int = self.line["results"].get(word, 0)
        return count


async def norwegian_pass(system: System, brreg: URL, **settings: str) -> Pass:
    """One pass over the entities; raises AssertionError when it does not end well."""
    # In a separate process, so that the peak is that of the sync alone.
    command = [sys.executable, "-m", "bench.imports", sys.executable, "-m", "lookup", "sync"]
    environment = {
        **system.full_environment(),
        "BRREG_URL": str(brreg),
        **{name.upper(): value for name, value in settings.items()},
    }
    before = _processor_seconds()
    process = await asyncio.create_subprocess_exec(
        *command, "no-enheter", env=environment, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(_TIMEOUT):
        out, _ = await process.communicate()
    *said, peak = out.splitlines()
    lines = [orjson.loads(line) for line in said]
    [line] = [line for line in lines if line["event"] == "sync.pass"]
    assert line["outcome"] == "done", line
    return Pass(line, float(peak), _processor_seconds() - before)


def _processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
