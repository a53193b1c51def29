"""Attempts that were made, as the owner of a webhook reads them."""

from pymongo import DESCENDING

from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.delivery_documents import ATTEMPTS, listed_attempt
from webhook_store.delivery_models import ListedAttempt

#: Attempts listed of a webhook (spec section 8).
LISTED = 50


class Attempts:
    """The stored attempts. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._attempts = database[ATTEMPTS]

    async def latest(
        self, webhook_id: WebhookId, *, generation: int, limit: int = LISTED
    ) -> list[ListedAttempt]:
        """The last attempts made, newest first; `generation` is the webhook's present one."""
        order = [("attempted_at", DESCENDING), ("_id", DESCENDING)]
        with translated_errors():
            found = self._attempts.find({"webhook_id": webhook_id}, sort=order, limit=limit)
            return [listed_attempt(document, generation=generation) async for document in found]
