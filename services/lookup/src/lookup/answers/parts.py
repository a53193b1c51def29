"""Parts of a company that are read apart, and pages of its lists."""

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from common.contracts.accounts import MAX_ACCOUNTS
from common.contracts.company import CompanyKey, Country, Include, Owner, Role
from common.contracts.failures import Failure, FailureCode, FieldError
from common.contracts.find import FindRequest
from common.contracts.lookup import (
    MAX_LISTED,
    MAX_SUBSIDIARIES,
    ListedPart,
    LookupRequest,
    PartReply,
    PartRequest,
)
from common.domain.countries import day_of
from lookup.answers.history import DATED, history_page
from lookup.answers.rendering import Candidate, Extras, described, removed, rendered_units
from lookup.search.indexed_company import company_key
from lookup.search.scheduling import FairQueue
from lookup.search.searcher import IndexSearches
from register_store.accounts import PLACE, AccountsPage
from register_store.documents import CompanyRow, completed_entries
from register_store.lists import EntryPosition, UnitPosition
from register_store.reads import StoredRegister

NO_EXTRAS = Extras()
#: An identifier may be registered for a unit, so e-invoicing needs the units too.
OF_UNITS = frozenset({Include.PRODUCTION_UNITS, Include.EINVOICING})
#: The parts that take reads of their own for each company of a copy.
READ_IN_COPIES = OF_UNITS | {Include.ANNUAL_ACCOUNTS}
READ_APART = READ_IN_COPIES | {Include.SUBSIDIARIES}

#: Registers without shareholders: they list no subsidiaries of a company that is no partner.
_PARTNERS_ONLY: Final = frozenset({Country.NO})

_OWNERSHIP: Final = ("role", "role_text", "share", "votes", "since", "source")


async def read_parts(
    register: StoredRegister, searches: IndexSearches, found: Candidate, request: LookupRequest
) -> Extras:
    """Returns the parts that a lookup requests of a company; may raise `Unavailable`."""
    company = found.hit.key
    extras = await read_company(register, company, found.row.core, request.include)
    if Include.SUBSIDIARIES in request.include:
        listed, total = await _subsidiaries(register, searches, company, request.client)
        extras = extras._replace(subsidiaries=listed, subsidiaries_total=total)
    return extras


async def read_company(
    register: StoredRegister, company: CompanyKey, core: bytes, include: Collection[Include]
) -> Extras:
    """Returns the parts of a company that a lookup and a copy read for it alone."""
    extras = NO_EXTRAS
    if not OF_UNITS.isdisjoint(include):
        extras = await read_units(register, company, core, include)
    if Include.ANNUAL_ACCOUNTS in include:
        page = await register.accounts.page(company, MAX_ACCOUNTS)
        extras = extras._replace(accounts=page.accounts, accounts_state=page.state)
    return extras


async def read_units(
    register: StoredRegister, company: CompanyKey, core: bytes, include: Collection[Include]
) -> Extras:
    """Returns the units and the e-invoicing identifiers of a company, as far as they are wanted."""
    order = await register.units.order(company, core)
    extras = NO_EXTRAS
    if Include.PRODUCTION_UNITS in include:
        first, _ = order.page(MAX_LISTED)
        cores = await register.units.cores(order, first)
        units = rendered_units(first, cores, order.main)
        extras = extras._replace(units=units, units_total=order.total)
    if Include.EINVOICING in include:
        # The company's own identifiers, then those of its units, as in events.
        page = await register.entries.page(company, order.stored, MAX_LISTED)
        extras = extras._replace(einvoicing=page.entries, einvoicing_total=page.total)
    return extras


async def _subsidiaries(
    register: StoredRegister, searches: IndexSearches, owner: CompanyKey, client: str
) -> tuple[bytes, int | None]:
    """Returns the first subsidiaries by name, ended ones too, and the number of all.

    The search index has their numbers, and the lists of owners of their documents decide.
    """
    found = await searches.find(
        FindRequest(
            country=owner.country, owned_by=owner.vat, limit=MAX_SUBSIDIARIES, client=client
        )
    )
    keys = [company_key(one.country, one.number) for one in found.positions]
    rows = await register.companies(keys) if keys else {}
    listed: list[dict[str, Any]] = []
    for row in (rows[key] for key in keys if key in rows):
        # The first entry of the owner is that of the largest share.
        owners = orjson.loads(row.owners) or ()
        entry = next((one for one in owners if one.get("vat") == owner.vat), None)
        if entry is not None:
            company = orjson.loads(row.core)
            ownership = {field: entry.get(field) for field in _OWNERSHIP}
            listed.append({**described(company), **ownership})
    if not listed and owner.country in _PARTNERS_ONLY:
        return b"null", None
    # A company that was just sold may still be in the index.
    return orjson.dumps(listed), found.total - len(keys) + len(listed)


#: By part: the section of a unit and its number, none of the main unit; the section of an
#: identifier and itself; the number of entries on the pages before.
_CURSORS: Final = {
    ListedPart.PRODUCTION_UNITS: re.compile(r"([0-2])([0-9]{0,10})"),
    ListedPart.EINVOICING: re.compile(r"([01])([!-~]{1,200})"),
    ListedPart.OWNERS: re.compile(r"()([0-9]{1,7})"),
    ListedPart.ROLES: re.compile(r"()([0-9]{1,7})"),
    # The place of a change; of a dated entry, the number of those before it.
    ListedPart.HISTORY: re.compile(rf"({DATED}?)([0-9]{{1,12}})"),
    ListedPart.ACCOUNTS: re.compile(f"()({PLACE})"),
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
    queue: FairQueue = field(default_factory=lambda: FairQueue(per_client=2, others=2))
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def __call__(self, requests: Sequence[PartRequest]) -> list[PartReply | Failure]:
        """Returns one page per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._in_turn, requests))

    async def _in_turn(self, request: PartRequest) -> PartReply | Failure:
        async with self.queue.turn(request.client):
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
        if request.part is ListedPart.HISTORY:
            is_dated = section == DATED
            body = await history_page(
                self.register.history,
                company,
                row,
                request.limit,
                dated=is_dated,
                after=last,
                since=request.since,
                today=day_of(self.now()),
            )
            return PartReply(body=body)
        if request.part is ListedPart.ACCOUNTS:
            accounts = await self.register.accounts.page(company, request.limit, last)
            return PartReply(body=accounts_body(accounts))
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
                return _of_list(row.owners, Owner, request.limit, int(last or 0))
            case _:
                return _of_list(row.roles, Role, request.limit, int(last or 0))

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


def accounts_body(page: AccountsPage) -> bytes:
    """Returns a page of annual accounts as the client receives it."""
    return b'{"annual_accounts":[%b],"accounts_state":%b,"cursor":%b}' % (
        b",".join(page.accounts),
        orjson.dumps(page.state),
        orjson.dumps(page.cursor),
    )


def _of_list(listed: bytes, model: type[Owner | Role], limit: int, begin: int) -> Page:
    entries = orjson.loads(listed)
    if entries is None:
        return Page(listed, None, None)
    end = begin + limit
    cursor = str(end) if end < len(entries) else None
    page = completed_entries(entries[begin:end], model)
    return Page(orjson.dumps(page), len(entries), cursor)


def _bad_cursor() -> Failure:
    message = "must be the cursor of an earlier answer"
    return Failure(
        code=FailureCode.INVALID_PARAMETER,
        detail=f"after: {message}",
        errors=(FieldError(parameter="after", message=message),),
    )
