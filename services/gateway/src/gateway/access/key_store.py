"""API keys in MongoDB: database `access`, collection `api_keys`. This module is its only writer."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from common.contracts.failures import Unavailable
from common.mongo import Database, also_from_secondaries, translated_errors
from gateway.access.keys import ApiKey, Scope
from gateway.access.rates import Rate
from gateway.problems import ServiceUnavailable

#: Seconds for reading a key: an unavailable database is reported within 2 s.
FIND_TIMEOUT = 1.5


class MongoKeys:
    """`ApiKeys`, and what the commands need."""

    def __init__(self, database: Database) -> None:
        self._keys = database["api_keys"]
        self._known = also_from_secondaries(database)["api_keys"]

    async def create_indexes(self) -> None:
        """For `all`; a single key is read by `_id`."""
        await self._keys.create_index([("created_at", -1)])

    async def find(self, key_id: str) -> ApiKey | None:
        try:
            async with asyncio.timeout(FIND_TIMEOUT):
                with translated_errors():
                    document = await self._known.find_one({"_id": key_id})
                    if document is None:  # a secondary may not have it yet
                        document = await self._keys.find_one({"_id": key_id})
        except (Unavailable, TimeoutError):
            raise ServiceUnavailable("the API key cannot be checked now") from None
        return None if document is None else _read(document)

    async def add(self, key: ApiKey) -> None:
        with translated_errors():
            await self._keys.insert_one(_written(key))

    async def all(self) -> Sequence[ApiKey]:
        """All keys, newest first."""
        with translated_errors():
            found = self._keys.find().sort([("created_at", -1), ("_id", 1)])
            return [_read(document) async for document in found]

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        """Revokes a key; an earlier revocation keeps its time. False when there is no such key."""
        with translated_errors():
            await self._keys.update_one(
                {"_id": key_id, "revoked_at": None}, {"$set": {"revoked_at": at}}
            )
            return await self._keys.count_documents({"_id": key_id}, limit=1) == 1


def _written(key: ApiKey) -> dict[str, Any]:
    return {
        "_id": key.id,
        "secret_hash": key.secret_hash,
        "name": key.name,
        "owner": key.owner,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
        "expires_at": key.expires_at,
        "rate": None if key.rate is None else {"count": key.rate.count, "window": key.rate.window},
    }


def _read(document: dict[str, Any]) -> ApiKey:
    return ApiKey(
        id=document["_id"],
        secret_hash=document["secret_hash"],
        name=document["name"],
        owner=document["owner"],
        scopes=frozenset(Scope(scope) for scope in document["scopes"]),
        created_at=document["created_at"],
        revoked_at=document["revoked_at"],
        # Keys of an earlier release have neither.
        expires_at=document.get("expires_at"),
        rate=Rate(**document["rate"]) if document.get("rate") else None,
    )
