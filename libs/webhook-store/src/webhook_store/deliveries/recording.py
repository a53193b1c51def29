"""Recording of results under the claims of their attempts.

Separate writes in a crash-safe order, without a transaction: first the attempts, then the disabling
of webhooks, then the rows, one write for all equal changes. A crash in between leaves a claimed
row. When its lease expires it is attempted again, and the later attempt, which has the same number,
replaces the earlier; or its webhook is disabled by then, and the delivery is cancelled. A killed
process would leave a transaction open, which blocks its rows and every batch that claims them for
a minute (ADR 0007, 0013).
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pymongo.errors
from pymongo import ReplaceOne, UpdateMany

from common.contracts.webhooks import DeliveryId
from common.mongo import Database, translated_errors
from webhook_store.deliveries.documents import (
    ATTEMPTS,
    BY_ID,
    DELIVERIES,
    Document,
    after,
    attempt_document,
    rows_of,
)
from webhook_store.deliveries.models import Attempted, Result, Written
from webhook_store.deliveries.rows import DeliveryTimes
from webhook_store.duplicates import duplicates
from webhook_store.webhooks.sending import Webhooks


class Recorder:
    """Writes results."""

    def __init__(self, database: Database, webhooks: Webhooks, times: DeliveryTimes) -> None:
        self._rows = database[DELIVERIES]
        self._attempts = database[ATTEMPTS]
        self._webhooks = webhooks
        self._times = times

    async def record(self, results: Sequence[Result], *, at: datetime) -> list[Written]:
        """Writes results, at most one per delivery; returns the effect of each, in order.

        Raises Unavailable. Some results may then be written; record all again: written results are
        reported as held and not written twice.
        """
        with translated_errors():
            lost = await self._lost([one for one in results if _disables(one)])
            ours = [one for one in results if one.delivery.id not in lost]
            await self._write_attempts([one for one in ours if isinstance(one, Attempted)], at)
            disabled = {one.delivery.id for one in ours if await self._disable(one, at)}
            written = await self._write_rows(ours, at)
            held = (
                {one.delivery.id for one in results}
                if written == len(results)
                else await self._settled(results)
            )
        return [
            Written(held=one.delivery.id in held, disabled=one.delivery.id in disabled)
            for one in results
        ]

    async def _lost(self, results: Sequence[Result]) -> set[DeliveryId]:
        """Returns deliveries with lost claims, checked for results that disable a webhook.

        For other results the write itself detects a lost claim. A result that an earlier try wrote
        is not lost: it must report the disabled webhook again.
        """
        if not results:
            return set()
        claims = {one.delivery.id: one.delivery.claim for one in results}
        found = self._rows.find(_rows_of(results), {"claim": 1, "settled_by": 1}, hint=BY_ID)
        held = {
            row["_id"]
            async for row in found
            if claims[row["_id"]] in (row.get("claim"), row.get("settled_by"))
        }
        return set(claims) - held

    async def _disable(self, result: Result, at: datetime) -> bool:
        """Disables the webhook; True if this result did it, once per generation."""
        if not isinstance(result, Attempted) or result.disable is None:
            return False
        delivery = result.delivery
        return await self._webhooks.disable(
            delivery.webhook_id,
            generation=delivery.generation,
            reason=result.disable,
            # One claim covers many deliveries, and a delivery is claimed many times.
            by=f"{delivery.id}:{delivery.claim}",
            at=at,
        )

    async def _write_rows(self, results: Sequence[Result], at: datetime) -> int:
        """Writes the rows whose claims still hold; returns how many."""
        if not results:
            return 0
        written = await self._rows.bulk_write(self._updates(results, at), ordered=False)
        return written.modified_count

    async def _write_attempts(self, attempted: Sequence[Attempted], at: datetime) -> None:
        expires_at = at + self._times.retention
        attempts = [attempt_document(one, expires_at=expires_at) for one in attempted]
        if not attempts:
            return
        try:
            await self._attempts.insert_many(attempts, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            await self._replace([attempts[number] for number in duplicates(error)])

    async def _replace(self, attempts: Sequence[Document]) -> None:
        """Writes attempts; of two with the same number, the one that started last is kept."""
        if not attempts:
            return
        writes = [
            # A process that lost the claim started earlier than its present holder.
            ReplaceOne(
                {
                    "_id": one["_id"],
                    "webhook_id": one["webhook_id"],
                    "attempted_at": {"$lte": one["attempted_at"]},
                },
                one,
                upsert=True,
                hint=BY_ID,
            )
            for one in attempts
        ]
        try:
            await self._attempts.bulk_write(writes, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            duplicates(error)  # A later attempt with the same number exists and is kept.

    async def _settled(self, results: Sequence[Result]) -> set[DeliveryId]:
        """Returns deliveries whose rows were released under these claims, now or earlier."""
        claims = {one.delivery.id: one.delivery.claim for one in results}
        found = self._rows.find(_rows_of(results), {"settled_by": 1}, hint=BY_ID)
        return {row["_id"] async for row in found if row.get("settled_by") == claims[row["_id"]]}

    def _updates(self, results: Sequence[Result], at: datetime) -> list[UpdateMany]:
        """Builds one update for all results that change their rows equally."""
        times = self._times
        groups: defaultdict[tuple[tuple[tuple[str, Any], ...], tuple[str, ...]], list[Result]]
        groups = defaultdict(list)
        for result in results:
            change = after(result, at=at, grace=times.grace, retention=times.retention)
            groups[tuple(change.set.items()), change.unset].append(result)
        return [
            UpdateMany(
                {**_rows_of(alike), "claim": alike[0].delivery.claim},
                {"$set": dict(fields), "$unset": dict.fromkeys(unset, "")},
                hint=BY_ID,
            )
            for (fields, unset), alike in groups.items()
        ]


def _rows_of(results: Sequence[Result]) -> Document:
    return rows_of({one.delivery.id: one.delivery.webhook_id for one in results})


def _disables(result: Result) -> bool:
    return isinstance(result, Attempted) and result.disable is not None
