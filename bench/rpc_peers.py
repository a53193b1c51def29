"""Peers of a lookup: HTTP, RPC over the same RabbitMQ, and a response of the same size."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from bench.load import get
from local_stack import ports
from local_stack.processes import Process, Program
from local_stack.system import System

_PEERS = Path(__file__).parent / "peers"
_ENVIRONMENTS = Path(__file__).resolve().parents[1] / ".bench" / "environments"
#: Seconds for a peer to start, and to be installed.
_READY, _INSTALLED = 30.0, 300.0


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    #: The processes in the order of their start; the last one serves HTTP.
    commands: tuple[str, ...]
    #: Minimum of our rate as a multiple of its rate, by connections.
    goals: Mapping[int, float]
    #: Its share of bare aiohttp's rate when the goals were set, by connections.
    known_share: Mapping[int, float] = field(default_factory=dict)
    #: The pinned packages of its virtual environment; without any it runs in ours.
    requirements: Path | None = None


BARE = Peer("bare aiohttp", ("python -m bench.peers.bare_aiohttp",), goals={32: 0.13, 256: 0.32})
PEERS = (
    BARE,
    Peer(
        "nameko",
        (
            f"nameko run --config {_PEERS}/nameko.yaml nameko_app:Lookup",
            f"nameko run --config {_PEERS}/nameko.yaml nameko_app:Gateway",
        ),
        goals={32: 8, 256: 12},
        known_share={32: 0.0228, 256: 0.0250},
        requirements=_PEERS / "nameko.txt",
    ),
    Peer(
        "plain aio-pika",
        (
            "python -m bench.peers.plain_aio_pika lookup",
            "python -m bench.peers.plain_aio_pika gateway",
        ),
        goals={1: 0.7},
        known_share={32: 0.0543, 256: 0.0641},
    ),
    Peer(
        "the same work",
        ("python -m bench.peers.same_work lookup", "python -m bench.peers.same_work gateway"),
        goals={1: 1, 32: 4, 256: 6},
    ),
)


@contextmanager
def served(peer: Peer, system: System, *, path: str, key: str, response_size: int) -> Iterator[str]:
    """Starts a peer; yields its base URL when it has answered its first request."""
    [port] = map(str, ports.free_ports(1))
    base_url = f"http://127.0.0.1:{port}"
    programs = _installed(peer.requirements) if peer.requirements else Path(sys.executable).parent
    modules = [str(_PEERS)] if peer.requirements else sys.path
    environment = {
        **system.full_environment(),
        "RESPONSE_SIZE": str(response_size),
        "HTTP_PORT": port,
        "PYTHONPATH": os.pathsep.join(modules),
    }
    with ExitStack() as stack:
        for number, command in enumerate(peer.commands):
            program, *arguments = command.split(" ")
            log = system.folder / f"{peer.name} {number}.log"
            process = Process(
                Program(peer.name, [str(programs / program), *arguments], log, environment)
            )
            stack.callback(process.stop)
        process.wait_until(lambda: get(f"{base_url}{path}", key) is not None, seconds=_READY)
        yield base_url


def _installed(requirements: Path) -> Path:
    """Returns the `bin` folder of a virtual environment that is kept for further runs."""
    digest = sha256(requirements.read_bytes()).hexdigest()[:16]
    folder = _ENVIRONMENTS / f"{requirements.stem}-{digest}"
    programs, complete = folder / "bin", folder / "installed"
    if not complete.exists():
        print(f"installing {requirements.stem} …", file=sys.stderr, flush=True)
        pip = (str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "-qq")
        for command in (
            (sys.executable, "-m", "venv", "--clear", str(folder)),
            (*pip, "install", "--require-hashes", "-r", str(requirements)),
        ):
            subprocess.run(command, check=True, timeout=_INSTALLED, stdin=subprocess.DEVNULL)
        complete.touch()
    return programs
