"""Composition root of the lookup service, in the order of startup."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

import structlog

from common.contracts.company import Country
from common.contracts.events import FeedPage
from common.contracts.failures import Failure
from common.messaging.connection import health_of, supervised_apart
from common.messaging.requests import (
    EXPORT,
    FEED_EVENT,
    FEED_PAGE,
    FIND,
    KNOWN,
    LOOK_UP,
    MATCH,
    PART,
    SEARCH,
    SOURCES,
    SUGGEST,
    Procedure,
)
from common.messaging.rpc import Result, RpcRequest
from common.messaging.rpc_server import Dependency, Handler, RpcServer
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

#: A procedure, what answers it, and options of its server.
_Served = tuple[Procedure[Any, Any], Handler[Any], Mapping[str, Any]]

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
    sources = StoredSources(Reads(register))
    late = LateAccounts(sources, now)
    feed = StoredFeed(register, retention=settings.outbox_retention, now=now)
    whole = StoredRegister(Reads(register, from_secondaries=False))
    exports = AnswerExports(StoredCopies(register), feed, indexes, whole, late)
    in_turns = {"concurrency": IN_TURNS}
    reads: tuple[_Served, ...] = (
        (LOOK_UP, lookups, {"together": True}),
        (PART, AnswerPages(stored, now=now), in_turns),
        (KNOWN, partial(check_numbers, stored), {}),
        (EXPORT, exports, in_turns),
    )
    searches: tuple[_Served, ...] = (
        (SEARCH, lookups, in_turns),
        (SUGGEST, AnswerSuggestions(indexes, stored), in_turns),
        (FIND, AnswerFinds(indexes, stored, late), in_turns),
        (MATCH, AnswerMatches(indexes, stored), in_turns),
    )
    for country, index in built.items():
        searching = partial(serving, dependencies=(rows, index))
        await _serve(settings, stack, serving, reads, country)
        await _serve(settings, stack, searching, searches, country)
    reading = partial(RpcServer[Any], connections)
    of_feed = {"report": partial(_report, "feed.done")}
    of_all: tuple[_Served, ...] = (
        (FEED_PAGE, feed.pages, of_feed),
        (FEED_EVENT, feed.events, of_feed),
        (SOURCES, sources, {"together": True, "report": partial(_report, "sources.done")}),
    )
    await _serve(settings, stack, reading, of_all, country=None)


async def _checked(stack: AsyncExitStack, check: Callable[[], Awaitable[None]]) -> Dependency:
    dependency = Dependency(check)
    await stack.enter_async_context(background(dependency.run()))
    return dependency


async def _indexes_built(indexes: Mapping[Country, Dependency]) -> str | None:
    """Returns None, or which indexes searches are still refused for."""
    building = [country for country, index in indexes.items() if index.is_lost]
    return f"being built: {', '.join(building)}" if building else None


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
    server: Callable[..., RpcServer[Any]],
    served: Sequence[_Served],
    country: Country | None,
) -> None:
    drain_timeout = settings.shutdown_grace.total_seconds()
    for procedure, handler, options in served:
        serving = server(procedure.queue(country), procedure.request, handler, **options)
        await stack.enter_async_context(serving.serving(drain_timeout=drain_timeout))


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
