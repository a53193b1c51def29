"""Lookups and suggestions as they come over the broker."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.lookup import LookupRequest, SuggestRequest
from common.messaging.rpc import Asked, Result

Q = TypeVar("Q", LookupRequest, SuggestRequest)

#: One result for each request of a list.
Answer = Callable[[Sequence[Q]], Awaitable[Sequence[Result]]]

LATE = Failure(code=FailureCode.LOOKUP_TIMEOUT, detail="the answer was not ready in time")
FAILED = Failure(code=FailureCode.INTERNAL_ERROR, detail="an internal error")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Reads(Generic[Q]):
    """The whole list is one question to the database."""

    answer: Answer[Q]

    async def __call__(self, asked: Sequence[Asked[Q]]) -> list[Result]:
        started = asyncio.get_running_loop().time()
        try:
            results: list[Result] = list(await self.answer([item.request for item in asked]))
        except Unavailable:
            raise
        except Exception:
            # One request that cannot be answered must not take its neighbours with it.
            log.exception("lookup.list_failed", request_ids=[item.request_id for item in asked])
            results = [await _alone(self.answer, item) for item in asked]
        _note(asked, results, started)
        return results


@dataclass(frozen=True, slots=True)
class SearchReads(Generic[Q]):
    """Searches: each takes its own time, so each is answered, or late, by itself."""

    answer: Answer[Q]

    async def __call__(self, asked: Sequence[Asked[Q]]) -> list[Result]:
        started = asyncio.get_running_loop().time()
        results = list(await asyncio.gather(*(_alone(self.answer, item) for item in asked)))
        _note(asked, results, started)
        return results


async def _alone(answer: Answer[Q], item: Asked[Q]) -> Result:
    try:
        async with asyncio.timeout_at(item.deadline):
            [result] = await answer([item.request])
    except TimeoutError:
        return LATE
    except Unavailable as outage:
        return Failure(code=FailureCode.SERVICE_UNAVAILABLE, detail=str(outage))
    except Exception:
        log.exception("lookup.failed", request_id=item.request_id)
        return FAILED
    return result


def _note(asked: Sequence[Asked[Q]], results: Sequence[Result], started: float) -> None:
    """One line a request; what was searched for is not in it, since it may name a person."""
    milliseconds = round((asyncio.get_running_loop().time() - started) * 1000, 2)
    for item, result in zip(asked, results, strict=True):
        log.info(
            "lookup.done",
            request_id=item.request_id,
            country=item.request.country,
            search_type=_search_type(item.request),
            result=result.code if isinstance(result, Failure) else "found",
            duration_ms=milliseconds,
            list_size=len(asked),
        )


def _search_type(request: LookupRequest | SuggestRequest) -> str:
    return request.questions[0].type if isinstance(request, LookupRequest) else "suggest"
