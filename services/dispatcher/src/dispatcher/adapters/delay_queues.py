"""Wake-ups over the broker: at once, or out of the delay queue of their delay."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

from common.contracts.deliveries import LONGEST_LIST, DeliveryTask, encode_tasks
from common.contracts.outage import Outage
from common.contracts.topology import DELIVERIES_QUEUE, RETRIES_QUEUE, delay_queue
from common.messaging.depth import QueueDepths
from common.messaging.publisher import Publisher, Unroutable
from dispatcher.adapters.lists import Lists, running


class DelayQueues:
    """`Wakes`."""

    def __init__(
        self,
        publisher: Publisher,
        depths: QueueDepths,
        delays: Sequence[timedelta],
        *,
        renew: Callable[[str], None],
    ) -> None:
        """`renew` has the connection made anew, and with it queues that were deleted."""
        self._publisher = publisher
        self._depths = depths
        self._renew = renew
        # Retries that begin to wait at the same moment also become due at the same moment.
        self._later = {delay: self._list(delay_queue(delay)) for delay in dict.fromkeys(delays)}

    async def now(self, tasks: Sequence[DeliveryTask], *, retries: bool) -> None:
        queue = RETRIES_QUEUE if retries else DELIVERIES_QUEUE
        await asyncio.gather(*(self._publish(queue, message) for message in encode_tasks(tasks)))

    async def later(self, task: DeliveryTask, *, after: timedelta) -> None:
        await self._later[after](task)

    async def waiting(self) -> int:
        depths = [await self._depths.ready(queue) for queue in (DELIVERIES_QUEUE, RETRIES_QUEUE)]
        return sum(depths)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for lists in self._later.values():
                await stack.enter_async_context(running(lists))
            yield

    def _list(self, queue: str) -> Lists[DeliveryTask, None]:
        async def publish(tasks: Sequence[DeliveryTask]) -> Sequence[None]:
            for message in encode_tasks(tasks):
                await self._publish(queue, message)
            return [None] * len(tasks)

        return Lists(publish, longest=LONGEST_LIST)

    async def _publish(self, queue: str, message: bytes) -> None:
        try:
            await self._publisher.publish(message, routing_key=queue)
        except Unroutable:
            self._renew(f"the queue {queue} does not take messages")
            raise Outage(f"the queue {queue} does not take messages") from None
