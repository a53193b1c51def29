"""`make install` updates .venv when its sources have changed."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.alone import alone
from local_stack.listening import PORTS
from local_stack.ports import free_ports

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


class Checkout:
    """The Makefile, an installer that only notes its runs, and a stand-in for an interpreter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(ROOT / "Makefile", folder)
        self.constraints = folder / "constraints.txt"
        self.constraints.touch()
        self.python = self.interpreter(".venv/bin/python", "3.11")
        installer = folder / "deploy" / "local" / "install"
        installer.parent.mkdir(parents=True)
        script(installer, "echo installed >> runs")

    def interpreter(self, name: str, version: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        script(path, f"echo /usr {version}")
        return path

    def runs(self, *arguments: str) -> int:
        """The number of runs of the installer."""
        log = self.folder / "runs"
        log.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHON"}
        subprocess.run(
            ["make", "install", *arguments],
            cwd=self.folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=30,
        )
        return len(log.read_text().split()) if log.exists() else 0


def test_what_is_being_installed_is_shown_without_a_terminal_too(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "lib" / "python3" / "site-packages").mkdir(parents=True)
    (tmp_path / ".venv" / "lib" / "python3" / "one-1.0.dist-info").mkdir()
    installer = (ROOT / "deploy" / "local" / "install").read_text()
    progress = installer[installer.index("progress() {") :].partition("\n}\n")[0] + "\n}\n"
    said = "echo 'Collecting one==1.0 (from -r constraints.txt)'"
    shown = subprocess.run(
        ["bash", "-c", f"set -euo pipefail; {progress} {said} | progress 2"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert shown.stdout == "  package 1 of 2: one==1.0\n"


def script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.fixture
def installed(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path)
    assert checkout.runs() == 1
    return checkout


def test_nothing_is_installed_again_without_a_change(installed: Checkout) -> None:
    same = installed.interpreter("same", "3.11")

    assert (installed.runs(), installed.runs(f"PYTHON={same}")) == (0, 0)


def test_another_python_is_installed_for(installed: Checkout) -> None:
    other = installed.interpreter("other", "3.12")

    assert installed.runs(f"PYTHON={other}") == 1


def test_changed_constraints_are_installed(installed: Checkout) -> None:
    later = (installed.folder / ".venv" / "installed").stat().st_mtime + 1
    os.utime(installed.constraints, (later, later))

    assert installed.runs() == 1


def test_an_environment_whose_interpreter_is_gone_is_made_again(installed: Checkout) -> None:
    installed.python.unlink()

    assert installed.runs() == 1


#: The machine's own, without any package of ours.
PYTHON = Path(sys.base_prefix) / "bin" / "python3"


def refused(folder: Path, *command: object, **settings: object) -> str:
    """The errors of a command in a new clone, with ports of its own; empty if there are none."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    free = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=kept | {name: str(value) for name, value in {**free, **settings}.items()},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode != 0) == bool(done.stderr), done
    return done.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout in which nothing is installed."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "deploy" / "local", tmp_path / "deploy" / "local")
    (tmp_path / "constraints.txt").touch()
    return tmp_path


@pytest.mark.parametrize("setting,host", [("PORTAL_PORT", "127.0.0.2"), ("MONGO_PORT", "")])
def test_a_taken_port_is_told_before_the_installation(clone: Path, setting: str, host: str) -> None:
    with socket.socket() as taken:
        taken.bind((host or "127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        own = {"HTTP_HOST": host} if host else {}
        said = refused(clone, "make", "run", f"PYTHON={PYTHON}", **{setting: port}, **own)

    assert f"Port {port} is taken by another program: stop that one, or choose" in said
    assert f"with {setting}=…, or move all ports with PORT_OFFSET=…" in said
    assert not (clone / ".venv").exists()


def test_a_run_that_is_there_is_told_before_its_ports(clone: Path) -> None:
    [port] = free_ports(1)
    with socket.socket() as taken, alone(clone / ".run"):
        taken.bind(("127.0.0.1", port))
        taken.listen()
        said = refused(clone, "make", "run", f"PYTHON={PYTHON}", HTTP_PORT=port)

    assert f"A run is already here (process {os.getpid()}): “make stop” ends it." in said
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"MONGO_URL": "mongodb://db.example/", "MONGO_PORT": "taken"},
        {"AMQP_URL": "amqp://mq.example/", "AMQP_MAPPER_PORT": "taken"},
        {"RECEIVER_PORT": "taken"},
        # An invalid setting is told by the run.
        {"HTTP_PORT": "http"},
        {"HTTP_PORT": "70000"},
    ],
)
def test_what_a_run_does_not_listen_on_may_be_taken(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        given = {name: port if value == "taken" else value for name, value in settings.items()}
        check = (PYTHON, "-m", "local_stack.listening")
        said = refused(tmp_path, *check, PYTHONPATH=ROOT / "deploy" / "local", **given)

    assert said == ""
