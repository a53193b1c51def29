"""Checks whether the register has companies, for the watchlists of owners."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from common.contracts.company import CompanyKey
from common.contracts.watchlists import KnownReply, KnownRequest
from lookup.store.reads import StoredRegister


@dataclass(frozen=True, slots=True)
class AnswerKnown:
    """Answers requests for the numbers that the register lacks."""

    register: StoredRegister

    async def __call__(self, requests: Sequence[KnownRequest]) -> list[KnownReply]:
        """Returns one reply per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._unknown, requests))

    async def _unknown(self, request: KnownRequest) -> KnownReply:
        keys = {number: CompanyKey(request.country, number) for number in request.numbers}
        known = await self.register.known(keys.values())
        return KnownReply(unknown=tuple(number for number in keys if keys[number] not in known))
