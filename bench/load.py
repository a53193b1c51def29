"""HTTP load from a separate process: wrk from Debian's packages, bounded in count and time."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import NamedTemporaryFile
from urllib.request import Request, urlopen

from local_stack import packages

#: wrk requests a random path each time and prints its figures as JSON. Requests are written
#: beforehand, because wrk shares the processors with the measured system.
_SCRIPT = """
local requests = {}
init = function(args)
  math.randomseed(os.time())
  for path in io.lines("%(paths)s") do
    requests[#requests + 1] = wrk.format("GET", path, {["X-API-Key"] = "%(key)s"})
  end
end
request = function() return requests[math.random(#requests)] end
done = function(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"rate": %%.1f, "p50_ms": %%.3f, "p99_ms": %%.3f, "errors": %%d}',
    summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True, slots=True)
class Load:
    """wrk's figures: responses a second, latency in milliseconds, responses other than 2xx."""

    rate: float
    p50_ms: float
    p99_ms: float
    errors: int


def ensure_wrk() -> None:
    if shutil.which("wrk") is None:
        packages.install(["wrk"], why="wrk, which makes the load, is missing.")


def get(url: str, key: str | None = None) -> bytes | None:
    """Returns the body of a successful response, or None."""
    headers = {"X-API-Key": key} if key else {}
    try:
        with urlopen(Request(url, headers=headers), timeout=5) as response:
            body: bytes = response.read()
            return body
    except OSError:
        return None


def load(base_url: str, paths: Sequence[str], *, key: str, connections: int, seconds: int) -> Load:
    """Returns the figures of random paths over this many connections for this long.

    A connection has one request after the other.
    """
    with NamedTemporaryFile("w") as listed, NamedTemporaryFile("w") as script:
        listed.write("\n".join(paths) + "\n")
        listed.flush()
        script.write(_SCRIPT % {"paths": listed.name, "key": key})
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "5s"]
        done = subprocess.run(
            [*command, "-s", script.name, base_url],
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=True,
        )
    return Load(**json.loads(done.stdout.splitlines()[-1]))
