"""A replica set that is initiated anew under running services, as for a restore.

Its elections begin at 1 again, and the driver takes its primary for a member that was left behind:
a running process would find no primary until it is started again.
"""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_stack import servers
from local_stack.processes import wait_for
from local_stack.replica_set import ReplicaSet
from local_stack.system import SOON, System
from tests.builders.webhooks import encoded_key

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

MODULES = ("gateway", "lookup", "webhook_registry", "dispatcher")


@pytest.fixture(name="members")
def _members(tmp_path: Path) -> Iterator[ReplicaSet]:
    """A replica set of one, so that it elects its primary twice here, and once after the loss."""
    members = servers.own_replica_set(tmp_path, election_timeout=1)
    try:
        members.start()
        members.kill()
        members.start()
        yield members
    finally:
        members.kill()


@pytest.fixture(name="system")
def _system(tmp_path: Path, amqp_url: str, members: ReplicaSet) -> Iterator[System]:
    system = System(
        tmp_path,
        amqp_url,
        members.url,
        {"WEBHOOK_SECRET_KEYS": f"k1:{encoded_key('k1')}", "MONGO_PRIMARY_TIMEOUT": "PT1S"},
    )
    yield system
    system.close()


def initiate_anew(members: ReplicaSet, folder: Path) -> None:
    members.kill()
    for number in range(len(members.members)):
        shutil.rmtree(folder / str(number) / "data")
    members.start()


async def test_every_service_ends_and_serves_when_it_is_started_again(
    members: ReplicaSet, system: System, tmp_path: Path
) -> None:
    services = [system.start(module) for module in MODULES]
    # It reads nothing before its first pass: the register refuses connections.
    sync = {
        "brreg_url": "http://127.0.0.1:1",
        "sync_interval": "PT1H",
        "register_max_attempts": "1",
    }
    services.append(system.start("ingest", command=("serve", "no-enheter"), **sync))
    for service in services:
        await asyncio.to_thread(service.wait_until_ready)

    await asyncio.to_thread(initiate_anew, members, tmp_path)
    ended = await asyncio.to_thread(
        wait_for,
        lambda: all(service.process.exit_status is not None for service in services),
        seconds=SOON,
    )
    again = system.start("gateway", name="again")
    await asyncio.to_thread(again.wait_until_ready)

    assert ended, [service.process.name for service in services if not service.process.exit_status]
    for service in services:
        assert service.process.exit_status == 1
        tail = service.process.log_tail()
        assert "cannot continue: the replica set was initiated anew" in tail
        assert "Traceback" not in tail
