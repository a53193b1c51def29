"""The parts of `make run` in the order of their start; the exit stack reverses it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

from pydantic import SecretStr

from local_stack import listening, mongodb, ports, rabbitmq, registers
from local_stack.alone import Watch
from local_stack.processes import Process, Program
from local_stack.rabbitmq import RabbitMQ, RabbitPorts
from local_stack.replica_set import ReplicaSet
from local_stack.run_files import State
from local_stack.services import INGEST, SERVICES, Service, is_ready
from local_stack.settings import StackSettings
from local_stack.system import System

#: Seconds for a service to be ready; one that builds a search index takes longest.
_READY_TIMEOUT = 120.0


def check(settings: StackSettings) -> None:
    """Raises SetupError when a port is taken or a server cannot be installed."""
    listening.require_free(settings.run_ports, settings.http_host)
    if settings.mongo_url is None:
        mongodb.ensure_runs()
    if settings.amqp_url is None:
        rabbitmq.ensure_installed()


@dataclass(frozen=True, slots=True)
class Run:
    """The settings of a run, its exit stack, and its processes."""

    settings: StackSettings
    stack: ExitStack
    watch: Watch

    @property
    def logs(self) -> Path:
        return self.settings.run_dir / "logs"

    def keep(self, process: Process) -> None:
        """Adds a process that ends with the run, and whose end ends the run."""
        self.stack.callback(process.stop)
        self.watch.add(process)


@dataclass(frozen=True, slots=True)
class Begun:
    """A started server; `ready` waits until clients may connect."""

    #: By the names of the settings.
    urls: Mapping[str, str]
    ready: Callable[[], None]


def begin_mongodb(run: Run) -> Begun:
    """Starts MongoDB, unless one is given; does not wait for it."""
    settings = run.settings
    if settings.mongo_url is not None:
        return _given(MONGO_URL=settings.mongo_url)
    mongod = mongodb.Mongod(settings.run_dir / "mongodb", settings.mongo_port, mongodb.ROOMY)
    mongo = ReplicaSet([mongod])
    run.stack.callback(mongo.stop)
    mongo.begin()
    run.watch.add(*mongod.processes)
    return Begun({"MONGO_URL": mongo.url}, mongo.ready)


def begin_rabbitmq(run: Run) -> Begun:
    """Starts RabbitMQ, unless one is given; does not wait for it."""
    settings = run.settings
    if settings.amqp_url is not None:
        return _given(AMQP_URL=settings.amqp_url)
    ports = RabbitPorts(
        amqp=settings.amqp_port,
        management=settings.amqp_management_port,
        distribution=settings.amqp_distribution_port,
        mapper=settings.amqp_mapper_port,
    )
    rabbit = RabbitMQ(settings.run_dir / "rabbitmq", ports)
    run.stack.callback(rabbit.stop)
    rabbit.begin()
    run.watch.add(*rabbit.processes)
    urls = {"AMQP_URL": rabbit.amqp_url + "/", "AMQP_MANAGEMENT_URL": rabbit.management_url}
    return Begun(urls, rabbit.ready)


def begin_registers(run: Run) -> Callable[[], dict[str, str]]:
    """Starts registers that change by themselves; does not wait for them.

    The returned function does, and returns their addresses by the settings of ingest.
    """
    options = {
        "--port": run.settings.registers_port,
        "--companies": run.settings.sample_companies,
        "--change-every": f"{run.settings.change_every.total_seconds():f}",
    }
    given = [str(part) for option in options.items() for part in option]
    command = [sys.executable, "-m", "register_samples", "serve", *given]
    log = run.logs / "registers.log"
    registers = Process(Program("registers", command, log))
    run.keep(registers)

    def addresses() -> dict[str, str]:
        registers.wait_until(lambda: "PEPPOL_URL" in _addresses_in(log), seconds=_READY_TIMEOUT)
        return _addresses_in(log)

    return addresses


def make_indexes(system: System) -> None:
    """Lets the services create their indexes concurrently."""
    modules = [service.module for service in (*SERVICES, INGEST) if service.has_indexes]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda module: system.demand(module, "indexes"), modules))


def prepare(run_dir: Path, system: System, samples: Mapping[str, Path]) -> str:
    """Issues a key with every scope and loads the sample registers; returns the key.

    Steps that an earlier run completed for the same database are skipped.
    """
    kept = run_dir / "state.json"
    state = State.read(kept, database=system.mongo_url)
    state.api_key = state.api_key or system.issue_key("local")
    state.write(kept)
    for kind, file in samples.items():
        if registers.load_sample(kind, file, state, system):
            state.write(kept)
    return state.api_key


def start_services(run: Run, system: System, services: Sequence[Service], **more: str) -> None:
    """Starts all services with further settings, then waits until each is ready."""
    for service in services:
        started = system.start(
            service.module,
            command=service.command,
            admin_port=str(service.port(run.settings)),
            **service.environment(run.settings),
            **more,
        )
        run.keep(started.process)
    for service in services:
        ready = partial(is_ready, service.port(run.settings))
        system.services[service.module].process.wait_until(ready, seconds=_READY_TIMEOUT)


def begin_mcp(run: Run) -> Callable[[], None]:
    """Starts the MCP server; does not wait for it. The returned function does."""
    settings = run.settings
    options = {
        "--url": settings.base_url,
        "--host": settings.http_host,
        "--port": str(settings.mcp_port),
    }
    given = [part for option in options.items() for part in option]
    command = [sys.executable, "-m", "company_registry.cli", "mcp", "--http", *given]
    process = Process(Program("mcp", command, run.logs / "mcp.log"))
    run.keep(process)

    def is_listening() -> bool:
        return ports.http_get(settings.mcp_port, "/readyz")[0] == HTTPStatus.OK

    return lambda: process.wait_until(is_listening, seconds=_READY_TIMEOUT)


def _addresses_in(log: Path) -> dict[str, str]:
    """Returns the addresses in the output: a line `BRREG_URL=http://…` for each interface."""
    lines = (line.partition("=") for line in log.read_text().splitlines())
    return {name: value for name, _, value in lines if name.endswith("_URL")}


def _given(**urls: SecretStr) -> Begun:
    return Begun({name: url.get_secret_value() for name, url in urls.items()}, lambda: None)
