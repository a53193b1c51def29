"""The same two servers in containers, for machines that have Docker and not the local files."""

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from local_stack import ports
from local_stack.errors import SetupError
from local_stack.management import Management, ManagementError
from local_stack.mongodb import REPLICA_SET, START_LIMIT, answers
from local_stack.processes import Process, wait_for
from local_stack.rabbitmq import memory_watermark

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

_RABBITMQ_IMAGE = "rabbitmq:3.13-management"
_MONGO_IMAGE = "mongo:6"
_AMQP, _MANAGEMENT = 5672, 15672


def docker_answers(environment: Mapping[str, str]) -> bool:
    """Whether a Docker engine listens.

    Ask this before anything of testcontainers is used: without an engine its client leaks a socket.
    """
    address = urlsplit(environment.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    family, target = (
        (socket.AF_UNIX, address.path)
        if address.scheme == "unix"
        else (socket.AF_INET, (address.hostname, address.port or 2375))
    )
    with socket.socket(family) as probe:
        probe.settimeout(2)
        try:
            probe.connect(target)
        except OSError:
            return False
    return True


class Container:
    """A container that can be stopped and started again with its data, on the same ports."""

    def __init__(self, image: str, bound: Mapping[int, int], command: str | None = None) -> None:
        """`bound`: port in the container to port on this machine."""
        self._image = image
        self._bound = bound
        self._command = command
        self._container: DockerContainer | None = None
        self.running = False

    @property
    def processes(self) -> tuple[Process, ...]:
        """None of ours: Docker watches over it."""
        return ()

    def begin(self) -> None:
        """Starts it, and does not wait for it to be ready."""
        if self._container is None:
            self._container = self._create()
        else:
            self._container.get_wrapped_container().start()
        self.running = True

    def stop(self) -> None:
        """Ends it in order; its data stay."""
        if self._container is not None and self.running:
            self._container.get_wrapped_container().stop()
        self.running = False

    def kill(self) -> None:
        """Ends it as a power cut would."""
        if self._container is not None and self.running:
            self._container.get_wrapped_container().kill()
        self.running = False

    def run(self, command: Sequence[str]) -> None:
        """Runs a command in it."""
        if self._container is not None:
            self._container.exec(list(command))

    def close(self) -> None:
        """Removes it with its data."""
        if self._container is not None:
            self._container.stop()
        self._container = None
        self.running = False

    def _create(self) -> "DockerContainer":
        from testcontainers.core.container import DockerContainer

        container = DockerContainer(self._image)
        for inside, outside in self._bound.items():
            container = container.with_bind_ports(inside, outside)
        if self._command is not None:
            container = container.with_command(self._command)
        return container.start()


class RabbitMQContainer(Container):
    """RabbitMQ with its management plugin."""

    def __init__(self) -> None:
        amqp, management = ports.free_ports(2)
        super().__init__(_RABBITMQ_IMAGE, {_AMQP: amqp, _MANAGEMENT: management})
        self.amqp_url = f"amqp://guest:guest@127.0.0.1:{amqp}"
        self.management_url = f"http://guest:guest@127.0.0.1:{management}"

    def ready(self) -> None:
        """Waits until clients may come."""
        if not wait_for(self._serves, seconds=START_LIMIT):
            raise SetupError(f"{_RABBITMQ_IMAGE} was not ready within {START_LIMIT:.0f} s.")

    def start(self) -> None:
        self.begin()
        self.ready()

    def set_memory_alarm(self, *, raised: bool) -> None:
        """Makes it short of memory, so that it takes no messages, or no longer."""
        self.run(["rabbitmqctl", *memory_watermark(raised=raised)])

    def _serves(self) -> bool:
        try:
            return Management(self.management_url).is_listening(_AMQP)
        except ManagementError:
            return False


class MongoContainer(Container):
    """A member of a replica set; it has the same port inside and outside, so one name fits both."""

    def __init__(self) -> None:
        (port,) = ports.free_ports(1)
        command = f"--port {port} --bind_ip_all --replSet {REPLICA_SET}"
        super().__init__(_MONGO_IMAGE, {port: port}, command)
        self.host = f"127.0.0.1:{port}"

    def ready(self) -> None:
        """Waits until it answers, in whatever state."""
        if not wait_for(lambda: answers(self.host), seconds=START_LIMIT):
            raise SetupError(f"{_MONGO_IMAGE} was not ready within {START_LIMIT:.0f} s.")
