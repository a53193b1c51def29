"""Webhooks as their owners manage them, with their sealed secrets.

Every write affects one document and increments the webhook's `revision`, so that a change applies
only to the state it was decided on. Each webhook of an owner has a unique `slot` below the limit,
so the limit holds under concurrent creation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from pydantic import SecretStr
from pymongo import DESCENDING
from pymongo.errors import DuplicateKeyError

from common.contracts.failures import Unavailable
from common.contracts.webhooks import Webhook, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.collections import DELETED, IDEMPOTENCY, WEBHOOKS, Document
from webhook_store.matching import match_keys
from webhook_store.secrets import (
    CannotUnseal,
    SecretKeys,
    opened_headers,
    sealed_document,
    sealed_headers,
    sealed_of,
    still_signs,
)


@dataclass(frozen=True, slots=True)
class Registration:
    """A webhook with its newest secret, which is shown once."""

    webhook: Webhook
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class ExistingRegistration:
    """The webhook already exists."""

    registered: Registration
    #: The call that created its newest secret.
    call_id: UUID


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The owner has reached the limit; nothing was created."""


@dataclass(frozen=True, slots=True)
class NewSecret:
    """New secret that replaces another."""

    secret: SecretStr
    #: The call that created it; its redelivery creates no other.
    call_id: UUID
    at: datetime
    #: End of the overlap in which the replaced secret signs as well.
    previous_until: datetime


@dataclass(frozen=True, slots=True)
class RotationPending:
    """The secret before the newest still signs; nothing was rotated."""

    until: datetime


#: Projection of a `Webhook`: all but the secrets and the index keys.
WITHOUT_SECRETS = {"secrets": 0, "match_keys": 0, "sealed_headers": 0, "notices": 0}


def webhook_fields(webhook: Webhook) -> Document:
    """Returns the mutable fields of a webhook, without its secrets."""
    return {
        "url": webhook.url,
        "host": webhook.host,
        "events": list(webhook.events),
        "filter": webhook.filter and webhook.filter.model_dump(mode="json"),
        "description": webhook.description,
        "headers": list(webhook.headers),
        "status": webhook.status.value,
        "disabled_at": webhook.disabled_at,
        "disabled_reason": webhook.disabled_reason and webhook.disabled_reason.value,
        "updated_at": webhook.updated_at,
        "generation": webhook.generation,
        "match_keys": match_keys(webhook),
    }


def webhook_of(document: Document) -> Webhook:
    """Returns the webhook of a stored document, without secrets or header values."""
    return Webhook.model_validate({**document, "id": document["_id"]})


#: Maximum consecutive write conflicts before the store counts as unavailable.
_TRIES = 10

#: Projection of the fields that a change may need: unchanged headers are sealed again.
_CHANGED = {name: 0 for name in WITHOUT_SECRETS if name != "sealed_headers"}

#: Retention of a deletion's call id, in case the broker redelivers it.
_CALL_KEPT = timedelta(days=1)


class Registrations:
    """The stored webhooks.

    Every method may raise `Unavailable`; methods that unseal secrets may raise `CannotUnseal`.
    """

    def __init__(self, database: Database, keys: SecretKeys, random: Random) -> None:
        self._webhooks = database[WEBHOOKS]
        self._calls = database[IDEMPOTENCY]
        self._deleted = database[DELETED]
        self._keys = keys
        self._random = random

    async def create(
        self, new: Registration, *, call_id: UUID, limit: int
    ) -> Registration | ExistingRegistration | LimitReached:
        """Stores a webhook unless its owner has `limit` of them.

        `call_id` is the call that created the secret.
        """
        document = self._document(new, call_id)
        with translated_errors():
            # A taken slot means another creation succeeded, so this loop ends.
            for _ in range(limit + 1):
                slot = await self._free_slot(new.webhook.owner, limit)
                if slot is None:
                    return await self._made_before(new) or LimitReached()
                try:
                    await self._webhooks.insert_one({**document, "slot": slot})
                except DuplicateKeyError:
                    before = await self._made_before(new)
                    if before is not None:
                        return before
                else:
                    return new
        raise _too_many()

    async def find(self, owner: str, webhook_id: str) -> Webhook | None:
        """Returns an owner's webhook; None if absent or another owner's."""
        with translated_errors():
            found = await self._webhooks.find_one(
                {"_id": webhook_id, "owner": owner}, WITHOUT_SECRETS
            )
        return None if found is None else webhook_of(found)

    async def owner_of(self, webhook_id: str) -> str | None:
        """Returns the owner of any webhook, for operators."""
        with translated_errors():
            found = await self._webhooks.find_one({"_id": webhook_id}, {"owner": 1})
        return None if found is None else str(found["owner"])

    async def of_owner(self, owner: str) -> list[Webhook]:
        """Returns an owner's webhooks, newest first."""
        with translated_errors():
            found = self._webhooks.find({"owner": owner}, WITHOUT_SECRETS).sort(
                [("created_at", DESCENDING), ("_id", DESCENDING)]
            )
            return [webhook_of(document) async for document in found]

    async def using(self, owner: str, watchlist_id: str) -> list[str]:
        """Returns the ids of an owner's webhooks whose filter has a watchlist."""
        query = {"owner": owner, "filter.watchlists": watchlist_id}
        with translated_errors():
            return [one["_id"] async for one in self._webhooks.find(query, {"_id": 1})]

    async def change(
        self, owner: str, webhook_id: str, decide: Callable[[Webhook], Webhook]
    ) -> Webhook | None:
        """Applies `decide` to a webhook; None when the owner has no such webhook.

        `decide` is pure and may run several times; its exceptions propagate.
        """
        with translated_errors():
            for _ in range(_TRIES):
                document = await self._webhooks.find_one(
                    {"_id": webhook_id, "owner": owner}, _CHANGED
                )
                if document is None:
                    return None
                before = webhook_of(document)
                after = decide(before)
                if after == before or await self._write(document, self._fields(after, document)):
                    return after
        raise _too_many()

    async def delete(self, owner: str, webhook_id: str, *, call_id: UUID, at: datetime) -> bool:
        """Deletes a webhook; False if it did not exist. Redelivered calls return True again.

        Its waiting deliveries are cancelled when they are due.
        """
        own = {"_id": webhook_id, "owner": owner}
        call = {"_id": f"delete:{call_id}"}
        with translated_errors():
            if await self._webhooks.find_one(own, {"_id": 1}) is None:
                return await self._calls.find_one(call) is not None
            # Before the deletion: after a crash in between, the redelivered call does both.
            kept = {"$setOnInsert": {"expires_at": at + _CALL_KEPT}}
            await self._calls.update_one(call, kept, upsert=True)
            await self._webhooks.delete_one(own)
            # Afterwards: a dispatcher without the webhook would skip it, one that has it cancels.
            deleted = {"$setOnInsert": {"deleted_at": at}}
            await self._deleted.update_one({"_id": webhook_id}, deleted, upsert=True)
        return True

    async def rotate(
        self, owner: str, webhook_id: str, new: NewSecret
    ) -> Registration | RotationPending | None:
        """Rotates a webhook's secret; the replaced one also signs during its overlap.

        Until that ends there is no other rotation: receivers may still have either secret. A
        redelivered call returns the secret that it created.
        """
        with translated_errors():
            for _ in range(_TRIES):
                found = await self._webhooks.find_one({"_id": webhook_id, "owner": owner})
                if found is None:
                    return None
                if found["secrets"]["newest"]["call"] == str(new.call_id):
                    return self._registered(found)
                previous = found["secrets"]["previous"]
                if still_signs(previous, new.at) and self._opens(previous, found["_id"]):
                    return RotationPending(previous["until"])
                if await self._write(found, self._rotated(found, new)):
                    return Registration(webhook_of({**found, "updated_at": new.at}), new.secret)
        raise _too_many()

    def _rotated(self, document: Document, new: NewSecret) -> Document:
        webhook_id, replaced = document["_id"], document["secrets"]["newest"]
        sealed = self._keys.seal(new.secret, webhook_id)
        # A replaced secret whose key is lost cannot sign, and deliveries would wait for it.
        overlap = {**replaced, "until": new.previous_until}
        return {
            "secrets.newest": sealed_document(sealed, call_id=new.call_id),
            "secrets.previous": overlap if self._opens(replaced, webhook_id) else None,
            "updated_at": new.at,
        }

    def _opens(self, secret: Document, webhook_id: WebhookId) -> bool:
        try:
            self._keys.unseal(sealed_of(secret), webhook_id)
        except CannotUnseal:
            return False
        return True

    async def _free_slot(self, owner: str, limit: int) -> int | None:
        taken = self._webhooks.find({"owner": owner}, {"_id": 0, "slot": 1})
        slots = {document["slot"] async for document in taken}
        free = [slot for slot in range(limit) if slot not in slots]
        # Random, so that concurrent creations seldom collide.
        return self._random.choice(free) if free and len(slots) < limit else None

    async def _made_before(self, new: Registration) -> ExistingRegistration | None:
        found = await self._webhooks.find_one({"_id": new.webhook.id})
        if found is None:
            return None
        return ExistingRegistration(
            self._registered(found), UUID(found["secrets"]["newest"]["call"])
        )

    def _document(self, new: Registration, call_id: UUID) -> Document:
        webhook = new.webhook
        sealed = self._keys.seal(new.secret, webhook.id)
        return {
            "_id": webhook.id,
            "owner": webhook.owner,
            "created_at": webhook.created_at,
            "revision": 1,
            "secrets": {"newest": sealed_document(sealed, call_id=call_id), "previous": None},
            **self._fields(webhook, {}),
        }

    def _fields(self, webhook: Webhook, before: Document) -> Document:
        fields = webhook_fields(webhook)
        if webhook.new_headers is not None:
            fields["sealed_headers"] = self._sealed_headers(webhook, before) or None
        return fields

    def _sealed_headers(self, webhook: Webhook, before: Document) -> Document:
        values = dict(webhook.new_headers or {})
        if not values.keys() >= set(webhook.headers):
            opened = opened_headers(before.get("sealed_headers"), self._keys, webhook.id)
            kept = {name: opened[name].get_secret_value() for name in opened}
            values = {name: values.get(name) or kept[name] for name in webhook.headers}
        return sealed_headers(values, self._keys, webhook.id) if values else {}

    async def _write(self, read: Document, fields: Document) -> bool:
        result = await self._webhooks.update_one(
            {"_id": read["_id"], "revision": read["revision"]},
            {"$set": fields, "$inc": {"revision": 1}},
        )
        return result.matched_count == 1

    def _registered(self, document: Document) -> Registration:
        newest = sealed_of(document["secrets"]["newest"])
        return Registration(webhook_of(document), self._keys.unseal(newest, document["_id"]))


def _too_many() -> Unavailable:
    return Unavailable("too many are changing the same webhooks at once")


@dataclass(frozen=True, slots=True)
class ResealCounts:
    """Webhooks that a run of `reseal` re-encrypted, and those that it could not."""

    #: Webhooks whose secrets were re-encrypted.
    webhooks: int
    #: Webhooks that no given key opens; left unchanged.
    failed: tuple[WebhookId, ...]


async def reseal(database: Database, keys: SecretKeys, *, at: datetime) -> ResealCounts:
    """Re-encrypts all secrets with the newest key; safe to run at any time.

    Expired replaced secrets are dropped. Raises Unavailable.
    """
    webhooks = database[WEBHOOKS]
    done = 0
    failed: list[WebhookId] = []
    while True:
        with translated_errors():
            found = [one async for one in webhooks.find(_under_older(keys, failed), limit=500)]
            for document in found:
                try:
                    sealed = {
                        "secrets": _resealed(document, keys, at),
                        "sealed_headers": _resealed_headers(document, keys),
                    }
                except CannotUnseal:
                    failed.append(document["_id"])
                    continue
                result = await webhooks.update_one(
                    {"_id": document["_id"], "revision": document["revision"]},
                    {"$set": sealed, "$inc": {"revision": 1}},
                )
                done += result.modified_count
        if not found:
            return ResealCounts(done, tuple(failed))


def _under_older(keys: SecretKeys, without: list[WebhookId]) -> Document:
    newest = keys.newest_id
    return {
        "_id": {"$nin": without},
        "$or": [
            {"secrets.newest.key_id": {"$ne": newest}},
            {"secrets.previous": {"$ne": None}, "secrets.previous.key_id": {"$ne": newest}},
            {"sealed_headers": {"$ne": None}, "sealed_headers.key_id": {"$ne": newest}},
        ],
    }


def _resealed(document: Document, keys: SecretKeys, at: datetime) -> Document:
    newest, previous = document["secrets"]["newest"], document["secrets"]["previous"]
    return {
        "newest": _sealed_again(newest, document["_id"], keys),
        "previous": {**_sealed_again(previous, document["_id"], keys), "until": previous["until"]}
        if still_signs(previous, at)
        else None,
    }


def _resealed_headers(document: Document, keys: SecretKeys) -> Document | None:
    headers = opened_headers(document.get("sealed_headers"), keys, document["_id"])
    if not headers:
        return None
    values = {name: value.get_secret_value() for name, value in headers.items()}
    return sealed_headers(values, keys, document["_id"])


def _sealed_again(sealed: Document, webhook_id: WebhookId, keys: SecretKeys) -> Document:
    secret = keys.unseal(sealed_of(sealed), webhook_id)
    return sealed_document(keys.seal(secret, webhook_id), call_id=UUID(sealed["call"]))
