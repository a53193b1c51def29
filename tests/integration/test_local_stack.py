"""Processes, files and ports of `make run`."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest
from pydantic import SecretStr

from common.runtime.settings import load
from local_stack import SetupError, alone, listening, packages, ports, registers
from local_stack.processes import Process, Program, complete, wait_for
from local_stack.run_files import State, env_file
from local_stack.settings import StackSettings
from local_stack.system import System
from tests.delivery.waiting import SOON

#: Announces itself, then runs until it is ended.
ENDLESS = "import time; print('begun', flush=True); time.sleep(600)"
#: The same, and does not listen to SIGTERM.
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {ENDLESS}"


def a_program(folder: Path, code: str) -> Program:
    return Program("worker", [sys.executable, "-c", code], folder / "worker.log")


def begun(program: Program) -> Process:
    process = Process(program)
    process.wait_until(lambda: "begun" in program.log.read_text(), seconds=SOON)
    return process


def test_a_process_that_ignores_its_end_is_ended_all_the_same(tmp_path: Path) -> None:
    process = begun(a_program(tmp_path, STUBBORN))

    process.stop(seconds=0.1)

    assert process.exit_status == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    "code,seconds,error",
    [
        ("raise SystemExit('no database')", SOON, r"worker ended with status 1.*\n  no database"),
        (ENDLESS, 0.1, "worker was not ready within 0 s"),
    ],
)
def test_a_process_that_is_never_ready_is_named_with_its_last_output(
    tmp_path: Path, code: str, seconds: float, error: str
) -> None:
    process = Process(a_program(tmp_path, code))

    with pytest.raises(SetupError, match=error):
        process.wait_until(lambda: False, seconds=seconds)

    process.stop()


def test_the_error_of_a_failed_command_quotes_its_output() -> None:
    code = "import sys; print('no', file=sys.stderr); exit(2)"

    with pytest.raises(SetupError, match=r"ended with status 2:\n  no"):
        complete([sys.executable, "-c", code], {}, seconds=SOON)


def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    parent = f"""
from pathlib import Path
from local_stack.processes import Process, Program
child = Process(Program("child", [{sys.executable!r}, "-c", {ENDLESS!r}], Path("child.log")))
print("begun", child.pid, flush=True)
child.wait_until(lambda: False, seconds=600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as killed:
        assert killed.stdout is not None
        child = int(killed.stdout.readline().removeprefix("begun "))
        killed.kill()

    assert wait_for(lambda: alone.start_of(child) is None, seconds=SOON)


def test_a_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    assert not alone.stop(tmp_path / "never-run")
    assert not alone.stop(tmp_path)
    with (
        alone.alone(tmp_path),
        pytest.raises(SetupError, match=f"process {os.getpid()}.*make stop"),
        alone.alone(tmp_path),
    ):
        pytest.fail("two runs in one folder")

    with alone.alone(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_what_a_killed_run_has_left_is_ended_by_the_next(tmp_path: Path) -> None:
    left, stranger = begun(a_program(tmp_path, ENDLESS)), begun(a_program(tmp_path, ENDLESS))
    alone.note_children(tmp_path, [left.pid])
    with (tmp_path / "children").open("a") as noted:
        # A process that has the id of a former child.
        noted.write(f"{stranger.pid} 1\n")
    (tmp_path / "env").write_text("BASE_URL=http://127.0.0.1:1\n")

    with alone.alone(tmp_path):
        assert left.exit_status is not None
        assert stranger.exit_status is None
        assert not (tmp_path / "env").exists()
    stranger.stop()


def test_the_env_file_gives_its_variables_to_every_command_of_a_shell(tmp_path: Path) -> None:
    url = "mongodb://127.0.0.1:1/?a=1&b='two words'"
    path = tmp_path / "env"

    with env_file(tmp_path, {"MONGO_URL": url}):
        read = complete(["sh", "-c", f". {path} && printenv MONGO_URL"], {}, seconds=SOON)
        assert read == f"{url}\n"
        assert path.stat().st_mode & 0o777 == 0o600

    assert not path.exists()


def test_a_taken_port_is_named_with_the_setting_that_changes_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(SetupError, match=f"Port {port} is taken.*HTTP_PORT="):
            ports.require_free({"HTTP_PORT": port})


def test_one_setting_moves_every_port_that_is_not_set_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AMQP_URL", "MONGO_URL", "PORT_OFFSET", *StackSettings().run_ports):
        monkeypatch.delenv(name, raising=False)
    unmoved = StackSettings()
    monkeypatch.setenv("PORT_OFFSET", "600")
    monkeypatch.setenv("HTTP_PORT", "8000")

    moved = StackSettings()

    expected = {name: port + 600 for name, port in unmoved.run_ports.items()}
    assert moved.run_ports == expected | {"HTTP_PORT": 8000}
    assert moved.receiver_port == unmoved.receiver_port + 600
    for refused in ports.REFUSED_BY_BROWSERS:
        for default in ("http_port", "portal_port", "registers_port", "receiver_port"):
            offset = max(0, refused - getattr(unmoved, default))
            monkeypatch.setenv("PORT_OFFSET", str(offset))
            found = [value for field, value in StackSettings() if field.endswith("_port")]

            assert not ports.REFUSED_BY_BROWSERS & set(found)
            assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "name,port,error",
    [
        (
            "PORTAL_PORT",
            "6000",
            "settings: PORTAL_PORT=6000: browsers refuse to open this port, which belongs to "
            "another protocol; choose another one\n",
        ),
        (
            "HTTP_PORT",
            "70000",
            "setting HTTP_PORT: Input should be less than or equal to 65535\n",
        ),
    ],
)
def test_an_impossible_port_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    port: str,
    error: str,
) -> None:
    monkeypatch.setenv(name, port)

    with pytest.raises(SystemExit):
        load(StackSettings)

    assert capsys.readouterr().err == error


def test_a_given_server_needs_no_port_unless_it_is_that_of_an_earlier_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def settings(**given: str) -> StackSettings:
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        return StackSettings()

    given = StackSettings(mongo_url=SecretStr("mongodb://db/"), amqp_url=SecretStr("amqp://mq/"))
    own: Mapping[str, str] = {
        "AMQP_URL": "amqp://guest:guest@127.0.0.1:6282/",
        "MONGO_URL": "mongodb://127.0.0.1:27627/?replicaSet=rs0",
    }
    same, other = settings(**own, PORT_OFFSET="600"), settings(**own, PORT_OFFSET="0")

    assert not [name for name in given.run_ports if name.startswith(("AMQP", "MONGO"))]
    assert (same.amqp_url, same.mongo_url) == (None, None)
    assert None not in (other.amqp_url, other.mongo_url)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PORT_OFFSET": "1100", "HTTP_HOST": "127.0.0.2", "http_port": "8000"},
        {"AMQP_URL": "amqp://mq.example/", "MONGO_URL": ""},
        {"MONGO_URL": "mongodb://127.0.0.1:27127/?replicaSet=rs0", "PORT_OFFSET": "100"},
    ],
)
def test_the_ports_that_are_checked_before_the_installation_are_those_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: dict[str, str]
) -> None:
    for name in ("AMQP_URL", "MONGO_URL", "PORT_OFFSET", "HTTP_HOST", *listening.PORTS):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    checked: list[tuple[dict[str, int], str]] = []
    monkeypatch.setattr(
        listening, "require_free", lambda found, host: checked.append((found, host))
    )
    settings = StackSettings()

    listening.check({**environment, "RUN_DIR": str(tmp_path)})

    assert checked == [(settings.run_ports, settings.http_host)]


def test_free_ports_differ_also_between_processes() -> None:
    assert len(set(ports.free_ports(50))) == 50
    [port] = ports.free_ports(1)
    code = f"""
from local_stack import SetupError, ports
ports._RANGE = range({port}, {port} + 1)
try:
    print(ports.free_ports(1))
except SetupError as error:
    print(error)
"""

    other = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=other, stdout=subprocess.PIPE, text=True, check=True
    )

    assert done.stdout == f"no 1 free ports between {port} and {port + 1}.\n"


class Screen(StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


APT = (
    "Reading package lists...\n",
    "Get:1 http://mirror.example bookworm/main amd64 erlang-base amd64 1:25 [9,999 kB]\n",
    "Unpacking erlang-base (1:25) ...\n",
    "Setting up rabbitmq-server (3.10) ...\n",
)


def test_installing_shows_each_step_in_one_line_or_one_every_five_seconds() -> None:
    terminal, file = Screen(is_terminal=True), Screen(is_terminal=False)
    clock = iter([0.0, 0.0, 0.0, 4.9, 5.0, 5.0])

    last = packages.show_progress(APT, terminal, lambda: 0.0)
    packages.show_progress(APT, file, lambda: next(clock))

    steps = ["Downloading erlang-base", "Unpacking erlang-base", "Setting up rabbitmq-server"]
    assert terminal.getvalue().split("\r\033[K") == ["", *(f"  {each}" for each in steps), ""]
    assert last == "".join(APT)
    assert file.getvalue() == f"  {steps[0]}\n  {steps[2]}\n"


def test_only_one_process_at_a_time_runs_apt_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt_get = tmp_path / "apt-get"
    # Fails unless the lists are locked by whoever calls it.
    apt_get.write_text(f"#!/bin/sh\n! flock --nonblock {tmp_path} true\n")
    apt_get.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages, "_POLICY", tmp_path / "policy")
    monkeypatch.setattr(packages, "_LISTS", str(tmp_path))

    packages.install(["one"], why="It is missing.")


def test_a_state_is_of_one_database_and_its_files_are_not_loaded_again(tmp_path: Path) -> None:
    path, file = tmp_path / "state.json", tmp_path / "no-enheter.json"
    digest = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
    known = State("mongodb://a", "id.secret", {"no-enheter": digest})
    file.write_text("[]")
    known.write(path)
    # Loading would need a database.
    nowhere = System(tmp_path, "amqp://127.0.0.1:1", "mongodb://127.0.0.1:1", {})

    assert State.read(path, database="mongodb://a") == known
    assert State.read(path, database="mongodb://b") == State("mongodb://b")
    assert not registers.load_sample("no-enheter", file, known, nowhere)
    path.write_text('{"database": "mongodb://a", "api_k')
    assert State.read(path, database="mongodb://a") == State("mongodb://a")
