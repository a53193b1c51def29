"""Tools of the MCP server: the cost of a call over that of the same request to the API."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import cycle, islice
from statistics import median
from typing import Any, Final

import httpx
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from bench.figures import Figure, at_most
from bench.scale import Scale
from bench.setup import LoadedSystem, loaded_system
from company_registry import AsyncClient
from local_stack.ports import free_ports, http_get
from local_stack.processes import Process, Program

_COMMAND: Final = (sys.executable, "-m", "company_registry.cli")
#: Milliseconds.
_GOAL: Final = 3
#: Calls in each turn, and turns in each round: short ones, so that load meets all alike.
_CALLS, _TURNS = 50, 10

Call = Callable[[str], Awaitable[Any]]


def measure(scale: Scale) -> Iterator[Figure]:
    with loaded_system(scale.companies) as loaded:
        [port] = free_ports(1)
        options = ["--url", loaded.system.base_url, "--port", str(port)]
        options += ["--key-rate", "1000000/second", "--address-rate", "1000000/second"]
        log = loaded.system.folder / "mcp.log"
        server = Process(Program("mcp", [*_COMMAND, "mcp", "--http", *options], log))
        try:
            server.wait_until(lambda: http_get(port, "/readyz")[0] == 200, seconds=60)
            times = asyncio.run(_times(loaded, f"http://127.0.0.1:{port}/mcp", scale.rounds))
        finally:
            server.stop()
    base = median(times["the API's client"])
    for name, taken in times.items():
        yield Figure(f"{name}, p50", median(taken), "ms")
        if name != "the API's client":
            over = median(taken) - base
            yield at_most(f"{name}, p50 over the API's client", over, "ms", _GOAL)


async def _times(loaded: LoadedSystem, url: str, rounds: int) -> dict[str, list[float]]:
    """Returns milliseconds of each call by the way that it takes, which take turns."""
    numbers = cycle([path.rpartition("=")[2] for path in loaded.paths])
    async with AsyncExitStack() as stack:
        ways = await _ways(stack, loaded, url)
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds * _TURNS + 1):
            for name, call in ways.items():
                for number in islice(numbers, _CALLS):
                    begun = time.perf_counter()
                    await call(number)
                    if turn:  # the first one only opens connections
                        times[name].append(1000 * (time.perf_counter() - begun))
    return times


async def _ways(stack: AsyncExitStack, loaded: LoadedSystem, url: str) -> dict[str, Call]:
    key, base_url = loaded.key, loaded.system.base_url
    registry = await stack.enter_async_context(AsyncClient(base_url, key))
    headers = {"Authorization": f"Bearer {key}"}
    connections = await stack.enter_async_context(create_mcp_http_client(headers))
    over_http = await stack.enter_async_context(
        Client(streamable_http_client(url, http_client=connections))
    )
    environment = {"COMPANY_REGISTRY_URL": base_url, "COMPANY_REGISTRY_API_KEY": key}
    command = StdioServerParameters(
        command=_COMMAND[0], args=[*_COMMAND[1:], "mcp"], env=environment
    )
    over_stdio = await stack.enter_async_context(Client(command))
    plain = await stack.enter_async_context(httpx.AsyncClient(headers=headers))

    def arguments(number: str) -> dict[str, str]:
        return {"company": number, "country": "no"}

    async def post(number: str) -> None:
        params = {"name": "lookup_company", "arguments": arguments(number)}
        answer = await plain.post(
            url,
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
            headers={"Accept": "application/json, text/event-stream"},
        )
        assert number in answer.text, answer.text

    async def tool(client: Client, number: str) -> None:
        result = await client.call_tool("lookup_company", arguments(number))
        assert not result.is_error, result

    return {
        "the API's client": lambda number: registry.search("no", number),
        "a tool by a plain POST": post,
        "a tool over HTTP": lambda number: tool(over_http, number),
        "a tool over stdio": lambda number: tool(over_stdio, number),
    }
