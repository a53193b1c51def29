"""Composition root of `lookup sync`: one database and one set of connections."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from random import Random

from common.leases import StoredLeases
from common.mongo import connected, database
from common.runtime.backoff import delays
from lookup.following.dependencies import SyncDependencies
from lookup.following.register_client import Proxies, RetryPolicy, sessions
from lookup.following.settings import RegisterSettings
from lookup.loading.read import reading_processes
from lookup.loading.stores import Clock, Stores, utc_now
from lookup.settings import SyncSettings


def proxies(settings: SyncSettings) -> Proxies:
    """Returns the proxies of the settings."""
    given = {"https": settings.https_proxy, "http": settings.http_proxy}
    urls = {scheme: url.get_secret_value() for scheme, url in given.items() if url is not None}
    return Proxies(urls, settings.no_proxy)


async def connect(
    settings: SyncSettings,
    registers: Mapping[type[RegisterSettings], RegisterSettings],
    stack: AsyncExitStack,
    *,
    holder: str,
    now: Clock = utc_now,
) -> SyncDependencies:
    """Connects onto `stack`; `holder` identifies this process in its leases."""
    random = Random()  # noqa: S311 (spreads retries, guards nothing)
    retry_policy = RetryPolicy(
        settings.register_user_agent,
        partial(
            delays, random, first=settings.register_retry_delay.total_seconds(), max_delay=60.0
        ),
        settings.register_timeout,
        settings.register_max_attempts,
        file_hosts=settings.register_file_hosts,
        proxies=proxies(settings),
    )
    url = settings.mongo_url.get_secret_value()
    client = await stack.enter_async_context(
        connected(
            url,
            name="lookup-sync",
            operation_timeout=None,
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    session = await stack.enter_async_context(
        sessions(retry_policy, ca_file=settings.register_ca_file)
    )
    reader = await stack.enter_async_context(reading_processes())
    register = database(client, settings.register_db)
    return SyncDependencies(
        settings,
        registers,
        register,
        Stores.of(register, now),
        StoredLeases(register, holder=holder),
        session,
        reader,
        retry_policy,
    )
