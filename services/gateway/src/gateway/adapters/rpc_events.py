"""The event feed over the broker."""

from dataclasses import dataclass

from common.contracts.feed import EventReply, EventRequest, FeedPage, FeedRequest
from common.contracts.topology import EVENT_QUEUE, FEED_QUEUE
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route
from gateway.adapters.rpc import TIMEOUT, answered

#: Pages are large, so a message carries few of them.
_PAGES = Route(FEED_QUEUE, in_flight=4, max_batch_size=8)
_EVENTS = Route(EVENT_QUEUE, in_flight=4, max_batch_size=16)


@dataclass(frozen=True, slots=True)
class RpcEvents:
    """`Events` over RPC to the lookup service."""

    client: RpcClient
    timeout: float = TIMEOUT

    async def page(self, request: FeedRequest, *, request_id: str) -> FeedPage:
        return await answered(
            self.client.call(_PAGES, request, FeedPage, timeout=self.timeout, request_id=request_id)
        )

    async def event(self, request: EventRequest, *, request_id: str) -> EventReply:
        return await answered(
            self.client.call(
                _EVENTS, request, EventReply, timeout=self.timeout, request_id=request_id
            )
        )
