"""The composition root for following registers: one database and one set of connections."""

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from random import Random

from common.mongo import connected, database
from common.runtime.backoff import delays
from lookup.ingest.http_client import RetryPolicy, sessions
from lookup.ingest.processes import reading_processes
from lookup.ingest.sync_dependencies import Clock, SyncDependencies
from lookup.settings import SyncSettings


def utc_now() -> datetime:
    return datetime.now(UTC)


async def connect(
    settings: SyncSettings, stack: AsyncExitStack, *, holder: str, now: Clock = utc_now
) -> SyncDependencies:
    """Connects onto `stack`; `holder` names this process in its leases."""
    random = Random()  # noqa: S311 (spreads retries, guards nothing)
    retry_policy = RetryPolicy(
        settings.register_user_agent,
        partial(delays, random, first=settings.register_delay.total_seconds(), most=60.0),
        settings.register_timeout,
        settings.register_tries,
        file_hosts=settings.register_file_hosts,
    )
    url = settings.mongo_url.get_secret_value()
    client = await stack.enter_async_context(
        connected(url, name="lookup-sync", operation_limit=None)
    )
    session = await stack.enter_async_context(
        sessions(retry_policy, ca_file=settings.register_ca_file)
    )
    reader = await stack.enter_async_context(reading_processes())
    register = database(client, settings.register_db)
    return SyncDependencies(
        settings, client, register, session, reader, retry_policy, random, holder, now
    )
