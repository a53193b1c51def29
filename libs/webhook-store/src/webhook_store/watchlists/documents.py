"""MongoDB documents of watchlists.

A company in a list is one document of `MEMBERS`. Its id is the company's key and the list's id, so
the ids of the lists that have a company are a range of the index of ids.
"""

from collections.abc import Collection
from typing import Any

from bson.regex import Regex

from common.contracts.company import CompanyKey
from common.contracts.watchlists import Watchlist, WatchlistId

Document = dict[str, Any]

WATCHLISTS = "watchlists"
MEMBERS = "watchlist_members"
#: Owners whose lists are being changed.
LOCKS = "watchlist_locks"

_BETWEEN = "/"


def watchlist_document(watchlist: Watchlist) -> Document:
    """Returns the document of a new watchlist."""
    fields = watchlist.model_dump(exclude={"id"})
    return {"_id": watchlist.id, **fields, "owner": watchlist.owner}


def watchlist_of(document: Document) -> Watchlist:
    """Returns the watchlist of a stored document."""
    return Watchlist.model_validate({**document, "id": document["_id"]})


def member_id(company: CompanyKey, watchlist_id: str) -> str:
    """Returns the id of a company in a list."""
    return f"{company}{_BETWEEN}{watchlist_id}"


def company_of(member: str) -> CompanyKey:
    """Returns the company of a member's id."""
    return CompanyKey.parse(member.partition(_BETWEEN)[0])


def parts_of(member: str) -> tuple[CompanyKey, WatchlistId]:
    """Returns the company and the list of a member's id."""
    company, _, watchlist_id = member.partition(_BETWEEN)
    return CompanyKey.parse(company), WatchlistId(watchlist_id)


def ids_of(companies: Collection[CompanyKey]) -> Document:
    """Returns the condition on the ids of these companies' members.

    MongoDB reads a prefix as a range of the index, which `$in` combines to one scan. It does so
    without flags only: a compiled pattern of Python has one, and every id would be compared.
    """
    return {"$in": [Regex(f"^{company}{_BETWEEN}") for company in companies]}
