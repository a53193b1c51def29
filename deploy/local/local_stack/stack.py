"""The parts of `make run` in the order of their start; the exit stack reverses it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from local_stack import mongodb, ports, rabbitmq, registers
from local_stack.alone import Watch
from local_stack.processes import Process, Program, complete
from local_stack.rabbitmq import RabbitMQ, RabbitPorts
from local_stack.replica_set import ReplicaSet
from local_stack.run_files import State
from local_stack.services import SERVICES, Service, is_ready
from local_stack.settings import StackSettings

#: Seconds for a service to be ready; one that builds a search index takes longest.
_READY_TIMEOUT = 120.0
_COMMAND_TIMEOUT = 60.0


#: Settings of the ports that listen on HTTP_HOST.
_PUBLIC_PORTS = ("HTTP_PORT", "PORTAL_PORT")


def check(settings: StackSettings) -> None:
    """SetupError when a port is taken or a server is missing and cannot be installed."""
    for name, port in settings.run_ports.items():
        host = settings.http_host if name in _PUBLIC_PORTS else ports.HOST
        ports.require_free({name: port}, host)
    if settings.mongo_url is None:
        mongodb.ensure_runs()
    if settings.amqp_url is None:
        rabbitmq.ensure_installed()


@dataclass(frozen=True, slots=True)
class Begun:
    """A server that was started; `ready` waits until clients may come."""

    #: By the names of the settings.
    urls: Mapping[str, str]
    ready: Callable[[], None]


def begin_mongodb(settings: StackSettings, stack: ExitStack, watch: Watch) -> Begun:
    """MongoDB, unless one is given; does not wait for it."""
    if settings.mongo_url is not None:
        return _given(MONGO_URL=settings.mongo_url)
    where = settings.run_dir / "mongodb"
    mongod = mongodb.Mongod(where, settings.mongo_port, mongodb.ROOMY)
    mongo = ReplicaSet([mongod])
    stack.callback(mongo.stop)
    mongo.begin()
    watch.add(*mongod.processes)
    return Begun({"MONGO_URL": mongo.url}, mongo.ready)


def begin_rabbitmq(settings: StackSettings, stack: ExitStack, watch: Watch) -> Begun:
    """RabbitMQ, unless one is given; does not wait for it."""
    if settings.amqp_url is not None:
        return _given(AMQP_URL=settings.amqp_url)
    rabbit = RabbitMQ(settings.run_dir / "rabbitmq", _rabbit_ports(settings))
    stack.callback(rabbit.stop)
    rabbit.begin()
    watch.add(*rabbit.processes)
    urls = {"AMQP_URL": rabbit.amqp_url + "/", "AMQP_MANAGEMENT_URL": rabbit.management_url}
    return Begun(urls, rabbit.ready)


def make_indexes(urls: Mapping[str, str]) -> None:
    """Has the services prepare their collections, side by side."""
    modules = [service.module for service in SERVICES if service.has_indexes]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda module: _command(module, "indexes", urls=urls), modules))


def prepare(settings: StackSettings, urls: Mapping[str, str], samples: Mapping[str, Path]) -> str:
    """Sees to a key with every scope and to the sample registers; answers the key.

    Steps that an earlier run completed for the same database are skipped.
    """
    kept = settings.run_dir / "state.json"
    state = State.read(kept, database=urls["MONGO_URL"])
    state.api_key = state.api_key or _issued_key(urls)
    state.write(kept)
    for kind, file in samples.items():
        if registers.load_sample(kind, file, state, environment=urls):
            state.write(kept)
    return state.api_key


def begin_registers(
    settings: StackSettings, stack: ExitStack, watch: Watch
) -> Callable[[], dict[str, str]]:
    """Registers that change by themselves; does not wait for them.

    The returned function does, and gives their addresses by the names of the sync's settings.
    """
    options = {
        "--port": settings.registers_port,
        "--companies": settings.sample_companies,
        "--change-every": settings.change_every,
    }
    given = [str(part) for option in options.items() for part in option]
    log = _new_log(settings, "registers")
    command = [sys.executable, "-m", "register_samples", "serve", *given]
    registers = Process(Program("registers", command, log))
    stack.callback(registers.stop)
    watch.add(registers)

    def addresses() -> dict[str, str]:
        registers.wait_until(lambda: "PEPPOL_URL" in _addresses_in(log), seconds=_READY_TIMEOUT)
        return _addresses_in(log)

    return addresses


def start_services(
    settings: StackSettings,
    services: Sequence[Service],
    urls: Mapping[str, str],
    stack: ExitStack,
    watch: Watch,
) -> None:
    """Starts all of them, then waits until each is ready."""
    started: list[tuple[Service, Process]] = []
    for service in services:
        process = Process(_program(service, settings, urls))
        stack.callback(process.stop)
        watch.add(process)
        started.append((service, process))
    for service, process in started:
        process.wait_until(partial(is_ready, service.port(settings)), seconds=_READY_TIMEOUT)


def _program(service: Service, settings: StackSettings, urls: Mapping[str, str]) -> Program:
    environment = {"ADMIN_PORT": str(service.port(settings)), **service.environment(settings)}
    return Program(
        service.name,
        [sys.executable, "-m", service.module, *service.command],
        _new_log(settings, service.name),
        {**urls, **environment},
    )


def _new_log(settings: StackSettings, name: str) -> Path:
    log = settings.run_dir / "logs" / f"{name}.log"
    # Messages of an earlier run would mislead the reader of this one.
    log.unlink(missing_ok=True)
    return log


def _addresses_in(log: Path) -> dict[str, str]:
    """The registers print a line such as `BRREG_URL=http://…` for each interface that is ready."""
    lines = (line.partition("=") for line in log.read_text().splitlines())
    return {name: value for name, _, value in lines if name.endswith("_URL")}


def _given(**urls: SecretStr) -> Begun:
    return Begun({name: url.get_secret_value() for name, url in urls.items()}, lambda: None)


def _rabbit_ports(settings: StackSettings) -> RabbitPorts:
    return RabbitPorts(
        amqp=settings.amqp_port,
        management=settings.amqp_management_port,
        distribution=settings.amqp_distribution_port,
        mapper=settings.amqp_mapper_port,
    )


def _issued_key(urls: Mapping[str, str]) -> str:
    scopes = [part for scope in ("lookup", "webhooks", "events") for part in ("--scope", scope)]
    return _command(
        "gateway", "keys", "issue", "--owner", "local", "--name", "make run", *scopes, urls=urls
    ).strip()


def _command(module: str, *arguments: str, urls: Mapping[str, str]) -> str:
    return complete([sys.executable, "-m", module, *arguments], urls, seconds=_COMMAND_TIMEOUT)
