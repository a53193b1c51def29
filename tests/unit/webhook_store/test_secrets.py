"""Sealing secrets."""

import base64

import pytest
from pydantic import SecretStr

from common.contracts.webhooks import WebhookId
from tests.builders.webhooks import a_secret, counted_bytes, encoded_key, secret_keys
from webhook_store.secrets import CannotUnseal, SealedSecret, SecretKeys, new_secret

WEBHOOK = WebhookId("wh_1")


@pytest.mark.parametrize("ids", [("k1",), ("k2", "k1")], ids=["newest", "older"])
def test_a_sealed_secret_is_opened_with_its_key(ids: tuple[str, ...]) -> None:
    sealed = secret_keys("k1").seal(a_secret("whsec_invented"), WEBHOOK)

    assert b"invented" not in sealed.ciphertext
    assert secret_keys(*ids).unseal(sealed, WEBHOOK) == a_secret("whsec_invented")


def test_the_newest_key_seals() -> None:
    assert secret_keys("k2", "k1").seal(a_secret(), WEBHOOK).key_id == "k2"


def test_the_same_secret_is_never_sealed_alike() -> None:
    keys = secret_keys("k1")

    first, second = keys.seal(a_secret(), WEBHOOK), keys.seal(a_secret(), WEBHOOK)

    assert first.nonce != second.nonce
    assert first.ciphertext != second.ciphertext


def test_a_secret_of_a_removed_key_does_not_open() -> None:
    sealed = secret_keys("k1").seal(a_secret(), WEBHOOK)

    with pytest.raises(CannotUnseal, match="the key k1 is not among"):
        secret_keys("k2").unseal(sealed, WEBHOOK)


def test_a_secret_that_is_moved_to_another_webhook_does_not_open() -> None:
    keys = secret_keys("k1")
    sealed = keys.seal(a_secret(), WEBHOOK)

    with pytest.raises(CannotUnseal, match="not sealed with key k1 for this webhook"):
        keys.unseal(sealed, WebhookId("wh_2"))


def test_a_secret_that_was_tampered_with_does_not_open() -> None:
    keys = secret_keys("k1")
    sealed = keys.seal(a_secret(), WEBHOOK)
    other = SealedSecret(
        sealed.key_id, sealed.nonce, bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:]
    )

    with pytest.raises(CannotUnseal):
        keys.unseal(other, WEBHOOK)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "key 1 is not written"),
        ("k1", "key 1 is not written"),
        (f"k 1:{encoded_key('k1')}", "key 1 is not written"),
        (f"k1:{encoded_key('k1')},", "key 2 is not written"),
        ("k1:", "the key k1 is not base64 of 32 bytes"),
        ("k1:c2hvcnQ=", "the key k1 is not base64 of 32 bytes"),
        ("k1:%%%", "the key k1 is not base64 of 32 bytes"),
        (f"k1:{encoded_key('k1')},k1:{encoded_key('k2')}", "the key id k1 is given twice"),
    ],
)
def test_an_invalid_list_of_keys_is_refused_without_its_keys(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        SecretKeys.parse(SecretStr(text), random_bytes=counted_bytes())

    assert "c2hvcnQ" not in str(caught.value)


def test_a_new_secret_is_the_base64_of_32_bytes_behind_whsec() -> None:
    secret = new_secret(lambda size: b"x" * size).get_secret_value()

    prefix, _, encoded = secret.partition("_")
    assert prefix == "whsec"
    assert base64.b64decode(encoded) == b"x" * 32
