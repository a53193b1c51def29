"""Listing, showing, changing and deleting webhooks, and giving one a new secret."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from common.contracts.webhooks import WebhookReply, WebhookRequest
from webhook_registry.domain.answers import NO_CONTENT, OK, listed, public, reply, with_secret
from webhook_registry.domain.bodies import read_changes
from webhook_registry.domain.changes import changed
from webhook_registry.domain.refusals import webhook_not_found
from webhook_registry.ports import Registrations
from webhook_registry.usecases.destinations import Destinations
from webhook_registry.usecases.idempotent import Clock
from webhook_store.models import NewSecret, Webhook


@dataclass(frozen=True, slots=True)
class ListWebhooks:
    registrations: Registrations

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        return reply(OK, listed(await self.registrations.of_owner(request.owner)))


@dataclass(frozen=True, slots=True)
class ShowWebhook:
    registrations: Registrations

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        return reply(OK, public(await owned(self.registrations, request)))


@dataclass(frozen=True, slots=True)
class ChangeWebhook:
    registrations: Registrations
    destinations: Destinations
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """200 with the webhook as it is now; what the body does not name stays."""
        await owned(self.registrations, request)
        changes = read_changes(request.body)
        if changes.destination is not None:
            await self.destinations.check(changes.destination)
        now = self.now()
        webhook = await self.registrations.change(
            request.owner,
            request.webhook_id,
            lambda before: changed(before, changes, at=now),
        )
        if webhook is None:
            raise webhook_not_found()
        return reply(OK, public(webhook))


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
    #: How long the replaced secret signs too.
    overlap: timedelta

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """200 with the new secret, which is shown this once."""
        now = self.now()
        new = NewSecret(
            self.new_secret(), request.call_id, at=now, previous_until=now + self.overlap
        )
        registered = await self.registrations.rotate(request.owner, request.webhook_id, new)
        if registered is None:
            raise webhook_not_found()
        return reply(OK, with_secret(registered))


async def owned(registrations: Registrations, request: WebhookRequest) -> Webhook:
    """The webhook of the request's path, if it is its owner who asks; raises Rejected if not."""
    webhook = await registrations.find(request.owner, request.webhook_id)
    if webhook is None:
        raise webhook_not_found()
    return webhook
