"""Annual accounts in MongoDB: one document for each filing, period and scope, and their states.

They are not part of the company's document, which is read in every lookup. A filing that another
one replaces is kept; reads leave it out by its missing `current`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson
from bson.regex import Regex

from common.contracts.accounts import AccountsState, AnnualAccounts
from common.contracts.company import CompanyKey, Country
from common.mongo import Database, Reads, translated_errors
from register_store.documents import LOADS, Document

#: `_id` is `<company>/<last day of the period>/<scope>/<id of the filing>`.
ACCOUNTS: Final = "accounts"
#: `_id` is the company; see `AccountsCheck`.
ACCOUNTS_STATES: Final = "accounts_states"
#: The source that has the accounts of each country.
SOURCES: Final = {Country.DK: "dk-regnskab", Country.NO: "no-regnskap"}

#: The place of accounts among those of a company: their `_id` without the company.
PLACE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}/[a-z]{1,10}/[!-~]{1,100}"

#: Legal forms of a natural person's business, whose accounts are the person's.
_SOLE_PROPRIETORS: Final = {Country.DK: frozenset({"10", "15"}), Country.NO: frozenset({"ENK"})}


def accounts_id(company: CompanyKey, accounts: AnnualAccounts) -> str:
    """Returns the `_id` of accounts; in descending order the newest are first."""
    return f"{company}/{accounts.period.end}/{accounts.scope}/{accounts.source.id}"


def accounts_of(company: CompanyKey) -> dict[str, Any]:
    """Returns the query of all accounts of a company."""
    # "0" follows "/"
    return {"_id": {"$gt": f"{company}/", "$lt": f"{company}0"}}


def is_sole_proprietor(country: Country, core: bytes) -> bool:
    """Returns True if a stored company is a natural person's business."""
    form = orjson.loads(core).get("form") or {}
    return form.get("code") in _SOLE_PROPRIETORS[country]


@dataclass(frozen=True, slots=True)
class AccountsCheck:
    """The stored accounts of a company whose register is requested company by company."""

    company: CompanyKey
    #: `unknown` before the first answer.
    state: AccountsState
    checked_at: datetime | None = None
    #: When the register is asked again; None if only a sign leads to that.
    next_at: datetime | None = None
    #: Questions since the sign that have not led to the wanted year.
    tries: int = 0
    #: The year of the last accounts as the company's own record names it.
    wanted: str | None = None

    def document(self) -> Document:
        """Returns the stored document."""
        return {
            "_id": self.company,
            "state": self.state.value,
            "checked_at": self.checked_at,
            "next_at": self.next_at,
            "tries": self.tries,
            "wanted": self.wanted,
        }


def check_of(document: Document) -> AccountsCheck:
    """Returns a stored state."""
    return AccountsCheck(
        CompanyKey.parse(document["_id"]),
        AccountsState(document["state"]),
        document["checked_at"],
        document["next_at"],
        document["tries"],
        document["wanted"],
    )


class AccountsPage(NamedTuple):
    """Current accounts of a company, newest first, as stored JSON."""

    accounts: list[bytes]
    state: AccountsState
    #: The place of the last ones; None on the last page.
    cursor: str | None


class StoredAccounts:
    """Reads of annual accounts. Every method may raise `Unavailable`."""

    def __init__(self, reads: Reads) -> None:
        self._accounts = reads[ACCOUNTS]
        self._states = reads[ACCOUNTS_STATES]
        self._loads = reads[LOADS]

    async def page(self, company: CompanyKey, limit: int, before: str = "") -> AccountsPage:
        """Returns the accounts before a cursor; the newest without one."""
        query: dict[str, Any] = {**accounts_of(company), "current": True}
        if before:
            query["_id"]["$lt"] = f"{company}/{before}"
        found = await self._accounts.find(
            query, {"body": 1}, sort=[("_id", -1)], limit=limit + 1, batch_size=limit + 2
        )
        some = found[:limit]
        cursor = some[-1]["_id"].partition("/")[2] if len(found) > limit else None
        is_known = bool(some or before)
        state = AccountsState.OK if is_known else await self._state(company)
        return AccountsPage([one["body"] for one in some], state, cursor)

    async def _state(self, company: CompanyKey) -> AccountsState:
        """Returns why a company has no accounts."""
        found = await self._states.find({"_id": company}, {"state": 1}, limit=1)
        if found:
            return AccountsState(found[0]["state"])
        if company.country is not Country.DK:
            return AccountsState.UNKNOWN
        # Denmark's index has all filings: what it lacks after its first load does not exist.
        loaded = {"_id": SOURCES[Country.DK], "state": "loaded"}
        has_all = await self._loads.find(loaded, {"_id": 1}, limit=1)
        return AccountsState.NONE if has_all else AccountsState.UNKNOWN


class NewestAccounts:
    """Reads of the newest accounts of many companies, for the search index."""

    def __init__(self, database: Database) -> None:
        self._accounts = database[ACCOUNTS]

    async def __call__(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, Sequence[bytes]]:
        """Returns the accounts of the last period of each that has some, by scope, as stored."""
        if not companies:
            return {}
        newest: dict[str, list[bytes]] = {}
        periods: dict[str, str] = {}
        # A prefix is an interval of `_id`; the same intervals as alternatives are planned one by
        # one, which takes longer than reading them.
        ids = [Regex(f"^{company}/") for company in companies]
        query = {"_id": {"$in": ids}, "current": True}
        with translated_errors():
            found = self._accounts.find(query, {"body": 1}, batch_size=_BATCH)
            while documents := await found.to_list(_BATCH):
                for document in documents:
                    company, end, _ = document["_id"].split("/", 2)
                    if end > periods.get(company, ""):
                        periods[company], newest[company] = end, []
                    if end == periods[company]:
                        newest[company].append(document["body"])
        return {CompanyKey.parse(company): bodies for company, bodies in newest.items()}


#: Accounts that are read at once.
_BATCH: Final = 2_000


def ranges(companies: Collection[CompanyKey]) -> dict[str, Any]:
    """Returns the query of all accounts of some companies, which must not be empty."""
    return {"$or": [accounts_of(company) for company in companies]}
