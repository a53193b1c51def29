"""The lookup service put together; read from top to bottom it is the order of the start."""

from contextlib import AsyncExitStack
from datetime import timedelta
from random import Random
from uuid import uuid4

from common.contracts.company import Country
from common.contracts.lookup import LookupRequest, SuggestRequest
from common.contracts.topology import (
    EVENTS_EXCHANGE,
    lookup_queue,
    search_queue,
    suggest_queue,
)
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.depth import QueueProbe
from common.messaging.publisher import Publisher
from common.messaging.rpc_server import RpcServer, serving
from common.messaging.topology import Topology
from common.mongo import (
    Client,
    Database,
    DatabaseClock,
    connected,
    database,
    database_clock,
    ping,
)
from common.runtime.health import Health
from lookup.ingest.confirm import ConfirmEvents
from lookup.ingest.leases import Leases
from lookup.ingest.outbox import StoredOutbox, StoredReceipts, StoredUnconfirmedEvents
from lookup.ingest.outbox_worker import (
    BrokerBus,
    BrokerQueue,
    OutboxWorker,
    StoredEvents,
    publishing_outbox,
)
from lookup.ingest.publisher import PublishOutbox
from lookup.query.lookups import AnswerLookups
from lookup.query.rpc import Reads, SearchReads
from lookup.query.suggestions import AnswerSuggestions
from lookup.search.searcher import IndexSearches, followed_indexes
from lookup.settings import Settings
from lookup.store.reads import StoredRegister

#: Lists of searches that one process takes at a time; more would only wait for the threads.
SEARCH_PREFETCH = 4

EVENTS = Topology(topic_exchanges=(EVENTS_EXCHANGE,))
PUBLISH_LIMIT = timedelta(seconds=5)


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the lookup service onto `stack`; numbers are answered while an index is built."""
    random = Random()  # noqa: S311 (spreads reconnects, guards nothing)
    url = settings.mongo_url.get_secret_value()
    mongo = await stack.enter_async_context(connected(url, name="lookup"))
    register = database(mongo, settings.register_db)
    indexes = await _indexes(settings, stack, random)
    link = await stack.enter_async_context(
        supervised(settings.amqp_url.get_secret_value(), name="lookup", random=random)
    )

    health.add("broker", link.health)
    health.add("database", ping(mongo))
    health.add("index", indexes.health)

    stored = StoredRegister(register)
    lookups, suggestions = AnswerLookups(stored, indexes), AnswerSuggestions(indexes, stored)
    for country in settings.countries:
        await _serve(country, lookups, link, stack, settings.stop_limit)
        await _serve_suggestions(country, suggestions, link, stack, settings.stop_limit)
    await _publish_events(settings, mongo, stack, health, random)


async def _indexes(settings: Settings, stack: AsyncExitStack, random: Random) -> IndexSearches:
    """The search indexes, kept up to date over a connection whose streams have no time limit."""
    streams = await stack.enter_async_context(
        connected(settings.mongo_url.get_secret_value(), name="lookup-index", operation_limit=None)
    )
    register: Database = database(streams, settings.register_db)
    return await stack.enter_async_context(
        followed_indexes(
            register,
            settings.countries,
            folder=settings.index_dir,
            threads=settings.search_threads,
            interval=settings.commit_interval,
            random=random,
        )
    )


async def _publish_events(
    settings: Settings, mongo: Client, stack: AsyncExitStack, health: Health, random: Random
) -> None:
    """The outbox's publisher on a connection of its own: the broker may block a publishing one."""
    link = await stack.enter_async_context(
        supervised(settings.amqp_url.get_secret_value(), name="lookup-events", random=random)
    )
    health.add("events", link.health)
    publisher = Publisher(link, topology=EVENTS, new_id=_new_id, limit=PUBLISH_LIMIT)
    probe = QueueProbe()
    for attachment in (publisher, probe):
        await link.add(attachment)
    now = await stack.enter_async_context(database_clock(mongo))
    health.add("clock", now.check, required=False)
    bus, queue = BrokerBus(publisher), BrokerQueue(probe)
    worker = _outbox_worker(settings, mongo, bus, queue, random=random, now=now)
    await stack.enter_async_context(publishing_outbox(worker))


def _outbox_worker(  # noqa: PLR0913 (each is a collaborator)
    settings: Settings,
    mongo: Client,
    bus: BrokerBus,
    queue: BrokerQueue,
    *,
    random: Random,
    now: DatabaseClock,
) -> OutboxWorker:
    register = database(mongo, settings.register_db)
    timeout = settings.event_receipt_timeout
    stored = StoredEvents(
        StoredOutbox(register, retention=settings.outbox_retention),
        StoredUnconfirmedEvents(register, receipt_timeout=timeout),
    )
    receipts = StoredReceipts(database(mongo, settings.webhooks_db))
    return OutboxWorker(
        PublishOutbox(stored.outbox, bus, now, timeout),
        ConfirmEvents(stored.unconfirmed, receipts, bus, queue, now, timeout),
        stored,
        Leases(register, holder=_new_id()),
        random=random,
        now=now,
    )


async def _serve(
    country: Country,
    answer: AnswerLookups,
    link: SupervisedConnection,
    stack: AsyncExitStack,
    limit: timedelta,
) -> None:
    reads = RpcServer(link, lookup_queue(country), LookupRequest, Reads(answer))
    searches = RpcServer(
        link, search_queue(country), LookupRequest, SearchReads(answer), prefetch=SEARCH_PREFETCH
    )
    for server in (reads, searches):
        await stack.enter_async_context(serving(link, server, drain_limit=limit.total_seconds()))


async def _serve_suggestions(
    country: Country,
    answer: AnswerSuggestions,
    link: SupervisedConnection,
    stack: AsyncExitStack,
    limit: timedelta,
) -> None:
    server = RpcServer(link, suggest_queue(country), SuggestRequest, SearchReads(answer))
    await stack.enter_async_context(serving(link, server, drain_limit=limit.total_seconds()))


def _new_id() -> str:
    return uuid4().hex
