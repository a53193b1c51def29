"""What each `Idempotency-Key` was used for, kept so that a repeat does nothing twice.

A use is noted before the work and answered after it. What the work makes is named after the call
that used the key first, so whoever finds a use without an answer may do the work again.
"""

from datetime import datetime
from uuid import UUID

from pymongo import ReturnDocument

from common.mongo import Database, translated_errors
from webhook_store.documents import IDEMPOTENCY, Document
from webhook_store.models import KeptAnswer, KeyScope, KeyUse


class IdempotencyKeys:
    """The uses of keys. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._uses = database[IDEMPOTENCY]

    async def find(self, scope: KeyScope, *, at: datetime) -> KeyUse | None:
        """What the key was used for, while that is kept."""
        # An expired use may still be there: the database removes them once a minute.
        with translated_errors():
            found = await self._uses.find_one({"_id": scope.id, "expires_at": {"$gt": at}})
        return None if found is None else _use_of(found)

    async def use(self, scope: KeyScope, new: KeyUse, *, at: datetime, until: datetime) -> KeyUse:
        """The use that is noted: this one, unless another is still kept or came first."""
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
        return _use_of(found or document)  # an upsert always answers with a document

    async def answer(self, scope: KeyScope, answer: KeptAnswer) -> None:
        """Notes that what was asked for is done, and what its repeats are answered."""
        document = {"status": answer.status, "body": answer.body, "location": answer.location}
        with translated_errors():
            await self._uses.update_one({"_id": scope.id}, {"$set": {"answer": document}})


def _use_of(document: Document) -> KeyUse:
    answer = document["answer"]
    return KeyUse(
        call_id=UUID(document["call"]),
        fingerprint=document["fingerprint"],
        answer=None if answer is None else KeptAnswer(**answer),
    )
