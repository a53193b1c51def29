"""API keys with defaults for everything."""

from datetime import UTC, datetime
from typing import Any

from gateway.access.keys import ApiKey, PresentedKey, Scope, hash_of

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def a_presented_key(number: int = 1, *, secret: str = "s" * 43) -> PresentedKey:
    return PresentedKey(id=f"{number:024x}", secret=secret)


def an_api_key(presented: PresentedKey | None = None, **fields: Any) -> ApiKey:
    presented = presented or a_presented_key()
    return ApiKey(
        **{
            "id": presented.id,
            "secret_hash": hash_of(presented.secret),
            "name": "nightly sync",
            "owner": "acme",
            "scopes": frozenset(Scope),
            "created_at": NOON,
            **fields,
        }
    )
