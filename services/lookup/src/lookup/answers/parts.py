"""Parts of a company that are read beside it: units, e-invoicing identifiers, subsidiaries."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country, Include
from common.contracts.find import FindRequest
from common.contracts.lookup import MAX_LISTED, MAX_SUBSIDIARIES, LookupRequest
from lookup.answers.finding import key_of
from lookup.answers.rendering import Candidate, Extras, rendered_units
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.reads import StoredRegister

NO_EXTRAS = Extras()
#: An identifier may be registered for a unit, so e-invoicing needs the units too.
OF_UNITS = frozenset({Include.PRODUCTION_UNITS, Include.EINVOICING})
READ_APART = OF_UNITS | {Include.SUBSIDIARIES}

#: Registers without shareholders: they list no subsidiaries of a company that is no partner.
_PARTNERS_ONLY: Final = frozenset({Country.NO})

_OWNERSHIP: Final = ("role", "role_text", "share", "votes", "since")


async def read_parts(
    register: StoredRegister, searches: IndexSearches, found: Candidate, request: LookupRequest
) -> Extras:
    """Returns the parts that a lookup requests of a company; may raise `Unavailable`."""
    company, extras = found.hit.key, NO_EXTRAS
    if not OF_UNITS.isdisjoint(request.include):
        extras = await read_units(register, company, found.row.core, request.include)
    if Include.SUBSIDIARIES in request.include:
        owned = await ReadSubsidiaries(register, searches)(company, client=request.client)
        extras = extras._replace(subsidiaries=owned.listed, subsidiaries_total=owned.total)
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


class Subsidiaries(NamedTuple):
    """The subsidiaries of a company: a JSON list or JSON null, and the number of all."""

    listed: bytes
    total: int | None


@dataclass(frozen=True, slots=True)
class ReadSubsidiaries:
    """Reads the companies that a company owns, as their own lists of owners say.

    The search index has their numbers, and one read their documents.
    """

    register: StoredRegister
    finds: IndexSearches

    async def __call__(self, owner: CompanyKey, *, client: str) -> Subsidiaries:
        """Returns the first subsidiaries by name, ended ones too; may raise `Unavailable`."""
        found = await self.finds.find(
            FindRequest(
                country=owner.country, owned_by=owner.vat, limit=MAX_SUBSIDIARIES, client=client
            )
        )
        keys = [key_of(position) for position in found.positions]
        rows = await self.register.companies(keys) if keys else {}
        listed = list(_listed(owner, (rows[key] for key in keys if key in rows)))
        if not listed and owner.country in _PARTNERS_ONLY:
            return Subsidiaries(b"null", None)
        # A company that was just sold may still be in the index.
        return Subsidiaries(orjson.dumps(listed), found.total - len(keys) + len(listed))


def _listed(owner: CompanyKey, rows: Iterable[CompanyRow]) -> Iterable[dict[str, Any]]:
    """Yields each company with its first entry of the owner, which is that of the largest share."""
    for row in rows:
        owners = orjson.loads(row.owners) or ()
        entry = next((one for one in owners if one.get("vat") == owner.vat), None)
        if entry is not None:
            company = orjson.loads(row.core)
            yield {
                "vat": company["vat"],
                "name": company["name"],
                "city": (company["address"] or {}).get("city"),
                "status": company["status"],
                **{field: entry.get(field) for field in _OWNERSHIP},
            }
