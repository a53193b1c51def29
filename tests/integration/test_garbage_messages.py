"""Messages that are none: no process ends by them, and what follows is handled."""

import asyncio
import json
from random import Random

import aio_pika
import pytest

from common.contracts.topology import DEAD_LETTERS_QUEUE
from common.contracts.webhook_api import Operation
from local_stack.management import Management
from tests.delivery.asking import asking, registry
from tests.delivery.pipeline import Pipeline, an_event

pytestmark = pytest.mark.integration

#: Messages for each queue, of each kind.
COUNT = 12
DEPTH = 20_000


def garbage(random: Random) -> list[bytes]:
    """Bytes, texts and JSON that no contract describes."""
    values: list[object] = [
        None,
        True,
        -1,
        1e308,
        "",
        [],
        {},
        [[]],
        {"tasks": 7},
        {"id": {}},
        {"tasks": [{}]},
    ]
    return [
        b"",
        *(random.randbytes(random.randrange(1, 400)) for _ in range(COUNT)),
        *(json.dumps(random.choice(values)).encode() for _ in range(COUNT)),
        b"[" * DEPTH + b"]" * DEPTH,
        b'{"id":' * DEPTH,
        b'{"id":"\\ud800","type":"company.updated"}',
        b"9" * DEPTH,
    ]


async def test_garbage_in_every_queue_ends_no_process_and_delays_no_event(
    pipe: Pipeline, management: Management, vhost: str
) -> None:
    webhook = await pipe.webhook("/a")
    serving = [pipe.system.start(module) for module in ("lookup", "ingest")]
    services = [*serving, *await asyncio.gather(pipe.dispatcher(), registry(pipe))]
    for service in serving:
        await asyncio.to_thread(service.wait_until_ready)
    queues = [queue["name"] for queue in management.queues(vhost)]
    wanted = [name for name in queues if name != DEAD_LETTERS_QUEUE]
    random = Random(7)

    async with await aio_pika.connect(pipe.system.amqp_url) as connection:
        channel = await connection.channel(publisher_confirms=False)
        for queue in wanted:
            for body in garbage(random):
                message = aio_pika.Message(
                    body, headers={"traceparent": "x"}, correlation_id="7", reply_to="no"
                )
                await channel.default_exchange.publish(message, routing_key=queue)
    event = an_event()
    await pipe.publish(event)
    await pipe.until_row(event, webhook, state="succeeded")
    async with asking(pipe) as client:
        listed = await client.until_answered(Operation.LIST, owner=webhook.owner)

    assert len(wanted) > 5
    assert webhook.id in listed.body.decode()
    for service in services:
        await asyncio.to_thread(service.wait_until_ready)
        assert service.process.exit_status is None
