"""The dispatcher's memory and throughput while very many deliveries are due."""

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.deliveries.rates import FAN
from bench.deliveries.world import WEBHOOKS, World, groups, vat_of, world
from bench.figures import Figure, at_most
from bench.servers import Servers
from common.contracts.events import EventType, encode_event
from common.contracts.webhooks import DeliveryId
from webhook_store.delivery_documents import DELIVERIES, EVENTS, new_document
from webhook_store.delivery_models import NewDelivery
from webhook_store.documents import WEBHOOKS as STORED
from webhook_store.indexes import make_indexes

#: Maximum growth with a million deliveries due.
_GOAL = 1.25
_RETENTION = timedelta(days=30)
#: The age of deliveries whose tasks were lost with the broker's data.
_AGE = timedelta(minutes=10)


async def measure(own: Servers, folder: Path, *, rows: int, seconds: float) -> list[Figure]:
    none, _ = await _working(own, folder, rows=0, seconds=seconds)
    many, rate = await _working(own, folder, rows=rows, seconds=seconds)
    name = f"with {rows:,} deliveries due"
    return [
        Figure("memory of the dispatcher with no deliveries due", none, "MB"),
        Figure(f"memory of the dispatcher {name}", many, "MB"),
        at_most(f"memory of the dispatcher {name}, to that with none", many / none, "×", _GOAL),
        Figure(f"deliveries recorded {name}", rate, "/s"),
    ]


async def _working(own: Servers, folder: Path, *, rows: int, seconds: float) -> tuple[float, float]:
    """Megabytes after some time, and deliveries recorded a second of it."""
    async with world(own, folder) as around:
        await around.webhooks(groups(FAN))
        if rows:
            await _fill(around, rows)
        service = await around.dispatcher()
        # With nothing due it is given as much as it needs to have been busy once.
        events = 0 if rows else 500
        await around.publish_all([around.event(vat_of(n % FAN)) for n in range(events)])
        await around.recorded(100)
        before = await around.db["attempts"].estimated_document_count()
        await asyncio.sleep(seconds)
        done = await around.db["attempts"].estimated_document_count() - before
        return _resident(service.process.pid), done / seconds


async def _fill(around: World, rows: int) -> None:
    """Rows of one event that are overdue."""
    event = around.event(vat_of(0))
    at = datetime.now(UTC) - _AGE
    await around.db[EVENTS].insert_one(
        {"_id": event.id, "type": event.type, "company": None, "body": encode_event(event)}
    )
    webhooks = await around.db[STORED].find({}, {"generation": 1}).to_list(None)
    await around.db[DELIVERIES].drop_indexes()
    for first in range(0, rows, 10_000):
        batch = [
            NewDelivery(
                id=DeliveryId(str(uuid.UUID(int=number))),
                webhook_id=webhooks[number % WEBHOOKS]["_id"],
                generation=webhooks[number % WEBHOOKS]["generation"],
                event_id=event.id,
                event_type=EventType.COMPANY_UPDATED,
                occurred_at=at,
            )
            for number in range(first, min(first + 10_000, rows))
        ]
        await around.db[DELIVERIES].insert_many(
            [new_document(one, at=at, grace=timedelta(), retention=_RETENTION) for one in batch],
            ordered=False,
        )
    await make_indexes(around.db)


def _resident(pid: int) -> float:
    """Megabytes that a process holds now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmRSS")]
    return int(kilobytes) / 1024
