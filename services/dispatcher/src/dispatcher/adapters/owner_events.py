"""Handing events about webhooks to the lookup service."""

from collections.abc import Callable
from dataclasses import dataclass

from common.contracts.events import RegistryEvent
from common.contracts.failures import Unavailable
from common.contracts.feed import OwnerEvent, OwnerEventStored
from common.contracts.topology import OWNER_EVENTS_QUEUE
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route

_ROUTE = Route(OWNER_EVENTS_QUEUE, max_batch_size=16)
#: Seconds for one event.
TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class RpcOwnerEvents:
    """`OwnerEvents` over RPC."""

    client: RpcClient
    new_id: Callable[[], str]

    async def store(self, owner: str, event: RegistryEvent) -> None:
        try:
            await self.client.call(
                _ROUTE,
                OwnerEvent(owner=owner, event=event),
                OwnerEventStored,
                timeout=TIMEOUT,
                request_id=self.new_id(),
            )
        except RpcFailed as error:
            raise Unavailable("the lookup service has not stored the event") from error
