"""Composition root of the lookup service, in the order of startup."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

import structlog

from common.contracts.company import Country
from common.contracts.events import EventRequest, FeedPage, FeedRequest
from common.contracts.failures import Failure
from common.contracts.find import ExportRequest, FindRequest
from common.contracts.lookup import LookupRequest, PartRequest, SourcesRequest, SuggestRequest
from common.contracts.match import MatchRequest
from common.contracts.topology import (
    FEED_EVENT_QUEUE,
    FEED_PAGE_QUEUE,
    SOURCES_QUEUE,
    export_queue,
    find_queue,
    known_queue,
    lookup_queue,
    match_queue,
    parts_queue,
    search_queue,
    suggest_queue,
)
from common.contracts.watchlists import KnownRequest
from common.messaging.connection import (
    health_of,
    supervised_apart,
)
from common.messaging.rpc import Result, RpcRequest
from common.messaging.rpc_server import Dependency, RpcServer
from common.mongo import Database, Reads, connected, database, database_clock, ping
from common.runtime.health import Health, Required
from common.runtime.tasks import background
from lookup.answers.exports import AnswerExports
from lookup.answers.group import GroupLimits
from lookup.answers.lookups import AnswerLookups, report
from lookup.answers.parts import AnswerPages
from lookup.answers.searches import (
    AnswerFinds,
    AnswerMatches,
    AnswerSuggestions,
    LateAccounts,
    check_numbers,
)
from lookup.search.searcher import IndexSearches, followed_indexes
from lookup.settings import Settings
from register_store.feed import StoredFeed
from register_store.reads import StoredCopies, StoredRegister, StoredSources

#: Maximum concurrent batches of requests that are served in turns by client, which wait for them.
IN_TURNS = 256

log = structlog.get_logger()


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the lookup service onto `stack`; numbers are looked up while an index is built."""
    random = Random()  # noqa: S311 (spreads reconnects, guards nothing)
    url = settings.mongo_url.get_secret_value()
    mongo = await stack.enter_async_context(
        connected(url, name="lookup", primary_timeout=settings.mongo_primary_timeout)
    )
    register = database(mongo, settings.register_db)
    indexes = await _indexes(settings, stack, random)
    connections = await stack.enter_async_context(
        supervised_apart(settings.amqp_url.get_secret_value(), name="lookup", random=random)
    )

    health.add("broker", partial(health_of, connections))
    health.add("database", ping(mongo))
    stored = StoredRegister(Reads(register))
    rows = await _checked(stack, stored.check)
    built = {
        country: await _checked(stack, partial(indexes.check, country))
        for country in settings.countries
    }
    health.add("index", partial(_indexes_built, built))
    reporting = partial(report, slow=settings.slow_request.total_seconds())
    serving = partial(RpcServer[Any], connections, report=reporting, dependencies=(rows,))
    now = await stack.enter_async_context(database_clock(mongo))
    health.add("clock", now.check, required=Required.NEVER)
    group_limits = GroupLimits(
        settings.group_max_links,
        settings.group_max_steps,
        settings.group_processor_time.total_seconds(),
    )
    lookups = AnswerLookups(stored, indexes, now=now, group_limits=group_limits)
    late = LateAccounts(StoredSources(Reads(register)), now)
    for country, index in built.items():
        searching = partial(serving, concurrency=IN_TURNS, dependencies=(rows, index))
        servers = _country_servers(country, serving, searching, lookups, late)
        await _serve(settings, stack, *servers)
    feed = StoredFeed(register, retention=settings.outbox_retention, now=now)
    reading = partial(RpcServer[Any], connections, report=partial(_report, "feed.done"))
    events = reading(FEED_EVENT_QUEUE, EventRequest, feed.events)
    fresh = RpcServer(
        connections,
        SOURCES_QUEUE,
        SourcesRequest,
        StoredSources(Reads(register)),
        together=True,
        report=partial(_report, "sources.done"),
    )
    await _serve(settings, stack, reading(FEED_PAGE_QUEUE, FeedRequest, feed.pages), events, fresh)
    whole = StoredRegister(Reads(register, from_secondaries=False))
    exports = AnswerExports(StoredCopies(register), feed, indexes, whole, late)
    for country in settings.countries:
        server = serving(export_queue(country), ExportRequest, exports, concurrency=IN_TURNS)
        await _serve(settings, stack, server)


async def _checked(stack: AsyncExitStack, check: Callable[[], Awaitable[None]]) -> Dependency:
    dependency = Dependency(check)
    await stack.enter_async_context(background(dependency.run()))
    return dependency


async def _indexes_built(indexes: Mapping[Country, Dependency]) -> str | None:
    """Returns None, or which indexes searches are still refused for."""
    building = [country for country, index in indexes.items() if index.is_lost]
    return f"being built: {', '.join(building)}" if building else None


def _country_servers(
    country: Country,
    serving: Callable[..., RpcServer[Any]],
    searching: Callable[..., RpcServer[Any]],
    lookups: AnswerLookups,
    late: LateAccounts,
) -> tuple[RpcServer[Any], ...]:
    stored, indexes = lookups.register, lookups.searches
    pages = AnswerPages(stored, now=lookups.now)
    finds = AnswerFinds(indexes, stored, late)
    return (
        serving(lookup_queue(country), LookupRequest, lookups, together=True),
        searching(search_queue(country), LookupRequest, lookups),
        searching(suggest_queue(country), SuggestRequest, AnswerSuggestions(indexes, stored)),
        serving(parts_queue(country), PartRequest, pages, concurrency=IN_TURNS),
        serving(known_queue(country), KnownRequest, partial(check_numbers, stored)),
        searching(find_queue(country), FindRequest, finds),
        searching(match_queue(country), MatchRequest, AnswerMatches(indexes, stored)),
    )


async def _indexes(settings: Settings, stack: AsyncExitStack, random: Random) -> IndexSearches:
    """Returns the search indexes, updated over a connection whose streams have no timeout."""
    streams = await stack.enter_async_context(
        connected(
            settings.mongo_url.get_secret_value(),
            name="lookup-index",
            operation_timeout=None,
            primary_timeout=settings.mongo_primary_timeout,
        )
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


async def _serve(
    settings: Settings,
    stack: AsyncExitStack,
    *servers: RpcServer[Any],
) -> None:
    drain_timeout = settings.shutdown_grace.total_seconds()
    for server in servers:
        await stack.enter_async_context(server.serving(drain_timeout=drain_timeout))


def _report(
    event: str, asked: Sequence[RpcRequest[Any]], results: Sequence[Result], seconds: float
) -> None:
    for item, result in zip(asked, results, strict=True):
        of_feed = {"events": len(result.events) if isinstance(result, FeedPage) else None}
        log.info(
            event,
            **item.ids,
            result=result.code if isinstance(result, Failure) else "ok",
            **(of_feed if event == "feed.done" else {}),
            duration_ms=round(seconds * 1000, 2),
        )
