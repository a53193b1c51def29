"""Many lookups in one request; the companies' JSON is passed through, never parsed."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.lookup import LookupReply, LookupRequest
from gateway.access.keys import ApiKey
from gateway.access.limits import Quota
from gateway.http.middleware import REQUEST_CONTEXT
from gateway.http.problem_responses import problem_document
from gateway.http.responses import json_body, json_response
from gateway.lookups.queries import parse_batch
from gateway.lookups.terms import takes_long
from gateway.problems import BatchTooLarge, LookupTimeout, Problem

BATCH_PATH = "/api/batch"

#: Counts further requests of a key, or raises RateLimited.
Charge = Callable[[ApiKey, int], Quota]

#: Concurrent searches and lookups of large companies of one batch, fewer than the lookup service
#: handles at once, so that a batch of a hundred names does not delay other clients.
SEARCHES_AT_ONCE = 8
#: Bytes of the companies of one answer. A company may have thousands of e-invoicing identifiers,
#: and a batch a hundred such companies.
MAX_SIZE = 12 * 1024 * 1024


class Lookups(Protocol):
    """Finds one company by any search type, such as a number, a name or an address."""

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        """Returns the one company that answers the request.

        Raises CompanyNotFound, ServiceUnavailable (broker, database or lookup service),
        LookupTimeout, InvalidParameter or InternalError; bounded by a timeout.
        """


@dataclass(frozen=True, slots=True)
class LookUpAll:
    """Answers the lookups of a batch concurrently, within the time of a single one."""

    lookups: Lookups
    #: Seconds for the whole batch, the same as for a single lookup.
    timeout: float = 1.8

    async def __call__(
        self, requests: Sequence[LookupRequest | Problem], *, request_id: str
    ) -> list[LookupReply | Problem]:
        """Returns the result or problem of each lookup, in order and independent of the others."""
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


def batch_handler(look_up_all: LookUpAll, charge: Charge) -> Handler:
    """Returns the handler of batches; the request was already counted as the first lookup."""

    async def look_up(request: web.Request) -> web.Response:
        lookups = parse_batch(await json_body(request))
        context = request[REQUEST_CONTEXT]
        if context.key is not None:
            context.quota = charge(context.key, len(lookups) - 1)
        results = await look_up_all(lookups, request_id=context.request_id)
        members = b",".join(_member(result, context.request_id) for result in results)
        return json_response(b'{"results":[%b]}' % members)

    return look_up


def _member(result: LookupReply | Problem, request_id: str) -> bytes:
    if isinstance(result, LookupReply):
        return b'{"company":%b}' % result.body
    return b'{"problem":%b}' % orjson.dumps(problem_document(result, request_id))
