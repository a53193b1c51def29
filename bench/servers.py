"""Servers of the measurements' own: RabbitMQ and MongoDB with room to work."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from local_stack import mongodb, rabbitmq
from local_stack.management import Management
from local_stack.ports import free_ports
from local_stack.rabbitmq import RabbitMQ, RabbitPorts
from local_stack.replica_set import ReplicaSet


@dataclass(frozen=True, slots=True)
class Servers:
    broker: RabbitMQ
    mongo: ReplicaSet

    @property
    def management(self) -> Management:
        """The broker's HTTP API."""
        return Management(self.broker.management_url)


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Both for the body's time; their data go to the folder."""
    rabbitmq.ensure_installed()
    mongodb.ensure_runs()
    with ExitStack() as stack:
        broker = RabbitMQ(folder / "rabbitmq", RabbitPorts.free())
        stack.callback(broker.kill)
        broker.start()
        mongo = ReplicaSet([mongodb.Mongod(folder / "mongodb", free_ports(1)[0], mongodb.ROOMY)])
        stack.callback(mongo.kill)
        mongo.start()
        yield Servers(broker, mongo)
