"""Batch lookups over HTTP: the companies' JSON is passed through, never parsed."""

from collections.abc import Awaitable, Callable, Iterable

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.lookup import LookupReply
from gateway.access.keys import ApiKey
from gateway.access.limits import Quota
from gateway.http.bodies import json_body, json_response
from gateway.http.context import REQUEST_CONTEXT
from gateway.http.problem_responses import problem_document
from gateway.lookups.batch import parse_batch
from gateway.lookups.batches import LookUpAll
from gateway.problems import Problem

BATCH_PATH = "/api/batch"

#: Counts further requests of a key, or raises RateLimited.
Charge = Callable[[ApiKey, int], Awaitable[Quota]]


def batch_handler(look_up_all: LookUpAll, charge: Charge) -> Handler:
    """The handler of batches; the request itself was counted as the first of its lookups."""

    async def look_up(request: web.Request) -> web.Response:
        lookups = parse_batch(await json_body(request))
        context = request[REQUEST_CONTEXT]
        if context.key is not None:
            context.quota = await charge(context.key, len(lookups) - 1)
        results = await look_up_all(lookups, request_id=context.request_id)
        return json_response(_document(results, context.request_id))

    return look_up


def _document(results: Iterable[LookupReply | Problem], request_id: str) -> bytes:
    return b'{"results":[%b]}' % b",".join(_member(result, request_id) for result in results)


def _member(result: LookupReply | Problem, request_id: str) -> bytes:
    if isinstance(result, LookupReply):
        return b'{"company":%b}' % result.body
    return b'{"problem":%b}' % orjson.dumps(problem_document(result, request_id))
