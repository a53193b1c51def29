"""Many lookups in one request."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from common.contracts.lookup import LookupReply, LookupRequest
from gateway.lookups.terms import takes_long
from gateway.ports import Lookups
from gateway.problems import BatchTooLarge, LookupTimeout, Problem

#: Concurrent searches and lookups of large companies of one batch, fewer than the lookup service
#: handles at once, so that a batch of a hundred names does not delay other clients.
SEARCHES_AT_ONCE = 8
#: Bytes of the companies of one answer. A company may have thousands of e-invoicing identifiers,
#: and a batch a hundred such companies.
MAX_SIZE = 12 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LookUpAll:
    lookups: Lookups
    #: Seconds for the whole batch, the same as for a single lookup.
    timeout: float = 1.8

    async def __call__(
        self, requests: Sequence[LookupRequest | Problem], *, request_id: str
    ) -> list[LookupReply | Problem]:
        """A result for each lookup, in order and independent of the others, or its problem."""
        turns = asyncio.Semaphore(SEARCHES_AT_ONCE)
        deadline = asyncio.get_running_loop().time() + self.timeout
        size = 0

        async def result(request: LookupRequest | Problem) -> LookupReply | Problem:
            if isinstance(request, Problem):
                return request
            is_long = takes_long(request)
            turn: AbstractAsyncContextManager[None] = turns if is_long else nullcontext()
            nonlocal size
            try:
                async with asyncio.timeout_at(deadline), turn:
                    if size > MAX_SIZE:
                        return BatchTooLarge()
                    reply = await self.lookups.find(request, request_id=request_id)
                    size += len(reply.body)
                    return reply
            except TimeoutError:
                return LookupTimeout()
            except Problem as problem:
                return problem

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(result(request)) for request in requests]
        return [task.result() for task in tasks]
