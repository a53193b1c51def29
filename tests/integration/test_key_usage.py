"""Usage of the service: by owner over 30 days, and names of addresses that last for a day."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from common.mongo import Client, Database, database
from gateway.access.keys import MongoKeys
from gateway.access.usage import MAX_OWNERS, DailyNames, KeyUsage, OwnerMetrics, Use
from local_stack.system import System
from tests.builders.keys import a_presented_key, an_api_key
from tests.commanding import run_here
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
ADDRESS = "192.0.2.7"
ACME = an_api_key(a_presented_key(1), owner="acme")


@pytest.fixture
def access(mongo: Client, database_names: DatabaseNames) -> Database:
    return database(mongo, database_names.access)


async def test_use_of_an_owner_adds_up_over_gateways_and_days(access: Database) -> None:
    days = [NOON - timedelta(days=40), NOON - timedelta(days=1), NOON]
    for now in days:
        for _ in range(2):
            usage = KeyUsage(access, now=lambda now=now: now)  # type: ignore[misc]
            usage.count(ACME, refused=False, heavy=True)
            usage.count(ACME, refused=True, heavy=False)
            await usage.report()
            await usage.report()  # nothing is counted twice

    [row] = await usage.by_owner(since=date(2026, 11, 1), owner=None)

    assert row.owner == "acme"
    assert row.use == Use(requests=8, refused=4, heavy=4)
    assert row.last_day == "2026-11-28"
    assert await usage.by_owner(since=date(2026, 11, 1), owner="other") == []


async def test_use_is_deleted_after_a_month(access: Database) -> None:
    usage = KeyUsage(access, now=lambda: NOON)
    usage.count(ACME, refused=False, heavy=False)

    await usage.report()

    [stored] = await access["key_usage"].find().to_list()
    assert stored["ends_at"] - NOON > timedelta(days=30)
    assert stored["ends_at"] - NOON < timedelta(days=32)


async def test_the_command_lists_owners_by_their_requests(
    access: Database, tmp_path: Path, mongo_url: str, database_names: DatabaseNames
) -> None:
    now = datetime.now(UTC)
    usage = KeyUsage(access, now=lambda: now)
    small = an_api_key(a_presented_key(2), owner="small")
    await MongoKeys(access).add(ACME)
    usage.count(small, refused=False, heavy=False)
    for _ in range(3):
        usage.count(ACME, refused=True, heavy=True)
    await usage.report()
    system = System(tmp_path, "amqp://127.0.0.1:1/", mongo_url, database_names.environment)

    status, output, _ = run_here(system, "gateway", "keys", "usage")
    _, of_one, _ = run_here(system, "gateway", "keys", "usage", "--owner", "small")
    wrong, _, error = run_here(system, "gateway", "keys", "usage", "--days", "31")

    today = now.date().isoformat()
    head = "owner\tkeys\trequests\trefused\theavy\tlast day\trates"
    acme, others = f"acme\t1\t3\t3\t3\t{today}\tdefault rate", f"small\t0\t1\t0\t0\t{today}\tno key"
    assert (status, output.splitlines()) == (0, [head, acme, others])
    assert of_one.splitlines() == [head, others]
    assert wrong == 2
    assert "must be a number from 1 to 30" in error


async def test_use_ends_with_its_owner(
    access: Database, tmp_path: Path, mongo_url: str, database_names: DatabaseNames
) -> None:
    usage = KeyUsage(access, now=lambda: NOON)
    usage.count(ACME, refused=False, heavy=False)
    await usage.report()
    system = System(tmp_path, "amqp://127.0.0.1:1/", mongo_url, database_names.environment)

    run_here(system, "gateway", "owners", "remove", "acme", "--dry-run")
    kept = await access["key_usage"].count_documents({})
    run_here(system, "gateway", "owners", "remove", "acme")

    assert kept == 1
    assert await access["key_usage"].count_documents({}) == 0


async def test_an_address_has_one_name_for_a_day_at_every_gateway(access: Database) -> None:
    def names(now: datetime) -> DailyNames:
        return DailyNames(access, now=lambda: now)

    first, second, next_day = names(NOON), names(NOON), names(NOON + timedelta(days=1))
    before = first.of(ADDRESS)
    for each in (first, second, next_day):
        await each.renew()

    assert first.of(ADDRESS) == second.of(ADDRESS)
    assert len({before, first.of(ADDRESS), next_day.of(ADDRESS), first.of("192.0.2.8")}) == 4
    assert ADDRESS not in first.of(ADDRESS)
    salts = await access["client_salts"].find().sort("_id").to_list()
    assert [each["ends_at"] for each in salts] == [
        NOON + timedelta(days=2),
        NOON + timedelta(days=3),
    ]


def test_metrics_have_the_first_owners_and_the_others_as_one() -> None:
    registry = CollectorRegistry()
    metrics = OwnerMetrics(registry)
    for number in range(MAX_OWNERS + 20):
        key = an_api_key(a_presented_key(), owner=f"owner-{number}")
        metrics.done(key, is_heavy=True, outcome="answered")
    metrics.done(None, is_heavy=False, outcome="refused")

    counted = {
        sample.labels["owner"]: sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "http_owner_requests_total"
    }

    assert len(counted) == MAX_OWNERS + 2
    assert counted["owner-0"] == 1
    assert counted["others"] == 20
    assert counted["anonymous"] == 1
