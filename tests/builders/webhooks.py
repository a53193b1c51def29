"""Webhooks with defaults for everything; a test names only what matters to it."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import orjson
from pydantic import SecretStr

from common.contracts.company import CompanyKey
from common.contracts.webhook_api import Operation, WebhookRequest
from common.contracts.webhooks import Webhook, WebhookFilter, WebhookId
from webhook_store.matching import Subject
from webhook_store.secrets import RandomBytes, SecretKeys
from webhook_store.webhooks import Registration

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

OWNER = "prøvefirma"
OTHER_OWNER = "other-owner"

URL = "https://hooks.example.com/registry"


def a_webhook(**fields: Any) -> Webhook:
    return Webhook(
        **{
            "id": WebhookId(f"wh_{uuid4().hex}"),
            "owner": OWNER,
            "url": URL,
            "host": "hooks.example.com",
            "events": ("*",),
            "filter": None,
            "description": None,
            "created_at": NOON,
            "updated_at": NOON,
            **fields,
        }
    )


def is_for(webhook: Webhook, subject: Subject) -> bool:
    """True if an event is for a webhook: the reference implementation of the rule."""
    limits = webhook.filter or WebhookFilter()
    family = subject.event_type.split(".")[0]
    prefixes = [prefix.replace(".", "") for prefix in limits.industries]
    towns = [name.lower().lstrip("0") for name in limits.municipalities]
    code = (subject.municipality_code or "-").lstrip("0")
    return (
        any(pattern in (subject.event_type, f"{family}.*", "*") for pattern in webhook.events)
        and (not limits.countries or subject.country in limits.countries)
        and (
            not (limits.companies or limits.watchlists)
            or CompanyKey(subject.country, subject.vat) in limits.companies
            or not set(limits.watchlists).isdisjoint(subject.watchlists)
        )
        and (not limits.forms or subject.form in limits.forms)
        and (
            not prefixes
            or any(code[: len(each)] == each for code in subject.industries for each in prefixes)
        )
        and (not towns or (subject.municipality or "").lower() in towns or code in towns)
        and (
            not limits.fields
            or any(
                one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
                for one in subject.fields
                for other in limits.fields
            )
        )
    )


def a_secret(text: str = "whsec_invented") -> SecretStr:
    return SecretStr(text)


def a_registered(secret: SecretStr | None = None, **fields: Any) -> Registration:
    return Registration(a_webhook(**fields), secret or a_secret())


def a_draft(**fields: Any) -> bytes:
    """The body of a create."""
    return orjson.dumps({"url": URL, "events": ["*"], **fields})


def a_request(operation: Operation, **fields: Any) -> WebhookRequest:
    return WebhookRequest(**{"operation": operation, "call_id": uuid4(), "owner": OWNER, **fields})


def a_call(number: int) -> UUID:
    return UUID(int=number)


def counted_bytes() -> RandomBytes:
    """Bytes that are no chance at all, and never the same twice."""
    numbers = count(1)
    return lambda size: next(numbers).to_bytes(size, "big")


def secret_keys(*ids: str, random_bytes: Callable[[int], bytes] | None = None) -> SecretKeys:
    """Keys of these ids, the newest first; the same id is always the same key."""
    text = ",".join(f"{key_id}:{encoded_key(key_id)}" for key_id in ids or ("k1",))
    return SecretKeys.parse(SecretStr(text), random_bytes=random_bytes or counted_bytes())


def encoded_key(key_id: str) -> str:
    return base64.b64encode(key_id.encode().rjust(32, b".")).decode()
