"""Re-encryption of stored secrets with the newest key, to retire old keys."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.webhooks.documents import (
    WEBHOOKS,
    Document,
    opened_headers,
    sealed_document,
    sealed_headers,
    sealed_of,
    still_signs,
)
from webhook_store.webhooks.secrets import CannotUnseal, SecretKeys


@dataclass(frozen=True, slots=True)
class Resealed:
    """Webhooks that a run of `reseal` re-encrypted, and those that it could not."""

    #: Webhooks whose secrets were re-encrypted.
    webhooks: int
    #: Webhooks that no given key opens; left unchanged.
    failed: tuple[WebhookId, ...]


async def reseal(database: Database, keys: SecretKeys, *, at: datetime) -> Resealed:
    """Re-encrypts all secrets with the newest key; safe to run at any time.

    Expired replaced secrets are dropped. Raises Unavailable.
    """
    webhooks = database[WEBHOOKS]
    done = 0
    failed: list[WebhookId] = []
    while True:
        with translated_errors():
            found = [one async for one in webhooks.find(_under_older(keys, failed), limit=500)]
            for document in found:
                try:
                    sealed = {
                        "secrets": _resealed(document, keys, at),
                        "sealed_headers": _resealed_headers(document, keys),
                    }
                except CannotUnseal:
                    failed.append(document["_id"])
                    continue
                result = await webhooks.update_one(
                    {"_id": document["_id"], "revision": document["revision"]},
                    {"$set": sealed, "$inc": {"revision": 1}},
                )
                done += result.modified_count
        if not found:
            return Resealed(done, tuple(failed))


def _under_older(keys: SecretKeys, without: list[WebhookId]) -> Document:
    newest = keys.newest_id
    return {
        "_id": {"$nin": without},
        "$or": [
            {"secrets.newest.key_id": {"$ne": newest}},
            {"secrets.previous": {"$ne": None}, "secrets.previous.key_id": {"$ne": newest}},
            {"sealed_headers": {"$ne": None}, "sealed_headers.key_id": {"$ne": newest}},
        ],
    }


def _resealed(document: Document, keys: SecretKeys, at: datetime) -> Document:
    newest, previous = document["secrets"]["newest"], document["secrets"]["previous"]
    return {
        "newest": _anew(newest, document["_id"], keys),
        "previous": {**_anew(previous, document["_id"], keys), "until": previous["until"]}
        if still_signs(previous, at)
        else None,
    }


def _resealed_headers(document: Document, keys: SecretKeys) -> Document | None:
    headers = opened_headers(document.get("sealed_headers"), keys, document["_id"])
    if not headers:
        return None
    values = {name: value.get_secret_value() for name, value in headers.items()}
    return sealed_headers(values, keys, document["_id"])


def _anew(sealed: Document, webhook_id: WebhookId, keys: SecretKeys) -> Document:
    secret = keys.unseal(sealed_of(sealed), webhook_id)
    return sealed_document(keys.seal(secret, webhook_id), call_id=UUID(sealed["call"]))
