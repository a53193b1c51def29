"""Signatures against vectors that openssl made, and every verifier that we publish."""

import importlib.util
import json
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest
import standardwebhooks
from pydantic import SecretStr

from dispatcher.domain.signature import sign, sign_standard, signature_headers
from tests.delivery.verifying import is_genuine
from webhook_store.models import SigningSecrets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "webhooks"

#: Made with `vectors/make.sh <secret> <timestamp> <delivery id> < body`.
VECTORS = json.loads((Path(__file__).parent / "vectors" / "signatures.json").read_text())

SECRET = "whsec_HcSPnfews4js58abO2H+gp0NELDlYuKSQu4sGT4UksQ="
OLD_SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
DELIVERY_ID = "0ff41c72-3467-5d60-b0af-9f4382c99c39"
BODY = '{"id":"b201141a-b778-5426-8072-e3d66ffad770","name":"Prøven"}'.encode()


def headers_at(at: datetime, *, previous: str | None = None) -> Mapping[str, str]:
    secrets = SigningSecrets(SecretStr(SECRET), previous and SecretStr(previous))  # type: ignore[arg-type]
    return signature_headers(secrets, delivery_id=DELIVERY_ID, body=BODY, at=at)


def now_headers(*, previous: str | None = None) -> Mapping[str, str]:
    return headers_at(datetime.now(UTC), previous=previous)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["timestamp"])
class TestVectors:
    def test_our_signature_is_openssls(self, vector: dict[str, str]) -> None:
        signature = sign(
            vector["secret"],
            timestamp=vector["timestamp"],
            delivery_id=vector["delivery_id"],
            body=vector["body"].encode(),
        )

        assert signature == vector["signature"]

    def test_our_standard_signature_is_openssls(self, vector: dict[str, str]) -> None:
        signature = sign_standard(
            vector["secret"],
            timestamp=vector["timestamp"],
            delivery_id=vector["delivery_id"],
            body=vector["body"].encode(),
        )

        assert signature == vector["standard"]


@dataclass(frozen=True)
class Verifier:
    """One of the published verifiers."""

    name: str

    def accepts(
        self, secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None
    ) -> bool:
        at = time.time() if now is None else now
        match self.name:
            case "python":
                return bool(_verify_py().verify(secret, headers, body, at))
            case "node":
                return _by_node(secret, headers, body, at)
            case _:
                return is_genuine(headers, body, secret, now=at)


def _verify_py() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify", DOCS / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _by_node(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    lower = {name.lower(): value for name, value in headers.items()}
    program = f"""
        import {{ verify }} from {json.dumps(str(DOCS / "verify.mjs"))};
        import {{ readFileSync }} from "node:fs";
        const [secret, headers, now] = {json.dumps([secret, lower, now])};
        console.log(verify(secret, headers, readFileSync(0), now));
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        input=body,
        capture_output=True,
        timeout=30,
        check=True,
    )
    return done.stdout.strip() == b"true"


@pytest.fixture(
    params=[
        "python",
        pytest.param(
            "node",
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="Node is not here"),
        ),
        "of the tests' receiver",
    ]
)
def verifier(request: pytest.FixtureRequest) -> Verifier:
    return Verifier(request.param)


class TestVerifiers:
    def test_a_delivery_is_accepted(self, verifier: Verifier) -> None:
        assert verifier.accepts(SECRET, now_headers(), BODY)

    def test_another_body_is_refused(self, verifier: Verifier) -> None:
        assert not verifier.accepts(SECRET, now_headers(), BODY + b" ")

    def test_another_secret_is_refused(self, verifier: Verifier) -> None:
        assert not verifier.accepts(OLD_SECRET, now_headers(), BODY)

    def test_a_signature_that_is_no_text_is_refused(self, verifier: Verifier) -> None:
        # As servers in Python give a byte that is no UTF-8; Node gives such as Latin-1.
        no_text = "\udcff" if verifier.name != "node" else "\xff"

        for header in (no_text, no_text * 64):
            assert not verifier.accepts(SECRET, {**now_headers(), "X-Signature": header}, BODY)

    @pytest.mark.parametrize("seconds", [299, -299])
    def test_a_clock_may_be_300_s_off(self, verifier: Verifier, seconds: int) -> None:
        headers = now_headers()
        now = int(headers["X-Timestamp"]) + seconds

        assert verifier.accepts(SECRET, headers, BODY, now=now)

    @pytest.mark.parametrize("seconds", [302, -302])
    def test_what_is_more_than_300_s_off_is_refused(self, verifier: Verifier, seconds: int) -> None:
        headers = now_headers()
        now = int(headers["X-Timestamp"]) + seconds

        assert not verifier.accepts(SECRET, headers, BODY, now=now)

    def test_bytes_moved_between_the_parts_are_refused(self, verifier: Verifier) -> None:
        headers = dict(now_headers())
        # The same string is signed; its borders are elsewhere.
        body = headers["X-Delivery-Id"][-1:].encode() + BODY
        headers["X-Delivery-Id"] = headers["X-Delivery-Id"][:-1]

        assert not verifier.accepts(SECRET, headers, body)


def test_during_a_rotation_both_secrets_verify() -> None:
    headers = now_headers(previous=OLD_SECRET)

    for verifier in (Verifier("python"), *([Verifier("node")] if shutil.which("node") else [])):
        assert verifier.accepts(SECRET, headers, BODY)
        assert verifier.accepts(OLD_SECRET, headers, BODY)


def test_without_a_rotation_there_is_no_previous_signature() -> None:
    assert "X-Signature-Previous" not in now_headers()


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
def test_the_library_of_the_standard_webhooks_verifies_our_deliveries(secret: str) -> None:
    headers = now_headers(previous=OLD_SECRET)

    event = standardwebhooks.Webhook(secret).verify(BODY, dict(headers))

    assert event["name"] == "Prøven"


def test_the_library_refuses_another_body() -> None:
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(SECRET).verify(BODY + b" ", dict(now_headers()))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")
@pytest.mark.parametrize("body,status", [(BODY, 0), (BODY + b" ", 1)])
def test_the_shell_tells_a_signed_body_from_another(body: bytes, status: int) -> None:
    headers = now_headers()

    done = subprocess.run(
        [
            str(DOCS / "verify.sh"),
            headers["X-Timestamp"],
            headers["X-Delivery-Id"],
            headers["X-Signature"],
        ],
        input=body,
        env={"PATH": "/usr/bin:/bin", "SECRET": SECRET},
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == status


def test_a_timestamp_that_has_not_ten_digits_is_never_sent() -> None:
    with pytest.raises(ValueError, match="10 digits"):
        headers_at(datetime(2001, 9, 8, tzinfo=UTC))


def test_a_delivery_id_that_has_not_36_characters_is_never_sent() -> None:
    with pytest.raises(ValueError, match="36 characters"):
        signature_headers(
            SigningSecrets(SecretStr(SECRET)),
            delivery_id="short",
            body=BODY,
            at=datetime.now(UTC),
        )
