"""Many lookups in one request; the companies' JSON is passed through, never parsed.

An error in one lookup of a batch, such as an unknown field, a number for a text or a registration
number of seven digits, fails only that lookup.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.lookup import LookupReply, LookupRequest
from common.domain.sentences import unknown_names
from common.runtime.public_port.rates import Quota
from gateway.access.clients import Caller
from gateway.access.keys import ApiKey
from gateway.http.middleware import REQUEST_CONTEXT
from gateway.http.parameters import COUNTRY, invalid_parameters
from gateway.http.responses import (
    invalid_body,
    json_body,
    json_object,
    json_response,
    problem_document,
)
from gateway.lookups.lookup import INCLUDE, SEARCH_PARAMETERS, Lookups, parse_lookup
from gateway.lookups.terms import takes_long
from gateway.problems import BatchTooLarge, LookupTimeout, Problem

BATCH_PATH = "/api/batch"

LOOKUPS = "lookups"
MAX_LOOKUPS = 100
FIELDS = (COUNTRY, *SEARCH_PARAMETERS, INCLUDE)

#: Counts further requests of a key, or raises RateLimited.
Charge = Callable[[ApiKey, int], Quota]

#: Concurrent searches and lookups of large companies of one batch, fewer than the lookup service
#: handles at once, so that a batch of a hundred names does not delay other clients.
SEARCHES_AT_ONCE = 8
#: Bytes of the companies of one answer. A company may have thousands of e-invoicing identifiers,
#: and a batch a hundred such companies.
MAX_SIZE = 12 * 1024 * 1024


def parse_batch(body: bytes) -> list[LookupRequest | Problem]:
    """Returns each lookup or its problem, in order; raises InvalidBody if it is no batch."""
    return [_lookup(place, lookup) for place, lookup in enumerate(_lookup_list(body))]


def _lookup_list(body: bytes) -> list[Any]:
    document = json_object(body)
    faults = unknown_names("field", document, (LOOKUPS,))
    lookups = document.get(LOOKUPS)
    if not isinstance(lookups, list) or not 1 <= len(lookups) <= MAX_LOOKUPS:
        faults.append((LOOKUPS, f"give a list of 1 to {MAX_LOOKUPS} lookups"))
    if faults or not isinstance(lookups, list):
        raise invalid_body(faults)
    return lookups


def _lookup(place: int, lookup: object) -> LookupRequest | Problem:
    if not isinstance(lookup, dict):
        return invalid_parameters([(f"{LOOKUPS}[{place}]", "give an object")])
    given = {name: lookup[name] for name in FIELDS if lookup.get(name) is not None}
    parts = given.pop(INCLUDE, [])
    parts = parts if isinstance(parts, list) else [parts]
    faults = unknown_names("field", lookup, FIELDS)
    faults += [(name, "give a string") for name in given if not isinstance(given[name], str)]
    if not all(isinstance(part, str) for part in parts):
        faults.append((INCLUDE, "give a list of strings"))
    if faults:
        return invalid_parameters(faults)
    parameters = {name: (text,) for name, text in given.items()}
    try:
        return parse_lookup({**parameters, INCLUDE: parts} if parts else parameters)[0]
    except Problem as problem:
        return problem


@dataclass(frozen=True, slots=True)
class LookUpAll:
    """Answers the lookups of a batch concurrently, within the time of a single one."""

    lookups: Lookups
    #: Seconds for the whole batch, the same as for a single lookup.
    timeout: float = 1.8

    async def __call__(
        self, requests: Sequence[LookupRequest | Problem], *, caller: Caller
    ) -> list[LookupReply | Problem]:
        """Returns the result or problem of each lookup, in order and independent of the others."""
        turns = asyncio.Semaphore(SEARCHES_AT_ONCE)
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.timeout
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
                    # The lookup service returns by then what it has found for others of the batch.
                    left = max(0.0, deadline - clock())
                    reply = await self.lookups.look_up(request, caller=caller, timeout=left)
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
        results = await look_up_all(lookups, caller=context.caller)
        members = b",".join(_member(result, context.request_id) for result in results)
        return json_response(b'{"results":[%b]}' % members)

    return look_up


def _member(result: LookupReply | Problem, request_id: str) -> bytes:
    if isinstance(result, LookupReply):
        return b'{"company":%b}' % result.body
    return b'{"problem":%b}' % orjson.dumps(problem_document(result, request_id))
