"""The shipped load balancer in front of gateways that are slow, refuse, hang or are gone.

HAProxy runs with `deploy/compose/haproxy.cfg` itself; only its addresses are those of the test.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from local_stack.packages import install
from local_stack.ports import free_ports
from tests.contract.manifests.reading import ROOT
from tests.delivery.waiting import eventually

pytestmark = pytest.mark.integration

CONFIGURATION = (ROOT / "deploy" / "compose" / "haproxy.cfg").read_text()
#: Seconds in which every answer arrives (issue of an operator, and docs/resilience.md).
LONGEST = 2.5
#: Seconds that no gateway of these tests waits for, and those of a gateway's own deadline.
NEVER, DEADLINE = 60.0, 1.8
PROBLEM = "application/problem+json"


@dataclass
class Gateway:
    """A gateway's two ports; each answer waits `delay` seconds, and has `status`."""

    port: int
    admin_port: int
    status: int = 200
    delay: float = 0.0
    requests: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request.headers["X-Request-Id"])
        await asyncio.sleep(self.delay)
        if self.status == 200:
            return web.json_response({"by": self.port})
        problem = {"code": "lookup_timeout" if self.status == 504 else "service_unavailable"}
        return web.json_response(problem, status=self.status, content_type=PROBLEM)

    async def ready(self, _request: web.Request) -> web.Response:
        await asyncio.sleep(NEVER if self.delay == NEVER else 0.0)
        return web.Response()

    async def start(self, stack: AsyncExitStack) -> None:
        for port, path, handler in (
            (self.port, "/{any:.*}", self.answer),
            (self.admin_port, "/readyz", self.ready),
        ):
            app = web.Application()
            app.router.add_get(path, handler)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", port).start()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content_type: str
    body: dict[str, object]
    headers: dict[str, str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Balancer:
    session: aiohttp.ClientSession
    metrics: str
    gateways: tuple[Gateway, Gateway]
    port: int
    log: Path

    async def get(self, path: str = "/api?country=dk&vat=12345674") -> Answer:
        start = time.monotonic()
        async with self.session.get(path) as response:
            body = await response.json(content_type=None)
            seconds = time.monotonic() - start
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, response.content_type, body, headers, seconds)

    async def get_many(self, count: int) -> list[Answer]:
        return list(await asyncio.gather(*(self.get() for _ in range(count))))


@asynccontextmanager
async def balanced(folder: Path) -> AsyncIterator[Balancer]:
    if shutil.which("haproxy") is None:
        install(["haproxy"], why="HAProxy is missing.")
    http, metrics, *ports = free_ports(6)
    gateways = (Gateway(ports[0], ports[1]), Gateway(ports[2], ports[3]))
    written = folder / "haproxy.cfg"
    written.write_text(configured(http, metrics, gateways))
    async with AsyncExitStack() as stack:
        for gateway in gateways:
            await gateway.start(stack)
        process = await asyncio.create_subprocess_exec(
            *("haproxy", "-db", "-f", str(written)),
            stdout=stack.enter_context((folder / "log").open("wb")),
            stderr=asyncio.subprocess.DEVNULL,
        )
        stack.push_async_callback(process.wait)
        stack.callback(process.kill)
        session = aiohttp.ClientSession(f"http://127.0.0.1:{http}")
        await stack.enter_async_context(session)
        balancer = Balancer(
            session, f"http://127.0.0.1:{metrics}/metrics", gateways, http, folder / "log"
        )

        async def serves() -> bool:
            try:
                return (await balancer.get()).status == 200
            except aiohttp.ClientError:
                return False

        await eventually(serves, bool)
        yield balancer


def configured(http: int, metrics: int, gateways: tuple[Gateway, Gateway]) -> str:
    """The shipped configuration with the addresses of the test."""
    servers = "\n".join(
        f"    server gateway{number} 127.0.0.1:{each.port} port {each.admin_port}"
        for number, each in enumerate(gateways, 1)
    )
    text = CONFIGURATION.replace("bind :8080", f"bind 127.0.0.1:{http}")
    text = text.replace("bind :8405", f"bind 127.0.0.1:{metrics}")
    # Names of sockets are the machine's.
    text = re.sub(r"abns@(\w+)", rf"abns@\1-{http}", text)
    text = re.sub(r"^resolvers docker\n(    .*\n)+", "", text, flags=re.M)
    text, replaced = re.subn(r"^    server-template .*$", servers, text, flags=re.M)
    assert replaced == 2
    return text


@pytest.fixture
async def balancer(tmp_path: Path) -> AsyncIterator[Balancer]:
    async with balanced(tmp_path) as balancer:
        yield balancer


async def test_slow_successes_reach_the_client(balancer: Balancer) -> None:
    for gateway in balancer.gateways:
        gateway.delay = 1.5

    answers = await balancer.get_many(8)

    assert {each.status for each in answers} == {200}
    assert max(each.seconds for each in answers) < LONGEST


@pytest.mark.parametrize("status", [503, 504])
async def test_a_gateways_own_problem_reaches_the_client(balancer: Balancer, status: int) -> None:
    for gateway in balancer.gateways:
        gateway.status, gateway.delay = status, DEADLINE

    answers = await balancer.get_many(8)

    assert {(each.status, each.content_type) for each in answers} == {(status, PROBLEM)}
    assert max(each.seconds for each in answers) < LONGEST


async def test_hanging_gateways_lead_to_a_problem_document_with_an_id(balancer: Balancer) -> None:
    for gateway in balancer.gateways:
        gateway.delay = NEVER
        gateway.requests.clear()

    answer = await balancer.get()

    assert (answer.status, answer.content_type) == (504, PROBLEM)
    assert answer.seconds < LONGEST
    assert answer.body["code"] == "lookup_timeout"
    assert answer.headers["retry-after"] == "1"
    # The same id at both gateways, in the document and in the header.
    ids = {request for gateway in balancer.gateways for request in gateway.requests}
    assert ids == {answer.body["request_id"]} == {answer.headers["x-request-id"]}
    assert [len(gateway.requests) for gateway in balancer.gateways] == [1, 1]


async def test_no_lookup_fails_when_one_gateway_hangs(balancer: Balancer) -> None:
    balancer.gateways[0].delay = NEVER

    answers = await balancer.get_many(60)

    assert {each.status for each in answers} == {200}
    assert {each.body["by"] for each in answers} == {balancer.gateways[1].port}
    assert any(each.seconds > 0.4 for each in answers), "no lookup met the hanging gateway"
    assert max(each.seconds for each in answers) < LONGEST


async def test_no_lookup_fails_when_one_gateway_has_lost_its_dependencies(
    balancer: Balancer,
) -> None:
    balancer.gateways[0].status = 503

    answers = await balancer.get_many(60)

    assert {each.status for each in answers} == {200}
    assert {each.headers["x-retries"] for each in answers} == {"0", "+1"}


async def test_lookups_are_spread_over_the_gateways(balancer: Balancer) -> None:
    for gateway in balancer.gateways:
        gateway.requests.clear()

    await balancer.get_many(200)

    first, second = (len(gateway.requests) for gateway in balancer.gateways)
    assert first + second == 200
    assert min(first, second) > 60


async def test_requests_other_than_lookups_wait_as_long_as_they_take(balancer: Balancer) -> None:
    for gateway in balancer.gateways:
        gateway.delay = LONGEST

    answer = await balancer.get("/api/events?wait=PT20S")

    assert answer.status == 200
    assert answer.seconds >= LONGEST


async def test_only_requests_have_lines_in_the_log(balancer: Balancer) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", balancer.port)
    writer.close()
    await writer.wait_closed()
    for gateway in balancer.gateways:
        gateway.status = 503

    await balancer.get()
    [*_, sent] = balancer.gateways[0].requests

    async def logged() -> set[str]:
        lines = balancer.log.read_text().splitlines()
        return {json.loads(line)["request_id"] for line in lines if line.startswith("{")}

    ids = await eventually(logged, lambda ids: sent in ids)
    assert "-" not in ids


async def test_metrics_count_what_clients_see(balancer: Balancer) -> None:
    for gateway in balancer.gateways:
        gateway.status = 503

    await balancer.get()

    async with balancer.session.get(balancer.metrics) as response:
        text = await response.text()
    assert 'haproxy_frontend_http_responses_total{proxy="http",code="5xx"} 1' in text
