"""The client's verifier accepts the published vectors, and nothing else."""

import json
import time
from pathlib import Path

import pytest
import standardwebhooks

from company_registry import InvalidSignature, verify
from company_registry.signatures import TOLERANCE, signed_headers

VECTORS = json.loads(
    (Path(__file__).parents[2] / "contract" / "vectors" / "signatures.json").read_text()
)
SECRET = VECTORS[0]["secret"]
NOW = int(VECTORS[0]["timestamp"])
BODY = VECTORS[0]["body"].encode()
HEADERS = {
    "X-Timestamp": VECTORS[0]["timestamp"],
    "X-Delivery-Id": VECTORS[0]["delivery_id"],
    "X-Signature": VECTORS[0]["signature"],
}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["timestamp"])
def test_signatures_are_openssls(vector: dict[str, str]) -> None:
    headers = signed_headers(
        vector["secret"],
        delivery_id=vector["delivery_id"],
        body=vector["body"].encode(),
        timestamp=int(vector["timestamp"]),
    )

    verify(headers, vector["body"].encode(), vector["secret"], now=float(vector["timestamp"]))

    assert headers["X-Signature"] == vector["signature"]
    assert headers["webhook-signature"] == vector["standard"]


def test_the_previous_secrets_signature_verifies() -> None:
    headers = {**HEADERS, "X-Signature": "0" * 64, "X-Signature-Previous": HEADERS["X-Signature"]}

    verify(headers, BODY, SECRET, now=NOW)


def test_header_names_may_be_in_any_case() -> None:
    verify({name.upper(): value for name, value in HEADERS.items()}, BODY, SECRET, now=NOW)


@pytest.mark.parametrize(
    "changed",
    [
        {"X-Timestamp": "177245280"},
        {"X-Timestamp": "+177245280"},
        {"X-Delivery-Id": "short"},
        {"X-Signature": HEADERS["X-Signature"].upper()},
        {"X-Signature": "\udcff"},
        {"X-Signature": ""},
    ],
    ids=["nine digits", "sign", "short id", "upper case", "not UTF-8", "empty"],
)
def test_another_form_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(InvalidSignature):
        verify({**HEADERS, **changed}, BODY, SECRET, now=NOW)


def test_another_body_and_another_secret_are_refused() -> None:
    with pytest.raises(InvalidSignature):
        verify(HEADERS, BODY + b" ", SECRET, now=NOW)
    with pytest.raises(InvalidSignature):
        verify(HEADERS, BODY, VECTORS[1]["secret"], now=NOW)


@pytest.mark.parametrize("off", [-TOLERANCE - 1, TOLERANCE + 1])
def test_another_time_is_refused(off: int) -> None:
    with pytest.raises(InvalidSignature, match="seconds off"):
        verify(HEADERS, BODY, SECRET, now=NOW + off)


def test_missing_headers_are_refused() -> None:
    with pytest.raises(InvalidSignature):
        verify({}, BODY, SECRET, now=NOW)


def test_standard_webhooks_verifies_our_headers() -> None:
    body = b'{"type": "company.updated"}'
    headers = signed_headers(
        SECRET, delivery_id=HEADERS["X-Delivery-Id"], body=body, timestamp=int(time.time())
    )

    assert standardwebhooks.Webhook(SECRET).verify(body, headers) == {"type": "company.updated"}
