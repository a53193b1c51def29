"""Creating a webhook."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from pydantic import SecretStr

from common.contracts.webhooks import Webhook, WebhookId, WebhookReply, WebhookRequest
from webhook_registry.domain.answers import CREATED, location, rendered, reply, with_secret
from webhook_registry.domain.bodies import Changes, read_draft
from webhook_registry.domain.changes import merged
from webhook_registry.domain.refusals import webhook_limit_reached
from webhook_registry.ports import Registrations
from webhook_registry.usecases.destinations import Destinations
from webhook_registry.usecases.idempotent import Clock, Idempotency
from webhook_store.models import MadeBefore, OwnerIsFull, Registered

PATH = "/api/webhooks"


@dataclass(frozen=True, slots=True)
class CreateWebhook:
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
