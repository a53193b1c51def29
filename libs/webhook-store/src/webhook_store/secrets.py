"""Webhook secrets at rest, encrypted with AES-256-GCM under a named key.

A secret is needed to sign, so it is encrypted and not hashed. The webhook's id is associated
data: a secret moved to another webhook does not decrypt (ADR 0005).
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr

from common.contracts.webhooks import WebhookId

Document = dict[str, Any]

#: Returns random bytes; `secrets.token_bytes` outside tests.
RandomBytes = Callable[[int], bytes]

_SECRET_BYTES = 32
_KEY_BYTES = 32
#: GCM's nonce size. Random nonces allow 2^32 seals under one key.
_NONCE_BYTES = 12

_KEY_ID = re.compile(r"[A-Za-z0-9_.-]{1,32}")


class CannotUnseal(Exception):
    """No configured key opens a sealed secret: the key is missing or the data is invalid."""


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """Secret encrypted under the key `key_id`, with the nonce of that encryption."""

    key_id: str
    nonce: bytes
    ciphertext: bytes


class SecretKeys:
    """Keys of this process: the newest seals, all of them open."""

    def __init__(self, keys: Mapping[str, AESGCM], random_bytes: RandomBytes) -> None:
        """`keys` by id, newest first."""
        self._keys = keys
        self._random_bytes = random_bytes
        self.newest_id = next(iter(keys))

    @classmethod
    def parse(cls, text: SecretStr, *, random_bytes: RandomBytes) -> Self:
        """Returns the keys of `<id>:<base64 of 32 bytes>,…`; raises ValueError without them."""
        keys: dict[str, AESGCM] = {}
        for number, part in enumerate(text.get_secret_value().split(","), start=1):
            key_id, colon, encoded = part.strip().partition(":")
            if not colon or not _KEY_ID.fullmatch(key_id):
                raise ValueError(f"key {number} is not written <id>:<base64 of 32 bytes>")
            if key_id in keys:
                raise ValueError(f"the key id {key_id} is given twice")
            keys[key_id] = AESGCM(_decoded(encoded, key_id))
        return cls(keys, random_bytes)

    def seal(self, secret: SecretStr, webhook_id: WebhookId) -> SealedSecret:
        """Returns the secret encrypted with the newest key; only this webhook's id opens it."""
        return self.seal_bytes(secret.get_secret_value().encode(), webhook_id)

    def seal_bytes(self, plaintext: bytes, associated: str) -> SealedSecret:
        """Returns bytes encrypted with the newest key; only the associated text opens them."""
        nonce = self._random_bytes(_NONCE_BYTES)
        ciphertext = self._keys[self.newest_id].encrypt(nonce, plaintext, associated.encode())
        return SealedSecret(self.newest_id, nonce, ciphertext)

    def unseal(self, sealed: SealedSecret, webhook_id: WebhookId) -> SecretStr:
        """Returns the decrypted secret; raises CannotUnseal."""
        return SecretStr(self.unseal_bytes(sealed, webhook_id).decode())

    def unseal_bytes(self, sealed: SealedSecret, associated: str) -> bytes:
        """Returns what `seal_bytes` encrypted; raises CannotUnseal."""
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise CannotUnseal(f"the key {sealed.key_id} is not among this process' keys")
        try:
            return key.decrypt(sealed.nonce, sealed.ciphertext, associated.encode())
        except InvalidTag:
            raise CannotUnseal(
                f"it was not sealed with key {sealed.key_id} for this webhook"
            ) from None


def new_secret(random_bytes: RandomBytes) -> SecretStr:
    """Returns a new secret in Standard Webhooks form: `whsec_` and base64 of 32 random bytes."""
    return SecretStr("whsec_" + base64.b64encode(random_bytes(_SECRET_BYTES)).decode())


def _decoded(encoded: str, key_id: str) -> bytes:
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ValueError(f"the key {key_id} is not base64 of {_KEY_BYTES} bytes")
    return key


def headers_id(webhook_id: WebhookId) -> WebhookId:
    """Returns the associated data of a webhook's headers, distinct from that of its secrets."""
    return WebhookId(f"{webhook_id}/headers")


def sealed_headers(headers: Mapping[str, str], keys: SecretKeys, webhook_id: WebhookId) -> Document:
    """Returns the stored fields of a webhook's custom headers, encrypted under the newest key."""
    sealed = keys.seal(SecretStr(orjson.dumps(headers).decode()), headers_id(webhook_id))
    return asdict(sealed)


def opened_headers(
    document: Document | None, keys: SecretKeys, webhook_id: WebhookId
) -> Mapping[str, SecretStr]:
    """Returns a webhook's decrypted custom headers; raises CannotUnseal."""
    if document is None:
        return {}
    opened = keys.unseal(sealed_of(document), headers_id(webhook_id))
    headers: dict[str, str] = orjson.loads(opened.get_secret_value())
    return {name: SecretStr(value) for name, value in headers.items()}


def sealed_document(sealed: SealedSecret, *, call_id: UUID) -> Document:
    """Returns the stored fields of a secret; `call_id` makes a redelivered call idempotent."""
    return {**asdict(sealed), "call": str(call_id)}


def sealed_of(document: Document) -> SealedSecret:
    """Returns the encrypted value in the stored fields of a secret or of headers."""
    return SealedSecret(document["key_id"], document["nonce"], document["ciphertext"])


def still_signs(previous: Document | None, at: datetime) -> bool:
    """Returns True if a replaced secret is still within its overlap."""
    return previous is not None and previous["until"] > at


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    """Secrets that sign a delivery: two of them during the overlap after a rotation."""

    newest: SecretStr
    #: The previous secret, while it still signs as well.
    previous: SecretStr | None = None
