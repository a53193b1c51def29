"""Completed attempts, as listed for a webhook's owner."""

from pymongo import DESCENDING

from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.delivery_documents import ATTEMPTS, listed_attempt
from webhook_store.delivery_models import ListedAttempt

#: Maximum attempts listed per webhook (spec section 8).
LISTED = 50


class Attempts:
    """The stored attempts. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._attempts = database[ATTEMPTS]

    async def latest(
        self, webhook_id: WebhookId, *, generation: int, limit: int = LISTED
    ) -> list[ListedAttempt]:
        """Returns the last attempts, newest first, read under the current `generation`."""
        order = [("attempted_at", DESCENDING), ("_id", DESCENDING)]
        with translated_errors():
            found = self._attempts.find({"webhook_id": webhook_id}, sort=order, limit=limit)
            return [listed_attempt(document, generation=generation) async for document in found]
