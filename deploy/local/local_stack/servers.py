"""Where tests get their servers from: the URLs in the environment, else servers of their own.

One's own come from the files on this machine, or else from containers. With none of these it is
an error, never a skip: a test that did not run has proved nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from local_stack import containers, mongodb, ports, rabbitmq
from local_stack.errors import SetupError
from local_stack.rabbitmq import RabbitMQ, RabbitPorts
from local_stack.replica_set import ReplicaSet

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    #: Without a virtual host.
    amqp_url: str
    management_url: str

    def vhost_url(self, name: str) -> str:
        """What a client of that virtual host connects to."""
        return f"{self.amqp_url}/{name}"


class OwnBroker(Protocol):
    """A broker that may be stopped and started again with its data, on the same ports."""

    @property
    def amqp_url(self) -> str:
        """Without a virtual host."""

    @property
    def management_url(self) -> str: ...

    @property
    def running(self) -> bool:
        """Whether it was started, and not stopped since."""

    def begin(self) -> None:
        """Starts it, and does not wait for it to be ready."""

    def ready(self) -> None:
        """Waits until clients may come."""

    def start(self) -> None:
        """Starts it, and waits until clients may come."""

    def stop(self) -> None:
        """Ends it in order; durable queues and persistent messages stay."""

    def kill(self) -> None:
        """Ends it as a power cut would."""

    def set_memory_alarm(self, *, raised: bool) -> None:
        """Makes it short of memory, so that it takes no messages, or no longer."""

    def close(self) -> None:
        """Ends it; its data will not be needed again."""


def given_broker(environment: Mapping[str, str]) -> BrokerAddress | None:
    """The broker of AMQP_URL and AMQP_MANAGEMENT_URL; None when there is none."""
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
    """The URL of the replica set of MONGO_URL; None when there is none."""
    return environment.get("MONGO_URL") or None


def own_broker(where: Path, environment: Mapping[str, str]) -> OwnBroker:
    """A broker of one's own, not yet started."""

    def local() -> OwnBroker:
        rabbitmq.ensure_installed()
        return RabbitMQ(where, RabbitPorts.free())

    return _local_or_container(local, containers.RabbitMQContainer, environment)


def own_replica_set(
    where: Path, environment: Mapping[str, str], *, members: int = 1, election_timeout: float = 10
) -> ReplicaSet:
    """A replica set of one's own, not yet started; `election_timeout` in seconds."""

    def local() -> ReplicaSet:
        mongodb.ensure_runs()
        numbered = enumerate(ports.free_ports(members))
        return ReplicaSet(
            [mongodb.Mongod(where / str(n), port, mongodb.SMALL) for n, port in numbered],
            election_timeout=election_timeout,
        )

    def contained() -> ReplicaSet:
        if members > 1:
            # Members in containers cannot reach one another under a name that also fits us.
            raise SetupError("a replica set of several members needs the local mongod.")
        return ReplicaSet([containers.MongoContainer()], election_timeout=election_timeout)

    return _local_or_container(local, contained, environment)


def _local_or_container(
    local: Callable[[], T], contained: Callable[[], T], environment: Mapping[str, str]
) -> T:
    try:
        return local()
    except SetupError as missing:
        if not containers.docker_answers(environment):
            raise SetupError(f"{missing} No Docker answers here either.") from missing
    return contained()
