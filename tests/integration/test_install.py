"""`make install` updates .venv when its sources have changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

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
