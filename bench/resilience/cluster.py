"""The cluster of deploy/compose/cluster.yaml: its containers, killed, stopped and partitioned."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp

from local_stack.mongodb import answers, command

PROJECT = "company-registry-cluster"
COMPOSE = Path(__file__).resolve().parents[2] / "deploy" / "compose" / "compose"
#: Operational ports of the services.
SERVICES = {
    "gateway": 9101,
    "lookup": 9102,
    "webhook-registry": 9103,
    "dispatcher": 9104,
    "ingest": 9105,
}
#: Seconds for any one command; a service takes at most 90 to stop.
_TIMEOUT = 120.0
#: Seconds for Compose, which may wait until databases have their indexes.
_START = 420.0
#: Seconds for which a member that stepped down is not elected again.
_STEPPED_DOWN = 20
#: Seconds for everything to run again, as long as a start takes at high load, and for one request.
_HEALTHY, _RESPONSE = _START, 5.0


class Failed(Exception):
    """A command of Docker failed, or a state was not reached in time."""


async def run(
    *command: str, environment: Mapping[str, str] | None = None, timeout: float = _TIMEOUT
) -> str:
    """The standard output of a command, which ends within `timeout` seconds; raises Failed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **(environment or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise Failed(f"{' '.join(command)}: no end after {timeout:.0f} s") from None
    if process.returncode != 0:
        raise Failed(f"{' '.join(command)}: {err.decode().strip()[-500:]}")
    return out.decode().strip()


@dataclass(frozen=True)
class Network:
    """A container's place in one network."""

    name: str
    aliases: Sequence[str]
    address: str
    gateway: str


@dataclass(frozen=True)
class Container:
    """A container of the project, stopped ones included."""

    name: str
    service: str
    networks: Sequence[Network]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Container":
        """Reads what `docker inspect` prints of a container."""
        networks = [
            Network(name, each["Aliases"] or (), each["IPAddress"], each["Gateway"])
            for name, each in found["NetworkSettings"]["Networks"].items()
        ]
        service = found["Config"]["Labels"]["com.docker.compose.service"]
        return cls(found["Name"].removeprefix("/"), service, networks)

    def address(self, network: str | None = None) -> str | None:
        """The address in the network with this name in the file, or in any; None without one."""
        wanted = None if network is None else f"{PROJECT}_{network}"
        found = (each.address for each in self.networks if wanted in (None, each.name))
        return next(filter(None, found), None)


@dataclass
class Cluster:
    """The containers of one project."""

    #: HTTP_PORT, CERTIFICATES and settings without a value in the file.
    environment: Mapping[str, str]
    #: The version of our images; None is the one of the file.
    release: str | None = None

    async def compose(self, *words: str) -> str:
        given = {
            **self.environment,
            **({"RELEASE": self.release} if self.release else {}),
            "COMPOSE_FILE": "cluster.yaml",
            "COMPOSE_PROJECT_NAME": PROJECT,
        }
        return await run(str(COMPOSE), *words, environment=given, timeout=_START)

    async def everything(self) -> list[Container]:
        """Every container by name. It takes two calls: a call for each would load the machine."""
        labels = [f"project={PROJECT}", "oneoff=False"]
        filters = [f"--filter=label=com.docker.compose.{label}" for label in labels]
        ids = (await run("docker", "ps", "--all", "--quiet", *filters)).split()
        found = json.loads(await run("docker", "inspect", *ids)) if ids else []
        return sorted(map(Container.of, found), key=lambda each: each.name)

    async def containers(self, service: str) -> list[str]:
        """The names of a service's containers, stopped ones included."""
        return [each.name for each in await self.everything() if each.service == service]

    async def kill(self, container: str) -> None:
        await run("docker", "kill", "--signal=KILL", container)

    async def start(self, container: str) -> None:
        await run("docker", "start", container)

    async def stop(self, container: str) -> None:
        """Stops it with SIGTERM."""
        await run("docker", "stop", "--time=90", container)

    async def restart(self, container: str) -> None:
        """Stops it with SIGTERM and starts it, as a rollout does."""
        await run("docker", "restart", "--time=90", container)

    async def process(self, container: str) -> int:
        """The id of its first process, as this machine counts them; 0 if it does not run."""
        return int(await run("docker", "inspect", "--format={{.State.Pid}}", container))

    async def step_down(self, container: str) -> None:
        """Makes a primary of MongoDB give way to another member."""
        host = f"{(await self.network(container, 'database')).address}:27017"
        waits = {"secondaryCatchUpPeriodSecs": 5}
        await asyncio.to_thread(command, host, "replSetStepDown", _STEPPED_DOWN, **waits)

    async def replace(self, service: str) -> None:
        """Replaces its containers one by one by containers of the version `release`.

        Each new one is started before the old one stops.
        """
        replaced = await self.containers(service)
        scale = f"--scale={service}={len(replaced) + 1}"
        for old in replaced:
            await self.compose("up", "--detach", "--no-deps", "--no-recreate", scale, service)
            await self.until_healthy()
            await self.stop(old)
            await run("docker", "rm", "--volumes", old)

    async def networks(self, container: str) -> Sequence[Network]:
        [found] = json.loads(await run("docker", "inspect", container))
        return Container.of(found).networks

    async def network(self, container: str, suffix: str) -> Network:
        """The network of a container with this name in the file."""
        for network in await self.networks(container):
            if network.name == f"{PROJECT}_{suffix}":
                return network
        raise Failed(f"{container} is not in the network {suffix}")

    async def disconnect(self, container: str, network: Network) -> None:
        """Drops all traffic without closing connections."""
        await run("docker", "network", "disconnect", network.name, container)

    async def connect(self, container: str, network: Network) -> None:
        aliases = [f"--alias={alias}" for alias in network.aliases]
        await run("docker", "network", "connect", *aliases, network.name, container)

    async def until_healthy(self) -> None:
        """Waits for every RabbitMQ node, MongoDB member and service; raises Failed."""
        missing = ["everything"]
        try:
            async with asyncio.timeout(_HEALTHY):
                while missing := await self._missing():  # noqa: ASYNC110 (polled)
                    await asyncio.sleep(1)
        except TimeoutError:
            raise Failed(f"not back within {_HEALTHY:.0f} s: {', '.join(missing)}") from None

    async def _missing(self) -> list[str]:
        """Nodes and members that the others do not see, and services that are not ready."""
        found = await self.everything()
        nodes = [node for node in await _read_management_api(found, "nodes") if node["running"]]
        missing = ["a RabbitMQ node"] if len(nodes) < 3 else []
        if not await _has_every_member(found):
            missing.append("a MongoDB member")
        for each in found:
            port = SERVICES.get(each.service)
            if port and await _get(each.address(), f":{port}/readyz") is None:
                missing.append(each.name)
        return missing

    async def rabbitmq_nodes(self) -> list[str]:
        """The containers of the nodes, the leaders of the most queues first."""
        found = await self.everything()
        led = [
            queue.get("leader") or queue["node"]
            for queue in await _read_management_api(found, "queues")
        ]
        counts = [led.count(f"rabbit@rabbitmq-{number}") for number in (1, 2, 3)]
        names = [each.name for each in _of_three(found, "rabbitmq")]
        return [name for _, name in sorted(zip(counts, names, strict=True), reverse=True)]

    async def has_alarm(self) -> bool:
        """True if a node of RabbitMQ is short of memory or disk."""
        nodes = await _read_management_api(await self.everything(), "nodes")
        return any(node["mem_alarm"] or node["disk_free_alarm"] for node in nodes)

    async def mongodb_members(self) -> list[str]:
        """The containers of the members, the primary first."""
        members = _of_three(await self.everything(), "mongodb")
        primary = {each.name: (await _hello(each)).get("isWritablePrimary") for each in members}
        return sorted(primary, key=lambda name: not primary[name])

    async def versions(self) -> str:
        """The versions of RabbitMQ and MongoDB."""
        found = await self.everything()
        overview = await _read_management_api(found, "overview")
        host = _mongodb_host(_of_three(found, "mongodb")[0])
        built = await asyncio.to_thread(command, host, "buildInfo")
        return f"RabbitMQ {overview['rabbitmq_version']} and MongoDB {built['version']}"


def _of_three(found: Sequence[Container], name: str) -> list[Container]:
    return [each for each in found if each.service in (f"{name}-{n}" for n in (1, 2, 3))]


async def _get(address: str | None, path: str, auth: aiohttp.BasicAuth | None = None) -> Any:
    """The body of a response with status 200, or None."""
    if address is None:
        return None
    timeout = aiohttp.ClientTimeout(total=_RESPONSE)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auth=auth) as session,
            session.get(f"http://{address}{path}") as response,
        ):
            return await response.read() if response.status == 200 else None
    except (aiohttp.ClientError, TimeoutError):
        return None


async def _read_management_api(
    found: Sequence[Container], what: Literal["nodes", "queues", "overview"]
) -> Any:
    """The response of the first reachable node; empty if there is none."""
    trial = aiohttp.BasicAuth("trial", "trial")
    for node in _of_three(found, "rabbitmq"):
        body = await _get(node.address(), f":15672/api/{what}", trial)
        if body is not None:
            return json.loads(body)
    return []


async def _has_every_member(found: Sequence[Container]) -> bool:
    """True if every member is up and one of them is the primary."""
    states = [await _hello(each) for each in _of_three(found, "mongodb")]
    primaries = sum(state.get("isWritablePrimary", False) for state in states)
    return (primaries, sum(state.get("secondary", False) for state in states)) == (1, 2)


async def _hello(member: Container) -> Mapping[str, Any]:
    """How a member describes itself; empty if it does not answer."""
    host = _mongodb_host(member)
    if member.address("database") is None or not await asyncio.to_thread(answers, host):
        return {}
    return await asyncio.to_thread(command, host, "hello")


def _mongodb_host(member: Container) -> str:
    return f"{member.address('database')}:27017"
