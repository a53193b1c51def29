"""The guides name programs and metrics that RabbitMQ has."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import aio_pika
import pytest

from local_stack.ports import free_ports, http_get
from local_stack.rabbitmq import RabbitMQ, RabbitPorts, ensure_installed
from tests.contract.manifests.guides import commands
from tests.contract.manifests.metrics import OF_RABBITMQ

pytestmark = pytest.mark.integration

#: Of RabbitMQ 4.0 and 4.1 alone, which the package of Debian is not.
LATER = "rabbitmqctl enable_feature_flag --experimental khepri_db"
UNUSED = "unused"
TYPED = sorted({each.text for each in commands() if each.program.startswith("rabbitmq")} - {LATER})


@pytest.fixture(scope="module")
def scraped(server_folder: Path) -> Iterator[tuple[RabbitMQ, int]]:
    """A broker with the plugin for Prometheus, and the plugin's port."""
    ensure_installed()
    [port] = free_ports(1)
    node = RabbitMQ(server_folder / "scraped", RabbitPorts.free(), metrics_port=port)
    try:
        node.start()
        asyncio.run(declare(node.amqp_url))
        yield node, port
    finally:
        node.kill()


async def declare(url: str) -> None:
    """A queue, for the guide to delete; all of ours are quorum queues."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(UNUSED, durable=True, arguments={"x-queue-type": "quorum"})


@pytest.mark.parametrize("typed", TYPED)
def test_a_command_of_a_guide_is_understood_by_the_broker(
    scraped: tuple[RabbitMQ, int], typed: str
) -> None:
    node, _ = scraped
    program, *arguments = shlex.split(typed.replace("<name>", UNUSED))

    assert node.control(program, *arguments)


def test_the_metrics_of_the_alerts_are_those_of_the_broker(scraped: tuple[RabbitMQ, int]) -> None:
    _, port = scraped

    status, text = http_get(port, "/metrics")

    assert status == 200
    assert set(OF_RABBITMQ) - set(re.findall(r"^(\w+)", text.decode(), re.MULTILINE)) == set()
