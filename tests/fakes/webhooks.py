"""The registry behind the gateway, in one process: its own operations over MongoDB."""

from dataclasses import dataclass

from common.contracts.failures import Failure
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from gateway.access.clients import Caller
from gateway.problems import problem_of
from tests.fakes.webhook_registry import World


@dataclass
class Registrar:
    """`Webhooks` done by the registry's own operations."""

    world: World

    async def do(
        self,
        request: WebhookRequest,
        *,
        caller: Caller,  # noqa: ARG002
    ) -> WebhookReply:
        result = await self.world.ask(request)
        if isinstance(result, Failure):
            raise problem_of(result)
        return result
