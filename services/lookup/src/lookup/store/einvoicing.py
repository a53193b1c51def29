"""The companies that receive electronic documents, themselves or through a production unit."""

from collections.abc import Collection, Sequence

from common.contracts.company import CompanyKey, Country
from common.mongo import Database, translated_errors
from lookup.store.documents import PARTICIPANTS, UNITS

#: Keys of one read.
_BATCH = 2_000


class StoredEinvoicing:
    """Reads of the holders of e-invoicing identifiers."""

    def __init__(self, database: Database) -> None:
        self._units = database[UNITS]
        self._participants = database[PARTICIPANTS]

    async def receivers(self, country: Country) -> Collection[str]:
        """Returns the keys of every company of a country that receives electronic documents."""
        receivers: set[str] = set()
        of_country = {"holder": {"$gte": f"{country}:", "$lt": f"{country};"}}  # ";" follows ":"
        with translated_errors():
            cursor = self._participants.find(of_country, {"_id": 0, "holder": 1}, batch_size=_BATCH)
            while documents := await cursor.to_list(_BATCH):
                holders = {one["holder"] for one in documents}
                units = await self._units.find(
                    {"_id": {"$in": list(holders)}}, {"company": 1}
                ).to_list(None)
                receivers |= holders.difference(unit["_id"] for unit in units)
                receivers |= {unit["company"] for unit in units}
        return receivers

    async def receivers_among(self, companies: Sequence[CompanyKey]) -> Collection[CompanyKey]:
        """Returns those of some companies that receive electronic documents."""
        company_of = {str(key): key for key in companies}
        with translated_errors():
            units = await self._units.find(
                {"company": {"$in": list(company_of)}}, {"company": 1}
            ).to_list(None)
            company_of |= {unit["_id"]: company_of[unit["company"]] for unit in units}
            found = await self._participants.find(
                {"holder": {"$in": list(company_of)}}, {"_id": 0, "holder": 1}
            ).to_list(None)
        return {company_of[one["holder"]] for one in found}
