"""The companies that a company owns, as their own lists of owners say."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest
from common.contracts.lookup import MAX_SUBSIDIARIES
from lookup.answers.finding import key_of
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.reads import StoredRegister

#: Registers without shareholders: of a company that is nobody's partner they cannot say anything.
_PARTNERS_ONLY: Final = frozenset({Country.NO})

_OWNERSHIP: Final = ("role", "role_text", "share", "votes", "since")


class Subsidiaries(NamedTuple):
    """The subsidiaries of a company: a JSON list or JSON null, and the number of all."""

    listed: bytes
    total: int | None


@dataclass(frozen=True, slots=True)
class ReadSubsidiaries:
    """Reads subsidiaries: the search index has their numbers, and one read their documents."""

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
        # A company that was sold a moment ago is still in the index, and not listed.
        return Subsidiaries(orjson.dumps(listed), found.total - len(keys) + len(listed))


def _listed(owner: CompanyKey, rows: Iterable[CompanyRow]) -> Iterable[dict[str, Any]]:
    """Each company with its first entry of the owner, which is that of the largest share."""
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
