"""A mirror of a register: an export into SQLite, and the event feed after it."""

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from company_registry.client import Client
from company_registry.errors import (
    ApiError,
    CompanyNotFound,
    CompanyRemoved,
    CursorExpired,
    NoResponse,
)
from company_registry.mirror_history import RETENTION, leaves_out
from company_registry.mirror_store import Counted, MirrorStore
from company_registry.models import Country, Event, Include
from company_registry.streams import Lookup, passes

#: Companies of one transaction.
_BATCH: Final = 1_000
#: Seconds before a copy is resumed after an outage.
_PAUSE: Final = 5.0
#: Seconds until the feed has the changes that a new copy already has.
_SETTLE: Final = 20.0
#: The part of a company that an export and a lookup have the accounts in: the newest ten.
_ACCOUNTS: Final[tuple[Include, ...]] = ("annual_accounts",)


Outage = Callable[[NoResponse | ApiError, float], None]


@dataclass
class Mirror:
    """The copy of one register, brought up to the service's state by `run`."""

    client: Client
    store: MirrorStore
    #: Called with the number of copied companies, after each transaction.
    on_copied: Callable[[int], None] = lambda _count: None
    on_outage: Outage = lambda _error, _seconds: None

    def run(self, *, follow: bool = False) -> None:
        """Copies the register unless that is done, and applies the events since.

        With `follow` it goes on for ever, through outages. When the events after its place have
        expired it copies the register again, and removes what is not in it any more.
        """
        while True:
            try:
                self._copy()
                _read_feed(self.client, self.store, follow=follow, on_outage=self.on_outage)
                return
            except CursorExpired:
                self.store.start_over()
            except (NoResponse, ApiError) as error:
                if not follow or (isinstance(error, ApiError) and not passes(error)):
                    raise
                self.on_outage(error, _PAUSE)
                time.sleep(_PAUSE)

    def _copy(self) -> None:
        place, begun, count = self.store.place, _Begun(), 0
        if place.copied_until is None:
            return
        resumed = place.copied_until or None
        include = _ACCOUNTS if place.accounts else ()
        lines = self.client.export_lines(
            self.store.country, include=include, after=resumed, cursor=begun
        )
        with closing(lines):
            while batch := [json.loads(line) for line in islice(lines, _BATCH)]:
                place = place._replace(
                    cursor=place.cursor or begun.cursor, copied_until=batch[-1]["vat"]
                )
                self.store.store(batch, place)
                count += len(batch)
                self.on_copied(count)
        cursor = place.cursor or begun.cursor
        self.store.complete(place._replace(cursor=cursor, copied_until=None))


def _read_feed(
    client: Client, *stores: MirrorStore, follow: bool, on_outage: Outage | None = None
) -> None:
    # A store that was further may apply an event again, which changes nothing once all have been.
    feed, countries = _Feed(client, stores), [stores[0].country]
    with closing(
        client.events(countries=countries, cursor=feed, until_now=not follow, on_outage=on_outage)
    ) as events:
        for event in events:
            feed.waiting.append(event)


@dataclass
class _Begun:
    """Receives an export's place in the event feed."""

    cursor: str | None = None

    def load(self) -> str | None:
        return self.cursor

    def save(self, cursor: str) -> None:
        self.cursor = cursor


@dataclass
class _Feed:
    """Applies the events of a page together with its cursor."""

    client: Client
    stores: Sequence[MirrorStore]
    waiting: list[Event] = field(default_factory=list)

    def load(self) -> str | None:
        return self.stores[0].place.cursor

    def save(self, cursor: str) -> None:
        accounts = {}
        if self.waiting and any(store.place.accounts for store in self.stores):
            accounts = _accounts_after(self.client, self.stores[0].country, self.waiting)
        for store in self.stores:
            store.apply(self.waiting, store.place._replace(cursor=cursor), accounts)
        self.waiting.clear()


def _accounts_after(
    client: Client, country: Country, events: Iterable[Event]
) -> dict[str, list[dict[str, Any]]]:
    """Returns the accounts of the companies whose accounts the events change, by number.

    They are read anew: which ones are current, and the year before as a later filing tells it, is
    for the service to decide (ADR 0141).

    Raises NoResponse if an answer is older than an event, ApiError for one that is neither the
    company nor that there is none.
    """
    revisions = {
        event.vat: event.revision or 0
        for event in events
        if event.vat is not None and event.country == country and _changes_accounts(event)
    }
    found: dict[str, list[dict[str, Any]]] = {}
    lookups = (Lookup(country, vat, include=_ACCOUNTS) for vat in revisions)
    with closing(client.batch(lookups)) as results:
        for result in results:
            vat, company = result.lookup.term, result.company
            if company is None:
                if not isinstance(result.error, CompanyNotFound | CompanyRemoved):
                    raise result.error or NoResponse("an answer without a company")
                found[vat] = []
                continue
            if company.revision < revisions[vat]:
                raise NoResponse(f"{country} {vat} is of before its event")
            dumped = company.model_dump(mode="json", exclude_unset=True)
            found[vat] = dumped["annual_accounts"]
    return found


def _changes_accounts(event: Event) -> bool:
    """Returns True for accounts, and where a person is left out: they may be the person's."""
    return event.type == "company.accounts_published" or any(map(leaves_out, event.data.changes))


class Verified(NamedTuple):
    """A mirror, and a new copy of the register, after the same events."""

    mirror: Counted
    register: Counted

    @property
    def is_equal(self) -> bool:
        """True if both have the same companies, and accounts, with the same contents."""
        return self.mirror == self.register


def verify(
    client: Client, path: Path, country: Country, *, history: timedelta = RETENTION
) -> Verified:
    """Compares a mirror with a new copy, which needs as much space meanwhile.

    Both are compared after the same events, so that a register may change meanwhile. A change that
    the new copy already has may not be an event yet: after 20 s they are found different.
    """
    with (
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".verify-") as folder,
        closing(MirrorStore(path, country, history=history)) as store,
        closing(MirrorStore(Path(folder) / "copy.sqlite", country, history=timedelta(0))) as new,
    ):
        if store.place.accounts:
            new.keep_accounts()
        for each in (new, store):
            Mirror(client, each).run()
        return _compared(client, store, new)


def _compared(client: Client, mirror: MirrorStore, copy: MirrorStore) -> Verified:
    deadline = time.monotonic() + _SETTLE
    while True:
        # The copy's place is the earlier one.
        _read_feed(client, copy, mirror, follow=False)
        verified = Verified(mirror.counted(), copy.counted())
        if verified.is_equal or time.monotonic() > deadline:
            return verified
        time.sleep(1.0)
