"""Pages of the lists of a company: its units, e-invoicing identifiers, owners and roles."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import orjson

from common.contracts.company import CompanyKey
from common.contracts.failures import Failure, FailureCode, FieldError
from common.contracts.lookup import ListedPart, PartReply, PartRequest
from lookup.answers.rendering import removed, rendered_units
from lookup.search.turns import Turns
from lookup.store.documents import CompanyRow
from lookup.store.einvoicing import EntryPosition
from lookup.store.reads import StoredRegister
from lookup.store.units import UnitPosition

#: By part: the section of a unit and its number, none of the main unit; the section of an
#: identifier and itself; the number of entries on the pages before.
_CURSORS: Final = {
    ListedPart.PRODUCTION_UNITS: re.compile(r"([0-2])([0-9]{0,10})"),
    ListedPart.EINVOICING: re.compile(r"([01])([!-~]{1,200})"),
    ListedPart.OWNERS: re.compile(r"()([0-9]{1,7})"),
    ListedPart.ROLES: re.compile(r"()([0-9]{1,7})"),
}


class Page(NamedTuple):
    """A JSON list, the number of entries on all pages, and the cursor; JSON null if unknown."""

    listed: bytes
    total: int | None
    cursor: str | None


@dataclass(frozen=True, slots=True)
class AnswerPages:
    """Answers batches of requests for a page of a list of a company."""

    register: StoredRegister
    turns: Turns = field(default_factory=lambda: Turns(of_one=2, others=2))

    async def __call__(self, requests: Sequence[PartRequest]) -> list[PartReply | Failure]:
        """Returns one page per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._in_turn, requests))

    async def _in_turn(self, request: PartRequest) -> PartReply | Failure:
        async with self.turns.taken(request.client):
            return await self._reply(request)

    async def _reply(self, request: PartRequest) -> PartReply | Failure:
        company = CompanyKey(request.country, request.vat)
        place = _CURSORS[request.part].fullmatch(request.after)
        if place is None and request.after:
            return _bad_cursor()
        row = (await self.register.companies([company])).get(company)
        if row is None:
            if on := (await self.register.removed([company])).get(company):
                return removed(on)
            detail = "no company in the register has this number"
            return Failure(code=FailureCode.COMPANY_NOT_FOUND, detail=detail)
        section, last = place.groups() if place else ("", "")
        page = await self._page(request, company, row, section, last)
        body = b'{"%b":%b,"total":%b,"cursor":%b}' % (
            request.part.encode(),
            page.listed,
            orjson.dumps(page.total),
            orjson.dumps(page.cursor),
        )
        return PartReply(body=body)

    async def _page(
        self, request: PartRequest, company: CompanyKey, row: CompanyRow, section: str, last: str
    ) -> Page:
        match request.part:
            case ListedPart.PRODUCTION_UNITS:
                after = UnitPosition(int(section), f"{company.country}:{last}") if section else None
                return await self._units(company, row, request, after)
            case ListedPart.EINVOICING:
                place = EntryPosition(int(section), last) if section else None
                return await self._einvoicing(company, row, request.limit, place)
            case ListedPart.OWNERS:
                return _of_list(row.owners, request.limit, int(last or 0))
            case ListedPart.ROLES:
                return _of_list(row.roles, request.limit, int(last or 0))

    async def _units(
        self, company: CompanyKey, row: CompanyRow, request: PartRequest, after: UnitPosition | None
    ) -> Page:
        order = await self.register.units.order(company, row.core)
        if request.advertising_protected is not None:
            wanted = await self.register.units.protected(company, request.advertising_protected)
            order = order.only(wanted)
        keys, following = order.page(request.limit, after)
        cores = await self.register.units.cores(order, keys)
        units = rendered_units(keys, cores, order.main)
        cursor = following and f"{following.section}{following.key.partition(':')[2]}"
        return Page(units, order.total, cursor)

    async def _einvoicing(
        self, company: CompanyKey, row: CompanyRow, limit: int, after: EntryPosition | None
    ) -> Page:
        order = await self.register.units.order(company, row.core)
        found = await self.register.entries.page(company, order.stored, limit, after)
        following = found.following
        cursor = following and f"{following.section}{following.identifier}"
        return Page(b"[%b]" % b",".join(found.entries), found.total, cursor)


def _of_list(listed: bytes, limit: int, begin: int) -> Page:
    """Returns a page of a list that is stored as a whole."""
    entries = orjson.loads(listed)
    if entries is None:
        return Page(listed, None, None)
    end = begin + limit
    cursor = str(end) if end < len(entries) else None
    return Page(orjson.dumps(entries[begin:end]), len(entries), cursor)


def _bad_cursor() -> Failure:
    message = "must be the cursor of an earlier answer"
    return Failure(
        code=FailureCode.INVALID_PARAMETER,
        detail=f"after: {message}",
        errors=(FieldError(parameter="after", message=message),),
    )
