"""How long it takes to find the webhooks that an event is for, however many there are."""

import itertools
import secrets
import statistics
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from pydantic import SecretStr

from bench.deliveries.world import key_of, vat_of
from bench.figures import Figure, at_most, percentile
from bench.plots import write_curves
from bench.servers import Servers
from common.contracts.company import Country
from common.contracts.events import EventType
from common.contracts.webhooks import WebhookId
from common.mongo import Database, connected, database
from webhook_store.documents import WEBHOOKS, webhook_fields
from webhook_store.indexes import make_indexes
from webhook_store.matching import Subject
from webhook_store.models import EventFilter, Webhook
from webhook_store.secrets import SecretKeys
from webhook_store.webhooks import Webhooks

_SEED = 1
#: Companies that a webhook follows, of so many.
_FOLLOWED, _COMPANIES = 50, 1_000_000
#: Webhooks that follow every company, at most: each event is for all of them.
_OF_ALL = 200
#: Events that are matched together while the dispatcher has much to do.
_TOGETHER = 50
_GOAL_MS = 10
#: What the figures of one size are called in the curves, in their order.
_LABELS = ("p50", "p99", f"{_TOGETHER} together, each")

#: Opens nothing here: matching reads no secret.
_KEYS = SecretStr("bench:" + "A" * 43 + "=")


async def measure(own: Servers, *, webhooks: tuple[int, ...], events: int) -> list[Figure]:
    """For each of these numbers of webhooks; three or more are drawn as curves, too."""
    figures = []
    curves: dict[str, list[tuple[float, float]]] = {label: [] for label in _LABELS}
    async with connected(
        own.mongo.url, name="bench", operation_limit=timedelta(minutes=10)
    ) as client:
        for count in webhooks:
            name = f"matching-{uuid.uuid4().hex[:8]}"
            db = database(client, name)
            await _fill(db, count)
            found = await _figures(db, count, events)
            for label, figure in zip(_LABELS, found, strict=True):
                curves[label].append((count, figure.value))
            figures += found
            await client.drop_database(name)
    if len(webhooks) > 2:
        write_curves("matching", "Matching an event", "webhooks", "ms", curves)
    return figures


async def _figures(db: Database, count: int, events: int) -> list[Figure]:
    stored = Webhooks(db, SecretKeys.parse(_KEYS, random_bytes=secrets.token_bytes))
    chance = Random(_SEED)
    subjects = [
        Subject(EventType.COMPANY_UPDATED, Country.NO, vat_of(chance.randrange(_COMPANIES)))
        for _ in range(events)
    ]
    alone = await _timed(stored, [[subject] for subject in subjects])
    together = await _timed(stored, [list(batch) for batch in _batches(subjects)])
    name = f"matching an event with {count:,} webhooks"
    return [
        Figure(f"{name}, p50", statistics.median(alone), "ms"),
        at_most(f"{name}, p99", percentile(alone, 0.99), "ms", _GOAL_MS),
        Figure(f"{name}, {_TOGETHER} together, each", sum(together) / events, "ms"),
    ]


async def _timed(stored: Webhooks, lists: list[list[Subject]]) -> list[float]:
    """Milliseconds for each of the lists."""
    taken = []
    for subjects in lists:
        started = time.perf_counter()
        await stored.matching(subjects)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def _batches(subjects: list[Subject]) -> Iterator[tuple[Subject, ...]]:
    rest = iter(subjects)
    while batch := tuple(itertools.islice(rest, _TOGETHER)):
        yield batch


async def _fill(db: Database, count: int) -> None:
    """As many webhooks, and then the indexes, which is quicker than the other way round."""
    chance = Random(_SEED)
    for first in range(0, count, 1000):
        numbers = range(first, min(first + 1000, count))
        await db[WEBHOOKS].insert_many(
            [
                {
                    "_id": (webhook := _webhook(number, count, chance)).id,
                    "owner": webhook.owner,
                    "slot": number,
                    **webhook_fields(webhook),
                }
                for number in numbers
            ]
        )
    await make_indexes(db)


def _webhook(number: int, count: int, chance: Random) -> Webhook:
    now = datetime.now(UTC)
    every = number < min(_OF_ALL, count // 2)
    followed = tuple(key_of(chance.randrange(_COMPANIES)) for _ in range(_FOLLOWED))
    return Webhook(
        id=WebhookId(f"wh_{number:032x}"),
        owner=f"owner {number // 50}",
        url="https://hooks.example.com/",
        host="hooks.example.com",
        events=("company.*",),
        filter=None if every else EventFilter(companies=followed),
        description=None,
        created_at=now,
        updated_at=now,
    )
