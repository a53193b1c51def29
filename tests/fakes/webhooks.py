"""The registry behind the gateway, in one process: its own operations over fakes."""

from dataclasses import dataclass, field

from common.contracts.failures import Failure
from common.contracts.webhooks import WebhookReply, WebhookRequest
from gateway.domain.problems import problem_of
from tests.fakes.webhook_registry import World


@dataclass
class Registrar:
    """`Webhooks` done by the registry's own operations; `fault` is raised instead."""

    world: World = field(default_factory=World)
    fault: Exception | None = None
    request_ids: list[str] = field(default_factory=list)

    async def do(self, request: WebhookRequest, *, request_id: str) -> WebhookReply:
        self.request_ids.append(request_id)
        if self.fault is not None:
            raise self.fault
        result = await self.world.ask(request)
        if isinstance(result, Failure):
            raise problem_of(result)
        return result
