"""Operations on webhooks: creation, changes, deletion and rotation of the secret."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from pydantic import SecretStr

from common.contracts.company import CompanyKey
from common.contracts.webhook_api import Operation, WebhookReply, WebhookRequest
from common.contracts.webhooks import (
    DisabledReason,
    Webhook,
    WebhookFilter,
    WebhookHealth,
    WebhookId,
    WebhookList,
    WebhookStatus,
    WebhookWithSecret,
)
from common.domain.numbers import may_be_registered
from webhook_registry.destinations import Destinations
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import (
    CREATED,
    DISABLED_BY_OPERATOR,
    NO_CONTENT,
    OK,
    WEBHOOK_DISABLED,
    WEBHOOK_NOT_FOUND,
    InvalidValue,
    Rejected,
    rendered,
    reply,
    rotation_pending,
    webhook_limit_reached,
)
from webhook_registry.webhook_bodies import (
    NewWebhook,
    WebhookChanges,
    invalid_fields,
    merged_filter,
    merged_headers,
)
from webhook_store.owned import Health
from webhook_store.watchlists import OwnerLocks, Watchlists
from webhook_store.webhooks import (
    ExistingRegistration,
    LimitReached,
    NewSecret,
    Registration,
    Registrations,
    RotationPending,
)


def changed(webhook: Webhook, changes: WebhookChanges, *, at: datetime) -> Webhook:
    """Returns the webhook with changes, a merge patch; the same object when nothing changes.

    Raises Rejected for enabling a webhook that an operator disabled, for a filter that can never
    match, and for too many headers.
    """
    given = changes.model_fields_set
    fields = {name: getattr(changes, name) for name in given & {"events", "description"}}
    if changes.url is not None:
        fields |= {"url": changes.url.url, "host": changes.url.host}
    name = "filter"
    try:
        if "filter" in given:
            fields["filter"] = merged_filter(webhook.filter, changes.filter)
        name = "headers"
        if "headers" in given and changes.headers != {}:
            names, new = merged_headers(webhook.headers, changes.headers)
            fields |= {"headers": names, "new_headers": new}
    except InvalidValue as wrong:
        raise invalid_fields((name + wrong.at, str(wrong))) from None
    after = webhook.model_copy(update=fields)
    match changes.status:
        case WebhookStatus.ENABLED:
            if after.disabled_reason is DisabledReason.OPERATOR:
                raise Rejected(DISABLED_BY_OPERATOR)
            after = enabled(after, at=at)
        case WebhookStatus.DISABLED:
            after = disabled(after, DisabledReason.OWNER, at=at)
        case None:
            pass
    return webhook if after == webhook else after.model_copy(update={"updated_at": at})


def enabled(webhook: Webhook, *, at: datetime) -> Webhook:
    """Returns the webhook enabled, as a new generation that deliveries in flight cannot disable."""
    if webhook.enabled:
        return webhook
    return webhook.model_copy(
        update={
            "status": WebhookStatus.ENABLED,
            "disabled_at": None,
            "disabled_reason": None,
            "generation": webhook.generation + 1,
            "updated_at": at,
        }
    )


def disabled(webhook: Webhook, reason: DisabledReason, *, at: datetime) -> Webhook:
    """Returns the webhook disabled; if it was already, with its own time and reason."""
    if not webhook.enabled:
        return webhook
    return webhook.model_copy(
        update={
            "status": WebhookStatus.DISABLED,
            "disabled_at": at,
            "disabled_reason": reason,
            "generation": webhook.generation + 1,
            "updated_at": at,
        }
    )


def stopped_by_operator(webhook: Webhook, *, at: datetime) -> Webhook:
    """Returns the webhook disabled so that its owner cannot enable it."""
    stopped = disabled(webhook, DisabledReason.OPERATOR, at=at)
    return stopped.model_copy(update={"disabled_reason": DisabledReason.OPERATOR})


#: Invalid companies of a filter that a refusal names.
_MAX_NAMED = 20
#: Age of the health in a list: reading that of 50 webhooks takes hundreds of queries.
MAX_LISTED_AGE = timedelta(seconds=5)


class Register(Protocol):
    """The registers, which the lookup service has."""

    async def unknown(self, companies: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the companies that no register has; raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class UsableFilters:
    """Checks filters before a webhook is written; each method may raise `Unavailable`."""

    lists: Watchlists
    locks: OwnerLocks
    register: Register

    @asynccontextmanager
    async def usable(self, owner: str, limits: WebhookFilter | None) -> AsyncIterator[None]:
        """Keeps the filter's lists from deletion in the body; raises Rejected if one is missing."""
        if limits is None or not limits.watchlists:
            await self.check(owner, limits)
            yield
            return
        async with self.locks.held(owner):
            await self.check(owner, limits)
            yield

    async def check(self, owner: str, limits: WebhookFilter | None) -> None:
        """Raises Rejected if the owner lacks a list of the filter, or no company has its number."""
        await self._check_companies(limits)
        if limits is None or not limits.watchlists:
            return
        missing = await self.lists.missing(owner, limits.watchlists)
        if missing:
            hint = "you have no watchlist with this id; GET /api/watchlists lists yours"
            places = [number for number, one in enumerate(limits.watchlists) if one in missing]
            raise invalid_fields(*((f"filter.watchlists[{number}]", hint) for number in places))

    async def _check_companies(self, limits: WebhookFilter | None) -> None:
        # Both registers have numbers that break the rule of check digits: a register decides.
        places = {} if limits is None else {one: at for at, one in enumerate(limits.companies)}
        doubtful = [one for one in places if not may_be_registered(one.number, one.country)]
        unknown = await self.register.unknown(doubtful) if doubtful else set()
        if unknown:
            hint = "no company has this number: its check digit is wrong, and no register knows it"
            at = sorted(places[one] for one in unknown)[:_MAX_NAMED]
            raise invalid_fields(*((f"filter.companies[{number}]", hint) for number in at))


@dataclass(frozen=True, slots=True)
class WebhookOperations:
    """Operations on the webhooks of an owner; each raises Rejected or Unavailable."""

    registrations: Registrations
    watchlists: UsableFilters
    destinations: Destinations
    health: Health
    idempotency: Idempotency
    new_secret: Callable[[], SecretStr]
    now: Clock
    #: Maximum webhooks per owner.
    limit: int
    #: Time for which a replaced secret still signs, with the new one.
    overlap: timedelta

    async def create(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the secret; a repeat under the same key omits the secret."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        draft = NewWebhook.parse(request.body, request.words)
        await self.destinations.check(draft.url)
        await self.watchlists.check(request.owner, draft.filter)
        # Stored after the body was validated: a refused body leaves the key unused.
        once = await self.idempotency.begin(request)
        if isinstance(once, WebhookReply):
            return once
        async with self.watchlists.usable(request.owner, draft.filter):
            # Its time is read after any wait: dispatchers find changes by it (ADR 0054).
            new = Registration(self._webhook(request.owner, once.call_id, draft), self.new_secret())
            made = await self.registrations.create(new, call_id=request.call_id, limit=self.limit)
        if isinstance(made, LimitReached):
            raise webhook_limit_reached(self.limit)
        answer, without = _answer(made, request.call_id)
        return await self.idempotency.end(once, answer, body=without)

    def _webhook(self, owner: str, call_id: UUID, draft: NewWebhook) -> Webhook:
        now = self.now()
        headers = {"headers": tuple(draft.headers), "new_headers": draft.headers}
        return Webhook(
            id=WebhookId(f"wh_{call_id.hex}"),
            owner=owner,
            url=draft.url.url,
            host=draft.url.host,
            events=draft.events,
            filter=draft.filter,
            description=draft.description,
            created_at=now,
            updated_at=now,
            **(headers if draft.headers else {}),
        )

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with all webhooks of the owner, newest first; there are no pages."""
        webhooks = await self.registrations.of_owner(request.owner)
        health = await self.health.of(
            [webhook.id for webhook in webhooks], at=self.now(), max_age=MAX_LISTED_AGE
        )
        shown = [await self._showing(one, health[one.id]) for one in webhooks]
        return reply(OK, WebhookList(webhooks=tuple(shown)))

    async def show(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the webhook and its present health."""
        return reply(OK, await self._with_health(await owned_webhook(self.registrations, request)))

    async def change(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the webhook after a merge patch, which may enable or disable it."""
        await owned_webhook(self.registrations, request)
        changes = WebhookChanges.parse(request.body, request.words)
        await self.destinations.check(changes.url)
        async with self.watchlists.usable(request.owner, changes.filter):
            now = self.now()
            webhook = await self.registrations.change(
                request.owner,
                request.webhook_id,
                lambda before: changed(before, changes, at=now),
            )
        if webhook is None:
            raise Rejected(WEBHOOK_NOT_FOUND)
        return reply(OK, await self._with_health(webhook))

    async def delete(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204, also for a redelivered call; waiting deliveries are cancelled when due."""
        deleted = await self.registrations.delete(
            request.owner, request.webhook_id, call_id=request.call_id, at=self.now()
        )
        if not deleted:
            raise Rejected(WEBHOOK_NOT_FOUND)
        return WebhookReply(status=NO_CONTENT)

    async def rotate_secret(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the new secret, which is shown once; 409 while a replaced one signs."""
        # Read first: if it failed afterwards, the secret would be rotated and never shown.
        before = await self._with_health(await owned_webhook(self.registrations, request))
        now = self.now()
        new = NewSecret(
            self.new_secret(), request.call_id, at=now, previous_until=now + self.overlap
        )
        registered = await self.registrations.rotate(request.owner, request.webhook_id, new)
        if registered is None:
            raise Rejected(WEBHOOK_NOT_FOUND)
        if isinstance(registered, RotationPending):
            raise rotation_pending(registered.until)
        shown = registered.webhook.model_copy(update={"health": before.health})
        return reply(OK, with_secret(replace(registered, webhook=shown)))

    async def _with_health(self, webhook: Webhook) -> Webhook:
        health = await self.health.of([webhook.id], at=self.now())
        return await self._showing(webhook, health[webhook.id])

    async def _showing(self, webhook: Webhook, health: WebhookHealth) -> Webhook:
        complete = await self.health.with_retries(webhook, health)
        return webhook.model_copy(update={"health": complete})


def _answer(made: Registration | ExistingRegistration, call_id: UUID) -> tuple[WebhookReply, bytes]:
    # The secret is shown by the call that created it and by its redelivery, since the first answer
    # was lost. When another call with the same key was faster, that call shows it.
    is_own = isinstance(made, Registration) or made.call_id == call_id
    registered = made if isinstance(made, Registration) else made.registered
    place = location(registered.webhook)
    without = rendered(registered.webhook)
    if is_own:
        return reply(CREATED, with_secret(registered), location=place), without
    return WebhookReply(status=CREATED, body=without, location=place, replayed=True), without


async def owned_webhook(registrations: Registrations, request: WebhookRequest) -> Webhook:
    """Returns the owner's webhook; raises Rejected if absent."""
    webhook = await registrations.find(request.owner, request.webhook_id)
    if webhook is None:
        raise Rejected(WEBHOOK_NOT_FOUND)
    return webhook


async def enabled_webhook(registrations: Registrations, request: WebhookRequest) -> Webhook:
    """Returns the owner's webhook; raises Rejected if absent or disabled."""
    webhook = await owned_webhook(registrations, request)
    if not webhook.enabled:
        raise Rejected(WEBHOOK_DISABLED)
    return webhook


def with_secret(registered: Registration) -> WebhookWithSecret:
    """Returns the representation with the secret, which is shown once."""
    return WebhookWithSecret(
        **dict(registered.webhook), secret=registered.secret.get_secret_value()
    )


def location(webhook: Webhook) -> str:
    """Returns the path of a webhook, for the `Location` header."""
    return Operation.GET.path.format(id=webhook.id)
