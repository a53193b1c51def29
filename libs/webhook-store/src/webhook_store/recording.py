"""Results of attempts, written under the claims that they were made with.

Ordinary results are two lists of writes: the attempts, then the rows, one write for all that change
alike. A crash in between leaves an attempt whose row is still claimed; the row is attempted again,
and the later attempt, which has the same number, takes the place of the earlier. They are no
transaction, because one that its process leaves open when it is killed holds its rows for a minute,
and with them every list that they are claimed in (ADR 0007). A result that disables its webhook is
one: the record and the disabling stand or fall together.
"""

import asyncio
from collections import defaultdict
from collections.abc import Hashable, Sequence
from datetime import datetime

import pymongo.errors
from pymongo import ReplaceOne, UpdateMany
from pymongo.asynchronous.client_session import AsyncClientSession

from common.contracts.outage import Outage
from common.contracts.webhooks import DeliveryId, DisabledReason
from common.mongo import Client, Database, outages
from webhook_store.deliveries import DeliveryTimes
from webhook_store.delivery_documents import (
    ATTEMPTS,
    DELIVERIES,
    Document,
    after,
    attempt_document,
    change_of,
)
from webhook_store.delivery_models import Attempted, Result, Written
from webhook_store.webhooks import Webhooks

#: Seconds for one transaction, with its repeats; the driver's own limit is two minutes.
_LIMIT = 10.0

#: MongoDB's code of an insert whose id is there already.
_DUPLICATE = 11000


class Recorder:
    """Writes results."""

    def __init__(
        self, client: Client, database: Database, webhooks: Webhooks, times: DeliveryTimes
    ) -> None:
        self._client = client
        self._rows = database[DELIVERIES]
        self._attempts = database[ATTEMPTS]
        self._webhooks = webhooks
        self._times = times

    async def record(self, results: Sequence[Result], *, at: datetime) -> list[Written]:
        """What became of each result, in order; each delivery at most once in the list.

        Raises Outage. Some may then be written nevertheless, so record them again: what was
        written is told as held, and not written twice.
        """
        disabling = {
            result.delivery.id: await self._record_and_disable(result, result.disable, at)
            for result in results
            if isinstance(result, Attempted) and result.disable is not None
        }
        ordinary = [result for result in results if result.delivery.id not in disabling]
        held = await self._record_all(ordinary, at) if ordinary else set()
        return [
            disabling.get(result.delivery.id) or Written(held=result.delivery.id in held)
            for result in results
        ]

    async def _record_all(self, results: Sequence[Result], at: datetime) -> set[DeliveryId]:
        """The deliveries whose results count."""
        attempts = [
            self._attempt(result, at) for result in results if isinstance(result, Attempted)
        ]
        with outages():
            if attempts:
                await self._write_attempts(attempts)
            written = await self._rows.bulk_write(self._updates(results, at), ordered=False)
        if written.modified_count == len(results):
            return {result.delivery.id for result in results}
        return await self._settled(results)

    async def _write_attempts(self, attempts: Sequence[Document]) -> None:
        try:
            await self._attempts.insert_many(attempts, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            await self._replace([attempts[number] for number in _duplicates(error)])

    async def _replace(self, attempts: Sequence[Document]) -> None:
        """Of attempts that were written before, those are kept that began last."""
        writes = [
            # Whoever has lost the claim began earlier than the one who has it now.
            ReplaceOne(
                {"_id": one["_id"], "attempted_at": {"$lte": one["attempted_at"]}},
                one,
                upsert=True,
            )
            for one in attempts
        ]
        try:
            await self._attempts.bulk_write(writes, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            _duplicates(error)  # A later attempt of the same number is there, and stays.

    async def _settled(self, results: Sequence[Result]) -> set[DeliveryId]:
        """Those whose rows were given back under our claims, now or by an earlier try."""
        claims = {result.delivery.id: result.delivery.claim for result in results}
        with outages():
            found = self._rows.find({"_id": {"$in": list(claims)}}, {"settled_by": 1})
            return {
                row["_id"] async for row in found if row.get("settled_by") == claims[row["_id"]]
            }

    async def _record_and_disable(
        self, result: Attempted, reason: DisabledReason, at: datetime
    ) -> Written:
        async def write(session: AsyncClientSession) -> Written:
            row = await self._rows.bulk_write(self._updates([result], at), session=session)
            if row.modified_count == 0:
                return Written(held=False)
            attempt = self._attempt(result, at)
            await self._attempts.replace_one(
                {"_id": attempt["_id"]}, attempt, upsert=True, session=session
            )
            disabled = await self._webhooks.disable(
                result.delivery.webhook_id,
                generation=result.delivery.generation,
                reason=reason,
                at=at,
                session=session,
            )
            return Written(held=True, disabled=disabled)

        try:
            async with asyncio.timeout(_LIMIT):
                with outages():
                    async with self._client.start_session() as session:
                        written: Written = await session.with_transaction(write)
        except TimeoutError:
            raise Outage("the database did not answer in time") from None
        if not written.held and await self._settled([result]):
            return Written(held=True)
        return written

    def _updates(self, results: Sequence[Result], at: datetime) -> list[UpdateMany]:
        """One for all the results that change their rows alike."""
        groups: defaultdict[Hashable, list[Result]] = defaultdict(list)
        for result in results:
            groups[change_of(result)].append(result)
        times = self._times
        return [
            UpdateMany(
                {
                    "_id": {"$in": [result.delivery.id for result in alike]},
                    "claim": alike[0].delivery.claim,
                },
                after(alike[0], at=at, grace=times.grace, retention=times.retention),
            )
            for alike in groups.values()
        ]

    def _attempt(self, attempted: Attempted, at: datetime) -> Document:
        return attempt_document(attempted, expires_at=at + self._times.retention)


def _duplicates(error: pymongo.errors.BulkWriteError) -> list[int]:
    """Which of the writes found their id taken; raises the error when that was not all."""
    faults = error.details["writeErrors"]
    if any(fault["code"] != _DUPLICATE for fault in faults):
        raise error
    return [fault["index"] for fault in faults]
