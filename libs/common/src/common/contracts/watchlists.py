"""Watchlists, named lists of companies that are followed, and their digests (ADR 0054, 0092).

Webhooks and readers of the feed follow a list; a digest is its news by e-mail, to an address that
has confirmed.
"""

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NewType

from pydantic import Field

from common.contracts.company import CompanyKeyText, Country
from common.contracts.contract import Contract, Timestamp

#: `wl_` and 32 hexadecimal digits.
WatchlistId = NewType("WatchlistId", str)
WATCHLIST_ID: Final = re.compile("wl_[0-9a-f]{32}")

#: Maximum number of companies in one request that changes a list, and in a page of them.
MAX_CHANGED = 10_000
#: Companies in a page by default.
DEFAULT_WATCHED = 1_000


class Watchlist(Contract):
    """A list of companies; its JSON is public and omits the excluded field."""

    id: WatchlistId
    owner: str = Field(exclude=True)
    name: str
    description: str | None
    #: The number of its companies.
    size: int = 0
    #: True if its Atom feed has an address.
    has_feed: bool = False
    created_at: Timestamp
    updated_at: Timestamp


class WatchlistList(Contract):
    """The watchlists of an owner."""

    watchlists: tuple[Watchlist, ...]


#: The path of a list's Atom feed, whose query has its token.
ATOM_PATH = "/api/watchlists/{watchlist_id}/feed.atom"


class WatchlistFeed(Contract):
    """The private address of a list's Atom feed, which is shown once."""

    url: str = Field(repr=False)


class WatchedQuery(Contract):
    """Selects a page of the companies of a list, in the order of their keys, or lists."""

    limit: int = Field(default=DEFAULT_WATCHED, ge=1, le=MAX_CHANGED)
    #: The last company of the previous page.
    after: CompanyKeyText | None = None
    #: How often the list had been replaced then; None from an earlier release.
    replaced: int | None = None
    #: Of lists, only those that have this company; None for all.
    company: CompanyKeyText | None = None


class WatchedCompanies(Contract):
    """A page of the companies of a list."""

    companies: tuple[CompanyKeyText, ...]
    #: `after` of the next page; None at the end.
    cursor: str | None = None


class InvalidCompany(Contract):
    """An entry of a change that names no company."""

    #: Its place, such as `add[3]`.
    parameter: str
    #: As it was sent, cut to 100 characters.
    value: str
    message: str


class WatchlistChange(Contract):
    """The effect of a request that adds or removes companies."""

    #: The number of companies that the list did not have.
    added: int
    #: The number of companies to add that the list had already.
    present: int
    removed: int
    #: The number of companies in the list after the change.
    size: int
    #: Companies that no register has; they are not added.
    unknown: tuple[CompanyKeyText, ...]
    #: Entries that cannot be read, if the request skips them.
    invalid: tuple[InvalidCompany, ...] = ()


class KnownRequest(Contract):
    """Asks the lookup service which companies its register has."""

    country: Country
    #: Registration numbers.
    numbers: tuple[str, ...] = Field(max_length=MAX_CHANGED)


class KnownReply(Contract):
    """The numbers among the requested ones that the register does not have."""

    unknown: tuple[str, ...]


#: Watchlists of at most so many companies together are read as a whole.
MAX_WHOLE = 200
#: Maximum number of lists in one reading of the feed, and of companies that are compared with them.
MAX_READ, MAX_COMPARED = 10, 20_000


def packed(numbers: Iterable[int]) -> bytes:
    """Returns registration numbers in order, four bytes each, the lowest first."""
    ordered = array("I", sorted(numbers))
    if sys.byteorder == "big":
        ordered.byteswap()
    return ordered.tobytes()


def part_after(numbers: bytes, number: int, count: int) -> bytes:
    """Returns the first packed numbers above one, at most so many."""

    def read(place: int) -> int:
        return int.from_bytes(numbers[4 * place : 4 * place + 4], "little")

    start = bisect_right(range(len(numbers) // 4), number, key=read)
    return numbers[4 * start : 4 * (start + count)]


class WatchedRequest(Contract):
    """Asks the registry which companies an owner's lists have."""

    owner: str
    #: Unvalidated ids.
    watchlists: tuple[str, ...] = Field(min_length=1, max_length=MAX_READ)
    #: The companies to compare; None requests all, if they are few.
    companies: tuple[CompanyKeyText, ...] | None = Field(default=None, max_length=MAX_COMPARED)
    #: The SHA-256 of the token of the list's feed, in hexadecimal: instead of an owner, whom the
    #: reply then has. A registry of the release before finds no list, since the owner is empty.
    token_hash: str | None = Field(default=None, repr=False)
    #: Requests the numbers of all companies of one list, however many they are. A registry of the
    #: release before sends none.
    numbers: bool = False


class WatchedReply(Contract):
    """The companies that one of the lists has; None if all were requested and they are many."""

    companies: tuple[CompanyKeyText, ...] | None
    #: Only for a token: the list that it is for.
    name: str = ""
    owner: str = ""
    updated_at: Timestamp | None = None
    #: Only if requested: the numbers of all companies by country, `packed`.
    numbers: Mapping[str, bytes] | None = Field(default=None, repr=False)


#: `dg_` and 32 hexadecimal digits.
DigestId = NewType("DigestId", str)

#: The paths of the pages that messages link to; their query has the token.
CONFIRM_PATH: Final = "/api/digests/{digest_id}/confirm"
UNSUBSCRIBE_PATH: Final = "/api/digests/{digest_id}/unsubscribe"


class Period(StrEnum):
    """When a digest is sent."""

    DAILY = "daily"
    #: Within a minute of a change.
    IMMEDIATE = "immediate"


class DigestState(StrEnum):
    #: The address has not confirmed: it receives nothing but the request to do so.
    UNCONFIRMED = "unconfirmed"
    CONFIRMED = "confirmed"
    ENDED = "ended"


class DigestEnd(StrEnum):
    """The reason why a digest has ended."""

    UNSUBSCRIBED = "unsubscribed"
    #: The mail server refused the address for good.
    REFUSED = "refused"


class Digest(Contract):
    """A subscription of an address to a list; its JSON is public and omits excluded fields."""

    id: DigestId
    owner: str = Field(exclude=True)
    watchlist_id: WatchlistId = Field(exclude=True)
    address: str
    period: Period
    #: Patterns of types, as those of a webhook; those of an earlier release have every event.
    events: tuple[str, ...] = ("*",)
    #: Only changes of these fields; all of them if it is empty.
    fields: tuple[str, ...] = ()
    state: DigestState = DigestState.UNCONFIRMED
    created_at: Timestamp
    confirmed_at: Timestamp | None = None
    #: When a mail server accepted the request to confirm, and the last message with changes.
    asked_at: Timestamp | None = None
    sent_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    ended_reason: DigestEnd | None = None
    #: The mail server's last refusal, while messages wait or after the end.
    last_error: str | None = None


class DigestList(Contract):
    """The digests of a watchlist."""

    digests: tuple[Digest, ...]
    #: False if this service sends no e-mail, so that none can be added.
    enabled: bool


class LinkAction(StrEnum):
    """The use of a link in a message."""

    #: Nothing changes: programs that scan mail follow its links.
    SHOW = "show"
    CONFIRM = "confirm"
    UNSUBSCRIBE = "unsubscribe"
    #: Ends all digests of the owner to the address, and refuses further ones.
    REFUSE = "refuse"


class LinkRequest(Contract):
    """A use of a link to a digest; the reply is a `LinkReply`, or a `Failure` for another token."""

    #: Unvalidated path segment.
    digest_id: str
    #: The SHA-256 of the link's token, in hexadecimal.
    token_hash: str = Field(repr=False)
    action: LinkAction


class LinkReply(Contract):
    """A digest as the holder of a link to it sees it, after the action."""

    address: str = Field(repr=False)
    period: Period
    state: DigestState
    #: The names of the lists that a confirmation is for, or of the one that has the digest; without
    #: addresses, and cut.
    watchlists: tuple[str, ...]
    #: The number of lists that are not named.
    more: int = 0
    #: The customer whose lists these are; empty from an earlier release.
    owner: str = ""
