"""Issuing and revoking API keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from gateway.domain.keys import ApiKey, PresentedKey, Scope, hash_of
from gateway.domain.rates import Rate
from gateway.ports import KeyStore

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class IssueKey:
    keys: KeyStore
    new_key: Callable[[], PresentedKey]
    now: Clock

    async def __call__(
        self,
        *,
        owner: str,
        name: str,
        scopes: Iterable[Scope],
        rate: Rate | None = None,
        expires_at: datetime | None = None,
    ) -> PresentedKey:
        """Issue a key. Only its hash is stored, so the key cannot be shown again."""
        key = self.new_key()
        await self.keys.add(
            ApiKey(
                id=key.id,
                secret_hash=hash_of(key.secret),
                name=name,
                owner=owner,
                scopes=frozenset(scopes),
                created_at=self.now(),
                expires_at=expires_at,
                rate=rate,
            )
        )
        return key


@dataclass(frozen=True, slots=True)
class RevokeKey:
    keys: KeyStore
    now: Clock

    async def __call__(self, key_id: str) -> bool:
        """Revoke a key within 10 s everywhere; returns whether it exists."""
        return await self.keys.revoke(key_id, at=self.now())
