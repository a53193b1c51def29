"""Listing, reading, changing and deleting of webhooks, and secret rotation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import SecretStr

from common.contracts.webhooks import Webhook, WebhookList, WebhookReply, WebhookRequest
from webhook_registry.domain.answers import NO_CONTENT, OK, reply, with_secret
from webhook_registry.domain.bodies import read_changes
from webhook_registry.domain.changes import changed
from webhook_registry.domain.refusals import rotation_pending, webhook_not_found
from webhook_registry.ports import Health, Registrations
from webhook_registry.usecases.destinations import Destinations
from webhook_registry.usecases.idempotent import Clock
from webhook_store.models import NewSecret, RotationPending

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
        ids = [webhook.id for webhook in webhooks]
        health = await self.health.of(ids, at=self.now(), max_age=max_age)
        return [webhook.model_copy(update={"health": health[webhook.id]}) for webhook in webhooks]

    async def one(self, webhook: Webhook) -> Webhook:
        [shown] = await self([webhook])
        return shown


@dataclass(frozen=True, slots=True)
class ListWebhooks:
    registrations: Registrations
    with_health: WithHealth

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        webhooks = await self.registrations.of_owner(request.owner)
        shown = await self.with_health(webhooks, max_age=MAX_LISTED_AGE)
        return reply(OK, WebhookList(webhooks=tuple(shown)))


@dataclass(frozen=True, slots=True)
class ShowWebhook:
    registrations: Registrations
    with_health: WithHealth

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        webhook = await owned(self.registrations, request)
        return reply(OK, await self.with_health.one(webhook))


@dataclass(frozen=True, slots=True)
class ChangeWebhook:
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
    registrations: Registrations
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        deleted = await self.registrations.delete(
            request.owner, request.webhook_id, call_id=request.call_id, at=self.now()
        )
        if not deleted:
            raise webhook_not_found()
        return WebhookReply(status=NO_CONTENT)


@dataclass(frozen=True, slots=True)
class RotateSecret:
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
