"""Peers of a lookup: HTTP, RPC over the same RabbitMQ, and a response of the same size."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

from bench.environments import programs
from local_stack import ports
from local_stack.processes import Process, Program
from local_stack.system import System

_FOLDER = Path(__file__).parent / "peers"
_SOON = 30.0


@dataclass(frozen=True, slots=True)
class Location:
    """A peer's address, broker and folder."""

    port: int
    amqp_url: str
    folder: Path


#: A peer's programs by name, in the order of their start.
Commands = Callable[[Location], Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    commands: Commands
    #: True if it runs in a separate virtual environment without our packages.
    isolated: bool = False
    #: By connections: what share of bare aiohttp it reached when the goals were set. A run in which
    #: it reaches less than 0.8 of that has treated it badly, and says nothing about us.
    known_share: Mapping[int, float] = field(default_factory=dict)
    #: Goals by connections: our rate as a multiple of its rate.
    goals: Mapping[int, float] = field(default_factory=dict)


def _nameko(location: Location) -> Mapping[str, Sequence[str]]:
    settings = location.folder / "nameko.yaml"
    settings.write_text(
        f"AMQP_URI: {location.amqp_url}\n"
        f"WEB_SERVER_ADDRESS: 127.0.0.1:{location.port}\n"
        "max_workers: 300\n"  # as many as the most connections, and some more
    )
    run = [str(programs("nameko") / "nameko"), "run", "--config", str(settings)]
    return {
        "nameko lookup": [*run, "nameko_app:Lookup"],
        "nameko gateway": [*run, "nameko_app:Gateway"],
    }


def _faststream(location: Location) -> Mapping[str, Sequence[str]]:
    found = programs("faststream")
    serve = [str(found / "uvicorn"), "faststream_app:gateway", "--port", str(location.port)]
    quick = ["--loop", "uvloop", "--no-access-log", "--log-level", "critical"]
    return {
        "faststream lookup": [str(found / "python"), "-m", "faststream_app"],
        "faststream gateway": [*serve, *quick],
    }


def _plain_aio_pika(location: Location) -> Mapping[str, Sequence[str]]:
    run = [sys.executable, "-m", "bench.peers.plain_aio_pika"]
    return {
        "plain aio-pika lookup": [*run, "lookup"],
        "plain aio-pika gateway": [*run, "gateway", str(location.port)],
    }


def _one_message_each(_location: Location) -> Mapping[str, Sequence[str]]:
    run = [sys.executable, "-m", "bench.peers.one_message_each"]
    services = ("lookup", "gateway")
    return {f"one each, {service}": [*run, service, "serve"] for service in services}


PEERS = (
    Peer(
        "nameko",
        _nameko,
        isolated=True,
        known_share={32: 0.0228, 256: 0.0250},
        goals={32: 7, 256: 12},
    ),
    Peer(
        "FastStream",
        _faststream,
        isolated=True,
        known_share={32: 0.0130, 256: 0.0130},
        goals={32: 12, 256: 22},
    ),
    Peer(
        "plain aio-pika",
        _plain_aio_pika,
        known_share={32: 0.0543, 256: 0.0641},
        goals={1: 0.8},
    ),
    Peer("ours with a message a request", _one_message_each, goals={32: 3, 256: 3}),
)


@contextmanager
def served(peer: Peer, system: System, *, size: int, path: str, key: str) -> Iterator[str]:
    """Yields the peer's base URL once it has answered a first request; ends it with the body."""
    [port, *admin_ports] = ports.free_ports(3)
    base_url = f"http://127.0.0.1:{port}"
    found = [str(_FOLDER)] if peer.isolated else sys.path
    environment = {
        **system.full_environment(),
        "ANSWER_SIZE": str(size),
        "HTTP_PORT": str(port),
        "PYTHONPATH": os.pathsep.join(found),
    }
    commands = peer.commands(Location(port, system.amqp_url, system.folder))
    with ExitStack() as stack:
        for (name, command), admin_port in zip(commands.items(), admin_ports, strict=True):
            own = {**environment, "ADMIN_PORT": str(admin_port)}
            process = Process(Program(name, command, system.folder / f"{name}.log", own))
            stack.callback(process.stop)
        process.wait_until(lambda: _answers(f"{base_url}{path}", key), seconds=_SOON)
        yield base_url


def _answers(url: str, key: str) -> bool:
    try:
        with urlopen(Request(url, headers={"X-API-Key": key}), timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
