"""The guides name programs and metrics that RabbitMQ has."""

import asyncio
import re
import shlex

import aio_pika
import pytest

from common.contracts.topology import DEAD_LETTERS_QUEUE
from local_stack.ports import http_get
from local_stack.rabbitmq import RabbitMQ
from tests.contract.manifests.guides import commands
from tests.contract.manifests.metrics import OF_RABBITMQ

pytestmark = pytest.mark.integration

#: Of RabbitMQ 4.0 and 4.1 alone, which the package of Debian is not.
LATER = "rabbitmqctl enable_feature_flag --experimental khepri_db"
UNUSED = "unused"


def typed() -> list[list[str]]:
    """Each command of the guides, a list with the columns of all of its kind."""
    commands_of: dict[tuple[str, ...], list[str]] = {}
    for text in sorted({each.text for each in commands() if each.program.startswith("rabbitmq")}):
        words = shlex.split(text.replace("<name>", UNUSED))
        kind = tuple(words[:2] if words[1].startswith("list_") else words)
        known = commands_of.setdefault(kind, list(kind))
        known += [word for word in words if word not in known]
    return [words for words in commands_of.values() if words != shlex.split(LATER)]


async def declare(url: str) -> None:
    """Queues, for the guides to delete and to empty; all of ours are quorum queues."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        for name in (UNUSED, DEAD_LETTERS_QUEUE):
            await channel.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})


def test_the_commands_of_the_guides_are_understood_by_the_broker(
    stoppable_broker: RabbitMQ,
) -> None:
    asyncio.run(declare(stoppable_broker.amqp_url))

    for words in typed():
        assert stoppable_broker.control(*words)


def test_the_metrics_of_the_alerts_are_those_of_the_broker(stoppable_broker: RabbitMQ) -> None:
    assert stoppable_broker.metrics_port is not None

    status, text = http_get(stoppable_broker.metrics_port, "/metrics")

    assert status == 200
    assert set(OF_RABBITMQ) - set(re.findall(r"^(\w+)", text.decode(), re.MULTILINE)) == set()
