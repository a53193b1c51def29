"""Creating, listing, reading, changing and deleting of webhooks, and secret rotation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from pydantic import SecretStr

from common.contracts.webhooks import Webhook, WebhookId, WebhookList, WebhookReply, WebhookRequest
from webhook_registry.destinations.checks import Destinations
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import (
    CREATED,
    NO_CONTENT,
    OK,
    location,
    rendered,
    reply,
    rotation_pending,
    webhook_disabled,
    webhook_limit_reached,
    webhook_not_found,
    with_secret,
)
from webhook_registry.webhooks.bodies import Changes, read_changes, read_draft
from webhook_registry.webhooks.changes import changed, merged
from webhook_store.deliveries.health import Health
from webhook_store.webhooks.models import (
    MadeBefore,
    NewSecret,
    OwnerIsFull,
    Registered,
    RotationPending,
)
from webhook_store.webhooks.registrations import Registrations

PATH = "/api/webhooks"


@dataclass(frozen=True, slots=True)
class CreateWebhook:
    """Operation that creates a webhook, up to `limit` per owner and once per `Idempotency-Key`."""

    registrations: Registrations
    destinations: Destinations
    idempotency: Idempotency
    new_secret: Callable[[], SecretStr]
    now: Clock
    limit: int

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the secret; a repeat under the same key omits the secret."""
        stored = await self.idempotency.repeated(request, PATH)
        if stored is not None:
            return stored
        draft = read_draft(request.body)
        await self.destinations.check(draft.destination)
        # Stored after the body was validated: a refused body leaves the key unused.
        once = await self.idempotency.begin(request, PATH)
        if isinstance(once, WebhookReply):
            return once
        new = Registered(self._webhook(request.owner, once.call_id, draft), self.new_secret())
        made = await self.registrations.create(new, call_id=request.call_id, limit=self.limit)
        if isinstance(made, OwnerIsFull):
            raise webhook_limit_reached(self.limit)
        answer, without = _answer(made, request.call_id)
        return await self.idempotency.end(once, answer, body=without)

    def _webhook(self, owner: str, call_id: UUID, draft: Changes) -> Webhook:
        now = self.now()
        return Webhook(
            id=WebhookId(f"wh_{call_id.hex}"),
            owner=owner,
            created_at=now,
            updated_at=now,
            **{"filter": None, **draft.fields, **merged(None, draft)},
        )


def _answer(made: Registered | MadeBefore, call_id: UUID) -> tuple[WebhookReply, bytes]:
    """Builds this call's answer, and the body without the secret.

    The secret is shown by the call that created it and by its redelivery, since the first answer
    was lost. When another call with the same key was faster, that call shows it.
    """
    is_own = isinstance(made, Registered) or made.call_id == call_id
    registered = made if isinstance(made, Registered) else made.registered
    place = location(registered.webhook)
    without = rendered(registered.webhook)
    if is_own:
        return reply(CREATED, with_secret(registered), location=place), without
    return WebhookReply(status=CREATED, body=without, location=place, replayed=True), without


#: Age of the health in a list: reading that of 50 webhooks takes hundreds of queries.
MAX_LISTED_AGE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class WithHealth:
    """Adds their health to webhooks that are shown."""

    health: Health
    now: Clock

    async def __call__(
        self, webhooks: Sequence[Webhook], *, max_age: timedelta = timedelta()
    ) -> list[Webhook]:
        """Returns the webhooks with their health, which may be up to `max_age` old."""
        ids = [webhook.id for webhook in webhooks]
        health = await self.health.of(ids, at=self.now(), max_age=max_age)
        return [webhook.model_copy(update={"health": health[webhook.id]}) for webhook in webhooks]

    async def one(self, webhook: Webhook) -> Webhook:
        """Returns one webhook with its present health."""
        [shown] = await self([webhook])
        return shown


@dataclass(frozen=True, slots=True)
class ListWebhooks:
    """Operation that lists an owner's webhooks, newest first."""

    registrations: Registrations
    with_health: WithHealth

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with all webhooks of the owner; there are no pages."""
        webhooks = await self.registrations.of_owner(request.owner)
        shown = await self.with_health(webhooks, max_age=MAX_LISTED_AGE)
        return reply(OK, WebhookList(webhooks=tuple(shown)))


@dataclass(frozen=True, slots=True)
class ShowWebhook:
    """Operation that shows one webhook of an owner."""

    registrations: Registrations
    with_health: WithHealth

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the webhook and its present health."""
        webhook = await owned(self.registrations, request)
        return reply(OK, await self.with_health.one(webhook))


@dataclass(frozen=True, slots=True)
class ChangeWebhook:
    """Operation that applies a merge patch to a webhook, which may enable or disable it."""

    registrations: Registrations
    destinations: Destinations
    with_health: WithHealth
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the changed webhook; absent fields stay unchanged."""
        await owned(self.registrations, request)
        changes = read_changes(request.body)
        await self.destinations.check(changes.destination)
        now = self.now()
        webhook = await self.registrations.change(
            request.owner,
            request.webhook_id,
            lambda before: changed(before, changes, at=now),
        )
        if webhook is None:
            raise webhook_not_found()
        return reply(OK, await self.with_health.one(webhook))


@dataclass(frozen=True, slots=True)
class DeleteWebhook:
    """Operation that deletes a webhook; its waiting deliveries are cancelled when due."""

    registrations: Registrations
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204, also for a redelivered call; raises Rejected if the webhook is absent."""
        deleted = await self.registrations.delete(
            request.owner, request.webhook_id, call_id=request.call_id, at=self.now()
        )
        if not deleted:
            raise webhook_not_found()
        return WebhookReply(status=NO_CONTENT)


@dataclass(frozen=True, slots=True)
class RotateSecret:
    """Operation that replaces a webhook's secret; the replaced one also signs for `overlap`."""

    registrations: Registrations
    new_secret: Callable[[], SecretStr]
    now: Clock
    #: Time for which a replaced secret still signs, with the new one.
    overlap: timedelta
    with_health: WithHealth

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the new secret, which is shown once; 409 while a replaced one signs."""
        # Read first: if it failed afterwards, the secret would be rotated and never shown.
        before = await self.with_health.one(await owned(self.registrations, request))
        now = self.now()
        new = NewSecret(
            self.new_secret(), request.call_id, at=now, previous_until=now + self.overlap
        )
        registered = await self.registrations.rotate(request.owner, request.webhook_id, new)
        if registered is None:
            raise webhook_not_found()
        if isinstance(registered, RotationPending):
            raise rotation_pending(registered.until)
        shown = registered.webhook.model_copy(update={"health": before.health})
        return reply(OK, with_secret(replace(registered, webhook=shown)))


async def owned(registrations: Registrations, request: WebhookRequest) -> Webhook:
    """Returns the owner's webhook; raises Rejected if absent."""
    webhook = await registrations.find(request.owner, request.webhook_id)
    if webhook is None:
        raise webhook_not_found()
    return webhook


async def enabled(registrations: Registrations, request: WebhookRequest) -> Webhook:
    """Returns the owner's webhook; raises Rejected if absent or disabled."""
    webhook = await owned(registrations, request)
    if not webhook.enabled:
        raise webhook_disabled()
    return webhook
