"""Composition root of the portal, in start-up order."""

import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from uuid import uuid4

import httpx

from common.runtime.health import Health, Required
from common.runtime.processes import raise_file_limit
from common.runtime.public_port.connections import (
    ConnectionLimits,
    ConnectionMetrics,
    connections_within,
)
from common.runtime.public_port.rates import RateLimiter
from common.runtime.public_port.server import public_port
from portal.adapters.http.application import application, refusals
from portal.adapters.http.context import (
    Budgets,
    Dependencies,
    FormLimits,
    HttpMetrics,
    Links,
    LiveReaders,
    Registries,
)
from portal.adapters.http.ended_sessions import Replicas
from portal.adapters.http.sessions import SessionPolicy, ended_sessions
from portal.adapters.reading import Reader
from portal.adapters.spreadsheets import Spreadsheets
from portal.adapters.uploads import Uploads
from portal.settings import Settings

#: Connections to the API: each page that follows events live holds one.
_SPARE_CONNECTIONS = 100

#: Bytes of requests that are being received: forms, since uploads are on the disk as they arrive.
_UNFINISHED = 128 * 2**20


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the portal onto `stack`. Its pages say so while the API is unavailable."""
    files = raise_file_limit()
    to_api = min(settings.max_live_readers + _SPARE_CONNECTIONS, files // 2)
    http = await stack.enter_async_context(
        httpx.AsyncClient(limits=httpx.Limits(max_connections=to_api), trust_env=False)
    )
    dependencies = _dependencies(settings, http)
    health.add("registry", dependencies.registries.fault, required=Required.FIRST)
    await stack.enter_async_context(
        public_port(
            application(dependencies),
            host=settings.http_host,
            port=settings.http_port,
            shutdown_grace=settings.shutdown_grace,
            refuse=refusals(dependencies.new_id),
            limits=ConnectionLimits(
                connections_within(files - to_api, settings.max_connections),
                unfinished_requests=_UNFINISHED,
            ),
            metrics=ConnectionMetrics(),
            # A browser that leaves a page ends the request that the page was waiting for.
            handler_cancellation=True,
        )
    )


def _dependencies(settings: Settings, http: httpx.AsyncClient) -> Dependencies:
    metrics = HttpMetrics()
    sessions = SessionPolicy(
        keys=settings.session_key,
        is_secure=settings.secure_cookies,
        idle_timeout=settings.session_idle_timeout,
        lifetime=settings.session_lifetime,
    )
    ended = ended_sessions(sessions, now=time.time)
    return Dependencies(
        registries=Registries(
            settings.registry_url, http, timeout=settings.registry_timeout.total_seconds()
        ),
        sessions=sessions,
        ended=ended,
        replicas=Replicas(ended, http, settings.session_peers),
        budgets=Budgets(
            session=RateLimiter("session", settings.session_rate, clock=time.monotonic),
            address=RateLimiter("address", settings.address_rate, clock=time.monotonic),
            trusted_proxies=settings.trusted_proxies,
            metrics=metrics,
        ),
        forms=FormLimits(
            size=settings.max_form_size,
            fields=settings.max_form_fields,
            parts=settings.max_upload_parts,
        ),
        live=LiveReaders(settings.max_live_readers, settings.max_live_readers_per_key, metrics),
        spreadsheets=Spreadsheets(),
        reader=Reader(time.monotonic),
        uploads=Uploads(
            metrics.customer_files,
            clock=time.monotonic,
            idle_timeout=settings.session_idle_timeout.total_seconds(),
        ),
        metrics=metrics,
        links=Links(settings.api_reference_url, settings.key_request_url),
        clock=time.monotonic,
        now=lambda: datetime.now(UTC),
        new_id=lambda: uuid4().hex,
    )
