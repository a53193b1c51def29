"""RPC requests to a registry process, as the gateway sends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from common.contracts.failures import FailureCode
from common.contracts.webhook_api import Operation, WebhookReply
from common.messaging.requests import WEBHOOKS
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from local_stack.system import Service
from tests.builders.webhooks import a_request
from tests.delivery.broker import rpc_client
from tests.delivery.pipeline import Pipeline
from tests.delivery.waiting import SOON

#: Timeout of one request, in seconds, before its repeat.
PATIENCE = 2.0
#: Seconds before a repeat; a registry that starts needs the processor that repeats would take.
PAUSE = 0.2
#: Failures that the gateway makes a 503 of.
RETRIED = (FailureCode.DEADLINE_EXCEEDED, FailureCode.UNAVAILABLE)


@dataclass(frozen=True)
class Asking:
    """Client that sends RPC requests like the gateway and repeats them like its clients."""

    client: RpcClient

    async def ask(self, operation: Operation, **fields: Any) -> WebhookReply:
        """Returns the reply; also raises failures that the gateway turns into a 503."""
        request = a_request(operation, **fields)
        return await self.client.call(
            WEBHOOKS.route(), request, WebhookReply, timeout=PATIENCE, request_id="request"
        )

    async def until_answered(self, operation: Operation, **fields: Any) -> WebhookReply:
        """The answer to the request, or to the first of its repeats that is done."""
        async with asyncio.timeout(SOON):
            while True:
                try:
                    # A new call each time: only the Idempotency-Key marks it as a repeat.
                    return await self.ask(operation, **fields)
                except RpcFailed as failed:
                    if failed.failure.code not in RETRIED:
                        raise
                    await asyncio.sleep(PAUSE)


@asynccontextmanager
async def asking(pipe: Pipeline) -> AsyncIterator[Asking]:
    """Connected for the body's time."""
    async with rpc_client(pipe.system.amqp_url, WEBHOOKS.queue()) as client:
        yield Asking(client)


async def registry(pipe: Pipeline, name: str = "registry") -> Service:
    """A running registry."""
    service = pipe.system.start("webhook_registry", name=name, max_webhooks_per_owner="1000")
    await asyncio.to_thread(service.wait_until_ready)
    return service
