"""Metrics of the MCP server: requests by tool, on a port that answers nothing else."""

import httpx
import pytest
from prometheus_client import REGISTRY

from company_registry.mcp.metrics import count, metrics_app

TOOLS = frozenset({"look_up_company"})


def requests(status: str, tool: str) -> float:
    labels = {"status": status, "tool": tool}
    return REGISTRY.get_sample_value("mcp_requests_total", labels) or 0.0


def test_a_tool_that_does_not_exist_is_no_label() -> None:
    before = requests("200", "look_up_company"), requests("200", "")

    count(200, "look_up_company", TOOLS, 0.1)
    count(200, "a name that an agent made up", TOOLS, 0.1)
    count(200, None, TOOLS, 0.1)

    after = requests("200", "look_up_company"), requests("200", "")
    assert after == (before[0] + 1, before[1] + 2)


@pytest.mark.parametrize("path, status", [("/metrics", 200), ("/", 404), ("/mcp", 404)])
async def test_only_metrics_are_answered(path: str, status: int) -> None:
    transport = httpx.ASGITransport(app=metrics_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        response = await client.get(path)

    assert response.status_code == status
    assert ("mcp_requests_total" in response.text) == (status == 200)
