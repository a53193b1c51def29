"""Files, memory, health, background tasks and shutdown of a process, and its database client."""

import asyncio
import ctypes
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from pymongo import AsyncMongoClient
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
    WTimeoutError,
)
from structlog.testing import capture_logs

from common.contracts.failures import Unavailable
from common.mongo import connected, translated_errors
from common.runtime.health import Health, Required
from common.runtime.processes import raise_file_limit, release_freed_memory
from common.runtime.settings import read_duration
from common.runtime.tasks import background, repeat
from tests.builders.durations import REFUSED, SECONDS


@pytest.fixture
def low_limit() -> Iterator[int]:
    """A soft limit below the hard one, for the test's time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = soft if hard == resource.RLIM_INFINITY else hard
    low = min(1024, highest // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    yield low
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_limit_is_raised_once_and_returned(low_limit: int) -> None:
    raised = raise_file_limit()

    assert raised == resource.getrlimit(resource.RLIMIT_NOFILE)[0] == raise_file_limit()
    assert raised > low_limit


MEGABYTE = 2**20
#: Less than from where on glibc maps a block by itself.
BLOCK = 64 * 1024


def resident() -> int:
    """Bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_freed_memory_below_a_used_block_is_returned() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK) for _ in range(64 * MEGABYTE // BLOCK)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    last = libc.malloc(BLOCK)
    for block in blocks:
        libc.free(block)
    before = resident()

    release_freed_memory()

    after = resident()
    libc.free(last)
    assert before - after > 32 * MEGABYTE


class Dependency:
    """A dependency whose state a test sets."""

    def __init__(self, failure: Exception | str | None = None) -> None:
        self.failure = failure

    async def check(self) -> str | None:
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure


def serving(check: Dependency, required: Required = Required.ALWAYS) -> Health:
    health = Health(serving=True)
    health.add("database", check.check, required=required)
    return health


async def test_a_process_is_not_ready_before_it_has_started() -> None:
    assert await Health().report() == (False, {})


@pytest.mark.parametrize(
    "failure, result",
    [
        ("not connected", "not connected"),
        (Unavailable("the database cannot be reached"), "the database cannot be reached"),
        (ValueError("no such certificate"), "the check failed; the log has the cause"),
    ],
    ids=["message", "unavailable", "bug"],
)
async def test_any_failure_of_a_check_is_a_failed_check(
    failure: Exception | str, result: str
) -> None:
    assert await serving(Dependency(failure)).report() == (False, {"database": result})


async def test_a_check_that_must_succeed_first_is_only_reported_afterwards() -> None:
    dependency = Dependency("not connected")
    health = serving(dependency, Required.FIRST)

    never_reached = await health.report()
    dependency.failure = None
    reached = await health.report()
    dependency.failure = "not connected"
    lost = await health.report()

    assert never_reached == (False, {"database": "not connected"})
    assert reached == (True, {"database": "ok"})
    assert lost == (True, {"database": "not connected"})


async def test_a_check_that_is_not_required_never_changes_readiness() -> None:
    health = serving(Dependency("5 s behind"), Required.NEVER)

    assert await health.report() == (True, {"database": "5 s behind"})


async def test_metrics_repeat_the_report() -> None:
    await serving(Dependency("not connected")).report()

    assert REGISTRY.get_sample_value("service_ready") == 0
    assert REGISTRY.get_sample_value("dependency_up", {"dependency": "database"}) == 0


async def test_checks_may_be_added_during_a_report() -> None:
    health = Health(serving=True)

    async def add_another() -> None:
        health.add("broker", Dependency().check)

    health.add("database", add_another)

    assert await health.report() == (True, {"database": "ok"})


async def for_ever(ended: asyncio.Event | None = None) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        if ended is not None:
            ended.set()


async def deaf(begun: asyncio.Event, ended: asyncio.Event) -> None:
    """Continues after a cancellation, as a task does when `asyncio.wait_for` loses it."""
    try:
        begun.set()
        await for_ever()
    except asyncio.CancelledError:
        await for_ever(ended)


async def test_a_background_task_ends_with_the_body() -> None:
    ended = [asyncio.Event(), asyncio.Event()]
    async with asyncio.timeout(5), background(*map(for_ever, ended)):
        await asyncio.sleep(0)

    assert all(each.is_set() for each in ended)


async def test_a_task_that_lost_its_cancellation_is_cancelled_again() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async with asyncio.timeout(5), background(deaf(begun, ended), patience=0.01):
        await begun.wait()

    assert ended.is_set()


async def test_a_failure_ends_the_body() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ExceptionGroup):
        async with asyncio.timeout(5), background(fail(), for_ever()):
            await for_ever()


async def test_a_job_is_repeated_whatever_comes_of_a_run() -> None:
    runs, done = [Unavailable("away"), ValueError("failed"), None], asyncio.Event()

    async def job() -> None:
        if error := runs.pop(0):
            raise error
        done.set()
        await for_ever()

    with capture_logs() as logs:
        repeated = repeat(job, every=0.001, unavailable="job.waiting", failed="job.failed")
        async with asyncio.timeout(5), background(repeated):
            await done.wait()

    assert [line["event"] for line in logs] == ["job.waiting", "job.failed"]


#: A service with a thread that cannot be stopped, such as one that waits for a name server.
STUCK = """
import time
from concurrent.futures import ThreadPoolExecutor

from common.runtime.service import run
from common.runtime.settings import ProcessSettings

async def build(settings, stack, health):
    ThreadPoolExecutor(1).submit(time.sleep, 60)

run("stuck", ProcessSettings(admin_port=0), build)
"""


def test_shutdown_does_not_wait_for_threads() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "service.started" in line)

        process.terminate()

        assert process.wait(20) == 0
        assert "service.stopped" in process.stdout.read()


#: A service whose side task fails while its start waits for a driver that loses cancellations.
FAILING = """
import asyncio
from contextlib import suppress

from common.runtime.service import run
from common.runtime.settings import ProcessSettings
from common.runtime.tasks import background

async def fail():
    raise ValueError("a fault")

async def build(settings, stack, health):
    await stack.enter_async_context(background(fail()))
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()

run("failing", ProcessSettings(admin_port=0), build)
"""


def test_a_side_task_that_fails_ends_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FAILING], capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.returncode == 1
    assert "ValueError: a fault" in ended.stderr
    assert "service.started" not in ended.stdout


#: A service that waits in its start for a driver that ignores cancellations.
DEAF = """
import asyncio
from contextlib import suppress
from datetime import timedelta

from common.runtime import service
from common.runtime.settings import ProcessSettings

service._OVERTIME = 0.1

async def build(settings, stack, health):
    while True:
        with suppress(asyncio.CancelledError):
            print("waiting", flush=True)
            await asyncio.Event().wait()

service.run("deaf", ProcessSettings(admin_port=0, shutdown_grace=timedelta(0)), build)
"""


def test_a_signal_ends_a_process_that_ignores_its_cancellation() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("waiting" in line for line in process.stdout)

        process.terminate()
        _, error = process.communicate(timeout=60)

    assert (process.returncode, error) == (1, "deaf did not stop within its grace\n")


UNKNOWN_MODE = 79


@pytest.mark.parametrize(
    "error",
    [
        AutoReconnect("gone"),
        OperationFailure("too slow", code=50),
        OperationFailure("Authentication failed.", code=18),
        OperationFailure("not authorized", code=13),
        WTimeoutError("too slow", code=64),
        ConfigurationError("Sessions are not supported by this MongoDB deployment"),
        *(
            WriteConcernError("no majority", code=code)
            for code in (91, 189, 11600, 11602, 10107, 13435, 13436, 64)
        ),
        BulkWriteError({"writeErrors": [], "writeConcernErrors": [{"code": 189}]}),
    ],
    ids=repr,
)
def test_retryable_errors_are_unavailable(error: PyMongoError) -> None:
    with pytest.raises(Unavailable), translated_errors():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        OperationFailure("no such operator", code=2),
        WriteConcernError("no such mode", code=UNKNOWN_MODE),
        BulkWriteError({"writeErrors": [{"code": 121}], "writeConcernErrors": []}),
    ],
    ids=repr,
)
def test_permanent_errors_are_raised_unchanged(error: PyMongoError) -> None:
    with pytest.raises(type(error)), translated_errors():
        raise error


async def test_a_database_that_does_not_answer_delays_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def close(_client: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(AsyncMongoClient, "close", close)
    monkeypatch.setattr("common.mongo.CLOSE_TIMEOUT", 0.01)

    async with asyncio.timeout(5), connected("mongodb://127.0.0.1:1/", name="test"):
        pass


REQUEST = """
import httpx
from common.runtime import logs

logs.configure("DEBUG", service="test")
transport = httpx.MockTransport(lambda request: httpx.Response(200))
httpx.Client(transport=transport).get("https://example.com/api?search=secret")
"""


def test_no_library_logs_the_address_of_a_request() -> None:
    process = subprocess.run([sys.executable, "-c", REQUEST], capture_output=True, check=True)

    assert (process.stdout, process.stderr) == (b"", b"")


@pytest.mark.parametrize("text, seconds", [*SECONDS.items(), ("-PT5S", -5)])
def test_a_duration_is_iso_8601_or_seconds(text: str, seconds: float) -> None:
    assert read_duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_fixed_length_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        read_duration(text)
