"""Webhooks for the dispatcher: matching, sending state, disabling."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import structlog
from prometheus_client import Counter

from common.contracts.webhooks import DisabledReason, WebhookId, WebhookStatus
from common.mongo import Database, translated_errors
from webhook_store.documents import WEBHOOKS, Document, sealed_of, still_signs
from webhook_store.matching import Subject, event_keys, patterns_of
from webhook_store.models import Match, Sendable, SigningSecrets
from webhook_store.secrets import CannotUnseal, SecretKeys

_MATCH = {"owner": 1, "host": 1, "generation": 1, "status": 1}
_SENDABLE = {**_MATCH, "url": 1, "secrets": 1}

_UNSEALABLE = Counter(
    "webhook_secrets_unsealable_total", "Secrets that none of our keys opens", ["key_id"]
)

log = structlog.get_logger()


class Webhooks:
    """The stored webhooks. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, keys: SecretKeys) -> None:
        self._webhooks = database[WEBHOOKS]
        self._keys = keys

    async def matching(self, subjects: Sequence[Subject]) -> list[list[Match]]:
        """Returns the subscribed webhooks of each subject, unordered, including disabled ones.

        One indexed read for all subjects.
        """
        asked = _Asked.of(subjects)
        # Only the requested keys of a webhook, which may have a thousand.
        listed_under = {"$setIntersection": ["$match_keys", {"$literal": asked.keys}]}
        fields = {**_MATCH, "events": 1, "listed_under": listed_under}
        matches: list[list[Match]] = [[] for _ in subjects]
        with translated_errors():
            async for found in self._webhooks.find(asked.query, fields):
                match = _match_of(found)
                for number in asked.numbers(found["listed_under"], found["events"]):
                    matches[number].append(match)
        return matches

    async def match_of(self, webhook_id: WebhookId) -> Match | None:
        """Returns one webhook, whatever it subscribes to; None if the id is unknown."""
        with translated_errors():
            found = await self._webhooks.find_one({"_id": webhook_id}, _MATCH)
        return None if found is None else _match_of(found)

    async def sendable(
        self, ids: Collection[WebhookId], *, at: datetime
    ) -> Mapping[WebhookId, Sendable]:
        """Returns existing webhooks of `ids`, with the secrets that sign at `at`."""
        with translated_errors():
            found = self._webhooks.find({"_id": {"$in": list(ids)}}, _SENDABLE)
            return {document["_id"]: self._sendable(document, at) async for document in found}

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
        return Sendable(
            webhook_id=document["_id"],
            owner=document["owner"],
            url=document["url"],
            host=document["host"],
            generation=document["generation"],
            enabled=document["status"] == WebhookStatus.ENABLED,
            secrets=self._secrets(document, at),
        )

    def _secrets(self, document: Document, at: datetime) -> SigningSecrets | None:
        webhook_id: WebhookId = document["_id"]
        newest, previous = document["secrets"]["newest"], document["secrets"]["previous"]
        try:
            return SigningSecrets(
                newest=self._keys.unseal(sealed_of(newest), webhook_id),
                previous=self._keys.unseal(sealed_of(previous), webhook_id)
                if still_signs(previous, at)
                else None,
            )
        except CannotUnseal as error:
            _UNSEALABLE.labels(newest["key_id"]).inc()
            log.error("webhook.unsealable", webhook_id=webhook_id, reason=str(error))
            return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """Query for several subjects."""

    subjects: Sequence[Subject]
    #: Indexes of the subjects that look up each key.
    by_key: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, subjects: Sequence[Subject]) -> Self:
        by_key: defaultdict[str, list[int]] = defaultdict(list)
        for number, subject in enumerate(subjects):
            for key in event_keys(subject):
                by_key[key].append(number)
        return cls(subjects, by_key)

    @property
    def keys(self) -> list[str]:
        return list(self.by_key)

    @property
    def query(self) -> Document:
        patterns = {pattern for subject in self.subjects for pattern in patterns_of(subject.kind)}
        return {"match_keys": {"$in": self.keys}, "events": {"$in": sorted(patterns)}}

    def numbers(self, keys: Iterable[str], patterns: Collection[str]) -> list[int]:
        """Returns the subjects that match a webhook with these keys and patterns."""
        return [
            number
            for number in {number for key in keys for number in self.by_key[key]}
            if not set(patterns_of(self.subjects[number].kind)).isdisjoint(patterns)
        ]


def _match_of(document: Document) -> Match:
    return Match(
        webhook_id=document["_id"],
        owner=document["owner"],
        host=document["host"],
        generation=document["generation"],
        enabled=document["status"] == WebhookStatus.ENABLED,
    )
