"""Use cases: API key management and batch lookups."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime

from common.contracts.lookup import LookupReply, LookupRequest
from gateway.domain.keys import ApiKey, PresentedKey, Scope, hash_of
from gateway.domain.problems import LookupTimeout, Problem
from gateway.domain.search import SEARCHED
from gateway.ports import KeyStore, Lookups

Clock = Callable[[], datetime]

#: Concurrent searches of one batch, fewer than the lookup service handles at once, so that a batch
#: of a hundred names does not delay other clients.
SEARCHES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class IssueKey:
    keys: KeyStore
    new_key: Callable[[], PresentedKey]
    now: Clock

    async def __call__(self, *, owner: str, name: str, scopes: Iterable[Scope]) -> PresentedKey:
        """Issue a key. Only its hash is stored, so the key cannot be shown again."""
        key = self.new_key()
        await self.keys.add(
            ApiKey(
                id=key.id,
                secret_hash=hash_of(key.secret),
                name=name,
                owner=owner,
                scopes=frozenset(scopes),
                created_at=self.now(),
            )
        )
        return key


@dataclass(frozen=True, slots=True)
class RevokeKey:
    keys: KeyStore
    now: Clock

    async def __call__(self, key_id: str) -> bool:
        """Revoke a key within 10 s everywhere; returns whether it exists."""
        return await self.keys.revoke(key_id, at=self.now())


@dataclass(frozen=True, slots=True)
class LookUpAll:
    lookups: Lookups
    #: Seconds for the whole batch, the same as for a single lookup.
    limit: float = 1.8

    async def __call__(
        self, requests: Sequence[LookupRequest | Problem], *, request_id: str
    ) -> list[LookupReply | Problem]:
        """A result for each lookup, in order and independent of the others, or its problem."""
        turns = asyncio.Semaphore(SEARCHES_AT_ONCE)
        deadline = asyncio.get_running_loop().time() + self.limit

        async def result(request: LookupRequest | Problem) -> LookupReply | Problem:
            if isinstance(request, Problem):
                return request
            is_search = request.questions[0].type in SEARCHED
            turn: AbstractAsyncContextManager[None] = turns if is_search else nullcontext()
            try:
                async with asyncio.timeout_at(deadline), turn:
                    return await self.lookups.find(request, request_id=request_id)
            except TimeoutError:
                return LookupTimeout("the lookup service did not answer in time")
            except Problem as problem:
                return problem

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(result(request)) for request in requests]
        return [task.result() for task in tasks]
