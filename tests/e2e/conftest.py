"""The whole system with sample registers: real processes, started once for all of these tests."""

import base64
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pymongo
import pytest

from local_stack.certificates import Certificates, certificates
from local_stack.management import Management
from local_stack.servers import BrokerAddress
from local_stack.services import SERVICES
from local_stack.system import System
from register_samples import write_registers
from tests.conftest import DatabaseNames
from tests.delivery.receiver import Receiver
from tests.e2e.client import Client, client_with
from tests.e2e.receiver import receiving
from tests.e2e.register import Register

#: Sample companies per country, the ten of the showcase among them.
COMPANIES = 300

#: Nobody is too fast, and the schedule of hours takes seconds.
SETTINGS = {
    "KEY_RATE": "100000/second",
    "ANONYMOUS_RATE": "100000/second",
    "WEBHOOK_SECRET_KEYS": f"k1:{base64.b64encode(bytes(32)).decode()}",
    "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8",
    "WEBHOOK_RETRY_DELAYS": "PT0.2S,PT0.3S,PT0.4S,PT0.5S",
    # A post that hangs on purpose still hangs when a busy machine has taken a test's next steps.
    "WEBHOOK_POST_LIMIT": "PT60S",
    "WEBHOOK_LEASE": "PT90S",
}


@dataclass(frozen=True, slots=True)
class Running:
    """A running system and a key with every scope."""

    system: System
    key: str
    names: DatabaseNames
    #: For receivers whom the dispatcher believes.
    certificates: Certificates

    def issue_key(self, owner: str) -> str:
        """Another key with every scope."""
        return _issued_key(self.system, owner)


@pytest.fixture(scope="session")
def sample_registers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each kind."""
    written = write_registers(tmp_path_factory.mktemp("registers"), COMPANIES, 1)
    return {str(kind): path for kind, path in written.items()}


@pytest.fixture(scope="session")
def _running(
    broker: BrokerAddress,
    mongo_url: str,
    sample_registers: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    with running_system(
        broker, mongo_url, sample_registers, tmp_path_factory.mktemp("system")
    ) as system:
        yield system


@contextmanager
def running_system(
    broker: BrokerAddress, mongo_url: str, sample_registers: dict[str, Path], folder: Path
) -> Iterator[Running]:
    """All services on these servers, in a virtual host and in databases of their own."""
    mark = uuid.uuid4().hex
    names = DatabaseNames(f"register-{mark}", f"webhooks-{mark}", f"access-{mark}")
    management = Management(broker.management_url)
    management.create_vhost(mark)
    trusted = certificates(folder / "receiver")
    system = System(
        folder,
        broker.vhost_url(mark),
        mongo_url,
        {**names.environment, **SETTINGS, "WEBHOOK_EXTRA_CA_FILE": str(trusted.ca_file)},
    )
    try:
        yield Running(system, _prepared(system, sample_registers), names, trusted)
    finally:
        system.close()
        management.delete_vhost(mark)
        with pymongo.MongoClient[dict[str, Any]](mongo_url, timeoutMS=30_000) as databases:
            for name in (names.register, names.webhooks, names.access):
                databases.drop_database(name)


def _prepared(system: System, registers: dict[str, Path]) -> str:
    for module in ("gateway", "lookup", "webhook_registry"):
        _demand(system, module, "indexes")
    for kind, path in registers.items():
        # Forced, because the tests load files of a few records afterwards.
        _demand(system, "lookup", "import", "--force", kind, str(path))
    key = _issued_key(system, "e2e")
    for service in [system.start(service.module) for service in SERVICES]:
        service.wait_until_ready()
    return key


def _issued_key(system: System, owner: str) -> str:
    scopes = ("--scope", "lookup", "--scope", "webhooks")
    issue = ("keys", "issue", "--owner", owner, "--name", "tests")
    return _demand(system, "gateway", *issue, *scopes).strip()


def _demand(system: System, module: str, *arguments: str) -> str:
    status, out, err = system.run(module, *arguments)
    assert status == 0, f"{module} {' '.join(arguments)} ended with {status}: {err}"
    return out


@pytest.fixture
def running(_running: Running) -> Running:
    """The system that these tests share; whoever stops a part of it starts it again."""
    return _running


@pytest.fixture
async def client(running: Running) -> AsyncIterator[aiohttp.ClientSession]:
    """A client with a key."""
    limit = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(
        running.system.base_url, headers={"X-API-Key": running.key}, timeout=limit
    ) as session:
        yield session


@pytest.fixture
async def owner(running: Running) -> AsyncIterator[Client]:
    """A client that has no webhooks when the test begins, nor after it."""
    async with client_with(running.key, running.system.base_url) as client:
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
