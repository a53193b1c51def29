"""An agent of the whole system: from a customer list to the change of a company that it watches."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.delivery.waiting import eventually
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

NUMBER = "310984006"


@asynccontextmanager
async def an_agent(running: Running) -> AsyncIterator[Client]:
    """A client of a server over stdio, with a key of an owner of its own.

    No fixture: the SDK's client ends in the task that it began in.
    """
    environment = {
        "COMPANY_REGISTRY_URL": running.system.base_url,
        "COMPANY_REGISTRY_API_KEY": await running.issue_key("agent"),
    }
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "company_registry.cli", "mcp"], env=environment
    )
    async with Client(command) as client:
        yield client


async def call(agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await agent.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


async def test_an_agent_finds_companies_and_sees_the_change_of_one_that_it_watches(
    running: Running, register: Register
) -> None:
    await register.load("no-enheter", an_entity(NUMBER, "AGENTPRØVEN AS"))
    async with an_agent(running) as agent:
        found = await call(agent, "lookup_company", company="NO 310 345 679 MVA")
        listed = await call(agent, "search_companies", query="prøvefabrikken", country="dk")
        matched = await call(
            agent, "match_companies", records=[{"name": "Proevefabriken", "city": "København"}]
        )
        checked = await call(agent, "validate_identifiers", companies=["DK12345674", "123"])
        group = await call(agent, "company_group", company="dk:12345674")
        watched = {"watchlist": "Customers", "companies": [f"no:{NUMBER}"]}
        added = await call(agent, "watchlist_add", **watched)
        begun = await call(agent, "company_changes", cursor="latest")
        await register.load("no-enheter", an_entity(NUMBER, "AGENTPRØVEN NORD AS"))

        async def names() -> list[str]:
            page = await call(
                agent, "company_changes", watchlist="customers", cursor=begun["cursor"]
            )
            return [one["name"] for one in page["events"]]

        await eventually(names, lambda seen: "AGENTPRØVEN NORD AS" in seen)
        removed = await call(agent, "watchlist_remove", **watched)

    assert found["company"]["id"] == "no:310345679"
    assert "dk:12345674" in {one["id"] for one in listed["companies"]}
    assert matched["records"][0]["companies"][0]["id"] == "dk:12345674"
    assert [one["verdict"] for one in checked["identifiers"]] == ["active", "malformed"]
    owners = [(one["owner"], one["owned"]) for one in group["owners"]]
    assert ("dk:12345682", "dk:12345674") in owners
    # The owner's own owner.
    assert any(owned == "dk:12345682" for _owner, owned in owners)
    ultimate = {one["name"]: one["share"] for one in group["ultimate_owners"]}
    assert ultimate["Anna Testesen"] == "66.67–90 %"
    assert (added["added"], removed["removed"], removed["size"]) == (1, 1, 0)
