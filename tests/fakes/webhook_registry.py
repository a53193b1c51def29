"""The registry's operations over MongoDB, with fakes of its broker and resolver."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from pydantic import SecretStr

from common.contracts.company import CompanyKey
from common.contracts.events import RegistryEvent
from common.contracts.failures import Failure
from common.contracts.topology import DeliveryTask
from common.contracts.webhook_api import Operation, WebhookReply, WebhookRequest
from common.contracts.webhooks import DeliveryId, WebhookHealth, WebhookId
from common.mongo import Database
from tests.builders.deliveries import a_new_delivery
from tests.builders.webhooks import NOON, a_request, secret_keys
from webhook_registry.customer_files import FileLimits, FileOperations
from webhook_registry.deliveries import DeliveryOperations, RecoveryJob
from webhook_registry.destinations import Destinations
from webhook_registry.event_types import example_events
from webhook_registry.idempotency import Idempotency
from webhook_registry.operations import Operations
from webhook_registry.watchlists.digest_operations import DigestLimits, DigestOperations
from webhook_registry.watchlists.watchlist_operations import (
    RemovalJob,
    WatchedLimits,
    WatchedOperations,
    WatchlistOperations,
)
from webhook_registry.webhooks import UsableFilters, WebhookOperations
from webhook_store.addresses import Address, Network
from webhook_store.collections import ATTEMPTS, DELIVERIES, EVENTS, WEBHOOKS
from webhook_store.customer_files import CustomerFiles
from webhook_store.deliveries import new_document
from webhook_store.digests import Digests
from webhook_store.idempotency import IdempotencyKeys, KeyScope, KeyUse
from webhook_store.owned import Health, OwnedDeliveries
from webhook_store.recipients import Recipients
from webhook_store.recoveries import Recoveries
from webhook_store.watchlists import Members, OwnerLocks, Watchlists
from webhook_store.webhooks import Registrations


class EarlyKeys(IdempotencyKeys):
    """The stored uses of keys; if `is_early`, `find` runs too early to see any."""

    is_early = False

    async def find(self, scope: KeyScope, *, at: datetime) -> KeyUse | None:
        return None if self.is_early else await super().find(scope, at=at)


class FaultyHealth(Health):
    """The stored health, or a fault."""

    fault: Exception | None = None

    async def of(
        self, webhooks: Sequence[WebhookId], *, at: datetime, max_age: timedelta = timedelta()
    ) -> Mapping[WebhookId, WebhookHealth]:
        if self.fault is not None:
            raise self.fault
        return await super().of(webhooks, at=at, max_age=max_age)


@dataclass
class FakeDeliveryQueue:
    """`DeliveryQueue` that records its calls."""

    enqueued: list[DeliveryTask] = field(default_factory=list)

    async def enqueue(
        self,
        tasks: Sequence[DeliveryTask],
        *,
        more: bool = False,  # noqa: ARG002
    ) -> None:
        self.enqueued += tasks


@dataclass
class FakeEvents:
    """`Events` that records published events or fails."""

    published: list[tuple[WebhookId, RegistryEvent]] = field(default_factory=list)
    failure: Exception | None = None

    async def publish_for(self, webhook_id: WebhookId, event: RegistryEvent) -> None:
        if self.failure is not None:
            raise self.failure
        self.published.append((webhook_id, event))


@dataclass
class FakeResolver:
    """`Resolver` with configured names."""

    names: dict[str, Sequence[Address]] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    #: Hook that runs during a lookup.
    on_asked: Callable[[], Awaitable[object]] | None = None

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        self.asked.append((host, port))
        if self.on_asked is not None:
            await self.on_asked()
        return self.names.get(host, ())


@dataclass
class FakeRegister:
    """`Register` that has every company but these."""

    lacks: set[str] = field(default_factory=set)
    failure: Exception | None = None
    asked: int = 0

    async def unknown(self, companies: Collection[CompanyKey]) -> set[CompanyKey]:
        self.asked += len(companies)
        if self.failure is not None:
            raise self.failure
        return {company for company in companies if company in self.lacks}


FILE_LIMITS = FileLimits(timedelta(days=30), files=20, size=2**28)
DIGEST_LIMITS = DigestLimits(in_list=20, of_owner=200, unconfirmed=20, new_in_day=40)


@dataclass
class World:
    """The registry's operations; tests set `now`."""

    database: Database
    delivery_queue: FakeDeliveryQueue = field(default_factory=FakeDeliveryQueue)
    events: FakeEvents = field(default_factory=FakeEvents)
    resolver: FakeResolver = field(default_factory=FakeResolver)
    register: FakeRegister = field(default_factory=FakeRegister)
    limit: int = 50
    max_watchlists: int = 1_000
    max_companies_in_list: int = 100_000
    max_companies_of_owner: int = 1_000_000
    digest_limits: DigestLimits = DIGEST_LIMITS
    digest_store: type[Digests] = Digests
    email_digests: bool = True
    file_limits: FileLimits = FILE_LIMITS
    allowed_networks: Sequence[Network] = ()
    now: datetime = NOON

    def __post_init__(self) -> None:
        self.registrations = Registrations(self.database, secret_keys(), Random(1))
        self.keys = EarlyKeys(self.database)
        self.health = FaultyHealth(self.database)
        numbers = count(1)
        lists, members = Watchlists(self.database), Members(self.database)
        locks = OwnerLocks(self.database, lambda: self.now)
        self.digests = self.digest_store(self.database)
        self.recipients = Recipients(self.database)
        self.removing = RemovalJob(lists, members, self.digests)
        idempotency = Idempotency(self.keys, lambda: self.now, timedelta(hours=24))
        self._operations = Operations(
            WebhookOperations(
                self.registrations,
                UsableFilters(lists, locks, self.register),
                Destinations(self.resolver, self.allowed_networks),
                self.health,
                idempotency,
                new_secret=lambda: SecretStr(f"whsec_invented{next(numbers)}"),
                now=lambda: self.now,
                limit=self.limit,
                overlap=timedelta(hours=24),
            ),
            DeliveryOperations(
                self.registrations,
                OwnedDeliveries(self.database),
                self.delivery_queue,
                RecoveryJob(Recoveries(self.database), self.delivery_queue, now=lambda: self.now),
                self.events,
                example_events(),
                idempotency,
                now=lambda: self.now,
            ),
            WatchlistOperations(
                lists,
                members,
                locks,
                self.registrations,
                self.removing,
                idempotency,
                now=lambda: self.now,
                new_token=lambda: f"invented{next(numbers)}",
                limit=self.max_watchlists,
            ),
            WatchedOperations(
                lists,
                members,
                locks,
                self.register,
                idempotency,
                now=lambda: self.now,
                limits=WatchedLimits(self.max_companies_in_list, self.max_companies_of_owner),
            ),
            DigestOperations(
                lists,
                self.digests,
                self.recipients,
                locks,
                secret_keys(),
                now=lambda: self.now,
                new_token=lambda: f"invented{next(numbers)}",
                limits=self.digest_limits,
                is_enabled=self.email_digests,
            ),
            FileOperations(
                CustomerFiles(self.database, secret_keys()),
                now=lambda: self.now,
                limits=self.file_limits,
            ),
        )

    async def ask(self, request: WebhookRequest) -> WebhookReply | Failure:
        """Reply or failure of a request."""
        [result] = await self._operations([request])
        return result

    async def do(self, operation: Operation, **fields: object) -> WebhookReply:
        """The answer of an operation that must succeed."""
        reply = await self.ask(a_request(operation, **fields))
        assert isinstance(reply, WebhookReply), reply
        return reply

    async def refused(self, operation: Operation, **fields: object) -> Failure:
        """The failure of an operation that must fail."""
        failure = await self.ask(a_request(operation, **fields))
        assert isinstance(failure, Failure), failure
        return failure

    async def stored(self, collection: str = WEBHOOKS) -> list[dict[str, Any]]:
        """All documents of a collection."""
        return await self.database[collection].find().to_list(None)

    async def everything(self) -> dict[str, list[dict[str, Any]]]:
        """All documents of the database."""
        names = await self.database.list_collection_names()
        return {name: await self.stored(name) for name in sorted(names)}

    async def keep_delivery(self, webhook_id: str, delivery_id: str, **fields: Any) -> None:
        """Stores a delivery of the webhook, which waits unless the fields say otherwise.

        Its event has its id.
        """
        new = a_new_delivery(
            id=DeliveryId(delivery_id), webhook_id=webhook_id, event_id=delivery_id
        )
        document = new_document(new, at=NOON, grace=timedelta(), retention=timedelta(days=30))
        await self.database[DELIVERIES].insert_one({**document, **fields})

    async def keep_attempt(self, webhook_id: str, attempt: Mapping[str, Any]) -> None:
        """Stores an attempt, given as the API shows it, with its delivery's event."""
        at = datetime.fromisoformat(attempt["attempted_at"])
        entry = {
            "_id": f"{attempt['delivery_id']}:{attempt['attempt']}",
            "webhook_id": webhook_id,
            "generation": 1,
        }
        await self.database[ATTEMPTS].insert_one({**attempt, **entry, "attempted_at": at})
        event = {"_id": attempt["delivery_id"], "body": b'{"id":"event"}'}
        await self.database[EVENTS].replace_one({"_id": event["_id"]}, event, upsert=True)
