"""Operations on webhooks over the broker."""

from dataclasses import dataclass

from common.contracts.failures import FailureCode, Unavailable
from common.contracts.topology import WEBHOOKS_QUEUE
from common.contracts.webhooks import WebhookReply, WebhookRequest
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import DeadlineExceeded, Route, RpcClient
from gateway.adapters.rpc import LIMIT
from gateway.domain.problems import ServiceUnavailable, problem_of

#: One request per message: one that resolves a slow name delays no other.
ROUTE = Route(WEBHOOKS_QUEUE, in_flight=64, max_batch_size=1)

LATE = "the webhook registry did not answer in time"


@dataclass(frozen=True, slots=True)
class RpcWebhooks:
    """`Webhooks` over RPC to the webhook registry."""

    client: RpcClient
    limit: float = LIMIT

    async def do(self, request: WebhookRequest, *, request_id: str) -> WebhookReply:
        try:
            return await self.client.call(
                ROUTE, request, WebhookReply, limit=self.limit, request_id=request_id
            )
        except RpcFailed as failed:
            # `lookup_timeout` is the RPC's code for a timeout and would mislead here.
            if failed.failure.code is FailureCode.LOOKUP_TIMEOUT:
                raise ServiceUnavailable(LATE) from None
            raise problem_of(failed.failure) from None
        except DeadlineExceeded:
            raise ServiceUnavailable(LATE) from None
        except Unavailable:
            raise ServiceUnavailable("the webhook registry cannot be reached now") from None
