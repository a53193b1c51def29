"""The time to find an event's webhooks, by the number of webhooks.

Once with webhooks that follow companies, and once with webhooks of every kind of filter.
"""

import itertools
import secrets
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from pydantic import SecretStr

from bench.deliveries.world import key_of, vat_of
from bench.figures import Figure, at_most, percentile
from bench.plots import write_curves
from bench.servers import Servers
from common.contracts.company import Country
from common.contracts.events import EventType
from common.contracts.webhooks import Webhook, WebhookFilter, WebhookId
from common.mongo import Client, Database, connected, database
from webhook_store.documents import WEBHOOKS, webhook_fields
from webhook_store.indexes import make_indexes
from webhook_store.matching import Subject, digits
from webhook_store.secrets import SecretKeys
from webhook_store.webhooks import Webhooks

_SEED = 1
#: Companies that a webhook follows, of so many.
_FOLLOWED, _COMPANIES = 50, 1_000_000
#: Webhooks that nearly every event is for, at most.
_OF_ALL = 200
#: Industry divisions, groups in each, municipalities: about as many as the registers have.
_DIVISIONS, _GROUPS, _MUNICIPALITIES = 88, 10, 450
#: Events that are matched together while the dispatcher has much to do.
_TOGETHER = 50
_FORMS = ("AS", "ENK", "NUF", "FLI", "ANS", "SA", "ESEK", "STI")
_FIELDS = ("name", "address", "status", "industry", "form", "email", "phone", "website")
_GOAL_MS = 10
#: Labels of the figures of one size in the curves, in their order.
_LABELS = ("p50", "p99", f"{_TOGETHER} together, each")

#: Opens nothing here: matching reads no secret.
_KEYS = SecretStr("bench:" + "A" * 43 + "=")


#: Gives the webhook of a number, of so many.
Subscribe = Callable[[int, int, Random], WebhookFilter | None]


async def measure(own: Servers, *, webhooks: tuple[int, ...], events: int) -> list[Figure]:
    """For each of these numbers of webhooks; three or more are drawn as curves, too."""
    figures = []
    curves: dict[str, list[tuple[float, float]]] = {label: [] for label in _LABELS}
    async with connected(
        own.mongo.url, name="bench", operation_timeout=timedelta(minutes=10)
    ) as client:
        for count in webhooks:
            found = await _measured(client, count, events, _followed, f"{count:,} webhooks")
            for label, figure in zip(_LABELS, found, strict=True):
                curves[label].append((count, figure.value))
            figures += found
        most = max(webhooks)
        name = f"{most:,} webhooks of every filter"
        figures += await _measured(client, most, events, _filtered, name)
    if len(webhooks) > 2:
        write_curves("matching", "Matching an event", "webhooks", "ms", curves)
    return figures


async def _measured(
    client: Client, count: int, events: int, subscribe: Subscribe, name: str
) -> list[Figure]:
    stored = f"matching-{uuid.uuid4().hex[:8]}"
    db = database(client, stored)
    try:
        await _fill(db, count, subscribe)
        return await _figures(db, events, f"matching an event with {name}")
    finally:
        await client.drop_database(stored)


async def _figures(db: Database, events: int, name: str) -> list[Figure]:
    stored = Webhooks(db, SecretKeys.parse(_KEYS, random_bytes=secrets.token_bytes))
    chance = Random(_SEED)
    subjects = [_subject(chance) for _ in range(events)]
    alone = await _timed(stored, [[subject] for subject in subjects])
    together = await _timed(stored, [list(batch) for batch in _batches(subjects)])
    return [
        Figure(f"{name}, p50", statistics.median(alone), "ms"),
        at_most(f"{name}, p99", percentile(alone, 0.99), "ms", _GOAL_MS),
        Figure(f"{name}, {_TOGETHER} together, each", sum(together) / events, "ms"),
    ]


def _subject(chance: Random) -> Subject:
    """A change of one of the companies, which are more in some industries and places."""
    return Subject(
        EventType.COMPANY_UPDATED,
        Country.NO,
        vat_of(chance.randrange(_COMPANIES)),
        form=chance.choice(_FORMS),
        industries=(digits(_industry(chance)),),
        municipality=_municipality(chance),
        fields=(chance.choice(_FIELDS),),
    )


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


async def _fill(db: Database, count: int, subscribe: Subscribe) -> None:
    """As many webhooks, and then the indexes, which is quicker than the other way round."""
    chance = Random(_SEED)
    for first in range(0, count, 1000):
        numbers = range(first, min(first + 1000, count))
        webhooks = [_webhook(number, subscribe(number, count, chance)) for number in numbers]
        await db[WEBHOOKS].insert_many(
            [
                {
                    "_id": webhook.id,
                    "owner": webhook.owner,
                    "slot": number,
                    **webhook_fields(webhook),
                }
                for number, webhook in zip(numbers, webhooks, strict=True)
            ]
        )
    await make_indexes(db)


def _followed(number: int, count: int, chance: Random) -> WebhookFilter | None:
    """Some webhooks follow every company, the others fifty each."""
    if number < min(_OF_ALL, count // 2):
        return None
    followed = tuple(key_of(chance.randrange(_COMPANIES)) for _ in range(_FOLLOWED))
    return WebhookFilter(companies=followed)


def _filtered(number: int, count: int, chance: Random) -> WebhookFilter | None:
    """A fifth each: companies, an industry, a municipality, both, and all of it."""
    place, fields = (_municipality(chance),), (chance.choice(_FIELDS),)
    forms = (chance.choice(_FORMS),)
    industry = (_industry(chance)[: chance.choice((2, 5))],)
    if number < min(_OF_ALL, count // 2):
        return (None, WebhookFilter(forms=_FORMS), WebhookFilter(fields=_FIELDS))[number % 3]
    match number % 5:
        case 0:
            return _followed(count, count, chance)
        case 1:
            return WebhookFilter(industries=industry, forms=forms)
        case 2:
            return WebhookFilter(municipalities=place, fields=fields)
        case 3:
            return WebhookFilter(industries=industry, municipalities=place)
        case _:
            return WebhookFilter(
                industries=industry, municipalities=place, forms=forms, fields=fields
            )


def _industry(chance: Random) -> str:
    """A code of five digits; the first divisions have most of the companies."""
    division = 10 + int(chance.betavariate(1, 3) * _DIVISIONS)
    return f"{division}.{chance.randrange(_GROUPS)}00"


def _municipality(chance: Random) -> str:
    return f"PRØVEBY {int(chance.betavariate(1, 3) * _MUNICIPALITIES)}"


def _webhook(number: int, wanted: WebhookFilter | None) -> Webhook:
    now = datetime.now(UTC)
    return Webhook(
        id=WebhookId(f"wh_{number:032x}"),
        owner=f"owner {number // 50}",
        url="https://hooks.example.com/",
        host="hooks.example.com",
        events=("company.*",),
        filter=wanted,
        description=None,
        created_at=now,
        updated_at=now,
    )
