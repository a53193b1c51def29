"""Every console block of the READMEs and of three guides prints the output shown."""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_stack.ports import free_ports
from tests.delivery.waiting import SOON
from tests.e2e.conftest import Running

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "docs" / "lookups.md",
    ROOT / "docs" / "many.md",
    ROOT / "docs" / "webhooks" / "README.md",
    ROOT / "clients" / "python" / "README.md",
)
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
#: A console block holds commands, each with its output.
BLOCK = re.compile(r"```console\n(?P<lines>.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (?P<command>.+)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
#: Before a command that checks an effect; the test waits for the effect instead.
PAUSE = re.compile(r"^sleep \d+; ")
#: The ports of the receivers in the README.
PORTS = ("8443", "8444", "3000")


@dataclass(frozen=True, slots=True)
class Example:
    command: str
    output: str

    def on(self, ports: Mapping[str, str]) -> "Example":
        """The same with other ports."""
        command, output = self.command, self.output
        for shown, free in ports.items():
            command, output = command.replace(shown, free), output.replace(shown, free)
        return Example(command, output)

    def is_shown_by(self, printed: str) -> bool:
        """Compare the output; `…` matches any text within a line."""
        pattern = "[^\n]+".join(map(re.escape, self.output.rstrip("\n").split("…")))
        return re.fullmatch(pattern, printed.rstrip("\n")) is not None


def examples() -> dict[str, list[Example]]:
    """Return the examples of each section that has any, in order."""
    found = {
        section["title"]: [
            Example(each["command"], each["output"])
            for block in BLOCK.finditer(section["text"])
            for each in COMMAND.finditer(block["lines"])
        ]
        for document in DOCUMENTS
        for section in SECTION.finditer(document.read_text())
    }
    return {title: shown for title, shown in found.items() if shown}


class Shell:
    """A terminal that runs one command after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def run(self, command: str) -> str:
        """Return the output of the command, including its errors."""
        keyboard, screen = self._process.stdin, self._process.stdout
        assert keyboard is not None
        assert screen is not None
        keyboard.write(f"{command}\nprintf '\\0'\n".encode())
        async with asyncio.timeout(SOON):
            return (await screen.readuntil(b"\0"))[:-1].decode()


@asynccontextmanager
async def shell(folder: Path, environment: Mapping[str, str]) -> AsyncIterator[Shell]:
    process = await asyncio.create_subprocess_exec(
        "bash",
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield Shell(process)
    finally:
        # Including background processes.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()


def test_readmes_and_guides_have_examples() -> None:
    counts = {title: len(shown) for title, shown in examples().items()}

    assert counts["Look up a company"] >= 3
    assert counts["Subscribe to changes"] >= 7
    assert counts["Watch your customers"] >= 7
    assert counts["Pull events"] >= 5
    assert sum(counts.values()) >= 25


@pytest.mark.parametrize("section", examples())
async def test_console_blocks_print_the_output_shown(
    running: Running, tmp_path: Path, section: str
) -> None:
    # As in a clone, but output files go into a folder of the test's own.
    for folder in ("clients", "deploy"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    run_dir = running.certificates.folder.parent
    (tmp_path / ".run").mkdir()
    environment = {
        **running.system.full_environment(),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUN_DIR": str(run_dir),
        "XDG_CONFIG_HOME": str(tmp_path / ".config"),
        "BASE_URL": running.system.base_url,
        "API_KEY": running.key,
        "CA_FILE": str(running.certificates.ca_file),
    }
    ports = dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True))

    async with shell(tmp_path, environment) as terminal:
        for example in examples()[section]:
            await check(terminal, example.on(ports))


async def check(terminal: Shell, example: Example) -> None:
    """Fail when the command does not print the shown output."""
    command = PAUSE.sub("", example.command)
    # A command with a pause is repeated until it shows the effect; the others run once.
    ends = time.monotonic() + (0 if command == example.command else SOON)
    printed = await terminal.run(command)
    while not example.is_shown_by(printed) and time.monotonic() < ends:
        printed = await terminal.run(command)
    assert example.is_shown_by(printed), f"$ {command}\n{printed}\n--- shown:\n{example.output}"
