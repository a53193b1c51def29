"""Uses of each `Idempotency-Key`, stored so that a repeat has no second effect.

A use is stored before the work and its answer after it. Created objects are named after the call
that first used the key, so the work of a use without an answer may safely be repeated.
"""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from pymongo import ReturnDocument

from common.contracts.webhook_api import WebhookReply
from common.mongo import Database, translated_errors
from webhook_store.collections import IDEMPOTENCY, Document


@dataclass(frozen=True, slots=True)
class KeyScope:
    """Scope of an `Idempotency-Key`: one owner's requests to one path."""

    owner: str
    path: str
    key: str

    @property
    def id(self) -> str:
        """Returns the id of the stored use: a SHA-256 of owner, path and key."""
        return sha256("\0".join((self.owner, self.path, self.key)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Use of an `Idempotency-Key`."""

    #: The call that first used it; created objects are named after it.
    call_id: UUID
    #: SHA-256 of the request body; a repeat has the same.
    fingerprint: bytes
    #: The answer to repeats, which contains no secret. None until the request is completed; a
    #: repeat then completes it.
    answer: WebhookReply | None = None


class IdempotencyKeys:
    """The uses of keys. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._uses = database[IDEMPOTENCY]

    async def find(self, scope: KeyScope, *, at: datetime) -> KeyUse | None:
        """Returns the stored use of the key, if it has not expired."""
        # An expired use may still exist: the database removes them once a minute.
        with translated_errors():
            found = await self._uses.find_one({"_id": scope.id, "expires_at": {"$gt": at}})
        return None if found is None else _use_of(found)

    async def use(self, scope: KeyScope, new: KeyUse, *, at: datetime, until: datetime) -> KeyUse:
        """Stores a use; returns it, or the earlier unexpired use of the key."""
        document = {
            "_id": scope.id,
            "call": str(new.call_id),
            "fingerprint": new.fingerprint,
            "answer": None,
            "expires_at": until,
        }
        kept = {"$gt": ["$expires_at", at]}
        with translated_errors():
            found = await self._uses.find_one_and_update(
                {"_id": scope.id},
                [{"$replaceWith": {"$cond": [kept, "$$ROOT", {"$literal": document}]}}],
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
        return _use_of(found or document)  # an upsert always returns a document

    async def answer(self, scope: KeyScope, answer: WebhookReply) -> None:
        """Stores the answer for repeats of a completed request."""
        document = answer.model_dump(include={"status", "body", "location"})
        with translated_errors():
            await self._uses.update_one({"_id": scope.id}, {"$set": {"answer": document}})


def _use_of(document: Document) -> KeyUse:
    answer = document["answer"]
    return KeyUse(
        call_id=UUID(document["call"]),
        fingerprint=document["fingerprint"],
        answer=None if answer is None else WebhookReply(**answer, replayed=True),
    )
