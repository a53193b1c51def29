"""Composition of the webhook registry, in the order of its start."""

import secrets
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any
from uuid import uuid4

from common.messaging.connection import health_of, supervised, supervised_apart
from common.messaging.publisher import Publisher
from common.messaging.requests import DIGEST_LINK, FEED_PAGE, KNOWN, WATCHED, WATCHLISTS, WEBHOOKS
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_server import RpcServer
from common.mongo import connected, database, database_clock, ping
from common.runtime.health import Health, Required
from common.runtime.tasks import background
from webhook_registry.customer_files import FileLimits, FileOperations
from webhook_registry.deliveries import (
    TOPOLOGY,
    BrokerDeliveryQueue,
    BrokerEvents,
    DeliveryOperations,
    RecoveryJob,
)
from webhook_registry.destinations import Destinations, system_resolver
from webhook_registry.event_types import example_events
from webhook_registry.idempotency import Idempotency
from webhook_registry.operations import Operations, report
from webhook_registry.settings import DigestSettings, Settings
from webhook_registry.watchlists.digest_messages import Messages
from webhook_registry.watchlists.digest_operations import (
    AnswerLinks,
    DigestLimits,
    DigestOperations,
    report_links,
)
from webhook_registry.watchlists.digest_sender import (
    ReadChanges,
    RpcFeed,
    Schedule,
    SendDigests,
    sending,
)
from webhook_registry.watchlists.mailer import Mailer, MailServer
from webhook_registry.watchlists.watchlist_operations import (
    AnswerWatched,
    RemovalJob,
    RpcRegister,
    WatchedLimits,
    WatchedOperations,
    WatchlistOperations,
    report_watched,
)
from webhook_registry.webhooks import UsableFilters, WebhookOperations
from webhook_store.customer_files import CustomerFiles
from webhook_store.digests import Digests, DueDigests
from webhook_store.idempotency import IdempotencyKeys
from webhook_store.owned import Health as StoredHealth
from webhook_store.owned import OwnedDeliveries
from webhook_store.recipients import ConfirmationRequests, Recipients
from webhook_store.recoveries import Recoveries
from webhook_store.secrets import SecretKeys, new_secret
from webhook_store.watchlists import Members, OwnerLocks, Watchlists
from webhook_store.webhooks import Registrations

#: Timeout of one publish, within a client's timeout.
PUBLISH_TIMEOUT = timedelta(seconds=1)

#: Maximum concurrent operations: one that waits for a slow name server must not block others.
CONCURRENCY = 64


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the registry on `stack`."""
    keys = SecretKeys.parse(settings.webhook_secret_keys, random_bytes=secrets.token_bytes)
    random = Random()  # noqa: S311 (spreads reconnects and slots, guards nothing)
    mongo = await stack.enter_async_context(
        connected(
            settings.mongo_url.get_secret_value(),
            name="webhook-registry",
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    webhooks = database(mongo, settings.webhooks_db)
    amqp_url = settings.amqp_url.get_secret_value()
    publishing = await stack.enter_async_context(
        supervised(amqp_url, name="webhook-registry-publish", random=random)
    )
    serving = await stack.enter_async_context(
        supervised_apart(amqp_url, name="webhook-registry", random=random)
    )
    publisher = Publisher(publishing, topology=TOPOLOGY, timeout=PUBLISH_TIMEOUT)
    await publishing.add(publisher)
    resolver = await stack.enter_async_context(system_resolver(timeout=settings.resolve_timeout))

    health.add("broker_publish", publishing.health)
    health.add("broker_consume", partial(health_of, serving))
    health.add("database", ping(mongo))
    now = await stack.enter_async_context(database_clock(mongo))
    health.add("clock", now.check, required=Required.NEVER)

    delivery_queue = BrokerDeliveryQueue(publisher)
    recovering = RecoveryJob(Recoveries(webhooks), delivery_queue, now=now)
    lists, members = Watchlists(webhooks), Members(webhooks)
    digests, recipients = Digests(webhooks), Recipients(webhooks)
    locks = OwnerLocks(webhooks, now)
    removing = RemovalJob(lists, members, digests)
    await stack.enter_async_context(background(recovering.run(), removing.run()))
    rpc = await stack.enter_async_context(RpcClient(publishing, queues=KNOWN.queues))

    register = RpcRegister(rpc, lambda: uuid4().hex)
    registrations = Registrations(webhooks, keys, random)
    idempotency = Idempotency(IdempotencyKeys(webhooks), now, settings.idempotency_retention)
    operations = Operations(
        WebhookOperations(
            registrations,
            UsableFilters(lists, locks, register),
            Destinations(resolver, settings.webhook_extra_allowed_networks),
            StoredHealth(webhooks),
            idempotency,
            partial(new_secret, secrets.token_bytes),
            now,
            limit=settings.max_webhooks_per_owner,
            overlap=settings.webhook_secret_overlap,
        ),
        DeliveryOperations(
            registrations,
            OwnedDeliveries(webhooks),
            delivery_queue,
            recovering,
            BrokerEvents(publisher),
            example_events(),
            idempotency,
            now,
        ),
        WatchlistOperations(
            lists,
            members,
            locks,
            registrations,
            removing,
            idempotency,
            now,
            # 256 bits
            new_token=partial(secrets.token_urlsafe, 32),
            limit=settings.max_watchlists_per_owner,
        ),
        WatchedOperations(
            lists,
            members,
            locks,
            register,
            idempotency,
            now,
            WatchedLimits(
                in_list=settings.max_companies_per_watchlist,
                of_owner=settings.max_watched_companies_per_owner,
            ),
        ),
        DigestOperations(
            lists,
            digests,
            recipients,
            locks,
            keys,
            now,
            new_token=partial(secrets.token_urlsafe, 32),
            limits=DigestLimits(
                in_list=settings.max_digests_per_watchlist,
                of_owner=settings.max_digests_per_owner,
                unconfirmed=settings.max_unconfirmed_digests_per_owner,
                new_in_day=settings.max_new_digest_addresses_per_day,
            ),
            is_enabled=settings.email_digests,
        ),
        FileOperations(
            CustomerFiles(webhooks, keys),
            now,
            FileLimits(
                retention=settings.customer_file_retention,
                files=settings.max_customer_files_per_owner,
                size=settings.max_customer_file_bytes_per_owner,
            ),
        ),
    )
    watched = AnswerWatched(lists, members)
    links = AnswerLinks(lists, digests, recipients, now)
    doing = partial(RpcServer[Any], serving, report=report, concurrency=CONCURRENCY)
    servers = (
        doing(WEBHOOKS.queue(), WEBHOOKS.request, operations),
        doing(WATCHLISTS.queue(), WATCHLISTS.request, operations),
        RpcServer(serving, WATCHED.queue(), WATCHED.request, watched, report=report_watched),
        RpcServer(serving, DIGEST_LINK.queue(), DIGEST_LINK.request, links, report=report_links),
    )
    for server in servers:
        await stack.enter_async_context(
            server.serving(drain_timeout=settings.shutdown_grace.total_seconds())
        )


async def build_digests(settings: DigestSettings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the sender of digests on `stack`."""
    keys = SecretKeys.parse(settings.webhook_secret_keys, random_bytes=secrets.token_bytes)
    random = Random()  # noqa: S311 (spreads reconnects, guards nothing)
    mongo = await stack.enter_async_context(
        connected(
            settings.mongo_url.get_secret_value(),
            name="webhook-digests",
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    webhooks = database(mongo, settings.webhooks_db)
    broker = await stack.enter_async_context(
        supervised(settings.amqp_url.get_secret_value(), name="webhook-digests", random=random)
    )
    health.add("broker", broker.health)
    health.add("database", ping(mongo))
    now = await stack.enter_async_context(database_clock(mongo))
    health.add("clock", now.check, required=Required.NEVER)

    rpc = await stack.enter_async_context(RpcClient(broker, queues=FEED_PAGE.queues))
    members = Members(webhooks)
    digests = SendDigests(
        DueDigests(webhooks),
        ConfirmationRequests(webhooks),
        Watchlists(webhooks),
        ReadChanges(RpcFeed(rpc, lambda: uuid4().hex), members),
        keys,
        _mailer(settings),
        Messages(
            settings.mail_from,
            settings.public_url,
            settings.portal_url,
            settings.digest_time_zone,
        ),
        Schedule(settings.digest_time, settings.digest_time_zone, settings.digest_interval),
        now,
        new_claim=lambda: uuid4().hex,
        max_requests=settings.max_confirmation_requests_per_day,
    )
    await stack.enter_async_context(
        sending(
            digests,
            senders=settings.digest_senders,
            drain_timeout=settings.shutdown_grace.total_seconds(),
        )
    )


def _mailer(settings: DigestSettings) -> Mailer:
    server = MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        tls=settings.smtp_tls,
        username=settings.smtp_username,
        password=settings.smtp_password,
        timeout=settings.smtp_timeout,
        accept_timeout=settings.smtp_accept_timeout,
        ca_file=settings.smtp_ca_file,
    )
    return Mailer(server, server.trust(), settings.mail_from.addr_spec)
