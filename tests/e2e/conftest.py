"""The whole system with sample registers: real processes, started once for all of these tests.

Each service has the rights of docs/operations.md on the broker and the databases, and no others.
"""

import base64
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pymongo
import pytest

from common.mongo import connected, database
from gateway.access.keys import MongoKeys, PresentedKey, Scope, write_key
from local_stack.certificates import Certificates, certificates
from local_stack.management import Management
from local_stack.ports import free_ports
from local_stack.registers import import_options
from local_stack.servers import BrokerAddress
from local_stack.services import INGEST, SERVICES
from local_stack.system import System
from register_samples import write_registers
from tests.builders.keys import an_api_key
from tests.commanding import run_here
from tests.conftest import DatabaseNames
from tests.delivery.collector import Collector, collecting
from tests.delivery.receiver import Receiver, receiving
from tests.delivery.waiting import SOON
from tests.e2e.client import Client, client_with
from tests.e2e.register import Register
from tests.e2e.rights import ADMINISTRATOR, broker_users, database_users

#: Exit status of a command whose database could not be reached.
UNAVAILABLE = 4
#: Sample companies per country, the ten of the showcase among them. Files of fewer than 200
#: records are read without further processes, each of which takes half a second to start.
COMPANIES = 150

ALL_SERVICES = tuple(service.module for service in (*SERVICES, INGEST))
NAMES = DatabaseNames("register", "webhooks", "access")
#: RabbitMQ's and MongoDB's words for a missing right.
REFUSALS = ("ACCESS_REFUSED", "not authorized")

#: No client is rate limited, and the schedule of hours takes seconds.
SETTINGS = {
    "KEY_RATE": "100000/second",
    "ANONYMOUS_RATE": "100000/second",
    "WEBHOOK_SECRET_KEYS": f"k1:{base64.b64encode(bytes(32)).decode()}",
    "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8",
    "WEBHOOK_RETRY_DELAYS": "PT0.2S,PT0.3S,PT0.4S,PT0.5S",
    # A post that hangs on purpose still hangs when a busy machine has taken a test's next steps.
    "WEBHOOK_POST_TIMEOUT": "PT60S",
    "WEBHOOK_LEASE": "PT90S",
    "EMAIL_DIGESTS": "true",
    # Ingest reads the dispatcher's receipts within the tests.
    "EVENT_RECEIPT_TIMEOUT": "PT2S",
    # Milliseconds between two exports of spans.
    "OTEL_BSP_SCHEDULE_DELAY": "100",
    # A line of lookup for each request, by which traces are followed.
    "SLOW_REQUEST": "PT0S",
}


@dataclass(frozen=True, slots=True)
class Running:
    """A running system and a key with every scope."""

    system: System
    key: str
    names: DatabaseNames
    #: For receivers that the dispatcher trusts.
    certificates: Certificates
    #: URLs of the servers by user.
    amqp: Mapping[str, str] = field(default_factory=dict)
    mongo: Mapping[str, str] = field(default_factory=dict)

    async def issue_key(self, owner: str, **fields: Any) -> str:
        """Another key with every scope; without a process of its own, which takes a second."""
        async with connected(self.system.mongo_url, name="tests") as mongo:
            key = PresentedKey(secrets.token_hex(12), secrets.token_urlsafe(32))
            keys = MongoKeys(database(mongo, self.names.access))
            await keys.add(an_api_key(key, owner=owner, **fields))
            return write_key(key)


@pytest.fixture(scope="session")
def sample_registers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each kind."""
    written = write_registers(tmp_path_factory.mktemp("registers"), COMPANIES)
    return {str(kind): path for kind, path in written.items()}


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector]:
    """The spans of the system that these tests share."""
    with collecting() as running:
        yield running


@pytest.fixture(scope="session")
def _running(
    broker: BrokerAddress,
    server_folder: Path,
    sample_registers: dict[str, Path],
    collector: Collector,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("system")
    with (
        database_users(server_folder / "with-users") as mongo,
        a_vhost(broker) as vhost,
        broker_users(broker, vhost) as amqp,
    ):
        own = {
            user.replace("-", "_"): {"AMQP_URL": amqp[user], "MONGO_URL": mongo[user]}
            for user in amqp
        }
        address = broker.vhost_url(vhost)
        system = System(folder, address, mongo[ADMINISTRATOR], settings(NAMES, collector), own)
        with running_system(system, NAMES, sample_registers) as running:
            yield replace(running, amqp=amqp, mongo=mongo)
            assert refused(system) == []


@contextmanager
def a_vhost(broker: BrokerAddress) -> Iterator[str]:
    """The name of a virtual host for the body's time."""
    name, management = uuid.uuid4().hex, Management(broker.management_url)
    management.create_vhost(name)
    yield name
    management.delete_vhost(name)


def settings(names: DatabaseNames, collector: Collector | None = None) -> dict[str, str]:
    """The settings of every service; with a collector they export their spans."""
    endpoint = "" if collector is None else collector.url
    return {**names.environment, **SETTINGS, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}


@contextmanager
def running_system(
    system: System,
    names: DatabaseNames,
    registers: Mapping[str, Path],
    services: Sequence[str] = ALL_SERVICES,
) -> Iterator[Running]:
    """Services with loaded registers, until the body ends."""
    trusted = certificates(system.folder / "receiver")
    system.environment = {**system.environment, "WEBHOOK_EXTRA_CA_FILE": str(trusted.ca_file)}
    try:
        yield Running(system, prepared(system, registers, services), names, trusted)
    finally:
        system.close()
        with pymongo.MongoClient[dict[str, Any]](system.mongo_url, timeoutMS=30_000) as databases:
            for name in (names.register, names.webhooks, names.access):
                databases.drop_database(name)


def refused(system: System) -> list[str]:
    """The lines of the services' logs that tell of a missing right."""
    return [
        line
        for name in system.services
        for line in system.log_of(name).splitlines()
        if any(refusal in line for refusal in REFUSALS)
    ]


def prepared(system: System, registers: Mapping[str, Path], services: Sequence[str]) -> str:
    """Loads the registers and starts the services; a key with every scope."""
    for module in ("gateway", "ingest", "webhook_registry"):
        _demand(system, module, "indexes")
    for kind, path in registers.items():
        # Forced, because the tests load files of a few records afterwards.
        options = ("--force", *import_options(kind, path))
        _demand(system, "ingest", "import", *options, kind, str(path))
    scopes = [part for scope in Scope for part in ("--scope", scope)]
    issue = ("keys", "issue", "--owner", "e2e", "--name", "tests")
    key = _demand(system, "gateway", *issue, *scopes).strip()
    for service in [system.start(module) for module in services]:
        service.wait_until_ready()
    return key


def _demand(system: System, module: str, *arguments: str) -> str:
    gives_up = time.monotonic() + SOON
    status, out, err = run_here(system, module, *arguments)
    # A busy machine may exceed the limit of an operation; a load goes on where it was.
    while status == UNAVAILABLE and time.monotonic() < gives_up:
        status, out, err = run_here(system, module, *arguments)
    assert status == 0, f"{module} {' '.join(arguments)} ended with {status}: {err}"
    return out


@pytest.fixture
def running(_running: Running) -> Running:
    """The system that these tests share; a test that stops a part of it starts it again."""
    return _running


@pytest.fixture(scope="session")
def portal_url(_running: Running) -> Iterator[str]:
    """A portal of the system that these tests share."""
    [port] = free_ports(1)
    portal = _running.system.start(
        "portal",
        http_port=str(port),
        registry_url=_running.system.base_url,
        session_key=base64.b64encode(bytes(32)).decode(),
        secure_cookies="false",
    )
    portal.wait_until_ready()
    yield f"http://127.0.0.1:{port}"
    portal.process.stop()


@pytest.fixture
def databases(running: Running) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    """The system's databases, for preparing and looking."""
    with pymongo.MongoClient[dict[str, Any]](
        running.system.mongo_url, tz_aware=True, timeoutMS=30_000
    ) as client:
        yield client


@pytest.fixture
async def client(running: Running) -> AsyncIterator[aiohttp.ClientSession]:
    """A client with a key."""
    limit = aiohttp.ClientTimeout(total=SOON)
    async with aiohttp.ClientSession(
        running.system.base_url, headers={"X-API-Key": running.key}, timeout=limit
    ) as session:
        yield session


@pytest.fixture
async def owner(running: Running) -> AsyncIterator[Client]:
    """Yields a client of a new owner, which receives nothing of other tests' webhooks."""
    key = await running.issue_key(f"owner-{uuid.uuid4().hex}")
    async with client_with(key, running.system.base_url) as client:
        yield client
        for webhook in (await client.demand("GET"))["webhooks"]:
            await client.demand("DELETE", f"/{webhook['id']}")


@pytest.fixture
async def receiver(running: Running) -> AsyncIterator[Receiver]:
    """A receiver of webhooks."""
    async with receiving(running.certificates) as receiver:
        yield receiver


@pytest.fixture
def register(running: Running, tmp_path: Path) -> Register:
    """The registers, which the test changes; companies of its own, since all tests share them."""
    return Register(running.system, tmp_path)
