"""Fakes of the webhook registry's ports."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

from pydantic import SecretStr

from common.contracts.deliveries import DeliveryTask
from common.contracts.events import RegistryEvent
from common.contracts.failures import Failure
from common.contracts.webhooks import (
    Delivery,
    DeliveryId,
    DeliveryQuery,
    Operation,
    Webhook,
    WebhookHealth,
    WebhookId,
    WebhookReply,
    WebhookRequest,
)
from tests.builders.webhooks import NOON, a_request
from webhook_registry.deliveries.examples import example_events
from webhook_registry.operations import Dependencies, Policy, operations
from webhook_registry.replies import Rejected
from webhook_store.deliveries.models import Listed, ListPosition, NotRepeated, Recovery
from webhook_store.webhooks.addresses import Address, Network
from webhook_store.webhooks.models import (
    KeyScope,
    KeyUse,
    MadeBefore,
    NewSecret,
    OwnerIsFull,
    Registered,
    RotationPending,
)


@dataclass
class _Stored:
    webhook: Webhook
    secret: SecretStr
    call_id: UUID
    #: The end of the overlap of the secret before it.
    overlaps_until: datetime | None = None


@dataclass
class FakeRegistrations:
    """`Registrations` in memory."""

    stored: dict[str, _Stored] = field(default_factory=dict)
    deletions: dict[UUID, datetime] = field(default_factory=dict)

    async def create(
        self, new: Registered, *, call_id: UUID, limit: int
    ) -> Registered | MadeBefore | OwnerIsFull:
        before = self.stored.get(new.webhook.id)
        if before is not None:
            return MadeBefore(Registered(before.webhook, before.secret), before.call_id)
        if len(await self.of_owner(new.webhook.owner)) >= limit:
            return OwnerIsFull()
        self.stored[new.webhook.id] = _Stored(new.webhook, new.secret, call_id)
        return new

    async def find(self, owner: str, webhook_id: str) -> Webhook | None:
        found = self._of(owner, webhook_id)
        return None if found is None else found.webhook

    async def of_owner(self, owner: str) -> Sequence[Webhook]:
        own = [one.webhook for one in self.stored.values() if one.webhook.owner == owner]
        return sorted(own, key=lambda one: (one.created_at, one.id), reverse=True)

    async def change(
        self, owner: str, webhook_id: str, decide: Callable[[Webhook], Webhook]
    ) -> Webhook | None:
        found = self._of(owner, webhook_id)
        if found is None:
            return None
        found.webhook = decide(found.webhook)
        return found.webhook

    async def delete(self, owner: str, webhook_id: str, *, call_id: UUID, at: datetime) -> bool:
        if self._of(owner, webhook_id) is not None:
            del self.stored[webhook_id]
            self.deletions[call_id] = at
        return call_id in self.deletions

    async def rotate(
        self, owner: str, webhook_id: str, new: NewSecret
    ) -> Registered | RotationPending | None:
        found = self._of(owner, webhook_id)
        if found is None:
            return None
        if found.call_id != new.call_id:
            if found.overlaps_until is not None and found.overlaps_until > new.at:
                return RotationPending(found.overlaps_until)
            found.secret, found.call_id = new.secret, new.call_id
            found.overlaps_until = new.previous_until
            found.webhook = found.webhook.model_copy(update={"updated_at": new.at})
        return Registered(found.webhook, found.secret)

    def _of(self, owner: str, webhook_id: str) -> _Stored | None:
        found = self.stored.get(webhook_id)
        return found if found is not None and found.webhook.owner == owner else None


@dataclass
class FakeIdempotencyKeys:
    """`IdempotencyKeys` in memory."""

    uses: dict[str, tuple[KeyUse, datetime]] = field(default_factory=dict)
    #: If set, `find` runs too early to see any use.
    is_hidden: bool = False

    def forget_answers(self) -> None:
        """Drops all answers, as after crashes before they were stored."""
        self.uses = {
            key: (replace(use, answer=None), until) for key, (use, until) in self.uses.items()
        }

    async def find(self, scope: KeyScope, *, at: datetime) -> KeyUse | None:
        return None if self.is_hidden else self._kept(scope, at)

    def _kept(self, scope: KeyScope, at: datetime) -> KeyUse | None:
        use, until = self.uses.get(scope.id, (None, at))
        return use if until > at else None

    async def use(self, scope: KeyScope, new: KeyUse, *, at: datetime, until: datetime) -> KeyUse:
        kept = self._kept(scope, at)
        if kept is None:
            self.uses[scope.id] = (new, until)
        return kept or new

    async def answer(self, scope: KeyScope, answer: WebhookReply) -> None:
        use, until = self.uses[scope.id]
        answer = answer.model_copy(update={"replayed": True})
        self.uses[scope.id] = (replace(use, answer=answer), until)


@dataclass
class FakeDeliveries:
    """`Deliveries` with configured results that records its calls."""

    page: Listed = field(default_factory=Listed)
    found: Delivery | None = None
    not_repeated: NotRepeated | None = None
    asked: list[object] = field(default_factory=list)

    async def listed(
        self, webhook: Webhook, query: DeliveryQuery, *, after: ListPosition | None
    ) -> Listed:
        self.asked.append((webhook.id, query, after))
        return self.page

    async def find(self, webhook: Webhook, delivery_id: str) -> Delivery | None:
        self.asked.append((webhook.id, delivery_id))
        return self.found

    async def retry(
        self, webhook: Webhook, delivery_id: str, *, call_id: UUID, at: datetime
    ) -> DeliveryTask | NotRepeated:
        self.asked.append((webhook.id, delivery_id, call_id, at))
        task = DeliveryTask(delivery_id=DeliveryId(delivery_id), webhook_id=webhook.id, attempt=2)
        return self.not_repeated or task


@dataclass
class FakeDeliveryQueue:
    """`DeliveryQueue` that records its calls."""

    enqueued: list[DeliveryTask] = field(default_factory=list)

    async def enqueue(self, tasks: Sequence[DeliveryTask]) -> None:
        self.enqueued += tasks


@dataclass
class FakeRecoveries:
    """`Recoveries` with a configured count that records its calls."""

    count: int = 0
    asked: list[Recovery] = field(default_factory=list)

    async def ask(self, recovery: Recovery) -> int:
        self.asked.append(recovery)
        return self.count


@dataclass
class FakeHealth:
    """`Health` of webhooks that were never called, except configured ones."""

    known: dict[WebhookId, WebhookHealth] = field(default_factory=dict)
    fault: Exception | None = None
    #: That of the last read.
    max_age: timedelta | None = None

    async def of(
        self,
        webhooks: Sequence[WebhookId],
        *,
        at: datetime,  # noqa: ARG002
        max_age: timedelta = timedelta(),
    ) -> Mapping[WebhookId, WebhookHealth]:
        self.max_age = max_age
        if self.fault is not None:
            raise self.fault
        return {webhook: self.known.get(webhook, WebhookHealth()) for webhook in webhooks}


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
    on_asked: Callable[[], None] = lambda: None

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        self.asked.append((host, port))
        self.on_asked()
        return self.names.get(host, ())


@dataclass
class World:
    """The registry's operations over fakes; tests set `now`."""

    registrations: FakeRegistrations = field(default_factory=FakeRegistrations)
    keys: FakeIdempotencyKeys = field(default_factory=FakeIdempotencyKeys)
    deliveries: FakeDeliveries = field(default_factory=FakeDeliveries)
    delivery_queue: FakeDeliveryQueue = field(default_factory=FakeDeliveryQueue)
    recoveries: FakeRecoveries = field(default_factory=FakeRecoveries)
    health: FakeHealth = field(default_factory=FakeHealth)
    events: FakeEvents = field(default_factory=FakeEvents)
    resolver: FakeResolver = field(default_factory=FakeResolver)
    limit: int = 50
    allowed_networks: Sequence[Network] = ()
    now: datetime = NOON

    def __post_init__(self) -> None:
        numbers = count(1)
        dependencies = Dependencies(
            registrations=self.registrations,
            keys=self.keys,
            deliveries=self.deliveries,
            delivery_queue=self.delivery_queue,
            recoveries=self.recoveries,
            health=self.health,
            events=self.events,
            examples=example_events(),
            resolver=self.resolver,
            new_secret=lambda: SecretStr(f"whsec_invented{next(numbers)}"),
            now=lambda: self.now,
        )
        policy = Policy(
            limit=self.limit,
            overlap=timedelta(hours=24),
            key_lifetime=timedelta(hours=24),
            allowed_networks=self.allowed_networks,
        )
        self._operations = operations(dependencies, policy)

    async def ask(self, request: WebhookRequest) -> WebhookReply | Failure:
        """Reply or failure of a request."""
        try:
            return await self._operations[request.operation](request)
        except Rejected as refused:
            return refused.failure

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
