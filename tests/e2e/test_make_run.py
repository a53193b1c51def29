"""`make run`, as a person starts and ends it."""

import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from local_stack.alone import start_of
from local_stack.ports import REFUSED_BY_BROWSERS, free_ports, is_free
from local_stack.processes import wait_for
from local_stack.settings import StackSettings

pytestmark = pytest.mark.e2e

#: Seconds from nothing to readiness, for an answer, and from Ctrl-C to the end, on a busy machine.
READY, ANSWERED, ENDED = 300, 60, 60

ADMIN_URLS = (
    *("LOOKUP_ADMIN_URL", "REGISTRY_ADMIN_URL", "DISPATCHER_ADMIN_URL", "GATEWAY_ADMIN_URL"),
    *("INGEST_ADMIN_URL", "PORTAL_ADMIN_URL"),
)

#: No port comes near 32768, where the kernel's ports for outgoing connections begin.
OFFSETS = range(1_000, 4_000)


class Run:
    """One `make run` in a folder of its own, independent of others on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        given = {"AMQP_URL", "MONGO_URL"}
        inherited = {name: value for name, value in os.environ.items() if name not in given}
        self.offset = free_offset()
        self.environment = {
            **inherited,
            "PORT_OFFSET": str(self.offset),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "RUN_DIR": str(folder),
            "SAMPLE_COMPANIES": "50",
            "CHANGE_EVERY": "PT0.1S",
        }
        self.process: subprocess.Popen[bytes] | None = None
        self._env = folder / "env"
        self._log = folder.parent / "run.log"

    def begin(self) -> "subprocess.Popen[bytes]":
        """Returns at once."""
        # A file that a killed run has left says nothing about this one.
        self._env.unlink(missing_ok=True)
        with self._log.open("wb") as log:
            self.process = self._popen("run", output=log.fileno())
        return self.process

    def start(self) -> None:
        """Returns when everything is ready."""
        process = self.begin()
        assert wait_for(lambda: self._env.exists() or process.poll() is not None, seconds=READY)
        assert process.poll() is None, self._log.read_text()

    def end(self, number: int) -> int:
        """Sends a signal and answers the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(ENDED)

    def stop(self) -> int:
        """`make stop`."""
        return self._popen("stop").wait(ENDED)

    def env(self) -> dict[str, str]:
        words = shlex.split(self._env.read_text())
        return dict(word.split("=", 1) for word in words if word != "export")

    def children(self) -> list[int]:
        """The processes that a run has started so far."""
        noted = self.folder / "children"
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [int(line.split()[0]) for line in lines]

    @contextmanager
    def receiver(self, port: int, secret: str) -> Iterator[Path]:
        """A receiver of webhooks for the body's time; the file that it prints to."""
        printed = self.folder.parent / "receiver.log"
        with printed.open("wb") as log:
            process = self._popen(
                "receiver", "--port", str(port), "--secret", secret, output=log.fileno()
            )
        try:
            assert wait_for(lambda: not is_free(port), seconds=READY), printed.read_text()
            yield printed
        finally:
            process.terminate()
            process.wait(ENDED)

    def _popen(self, *command: str, output: int | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "local_stack", *command],
            env=self.environment,
            stdout=output,
            stderr=output,
        )


def default_ports() -> set[int]:
    """The ports of a run without any setting."""
    return set(StackSettings(amqp_url=None, mongo_url=None, port_offset=0).run_ports.values())


def free_offset() -> int:
    """An offset that moves every port to a free one."""
    candidates = random.sample(OFFSETS, k=len(OFFSETS))
    return next(
        offset
        for offset in candidates
        # From a port that browsers refuse a default moves on.
        if all(
            is_free(port + offset) and port + offset not in REFUSED_BY_BROWSERS
            for port in default_ports()
        )
    )


def listening(host: str, offset: int) -> set[int]:
    """The default ports that, moved by the offset, accept connections at an address."""
    return {port for port in default_ports() if accepts(host, port + offset)}


def accepts(host: str, port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(READY)
        return client.connect_ex((host, port)) == 0


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    a_run = Run(tmp_path / "run")
    yield a_run
    if a_run.process is not None:
        with suppress(ProcessLookupError):
            a_run.process.kill()
        a_run.process.wait(ENDED)
    a_run.stop()


@pytest.mark.timeout(900)  # two starts on a busy machine
def test_a_run_serves_and_resumes_after_a_kill_until_make_stop(run: Run) -> None:
    [port] = free_ports(1)
    run.start()
    env = run.env()
    key = env["API_KEY"]
    here = listening("127.0.0.1", run.offset)
    # A port that is open on every address is open on this one too.
    elsewhere = listening("127.0.0.2", run.offset)
    ready = {name: ask(f"{env[name]}/readyz")["checks"] for name in ADMIN_URLS}
    with urllib.request.urlopen(env["PORTAL_URL"], timeout=ANSWERED) as page:  # noqa: S310 (our own)
        sign_in = page.url
    agents = ask(env["MCP_URL"].replace("/mcp", "/readyz"))
    company = ask(f"{env['BASE_URL']}/api?country=no&vat=310345679", key=key)
    webhook = ask(
        f"{env['BASE_URL']}/api/webhooks",
        key=key,
        body={"url": f"https://localhost:{port}/", "events": ["*"]},
    )

    assert here == default_ports()
    assert elsewhere == set()
    assert env["PORT_OFFSET"] == str(run.offset)
    assert company["name"] == "PRØVEFABRIKKEN NORGE AS"
    assert agents == {"status": "ready"}
    assert sign_in == f"{env['PORTAL_URL']}/sign-in"
    assert {word for checks in ready.values() for word in checks.values()} == {"ok"}

    run.end(signal.SIGKILL)
    run.start()

    env = run.env()
    assert env["API_KEY"] == key
    company = ask(f"{env['BASE_URL']}/api?country=dk&vat=12345674", key=key)
    assert company["name"] == "Prøvefabrikken ApS"
    # The secret was sealed by the run before, and the certificate was made by it.
    with run.receiver(port, str(webhook["secret"])) as printed:
        ask(f"{env['BASE_URL']}/api/webhooks/{webhook['id']}/test", key=key, body={})
        signed = "webhook.test, signed with the webhook's secret"
        assert wait_for(lambda: signed in printed.read_text(), seconds=READY), printed.read_text()
        # Changes in the registers from now on; earlier ones had no subscriber.
        assert wait_for(lambda: len(changes_in(printed)) >= 3, seconds=READY), printed.read_text()

    children = run.children()
    run.stop()

    assert run.process is not None
    assert run.process.wait(ENDED) == 0
    assert not [pid for pid in children if start_of(pid) is not None]
    assert not (run.folder / "env").exists()


def test_ctrl_c_ends_a_run_that_is_starting_and_leaves_no_process(run: Run) -> None:
    run.begin()
    assert wait_for(lambda: len(run.children()) >= 3, seconds=READY)
    children = run.children()

    status = run.end(signal.SIGINT)

    assert status == 0
    assert not [pid for pid in children if start_of(pid) is not None]


def changes_in(printed: Path) -> set[str]:
    """The kinds of events that a receiver has printed; tests of webhooks are none."""
    text = printed.read_text()
    return set(re.findall(r"^((?!webhook)[a-z_]+\.[a-z_]+), signed", text, re.MULTILINE))


def ask(
    url: str, *, key: str | None = None, body: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The answer to a GET, or to a POST of a body; on a busy machine it is asked for again."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, headers)  # noqa: S310
    answers: list[dict[str, Any]] = []

    def is_answered() -> bool:
        try:
            with urllib.request.urlopen(request, timeout=ANSWERED) as answer:  # noqa: S310 (our own)
                answers.append(json.load(answer))
        except urllib.error.HTTPError as error:
            if error.code not in (503, 504):
                raise
        return bool(answers)

    assert wait_for(is_answered, seconds=READY), url
    return answers[0]
