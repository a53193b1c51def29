"""Watchlists, as immutable models."""

from typing import TypedDict

from pydantic import Field

from company_registry.models import Model


class Watchlist(Model):
    """A named list of companies."""

    id: str
    name: str
    description: str | None = None
    #: The number of its companies.
    size: int = 0
    #: Whether its Atom feed has an address; None from an earlier release of the service.
    has_feed: bool | None = None
    created_at: str
    updated_at: str


class Watchlists(Model):
    """The watchlists of an owner."""

    watchlists: tuple[Watchlist, ...]


class WatchlistFeed(Model):
    """The private address of a watchlist's Atom feed."""

    #: Anyone with this address can read the feed.
    url: str = Field(repr=False)


class Digest(Model):
    """The changes of a watchlist, sent to an e-mail address."""

    id: str
    address: str
    #: `daily`, or `immediate`.
    period: str
    #: Patterns of event types, as those of a webhook.
    events: tuple[str, ...] = ("*",)
    #: Only changes of these fields; all of them if it is empty.
    fields: tuple[str, ...] = ()
    #: `unconfirmed`, `confirmed` or `ended`.
    state: str
    created_at: str
    confirmed_at: str | None = None
    #: When a mail server accepted the request to confirm, and the last message with changes.
    asked_at: str | None = None
    sent_at: str | None = None
    ended_at: str | None = None
    #: `unsubscribed`, or `refused` by the mail server.
    ended_reason: str | None = None
    #: The mail server's last refusal.
    last_error: str | None = None


class Digests(Model):
    """The digests of a watchlist."""

    digests: tuple[Digest, ...]
    #: False if the service sends no e-mail.
    enabled: bool


class WatchlistFields(TypedDict, total=False):
    """Fields of a watchlist to change; the others stay as they are."""

    name: str
    description: str | None


class WatchedPage(Model):
    """A page of the companies of a watchlist, in the order of country and number."""

    #: `<country>:<registration number>`.
    companies: tuple[str, ...]
    #: Cursor of the next page; None at the end.
    cursor: str | None = None


class InvalidCompany(Model):
    """An entry of a change that names no company."""

    #: Its place, such as `add[3]`.
    parameter: str
    value: str
    message: str

    @property
    def place(self) -> int:
        """Its place in the list, from 0."""
        return int(self.parameter.partition("[")[2].rstrip("]"))


class WatchlistChange(Model):
    """The effect of a change of the companies of a watchlist."""

    #: Companies that the list did not have.
    added: int
    #: Companies to add that the list had already.
    present: int
    removed: int
    #: The number of companies in the list after the change.
    size: int
    #: Companies that no register has; they were not added.
    unknown: tuple[str, ...] = ()
    #: Entries that cannot be read, if they are skipped.
    invalid: tuple[InvalidCompany, ...] = ()
