"""Servers for tests: at the URLs in the environment, or else started from local programs.

Missing programs are an error and never a skip: a test that did not run proves nothing.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

from local_stack import SetupError, mongodb, ports, rabbitmq
from local_stack.rabbitmq import RabbitMQ, RabbitPorts
from local_stack.replica_set import ReplicaSet

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 (each folder in it is a new one)
#: Minimum free bytes of a folder in memory; a run of all tests needs a small part of them.
_ROOM: Final = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    #: Without a virtual host.
    amqp_url: str
    management_url: str

    def vhost_url(self, name: str) -> str:
        """Returns the AMQP URL of a virtual host."""
        return f"{self.amqp_url}/{name}"


def given_broker(environment: Mapping[str, str]) -> BrokerAddress | None:
    """Returns the broker of AMQP_URL and AMQP_MANAGEMENT_URL; None when there is none."""
    url = environment.get("AMQP_URL")
    if not url:
        return None
    management_url = environment.get("AMQP_MANAGEMENT_URL")
    if not management_url:
        raise SetupError(
            "AMQP_URL is set, and AMQP_MANAGEMENT_URL is not: every test makes a virtual host of "
            "its own through the management API."
        )
    parts = urlsplit(url)
    return BrokerAddress(f"{parts.scheme}://{parts.netloc}", management_url)


def given_database(environment: Mapping[str, str]) -> str | None:
    """Returns the URL of the replica set of MONGO_URL; None when there is none."""
    return environment.get("MONGO_URL") or None


@contextmanager
def folder_of_servers() -> Iterator[Path]:
    """Yields a folder for servers' data, in memory if there is room.

    Memory outlives a killed server, as a disk's cache does, and saves tests thousands of syncs.
    """
    has_room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM
    with TemporaryDirectory(prefix="servers-", dir=_MEMORY if has_room else None) as folder:
        yield Path(folder)


def own_broker(where: Path, *, has_metrics: bool = False) -> RabbitMQ:
    """Returns a private broker, not yet started."""
    rabbitmq.ensure_installed()
    metrics_port = ports.free_ports(1)[0] if has_metrics else None
    return RabbitMQ(where, RabbitPorts.free(), metrics_port=metrics_port)


def own_replica_set(where: Path, *, members: int = 1, election_timeout: float = 10) -> ReplicaSet:
    """Returns a private replica set, not yet started; `election_timeout` in seconds."""
    mongodb.ensure_runs()
    numbered = enumerate(ports.free_ports(members))
    return ReplicaSet(
        [mongodb.Mongod(where / str(n), port, mongodb.SMALL) for n, port in numbered],
        election_timeout=election_timeout,
    )
