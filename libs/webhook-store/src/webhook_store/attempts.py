"""Completed attempts, as listed for a webhook's owner."""

from collections.abc import Sequence

from pymongo import DESCENDING

from common.contracts.webhooks import Attempt, DeliveryId, DeliveryQuery, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.delivery_documents import ATTEMPTS, Document, listed_attempt
from webhook_store.delivery_models import Listed, ListPosition


class Attempts:
    """The stored attempts. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._attempts = database[ATTEMPTS]

    async def page(
        self,
        webhook_id: WebhookId,
        query: DeliveryQuery = DeliveryQuery(),  # noqa: B008 (immutable)
        *,
        generation: int,
        after: ListPosition | None = None,
    ) -> Listed:
        """Returns attempts made, newest first, read under the current `generation`."""
        wanted = {"webhook_id": webhook_id, **selection(query, "attempted_at", after)}
        if query.status is not None:
            wanted["status"] = query.status.value
        order = [("attempted_at", DESCENDING), ("_id", DESCENDING)]
        with translated_errors():
            found = await self._attempts.find(wanted, sort=order, limit=query.limit + 1).to_list(
                None
            )
        shown = found[: query.limit]
        return Listed(
            [listed_attempt(document, generation=generation) for document in shown],
            position_of(shown[-1], "attempted_at") if len(found) > len(shown) else None,
        )

    async def of_delivery(
        self, delivery_id: DeliveryId, *, made: int, generation: int
    ) -> Sequence[Attempt]:
        """Returns the attempts of a delivery, the first first; `made` is how many there may be."""
        ids = [f"{delivery_id}:{number}" for number in range(1, made + 1)]
        with translated_errors():
            found = await self._attempts.find({"_id": {"$in": ids}}).to_list(None)
        found.sort(key=lambda document: document["attempt"])
        return [listed_attempt(document, generation=generation) for document in found]


def selection(query: DeliveryQuery, time: str, after: ListPosition | None) -> Document:
    """Filter for the entries of a query after a position; `time` is the field that sorts them."""
    bounds = {
        name: bound
        for name, bound in (("$gte", query.since), ("$lte", query.until))
        if bound is not None
    }
    selected: Document = {time: bounds} if bounds else {}
    if query.types:
        selected["event_type"] = {"$in": [kind.value for kind in query.types]}
    if after is not None:
        selected["$or"] = [
            {time: {"$lt": after.at}},
            {time: after.at, "_id": {"$lt": after.id}},
        ]
    return selected


def position_of(document: Document, time: str) -> ListPosition:
    return ListPosition(document[time], document["_id"])
