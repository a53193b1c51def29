"""The time to find an event's webhooks, by the number of webhooks.

With webhooks that follow companies, with webhooks of every type of filter, and with these next to
webhooks that follow watchlists.
"""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from pydantic import SecretStr

from bench.deliveries.environment import new_webhook
from bench.events import key_of, vat_of
from bench.figures import Figure, latencies
from bench.processes import resident_megabytes
from bench.scale import SEED, Scale
from bench.setup import Servers, unique_name
from common.contracts.company import Country
from common.contracts.events import EventType
from common.contracts.watchlists import WatchlistId
from common.contracts.webhooks import WebhookFilter
from common.domain.known_values import digits
from common.mongo import Database, connected, database
from webhook_store.collections import MEMBERS, WEBHOOKS
from webhook_store.indexes import make_indexes
from webhook_store.matching import Subject
from webhook_store.secrets import SecretKeys
from webhook_store.sending import Webhooks
from webhook_store.watchlists import member_id
from webhook_store.webhooks import webhook_fields

#: Companies that a webhook follows, and the number of companies.
_FOLLOWED, _COMPANIES = 50, 1_000_000
#: Maximum number of webhooks that match nearly every event.
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

    #: One of these, for the webhooks that match nearly every event.
    unselective: Sequence[WebhookFilter | None]
    selective: Callable[[Random], WebhookFilter]


async def measure(own: Servers, scale: Scale) -> AsyncIterator[Figure]:
    by_company = Filters([None], _companies)
    by_anything = Filters(
        [None, WebhookFilter(forms=_FORMS), WebhookFilter(fields=_FIELDS)], _anything
    )
    largest = max(scale.webhooks)
    lists = [WatchlistId(f"wl_{number:032x}") for number in range(scale.watchlists)]
    runs = [(count, f"{count:,} webhooks", by_company, 0) for count in scale.webhooks]
    of_all = f"{largest:,} webhooks of every filter"
    runs.append((largest, of_all, by_anything, 0))
    watching = f"{of_all}, {len(lists):,} watchlists of {scale.watched:,} companies"
    runs.append((largest, watching, by_anything, scale.watched))
    timeout = timedelta(minutes=10)
    async with connected(own.mongo.url, name="bench", operation_timeout=timeout) as client:
        for count, label, filters, watched in runs:
            name = unique_name()
            db = database(client, name)
            await _insert(db, count, filters, lists if watched else ())
            companies = await _watch(db, lists, watched) if watched else _COMPANIES
            for figure in await _matched(db, scale.matched_events, companies, label):
                yield figure
            await client.drop_database(name)


async def _matched(db: Database, events: int, companies: int, label: str) -> list[Figure]:
    webhooks = Webhooks(db, SecretKeys.parse(_KEYS, random_bytes=secrets.token_bytes))
    random = Random(SEED)
    subjects = [_subject(random, companies) for _ in range(events)]
    # The first event makes the dispatcher build its index.
    before, started = _resident(), time.perf_counter()
    await webhooks.matching(subjects[:1])
    built, taken = time.perf_counter() - started, _resident() - before
    alone = [await _milliseconds(webhooks, [subject]) for subject in subjects]
    cpu = time.process_time()
    together = [
        await _milliseconds(webhooks, subjects[first : first + _TOGETHER])
        for first in range(0, events, _TOGETHER)
    ]
    name = f"matching an event with {label}"
    return [
        Figure(f"{name}, index in memory: built in", built, "s"),
        Figure(f"{name}, index in memory: size", taken, "MB"),
        *latencies(name, alone, p99=10),
        Figure(f"{name}, {_TOGETHER} together, each", sum(together) / events, "ms"),
        Figure(
            f"{name}, {_TOGETHER} together, of the process each",
            (time.process_time() - cpu) * 1000 / events,
            "ms",
        ),
    ]


def _resident() -> float:
    return resident_megabytes()["private"]


async def _milliseconds(webhooks: Webhooks, subjects: list[Subject]) -> float:
    started = time.perf_counter()
    await webhooks.matching(subjects)
    return (time.perf_counter() - started) * 1000


async def _watch(db: Database, lists: Sequence[WatchlistId], watched: int) -> int:
    """Stores the companies of lists, each in a tenth of the lists; returns their number."""
    random, of_each = Random(SEED), max(1, len(lists) // 10)
    companies = watched * len(lists) // of_each
    for first in range(0, companies, _BATCH // 10):
        await db[MEMBERS].insert_many(
            [
                {"_id": member_id(key_of(number), one), "list": one}
                for number in range(first, min(first + _BATCH // 10, companies))
                for one in random.sample(lists, of_each)
            ],
            ordered=False,
        )
    await make_indexes(db)
    return companies


def _subject(random: Random, companies: int) -> Subject:
    """Returns a change of a company; some industries and places have more companies."""
    return Subject(
        EventType.COMPANY_UPDATED,
        Country.NO,
        vat_of(random.randrange(companies)),
        form=random.choice(_FORMS),
        industries=(digits(_industry(random)),),
        municipality=_municipality(random),
        fields=(random.choice(_FIELDS),),
    )


async def _insert(db: Database, count: int, filters: Filters, lists: Sequence[WatchlistId]) -> None:
    """Inserts webhooks, and then makes the indexes, which is faster than the other way round.

    The last of them follow the lists, two each.
    """
    random, now = Random(SEED), datetime.now(UTC)
    for first in range(0, count, _BATCH):
        documents = []
        for number in range(first, min(first + _BATCH, count)):
            is_unselective = number < min(_UNSELECTIVE, count // 2)
            wanted = (
                random.choice(filters.unselective) if is_unselective else filters.selective(random)
            )
            url, host = "https://hooks.example.com/", "hooks.example.com"
            if count - number <= 2 * len(lists):
                wanted = WebhookFilter(watchlists=(lists[number % len(lists)],))
            webhook = new_webhook(f"owner {number // 50}", url, host, wanted)
            webhook = webhook.model_copy(update={"updated_at": now - timedelta(minutes=number)})
            document = {"_id": webhook.id, "owner": webhook.owner, "slot": number}
            documents.append({**document, **webhook_fields(webhook)})
        await db[WEBHOOKS].insert_many(documents)
    await make_indexes(db)


def _companies(random: Random) -> WebhookFilter:
    followed = tuple(key_of(random.randrange(_COMPANIES)) for _ in range(_FOLLOWED))
    return WebhookFilter(companies=followed)


def _anything(random: Random) -> WebhookFilter:
    """Returns companies, an industry, a municipality, both, or all of it."""
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
    """Returns a code of five digits; the first divisions have most of the companies."""
    division = 10 + int(random.betavariate(1, 3) * _DIVISIONS)
    return f"{division}.{random.randrange(_GROUPS)}00"


def _municipality(random: Random) -> str:
    return f"PRØVEBY {int(random.betavariate(1, 3) * _MUNICIPALITIES)}"
