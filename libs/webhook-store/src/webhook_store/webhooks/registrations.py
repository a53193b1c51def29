"""Management of webhooks by their owners.

Every write affects one document and increments the webhook's `revision`, so that a change applies
only to the state it was decided on. Each webhook of an owner has a unique `slot` below the limit,
so the limit holds under concurrent creation.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from pymongo import DESCENDING
from pymongo.errors import DuplicateKeyError

from common.contracts.failures import Unavailable
from common.contracts.webhooks import Webhook, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.webhooks.documents import (
    DELETED,
    IDEMPOTENCY,
    WEBHOOKS,
    WITHOUT_SECRETS,
    Document,
    opened_headers,
    sealed_document,
    sealed_headers,
    sealed_of,
    still_signs,
    webhook_fields,
    webhook_of,
)
from webhook_store.webhooks.models import (
    MadeBefore,
    NewSecret,
    OwnerIsFull,
    Registered,
    RotationPending,
)
from webhook_store.webhooks.secrets import CannotUnseal, SecretKeys

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
        self, new: Registered, *, call_id: UUID, limit: int
    ) -> Registered | MadeBefore | OwnerIsFull:
        """Stores a webhook unless its owner has `limit` of them.

        `call_id` is the call that created the secret.
        """
        document = self._document(new, call_id)
        with translated_errors():
            # A taken slot means another creation succeeded, so this loop ends.
            for _ in range(limit + 1):
                slot = await self._free_slot(new.webhook.owner, limit)
                if slot is None:
                    return await self._made_before(new) or OwnerIsFull()
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
    ) -> Registered | RotationPending | None:
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
                    return Registered(webhook_of({**found, "updated_at": new.at}), new.secret)
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
        """Returns whether a configured key opens a sealed secret."""
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

    async def _made_before(self, new: Registered) -> MadeBefore | None:
        found = await self._webhooks.find_one({"_id": new.webhook.id})
        if found is None:
            return None
        return MadeBefore(self._registered(found), UUID(found["secrets"]["newest"]["call"]))

    def _document(self, new: Registered, call_id: UUID) -> Document:
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
        """Returns the mutable fields, with the headers sealed if some have new values."""
        fields = webhook_fields(webhook)
        if webhook.new_headers is not None:
            fields["sealed_headers"] = self._sealed_headers(webhook, before) or None
        return fields

    def _sealed_headers(self, webhook: Webhook, before: Document) -> Document:
        """Returns a webhook's sealed headers, unchanged ones included; empty if it has none."""
        values = dict(webhook.new_headers or {})
        if not values.keys() >= set(webhook.headers):
            opened = opened_headers(before.get("sealed_headers"), self._keys, webhook.id)
            kept = {name: opened[name].get_secret_value() for name in opened}
            values = {name: values.get(name) or kept[name] for name in webhook.headers}
        return sealed_headers(values, self._keys, webhook.id) if values else {}

    async def _write(self, read: Document, fields: Document) -> bool:
        """Writes if the document is unchanged since it was read."""
        result = await self._webhooks.update_one(
            {"_id": read["_id"], "revision": read["revision"]},
            {"$set": fields, "$inc": {"revision": 1}},
        )
        return result.matched_count == 1

    def _registered(self, document: Document) -> Registered:
        newest = sealed_of(document["secrets"]["newest"])
        return Registered(webhook_of(document), self._keys.unseal(newest, document["_id"]))


def _too_many() -> Unavailable:
    return Unavailable("too many are changing the same webhooks at once")
