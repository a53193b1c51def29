"""Webhooks as the dispatcher uses them: matched with events, sent to and disabled.

They are matched in memory, by an index that is brought up to date before each use: each write of a
webhook sets `updated_at`, by the clock of the database, so one indexed read finds what has changed
since the last. An event is matched with every webhook that was acknowledged before it, as if the
webhooks themselves were read (ADR 0054).
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog
from prometheus_client import Counter, Gauge
from pydantic import SecretStr
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.read_concern import ReadConcern

from common.contracts.company import CompanyKey
from common.contracts.events import EventType
from common.contracts.webhooks import DisabledReason, WebhookId, WebhookStatus
from common.mongo import Database, translated_errors
from webhook_store.collections import DELETED, NOTICE_DUE, NOTICES, WEBHOOKS, Document
from webhook_store.matching import Match, MatchIndex, Rule, Subject, match_of
from webhook_store.secrets import (
    CannotUnseal,
    SecretKeys,
    SigningSecrets,
    opened_headers,
    sealed_of,
    still_signs,
)
from webhook_store.watchlists import Members


@dataclass(frozen=True, slots=True)
class Sendable:
    """Current state of a webhook, as needed for a POST."""

    webhook_id: WebhookId
    owner: str
    url: str
    host: str
    generation: int
    enabled: bool
    #: None when no configured key opens them; the delivery then waits.
    secrets: SigningSecrets | None
    #: The owner's headers.
    headers: Mapping[str, SecretStr] = field(default_factory=dict)


#: Maximum time from reading a write's time to its commit, in which a later write may be seen first.
_LATE: Final = timedelta(seconds=10)
#: Seconds after which no write with an earlier time than the newest is under way.
_SETTLED: Final = 60.0
#: Seconds after which the index is rebuilt, so that no missed change persists.
_REBUILT_EVERY: Final = 3600.0
#: Webhooks of one read.
_PAGE: Final = 5_000

_INDEXED: Final = {
    "generation": 1,
    "status": 1,
    "events": 1,
    "updated_at": 1,
    "match_keys": 1,
    **{f"filter.{part}": 1 for part in ("forms", "industries", "municipalities", "fields")},
}
#: All but those that follow companies by number alone.
_IN_MEMORY: Final = {
    "$or": [
        {"filter.companies.0": {"$exists": False}},
        {"filter.watchlists.0": {"$exists": True}},
    ]
}

_SIZE = Gauge("webhooks_indexed", "Webhooks in memory, to be matched with events")

log = structlog.get_logger()


@dataclass(slots=True)
class _Position:
    """The newest time that was seen in a collection, and when this process first saw it."""

    field: str
    newest: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    seen_at: float = 0.0

    def see(self, at: datetime) -> None:
        if at > self.newest:
            self.newest, self.seen_at = at, time.monotonic()

    @property
    def following(self) -> Document:
        """The condition that finds what is new, and what may have been written late."""
        if time.monotonic() - self.seen_at > _SETTLED:
            return {self.field: {"$gt": self.newest}}
        return {self.field: {"$gt": self.newest - _LATE}}


class WebhookIndex:
    """The index of one process. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        # A failover must not roll back what is in the index.
        majority = ReadConcern("majority")
        self._webhooks = database.get_collection(WEBHOOKS, read_concern=majority)
        self._deleted = database.get_collection(DELETED, read_concern=majority)
        self._one_at_a_time = asyncio.Lock()
        self._index: MatchIndex | None = None
        self._built_at = 0.0

    async def index(self) -> MatchIndex:
        """Returns the index with every change that was acknowledged before this call."""
        async with self._one_at_a_time:
            if self._index is None or time.monotonic() - self._built_at > _REBUILT_EVERY:
                self._index = await self._built()
            await self._follow(self._index)
            return self._index

    async def _built(self) -> MatchIndex:
        started, index = time.monotonic(), MatchIndex()
        self._changed, self._removed = _Position("updated_at"), _Position("deleted_at")
        # Before the webhooks are read: what changes meanwhile is read again.
        for collection, position in self._followed:
            position.see(await _newest(collection, position))
        last = ""
        while page := await self._page(last):
            for document in page:
                index.put(document)
            last = page[-1]["_id"]
            await asyncio.sleep(0)
        self._built_at = time.monotonic()
        seconds = round(self._built_at - started, 2)
        log.info("webhooks.indexed", webhooks=len(index), seconds=seconds)
        return index

    @property
    def _followed(self) -> tuple[tuple[AsyncCollection[Document], _Position], ...]:
        return (self._webhooks, self._changed), (self._deleted, self._removed)

    async def _page(self, last: str) -> list[dict[str, Any]]:
        query = {"_id": {"$gt": last}, **_IN_MEMORY}
        with translated_errors():
            return await self._webhooks.find(
                query, _INDEXED, sort=[("_id", 1)], limit=_PAGE, batch_size=_PAGE + 1
            ).to_list(None)

    async def _follow(self, index: MatchIndex) -> None:
        with translated_errors():
            changed, removed = await asyncio.gather(
                self._webhooks.find(self._changed.following, _INDEXED).to_list(None),
                self._deleted.find(self._removed.following).to_list(None),
            )
        for document in changed:
            index.put(document)
            self._changed.see(document["updated_at"])
        for document in removed:
            index.remove(document["_id"])
            self._removed.see(document["deleted_at"])
        _SIZE.set(len(index))


async def _newest(collection: AsyncCollection[Document], position: _Position) -> datetime:
    with translated_errors():
        found = await collection.find_one({}, {position.field: 1}, sort=[(position.field, -1)])
    newest: datetime = position.newest if found is None else found[position.field]
    return newest


def disabled_notice(reason: DisabledReason, at: datetime) -> Document:
    """Returns the fields to set when a webhook is disabled."""
    return {f"{NOTICES}.disabled": {"at": at, "reason": reason.value}, NOTICE_DUE: True}


_MATCH = {"generation": 1, "status": 1}
_SENDABLE = {**_MATCH, "owner": 1, "host": 1, "url": 1, "secrets": 1, "sealed_headers": 1}
#: The parts of a filter that are compared after the index; companies may be a thousand.
_COMPARED = {f"filter.{part}": 1 for part in ("forms", "industries", "municipalities", "fields")}

#: Webhooks of one reply. Other work continues between two: a webhook to send to is decrypted.
_BATCH = 1000
_SENDABLES = 500
#: Maximum of the count of disabled webhooks, which are few.
MAX_DISABLED = 100_000

_DECRYPTION_FAILURES = Counter(
    "webhook_secret_decryption_failures_total", "Secrets that none of our keys opens", ["key_id"]
)


class Webhooks:
    """The stored webhooks. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, keys: SecretKeys) -> None:
        self._webhooks = database[WEBHOOKS]
        self._members = Members(database)
        self._followed = WebhookIndex(database)
        self._keys = keys

    async def index(self) -> None:
        """Builds the index that `matching` uses, or brings it up to date."""
        await self._followed.index()

    async def matching(self, subjects: Sequence[Subject]) -> list[list[Match]]:
        """Returns the subscribed webhooks of each subject, unordered, including disabled ones.

        Indexed reads for all subjects: changes of webhooks, the watchlists of their companies, and
        the webhooks that follow these companies by number. All others are in memory.
        """
        index = await self._followed.index()
        companies = {one.company for one in subjects}
        lists, found = await asyncio.gather(
            self._members.lists_of(companies if index.has_lists else ()),
            self._following(companies),
        )
        matches = []
        for subject in subjects:
            listed = lists.get(subject.company)
            of_subject = replace(subject, watchlists=listed) if listed else subject
            of_index = index.matching(of_subject)
            for rule, match in found.get(subject.company, ()):
                if rule.selects(subject):
                    of_index[match.webhook_id] = match
            matches.append([*of_index.values()])
            await asyncio.sleep(0)  # a batch may match tens of thousands
        return matches

    async def _following(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, Sequence[tuple[Rule, Match]]]:
        wanted = {"match_keys": {"$in": list(companies)}}
        # Of up to a thousand companies only the requested ones are returned.
        keys = {"$setIntersection": ["$match_keys", {"$literal": list(companies)}]}
        fields: Document = {**_MATCH, **_COMPARED, "events": 1, "keys": keys}
        following: defaultdict[CompanyKey, list[tuple[Rule, Match]]] = defaultdict(list)
        with translated_errors():
            # The server's first batch has 101 documents by default.
            async for webhook in self._webhooks.find(wanted, fields, batch_size=_BATCH):
                entry = Rule.of(webhook), match_of(webhook)
                for key in webhook["keys"]:
                    following[key].append(entry)
        return following

    async def match_of(self, webhook_id: WebhookId) -> Match | None:
        """Returns one webhook, with any subscription; None if the id is unknown."""
        with translated_errors():
            found = await self._webhooks.find_one({"_id": webhook_id}, _MATCH)
        return None if found is None else match_of(found)

    async def of_owner(self, owner: str, event_type: EventType, *, other_than: str) -> list[Match]:
        """Returns an owner's webhooks that subscribe to events about webhooks, except one.

        Filters select companies, so they do not apply.
        """
        wanted = {
            "owner": owner,
            "events": {"$in": list(event_type.patterns)},
            "_id": {"$ne": other_than},
        }
        with translated_errors():
            return [match_of(one) async for one in self._webhooks.find(wanted, _MATCH)]

    async def sendable(
        self, ids: Collection[WebhookId], *, at: datetime
    ) -> Mapping[WebhookId, Sendable]:
        """Returns existing webhooks of `ids`, with the secrets that sign at `at`."""
        with translated_errors():
            wanted = {"_id": {"$in": list(ids)}}
            found = self._webhooks.find(wanted, _SENDABLE, batch_size=_SENDABLES)
            return {document["_id"]: self._sendable(document, at) async for document in found}

    async def count_by_status(self) -> dict[WebhookStatus, int]:
        """Counts all webhooks at the same cost for any number of them.

        The total is the collection's own count; disabled webhooks are counted up to `MAX_DISABLED`.
        """
        disabled = {"status": WebhookStatus.DISABLED.value}
        with translated_errors():
            total = await self._webhooks.estimated_document_count()
            count = await self._webhooks.count_documents(disabled, limit=MAX_DISABLED)
        return {WebhookStatus.ENABLED: max(0, total - count), WebhookStatus.DISABLED: count}

    async def disable(
        self,
        webhook_id: WebhookId,
        *,
        generation: int,
        reason: DisabledReason,
        by: str,
        at: datetime,
    ) -> bool:
        """Disables a webhook once; False if it was disabled, re-enabled or deleted.

        Repeats of the disabling call, identified by `by`, return True again.
        """
        condition = {
            "_id": webhook_id,
            "generation": generation,
            "status": WebhookStatus.ENABLED.value,
        }
        change = {
            "$set": {
                "status": WebhookStatus.DISABLED.value,
                "disabled_at": at,
                "disabled_reason": reason.value,
                "disabled_by": by,
                "updated_at": at,
                **disabled_notice(reason, at),
            },
            "$inc": {"generation": 1, "revision": 1},
        }
        with translated_errors():
            result = await self._webhooks.update_one(condition, change)
            if result.modified_count == 1:
                return True
            by_us = {"_id": webhook_id, "generation": generation + 1, "disabled_by": by}
            return await self._webhooks.find_one(by_us, {"_id": 1}) is not None

    def _sendable(self, document: Document, at: datetime) -> Sendable:
        opened = self._opened(document, at)
        return Sendable(
            webhook_id=document["_id"],
            owner=document["owner"],
            url=document["url"],
            host=document["host"],
            generation=document["generation"],
            enabled=document["status"] == WebhookStatus.ENABLED,
            secrets=None if opened is None else opened[0],
            headers={} if opened is None else opened[1],
        )

    def _opened(
        self, document: Document, at: datetime
    ) -> tuple[SigningSecrets, Mapping[str, SecretStr]] | None:
        webhook_id: WebhookId = document["_id"]
        newest, previous = document["secrets"]["newest"], document["secrets"]["previous"]
        try:
            secrets = SigningSecrets(
                newest=self._keys.unseal(sealed_of(newest), webhook_id),
                previous=self._keys.unseal(sealed_of(previous), webhook_id)
                if still_signs(previous, at)
                else None,
            )
            headers = opened_headers(document.get("sealed_headers"), self._keys, webhook_id)
        except CannotUnseal as error:
            _DECRYPTION_FAILURES.labels(newest["key_id"]).inc()
            log.error("webhook.secret_decryption_failed", webhook_id=webhook_id, reason=str(error))
            return None
        return secrets, headers
