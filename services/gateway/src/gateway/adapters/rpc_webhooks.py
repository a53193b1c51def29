"""Operations on webhooks over the broker."""

from dataclasses import dataclass

from common.contracts.topology import WEBHOOKS_QUEUE
from common.contracts.webhooks import WebhookReply, WebhookRequest
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route
from gateway.adapters.rpc import TIMEOUT, answered
from gateway.domain.problems import ServiceUnavailable

#: One request per message: one that resolves a slow name delays no other.
ROUTE = Route(WEBHOOKS_QUEUE, in_flight=64, max_batch_size=1)


@dataclass(frozen=True, slots=True)
class RpcWebhooks:
    """`Webhooks` over RPC to the webhook registry."""

    client: RpcClient
    timeout: float = TIMEOUT

    async def do(self, request: WebhookRequest, *, request_id: str) -> WebhookReply:
        call = self.client.call(
            ROUTE, request, WebhookReply, timeout=self.timeout, request_id=request_id
        )
        # Without a reply the operation may have been carried out: no timeout of a lookup.
        return await answered(call, deadline=ServiceUnavailable)
