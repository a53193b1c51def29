"""Digests: the news of a watchlist by e-mail, to addresses that have confirmed (ADR 0092)."""

from enum import StrEnum
from typing import Final, NewType

from pydantic import Field

from common.contracts.contract import Contract, Timestamp
from common.contracts.watchlists import WatchlistId

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
    state: DigestState = DigestState.UNCONFIRMED
    created_at: Timestamp
    confirmed_at: Timestamp | None = None
    #: The time of the last message that a mail server accepted.
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
    #: The names of the lists that a confirmation is for, or of the one that has the digest.
    watchlists: tuple[str, ...]
