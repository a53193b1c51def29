"""Pages of a company's production units."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from common.contracts.company import CompanyKey
from common.contracts.failures import Failure, FailureCode, FieldError
from common.contracts.lookup import UnitsReply, UnitsRequest
from lookup.answers.rendering import rendered_units
from lookup.search.turns import Turns
from lookup.store.reads import StoredRegister
from lookup.store.units import UnitOrder, UnitPosition

#: The section of a unit and its number, none of the main unit.
_CURSOR = re.compile(r"([0-2])([0-9]{0,10})")


@dataclass(frozen=True, slots=True)
class AnswerUnits:
    """Answers batches of requests for a page of a company's production units."""

    register: StoredRegister
    turns: Turns = field(default_factory=lambda: Turns(of_one=2, others=2))

    async def __call__(self, requests: Sequence[UnitsRequest]) -> list[UnitsReply | Failure]:
        """Returns one page per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._in_turn, requests))

    async def _in_turn(self, request: UnitsRequest) -> UnitsReply | Failure:
        async with self.turns.taken(request.client):
            return await self._page(request)

    async def _page(self, request: UnitsRequest) -> UnitsReply | Failure:
        company = CompanyKey(request.country, request.vat)
        position = _position(company, request.after)
        if position is None and request.after:
            return _bad_cursor()
        row = (await self.register.companies([company])).get(company)
        if row is None:
            detail = "no company in the register has this number"
            return Failure(code=FailureCode.COMPANY_NOT_FOUND, detail=detail)
        order = await self.register.units.order(company, row.core)
        keys, following = order.page(request.limit, position)
        cores = await self.register.units.cores(order, keys)
        units = rendered_units(keys, cores, order.main)
        return UnitsReply(body=_document(units, order, following))


def _document(units: bytes, order: UnitOrder, following: UnitPosition | None) -> bytes:
    cursor = following and f"{following.section}{following.key.partition(':')[2]}"
    return b'{"production_units":%b,"total":%d,"cursor":%b}' % (
        units,
        order.total,
        orjson.dumps(cursor),
    )


def _position(company: CompanyKey, cursor: str) -> UnitPosition | None:
    """Returns the position that a cursor encodes; None if it is no cursor."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        return None
    section, number = found.groups()
    return UnitPosition(int(section), f"{company.country}:{number}")


def _bad_cursor() -> Failure:
    message = "must be the cursor of an earlier answer"
    return Failure(
        code=FailureCode.INVALID_PARAMETER,
        detail=f"after: {message}",
        errors=(FieldError(parameter="after", message=message),),
    )
