"""Fixtures of every test: real servers, with separate databases and virtual hosts for each test.

The servers come from AMQP_URL with AMQP_MANAGEMENT_URL, and MONGO_URL, or are started once (see
local_stack.servers). Tests share servers, never a queue or a collection.
"""

import atexit
import gc
import os
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis
import pymongo
import pytest
import structlog
import trustme
from xdist.scheduler import LoadFileScheduling

import common.mongo
from common import mongo_commands
from common.mongo import Client, Database, connected
from common.mongo import database as named_database
from local_stack import servers
from local_stack.management import Management
from local_stack.rabbitmq import RabbitMQ
from local_stack.replica_set import ReplicaSet
from local_stack.servers import BrokerAddress
from register_store import indexes as register_indexes
from tests.delivery.pipeline import Pipeline, pipeline
from tests.delivery.waiting import SOON
from tests.shard_keys import ShardKeys
from webhook_store import indexes as webhooks_indexes

# structlog's default formats exceptions with every local variable of every frame, where Rich is
# installed: seconds for each error that a test causes.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.set_exc_info,
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)

#: How long a service looks for its database, which a test of an outage waits for.
_SELECTION_TIMEOUT = common.mongo.SELECTION_TIMEOUT
# On a busy machine a server is found late. Operations with a limit of their own keep it.
common.mongo.SELECTION_TIMEOUT = timedelta(seconds=SOON)

# In CI the same code gives the same verdict; elsewhere every run tries new examples.
# No deadline and no health checks for slow or large examples: requests generated from the OpenAPI
# document are both, and a busy machine is not a fault of the code.
_LENIENT = hypothesis.settings(
    max_examples=int(os.environ.get("EXAMPLES", "20")),
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.filter_too_much,
        hypothesis.HealthCheck.data_too_large,
    ],
)
hypothesis.settings.register_profile("local", _LENIENT)
hypothesis.settings.register_profile(
    "ci", _LENIENT, derandomize=True, database=None, print_blob=True
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


# The interpreter's end looks for garbage among all that is left, for seconds; pytest did so before.
atexit.register(gc.freeze)


def pytest_collection_finish() -> None:
    """Modules and collected tests live to the end: no garbage collection visits them again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how long the tests of each folder took, in all processes together."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in (one for each in terminalreporter.stats.values() for one in each):
        # The time of a subtest is also its test's.
        if isinstance(report, pytest.TestReport) and not isinstance(report, pytest.SubtestReport):
            seconds["/".join(report.nodeid.split("/")[:2])] += report.duration
    for folder, sum_ in sorted(seconds.items()):
        terminalreporter.write_line(f"{folder}: {sum_:.0f} s")


#: Files of end-to-end tests that start a system of their own.
_OWN_SYSTEMS = {"tests/e2e/test_lookup_faults.py", "tests/e2e/test_make_run.py"}


class _BySystem(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps the tests of a file in one process, and all of those that share the whole system."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "tests/e2e" if file.startswith("tests/e2e/") and file not in _OWN_SYSTEMS else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _BySystem | None:
    """Used where files stay together."""
    return _BySystem(config, log) if config.getoption("dist") == "loadfile" else None


SHARD_KEYS = ShardKeys()
# With every client that is made from now on.
pymongo.monitoring.register(SHARD_KEYS)


@pytest.fixture(autouse=True)
def _filters_have_the_shard_key() -> Iterator[None]:
    """No query of deliveries in this process would ask every shard of a cluster."""
    SHARD_KEYS.lacking.clear()
    yield
    assert SHARD_KEYS.lacking == []


@pytest.fixture(scope="session", autouse=True)
def _few_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each client and service reads all that its machine trusts; one of no use is read faster."""
    file = tmp_path_factory.mktemp("authorities") / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@dataclass(frozen=True, slots=True)
class DatabaseNames:
    """The three databases of the services, under names that no other test uses."""

    register: str
    webhooks: str
    access: str

    @property
    def environment(self) -> dict[str, str]:
        """The settings that make a service process use them."""
        return {
            "REGISTER_DB": self.register,
            "WEBHOOKS_DB": self.webhooks,
            "ACCESS_DB": self.access,
        }


@dataclass(frozen=True, slots=True)
class OwnServers:
    """The servers that this session started itself; None where it needs none."""

    broker: RabbitMQ | None
    replica_set: ReplicaSet | None


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """Holds the servers' data, and is gone after the session."""
    with servers.folder_of_servers() as folder:
        yield folder


@pytest.fixture(scope="session")
def own_servers(request: pytest.FixtureRequest, server_folder: Path) -> Iterator[OwnServers]:
    """Started side by side, and each only when a collected test needs it."""
    # An item has `fixturenames` unless it is a doctest or of a plugin's own kind.
    used = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    with ExitStack() as stack:
        own = OwnServers(
            _own_broker(used, server_folder / "rabbitmq"),
            _own_replica_set(used, server_folder / "mongodb"),
        )
        for server in (own.replica_set, own.broker):
            if server is not None:
                stack.callback(server.kill)
        # With given servers, only a test that stops one needs another, which it starts.
        if own.replica_set is not None and servers.given_database(os.environ) is None:
            own.replica_set.begin()
        if own.broker is not None and servers.given_broker(os.environ) is None:
            own.broker.begin()
        yield own


def _own_broker(used: set[str], folder: Path) -> RabbitMQ | None:
    given = servers.given_broker(os.environ) is not None
    if "stoppable_broker" in used or ("broker" in used and not given):
        return servers.own_broker(folder, has_metrics=True)
    return None


def _own_replica_set(used: set[str], folder: Path) -> ReplicaSet | None:
    given = servers.given_database(os.environ) is not None
    if "stoppable_mongo" in used or ("mongo_url" in used and not given):
        return servers.own_replica_set(folder)
    return None


@pytest.fixture(scope="session")
def broker(own_servers: OwnServers) -> BrokerAddress:
    """A running RabbitMQ."""
    given = servers.given_broker(os.environ)
    if given is not None:
        return given
    own = own_servers.broker
    assert own is not None
    own.ready()
    return BrokerAddress(own.amqp_url, own.management_url)


@pytest.fixture(scope="session")
def management(broker: BrokerAddress) -> Management:
    """The broker's HTTP API: looks into queues, closes connections."""
    return Management(broker.management_url)


@pytest.fixture
def vhost(management: Management) -> Iterator[str]:
    """A virtual host of the test's own; its queues and connections go with it."""
    name = f"test-{uuid.uuid4().hex}"
    management.create_vhost(name)
    yield name
    management.delete_vhost(name)


@pytest.fixture
def amqp_url(broker: BrokerAddress, vhost: str) -> str:
    """The URL of the test's own virtual host."""
    return broker.vhost_url(vhost)


@pytest.fixture(scope="session")
def mongo_url(own_servers: OwnServers) -> str:
    """A running replica set; take `database_names` for where to write."""
    given = servers.given_database(os.environ)
    if given is not None:
        return given
    own = own_servers.replica_set
    assert own is not None
    own.ready()
    return own.url


@pytest.fixture
def services_selection_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unavailable database is given up as early as a service does it, not after a minute."""
    monkeypatch.setattr(common.mongo, "SELECTION_TIMEOUT", _SELECTION_TIMEOUT)
    monkeypatch.setattr(mongo_commands, "COMMAND_TIMEOUT", _SELECTION_TIMEOUT)


@pytest.fixture(scope="session")
def mongo_admin(mongo_url: str) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    """A plain client for preparing and looking; the code under test has its own."""
    client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
        mongo_url, tz_aware=True, timeoutMS=30_000
    )
    with client:
        yield client


@pytest.fixture
def database_names(mongo_admin: pymongo.MongoClient[dict[str, Any]]) -> Iterator[DatabaseNames]:
    """Databases of the test's own, dropped after it."""
    mark = uuid.uuid4().hex
    names = DatabaseNames(f"register-{mark}", f"webhooks-{mark}", f"access-{mark}")
    yield names
    for name in (names.register, names.webhooks, names.access):
        mongo_admin.drop_database(name)


@pytest.fixture
async def mongo(mongo_url: str) -> AsyncIterator[Client]:
    """The driver that the services use."""
    # Without the services' limit of an operation: on a busy machine one may take longer.
    async with connected(mongo_url, name="test", operation_timeout=None) as client:
        yield client


@pytest.fixture
def database(mongo: Client, database_names: DatabaseNames) -> Database:
    """The register's database of the test's own."""
    return named_database(mongo, database_names.register)


@pytest.fixture
async def register_db(database: Database) -> Database:
    """The same with its indexes."""
    await register_indexes.make_indexes(database)
    return database


@pytest.fixture
async def webhooks_db(mongo: Client, database_names: DatabaseNames) -> Database:
    """The webhooks' database of the test's own, with its indexes."""
    webhooks = named_database(mongo, database_names.webhooks)
    await webhooks_indexes.make_indexes(webhooks)
    return webhooks


@pytest.fixture(scope="module")
def module_webhooks(mongo_admin: pymongo.MongoClient[dict[str, Any]]) -> Iterator[str]:
    """The name of a webhooks' database for the tests of a module, dropped after them."""
    name = f"webhooks-{uuid.uuid4().hex}"
    yield name
    mongo_admin.drop_database(name)


@pytest.fixture
async def empty_webhooks_db(mongo: Client, module_webhooks: str) -> Database:
    """The module's webhooks' database, emptied; its indexes are made once."""
    webhooks = named_database(mongo, module_webhooks)
    names = await webhooks.list_collection_names()
    if not names:
        await webhooks_indexes.make_indexes(webhooks)
    for name in names:
        await webhooks[name].delete_many({})
    return webhooks


@pytest.fixture
async def pipe(
    tmp_path: Path, amqp_url: str, mongo_url: str, database_names: DatabaseNames
) -> AsyncIterator[Pipeline]:
    """From the exchange of events to a receiver, with a dispatcher when the test starts one."""
    async with pipeline(
        tmp_path, amqp_url=amqp_url, mongo_url=mongo_url, webhooks_db=database_names.webhooks
    ) as opened:
        yield opened


def ensure_running(server: RabbitMQ | ReplicaSet) -> None:
    """Returns when a server that may have been stopped or killed is ready."""
    if server.running:
        server.ready()
    else:
        server.start()


@pytest.fixture
def stoppable_broker(own_servers: OwnServers) -> Iterator[RabbitMQ]:
    """A broker that the test may stop, kill and start: it keeps its ports, data and vhosts.

    It is the one of `broker`, unless that one was given. Stopping waits, so an asynchronous test
    calls these in a thread: `await asyncio.to_thread(stoppable_broker.kill)`.
    """
    own = own_servers.broker
    assert own is not None
    ensure_running(own)
    yield own
    ensure_running(own)


@pytest.fixture
def stoppable_mongo(own_servers: OwnServers) -> Iterator[ReplicaSet]:
    """A replica set of one member that the test may stop, kill and start; see stoppable_broker."""
    own = own_servers.replica_set
    assert own is not None
    ensure_running(own)
    yield own
    ensure_running(own)


@pytest.fixture(scope="session")
def _three_members(server_folder: Path) -> Iterator[ReplicaSet]:
    members = servers.own_replica_set(server_folder / "three", members=3, election_timeout=1)
    try:
        members.start()
        yield members
    finally:
        members.kill()


@pytest.fixture
def three_members(_three_members: ReplicaSet) -> Iterator[ReplicaSet]:
    """A replica set of three: a primary that steps down or dies is replaced within 2 s."""
    yield _three_members
    if not _three_members.running:
        _three_members.start()
