"""A gateway that no server answers is ready only if no other gateway has a server."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from common.contracts.company import Country
from common.contracts.failures import Unavailable
from common.messaging.requests import LOOK_UP
from common.messaging.rpc_servers import Route
from common.mongo import Client, Database, connected, database
from gateway.readiness import LookupReadiness
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.integration

#: Of a server that does not exist.
NOBODY, SHORTLY = "mongodb://127.0.0.1:9/", timedelta(seconds=0.1)


@pytest.fixture
def access(mongo: Client, database_names: DatabaseNames) -> Database:
    return database(mongo, database_names.access)


@dataclass
class FakeServers:
    """The countries whose servers answer this gateway."""

    countries: set[Country] = field(default_factory=lambda: set(Country))

    async def is_served(self, route: Route) -> bool:
        return any(LOOK_UP.route(country) == route for country in self.countries)


def a_gateway(access: Database, name: str) -> tuple[LookupReadiness, FakeServers]:
    servers = FakeServers()
    return LookupReadiness(access, servers, instance=name, patience=0.0), servers


async def test_a_gateway_cut_off_alone_is_not_ready_until_a_server_answers(
    access: Database,
) -> None:
    (here, servers), (there, _) = a_gateway(access, "here"), a_gateway(access, "there")
    await there.look()
    servers.countries.remove(Country.DK)

    await here.look()
    cut_off = await here.check()
    servers.countries.add(Country.DK)
    await here.look()

    assert cut_off == "no server of dk answers, and another gateway reaches one"
    assert await here.check() is None


async def test_gateways_stay_ready_when_no_server_answers_any_of_them(access: Database) -> None:
    gateways = [a_gateway(access, name) for name in ("here", "there")]
    for readiness, _ in gateways:
        await readiness.look()
    for readiness, servers in gateways:
        servers.countries.clear()
        await readiness.look()

    assert [await readiness.check() for readiness, _ in gateways] == [None, None]


async def test_what_another_gateway_reached_long_ago_does_not_count(access: Database) -> None:
    (here, servers), (there, _) = a_gateway(access, "here"), a_gateway(access, "there")
    await there.look()
    await access["gateways"].update_one(
        {"_id": "there"},
        [{"$set": {"answered.dk": {"$subtract": ["$$NOW", 60_000]}}}],
    )
    servers.countries.remove(Country.DK)

    await here.look()

    assert await here.check() is None


async def test_a_gateway_whose_servers_reach_the_database_and_that_does_not_is_not_ready(
    access: Database,
) -> None:
    async with connected(NOBODY, name="test", operation_timeout=SHORTLY) as lost:
        here, servers = a_gateway(database(lost, access.name), "here")

        with pytest.raises(Unavailable):
            await here.look()
        cut_off = await here.check()
        servers.countries.clear()
        with pytest.raises(Unavailable):
            await here.look()
        whole_outage = await here.check()

    assert cut_off == "the database does not answer, and the servers reach it"
    assert whole_outage is None
