"""Purging a company that its register ordered removed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from common.contracts.company import CompanyKey, Country
from lookup.domain.records import Kind
from lookup.ports import LoadStates, RegisterWriter

_KIND = {Country.DK: Kind.DK_COMPANIES, Country.NO: Kind.NO_ENTITIES}


@dataclass(frozen=True, slots=True)
class RemoveCompany:
    writer: RegisterWriter
    states: LoadStates
    now: Callable[[], datetime]

    async def __call__(self, key: CompanyKey) -> bool:
        """Removes all that is stored of a company, and leaves a tombstone; False if unknown.

        Subscribers are told, unless the register is still being loaded for the first time.
        """
        known = await self.writer.known(companies=[key])
        if key in known.tombstones and key not in known.companies:
            # Once is enough: removing it again would also take back the word of its removal.
            return False
        announces = await self.states.is_loaded(_KIND[Country(key.partition(":")[0])])
        return await self.writer.remove(key, at=self.now(), announces=announces)
