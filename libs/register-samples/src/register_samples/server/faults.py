"""Faults of the next requests to a path, on demand."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from register_samples.server.messages import json_answer


class Fault(Protocol):
    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Returns the faulty answer; `handler` returns the right one."""


@dataclass(frozen=True, slots=True)
class TooManyRequests:
    """429, with Retry-After in seconds if it is given."""

    retry_after: int | None = None

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.Response(status=429, headers=headers)


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer with this status and an HTML body, as from a proxy in front of a register."""

    status: int = 500

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        page = "<html><body>It went wrong.</body></html>"
        return web.Response(status=self.status, text=page, content_type="text/html")


@dataclass(frozen=True, slots=True)
class Slow:
    """The right answer after a delay."""

    seconds: float

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        await asyncio.sleep(self.seconds)
        return await handler(request)


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """The right answer, cut to this share of its bytes.

    It is a whole answer, as from a proxy that lost the rest, unless `told`: then the length is the
    right one and the connection ends before it.
    """

    share: float = 0.5
    told: bool = False

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        answer = await handler(request)
        whole = _body(answer)
        part = whole[: int(len(whole) * self.share)]
        names = ("ETag", "Last-Modified", "Content-Type")
        headers = {name: answer.headers[name] for name in names if name in answer.headers}
        if not self.told:
            return web.Response(body=part, headers=headers)
        broken = web.StreamResponse(headers={**headers, "Content-Length": str(len(whole))})
        await broken.prepare(request)
        await broken.write(part)
        if request.transport is not None:
            request.transport.close()
        return broken


@dataclass(frozen=True, slots=True)
class ShardFailed:
    """An answer of CVR's search with 200 and every second hit, as with a failed shard."""

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        content = orjson.loads(_body(await handler(request)))
        content["_shards"] |= {"successful": content["_shards"]["successful"] - 1, "failed": 1}
        content["hits"]["hits"] = content["hits"]["hits"][::2]
        return json_answer(content)


def _body(answer: web.StreamResponse) -> bytes:
    whole = answer.body if isinstance(answer, web.Response) else None
    if not isinstance(whole, bytes):
        raise TypeError("only an answer with a body can be spoilt")
    return whole


@dataclass
class Faults:
    """The next faults, in order, by the end of the path."""

    _planned: dict[str, deque[Fault]] = field(default_factory=dict)

    def plan(self, path: str, *faults: Fault) -> None:
        """Plans these faults, one for each of the next requests whose path ends with the text."""
        self._planned.setdefault(path, deque()).extend(faults)

    def next(self, path: str) -> Fault | None:
        for ending, faults in self._planned.items():
            if faults and path.endswith(ending):
                return faults.popleft()
        return None

    @property
    def pending(self) -> int:
        """The number of planned faults that have not occurred."""
        return sum(len(faults) for faults in self._planned.values())
