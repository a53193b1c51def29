"""The environment of a benchmark: servers of its own, services, and a register."""

import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from bench.load import Load, load
from bench.processes import Usage, family, run_measured
from bench.scale import SEED
from local_stack import mongodb
from local_stack.management import Management
from local_stack.ports import free_ports
from local_stack.rabbitmq import RabbitMQ
from local_stack.replica_set import ReplicaSet
from local_stack.run_files import sealing_key
from local_stack.servers import own_broker
from local_stack.system import System
from register_samples import companies_no
from register_samples.files import write_gzipped_array
from register_samples.showcase import SIZE as SHOWCASE_SIZE

#: Companies that lookups request.
_REQUESTED = 5_000


@dataclass(frozen=True, slots=True)
class Servers:
    folder: Path
    broker: RabbitMQ
    mongo: ReplicaSet

    @property
    def management(self) -> Management:
        """Returns the broker's HTTP API."""
        return Management(self.broker.management_url)


@contextmanager
def servers() -> Iterator[Servers]:
    """Starts RabbitMQ and MongoDB, whose data end with them."""
    mongodb.ensure_runs()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
        broker = own_broker(folder / "rabbitmq")
        stack.callback(broker.kill)
        broker.start()
        [port] = free_ports(1)
        mongo = ReplicaSet([mongodb.Mongod(folder / "mongodb", port, mongodb.ROOMY)])
        stack.callback(mongo.kill)
        mongo.start()
        yield Servers(folder, broker, mongo)


@contextmanager
def empty_system(**settings: str) -> Iterator[System]:
    """Prepares a system on its own servers, with indexes but no service; settings in lower case."""
    with servers() as own:
        environment = {
            "WEBHOOK_SECRET_KEYS": sealing_key(own.folder),
            "KEY_RATE": "100000000/second",
            "HTTP_PORT_SHARED": "true",
            **{name.upper(): value for name, value in settings.items()},
        }
        found = System(own.folder, f"{own.broker.amqp_url}/", own.mongo.url, environment)
        try:
            for module in ("gateway", "ingest", "webhook_registry"):
                found.demand(module, "indexes")
            yield found
        finally:
            found.close()


def entities_file(found: System, companies: int) -> Path:
    """Returns a file of so many Norwegian companies."""
    file = found.folder / "no-enheter.json.gz"
    with file.open("wb") as opened:
        write_gzipped_array(opened, companies_no(companies))
    return file


def import_entities(found: System, file: Path) -> Usage:
    command = ("ingest", "import", "no-enheter", str(file))
    _, usage = run_measured(*command, environment=found.full_environment())
    return usage


def sample_companies(companies: int, count: int) -> Iterator[dict[str, Any]]:
    """Returns random documents of a register of so many companies, without the showcase."""
    positions = range(SHOWCASE_SIZE, companies)
    for start in Random(SEED).sample(positions, min(count, len(positions))):
        yield from companies_no(1, start=start)


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Requests over another connection, while a load is measured."""

    paths: Sequence[str]
    key: str
    #: wrk's figures of each.
    loads: list[Load] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LoadedSystem:
    """A system with a register that serves lookups."""

    system: System
    key: str
    #: Lookups by number.
    paths: list[str]

    def load(
        self,
        paths: Sequence[str] = (),
        *,
        connections: int,
        seconds: int,
        beside: Beside | None = None,
    ) -> Load:
        """Returns the figures of paths, by default lookups by number, perhaps during other load."""
        url = self.system.base_url
        measure = partial(load, url, paths or self.paths, key=self.key, connections=connections)
        if beside is None:
            return measure(seconds=seconds)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(
                load,
                url,
                beside.paths,
                key=beside.key,
                connections=1,
                seconds=seconds + 1,
            )
            measured = measure(seconds=seconds)
            beside.loads.append(other.result())
        return measured


@contextmanager
def loaded_system(companies: int) -> Iterator[LoadedSystem]:
    with empty_system() as found:
        import_entities(found, entities_file(found, companies))
        key = found.issue_key("bench")
        for module in ("lookup", "gateway"):
            found.start(module).wait_until_ready()
        yield LoadedSystem(found, key, number_paths(companies))


def number_paths(companies: int) -> list[str]:
    """Returns lookups by number of random companies."""
    numbers = (one["organisasjonsnummer"] for one in sample_companies(companies, _REQUESTED))
    return [f"/api/vat?country=no&q={number}" for number in numbers]


def pids_of(system: System) -> dict[str, int]:
    """Returns the processes of each service and of both servers."""
    pids = {name: service.process.pid for name, service in system.services.items()}
    programs = {Path(f"/proc/{pid}/comm").read_text().strip(): pid for pid in family(os.getpid())}
    return pids | {"RabbitMQ": programs["beam.smp"], "MongoDB": programs["mongod"]}


def unique_name() -> str:
    """Returns a name for a database and a virtual host."""
    return f"bench-{uuid.uuid4().hex[:8]}"
