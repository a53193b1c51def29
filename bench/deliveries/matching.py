"""The time to find an event's webhooks, by the number of webhooks.

Once with webhooks that follow companies, and once with webhooks of every kind of filter.
"""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from pydantic import SecretStr

from bench.deliveries.environment import new_webhook
from bench.events import key_of, vat_of
from bench.figures import Figure, latencies
from bench.scale import SEED, Scale
from bench.setup import Servers, unique_name
from common.contracts.company import Country
from common.contracts.events import EventType
from common.contracts.webhooks import WebhookFilter
from common.domain.known_values import digits
from common.mongo import Database, connected, database
from webhook_store.indexes import make_indexes
from webhook_store.webhooks.documents import WEBHOOKS, webhook_fields
from webhook_store.webhooks.matching import Subject
from webhook_store.webhooks.secrets import SecretKeys
from webhook_store.webhooks.sending import Webhooks

#: Companies that a webhook follows, of so many.
_FOLLOWED, _COMPANIES = 50, 1_000_000
#: Maximum number of webhooks that nearly every event is for.
_UNSELECTIVE = 200
#: Industry divisions, groups in each, municipalities: about as many as the registers have.
_DIVISIONS, _GROUPS, _MUNICIPALITIES = 88, 10, 450
#: Events that are matched together while the dispatcher is busy, and webhooks of one insert.
_TOGETHER, _BATCH = 50, 1_000
_FORMS = ("AS", "ENK", "NUF", "FLI", "ANS", "SA", "ESEK", "STI")
_FIELDS = ("name", "address", "status", "industry", "form", "email", "phone", "website")
#: Decrypts nothing here: matching reads no secret.
_KEYS = SecretStr("bench:" + "A" * 43 + "=")


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of stored webhooks."""

    #: One of these for the webhooks that nearly every event is for.
    unselective: Sequence[WebhookFilter | None]
    selective: Callable[[Random], WebhookFilter]


async def measure(own: Servers, scale: Scale) -> AsyncIterator[Figure]:
    by_company = Filters([None], _companies)
    by_anything = Filters(
        [None, WebhookFilter(forms=_FORMS), WebhookFilter(fields=_FIELDS)], _anything
    )
    runs = [(count, f"{count:,} webhooks", by_company) for count in scale.webhooks]
    largest = max(scale.webhooks)
    runs.append((largest, f"{largest:,} webhooks of every filter", by_anything))
    timeout = timedelta(minutes=10)
    async with connected(own.mongo.url, name="bench", operation_timeout=timeout) as client:
        for count, label, filters in runs:
            name = unique_name()
            db = database(client, name)
            await _insert(db, count, filters)
            for figure in await _matched(db, scale.matched_events, label):
                yield figure
            await client.drop_database(name)


async def _matched(db: Database, events: int, label: str) -> list[Figure]:
    webhooks = Webhooks(db, SecretKeys.parse(_KEYS, random_bytes=secrets.token_bytes))
    random = Random(SEED)
    subjects = [_subject(random) for _ in range(events)]
    alone = [await _milliseconds(webhooks, [subject]) for subject in subjects]
    together = [
        await _milliseconds(webhooks, subjects[first : first + _TOGETHER])
        for first in range(0, events, _TOGETHER)
    ]
    name = f"matching an event with {label}"
    return [
        *latencies(name, alone, p99=10),
        Figure(f"{name}, {_TOGETHER} together, each", sum(together) / events, "ms"),
    ]


async def _milliseconds(webhooks: Webhooks, subjects: list[Subject]) -> float:
    started = time.perf_counter()
    await webhooks.matching(subjects)
    return (time.perf_counter() - started) * 1000


def _subject(random: Random) -> Subject:
    """A change of one of the companies, which are more in some industries and places."""
    return Subject(
        EventType.COMPANY_UPDATED,
        Country.NO,
        vat_of(random.randrange(_COMPANIES)),
        form=random.choice(_FORMS),
        industries=(digits(_industry(random)),),
        municipality=_municipality(random),
        fields=(random.choice(_FIELDS),),
    )


async def _insert(db: Database, count: int, filters: Filters) -> None:
    """Inserts webhooks, and then makes the indexes, which is faster than the other way round."""
    random = Random(SEED)
    for first in range(0, count, _BATCH):
        documents = []
        for number in range(first, min(first + _BATCH, count)):
            is_unselective = number < min(_UNSELECTIVE, count // 2)
            wanted = (
                random.choice(filters.unselective) if is_unselective else filters.selective(random)
            )
            url, host = "https://hooks.example.com/", "hooks.example.com"
            webhook = new_webhook(f"owner {number // 50}", url, host, wanted)
            document = {"_id": webhook.id, "owner": webhook.owner, "slot": number}
            documents.append({**document, **webhook_fields(webhook)})
        await db[WEBHOOKS].insert_many(documents)
    await make_indexes(db)


def _companies(random: Random) -> WebhookFilter:
    followed = tuple(key_of(random.randrange(_COMPANIES)) for _ in range(_FOLLOWED))
    return WebhookFilter(companies=followed)


def _anything(random: Random) -> WebhookFilter:
    """Companies, an industry, a municipality, both, or all of it."""
    place, fields = (_municipality(random),), (random.choice(_FIELDS),)
    forms, industry = (random.choice(_FORMS),), (_industry(random)[: random.choice((2, 5))],)
    return random.choice(
        (
            _companies(random),
            WebhookFilter(industries=industry, forms=forms),
            WebhookFilter(municipalities=place, fields=fields),
            WebhookFilter(industries=industry, municipalities=place),
            WebhookFilter(industries=industry, municipalities=place, forms=forms, fields=fields),
        )
    )


def _industry(random: Random) -> str:
    """A code of five digits; the first divisions have most of the companies."""
    division = 10 + int(random.betavariate(1, 3) * _DIVISIONS)
    return f"{division}.{random.randrange(_GROUPS)}00"


def _municipality(random: Random) -> str:
    return f"PRØVEBY {int(random.betavariate(1, 3) * _MUNICIPALITIES)}"
