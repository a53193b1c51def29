"""Requests that carry an `Idempotency-Key`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from common.contracts.webhook_api import IDEMPOTENCY_KEY, WebhookReply, WebhookRequest
from webhook_registry.replies import IDEMPOTENCY_CONFLICT, Rejected, invalid_parameter
from webhook_store.idempotency import IdempotencyKeys, KeyScope, KeyUse

Clock = Callable[[], datetime]

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """Request under its key; created objects are named after `call_id`."""

    call_id: UUID
    #: True if the key was used by an earlier request.
    is_repeat: bool
    scope: KeyScope | None


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Detects repeated requests and stores their answers."""

    keys: IdempotencyKeys
    now: Clock
    kept: timedelta

    async def repeated(self, request: WebhookRequest) -> WebhookReply | None:
        """Returns the stored answer, if the request is a repeat of an answered one.

        Raises Rejected for a malformed key, and for another body under a used key.
        """
        scope = _scope(request)
        use = None if scope is None else await self.keys.find(scope, at=self.now())
        return None if use is None else _repeated(request, use)

    async def begin(self, request: WebhookRequest) -> KeyedCall | WebhookReply:
        """Stores the use of the key before the work; raises like `repeated`."""
        scope = _scope(request)
        if scope is None:
            return KeyedCall(request.call_id, is_repeat=False, scope=None)
        now = self.now()
        new = KeyUse(request.call_id, sha256(request.body).digest())
        use = await self.keys.use(scope, new, at=now, until=now + self.kept)
        return _repeated(request, use) or KeyedCall(
            use.call_id, is_repeat=use.call_id != request.call_id, scope=scope
        )

    async def end(self, once: KeyedCall, reply: WebhookReply, *, body: bytes) -> WebhookReply:
        """Stores the answer with the `body` for repeats; returns `reply`."""
        if once.scope is not None:
            await self.keys.answer(once.scope, reply.model_copy(update={"body": body}))
        return reply


def _scope(request: WebhookRequest) -> KeyScope | None:
    if request.idempotency_key is None:
        return None
    if not _KEY.fullmatch(request.idempotency_key):
        raise invalid_parameter(
            IDEMPOTENCY_KEY, "give 1 to 255 visible ASCII characters, such as a UUID"
        )
    path = request.operation.path.format(id=request.webhook_id, watchlist_id=request.watchlist_id)
    return KeyScope(request.owner, path, request.idempotency_key)


def _repeated(request: WebhookRequest, use: KeyUse) -> WebhookReply | None:
    if use.fingerprint != sha256(request.body).digest():
        raise Rejected(IDEMPOTENCY_CONFLICT)
    # A redelivered call is no repeat by the client: its answer may be lost.
    if use.answer is None or use.call_id == request.call_id:
        return None
    return use.answer
