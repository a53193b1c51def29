"""Signatures against vectors that openssl made, and every verifier that we publish."""

import atexit
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import standardwebhooks
from pydantic import SecretStr

from dispatcher.sending.signature import sign, sign_standard, signature_headers
from tests.delivery.verifying import is_genuine
from webhook_store.webhooks.models import SigningSecrets

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
def test_our_signatures_are_openssls(vector: dict[str, str]) -> None:
    signatures = [
        signing(
            vector["secret"],
            timestamp=vector["timestamp"],
            delivery_id=vector["delivery_id"],
            body=vector["body"].encode(),
        )
        for signing in (sign, sign_standard)
    ]

    assert signatures == [vector["signature"], vector["standard"]]


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
            case "java" | "go" | "php" | "ruby" | "csharp":
                return _by_program(_program(self.name), secret, headers, body, at)
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


#: The program that a published verifier of another language needs.
RUNTIMES = {"java": "javac", "go": "go", "php": "php", "ruby": "ruby", "csharp": "mcs"}
PROGRAMS = Path(__file__).parent / "verifiers"


@cache
def _program(language: str) -> tuple[str, ...]:
    """The command that runs a verifier; compiled once in each process."""
    match language:
        case "php":
            return ("php", str(PROGRAMS / "main.php"), str(DOCS / "verify.php"))
        case "ruby":
            return ("ruby", str(PROGRAMS / "main.rb"), str(DOCS / "verify.rb"))
        case _:
            return _compiled(language)


def _compiled(language: str) -> tuple[str, ...]:
    # Kept until the process ends: every test uses it.
    folder = Path(tempfile.mkdtemp(prefix="verifier-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if language == "java":
        sources = [str(DOCS / "Verify.java"), str(PROGRAMS / "Main.java")]
        subprocess.run(["javac", "-d", str(folder), *sources], check=True, timeout=120)
        return ("java", "-cp", str(folder), "Main")
    if language == "csharp":
        sources = [str(DOCS / "Verify.cs"), str(PROGRAMS / "Main.cs")]
        command = ["mcs", f"-out:{folder / 'verify.exe'}", *sources]
        subprocess.run(command, check=True, timeout=120)
        return ("mono", str(folder / "verify.exe"))
    (folder / "hooks").mkdir()
    shutil.copy(DOCS / "verify.go", folder / "hooks")
    shutil.copy(PROGRAMS / "main.go", folder)
    (folder / "go.mod").write_text("module hooks\n\ngo 1.19\n")
    build = ["go", "build", "-o", "verify", "."]
    local = {
        **os.environ,
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOCACHE": str(folder / "cache"),
    }
    subprocess.run(build, cwd=folder, env=local, check=True, timeout=300)
    return (str(folder / "verify"),)


def _by_program(
    command: Sequence[str], secret: str, headers: Mapping[str, str], body: bytes, now: float
) -> bool:
    given = [part for pair in headers.items() for part in pair]
    done = subprocess.run(
        [*command, secret, str(int(now)), *given],
        input=body,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip() == b"true"


RECEIVER = "of the tests' receiver"


@pytest.fixture(
    params=[
        "python",
        *(
            pytest.param(
                language,
                marks=pytest.mark.skipif(
                    shutil.which(program) is None, reason=f"{program} is not here"
                ),
            )
            for language, program in {"node": "node", **RUNTIMES}.items()
        ),
        RECEIVER,
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
        no_text = "\udcff" if verifier.name not in ("node", *RUNTIMES) else "\xff"

        for header in (no_text, no_text * 64):
            assert not verifier.accepts(SECRET, {**now_headers(), "X-Signature": header}, BODY)

    @pytest.mark.parametrize("seconds", [299, -299])
    def test_a_clock_may_be_300_s_off(self, verifier: Verifier, seconds: int) -> None:
        headers = now_headers()
        now = int(headers["X-Timestamp"]) + seconds

        assert verifier.accepts(SECRET, headers, BODY, now=now)

    @pytest.mark.parametrize("seconds", [302, -302])
    def test_a_timestamp_more_than_300_s_off_is_refused(
        self, verifier: Verifier, seconds: int
    ) -> None:
        headers = now_headers()
        now = int(headers["X-Timestamp"]) + seconds

        assert not verifier.accepts(SECRET, headers, BODY, now=now)

    def test_bytes_moved_between_the_parts_are_refused(self, verifier: Verifier) -> None:
        headers = dict(now_headers())
        # The same string is signed; its borders are elsewhere.
        body = headers["X-Delivery-Id"][-1:].encode() + BODY
        headers["X-Delivery-Id"] = headers["X-Delivery-Id"][:-1]

        assert not verifier.accepts(SECRET, headers, body)


def test_during_a_rotation_both_secrets_verify(verifier: Verifier) -> None:
    headers = now_headers(previous=OLD_SECRET)

    assert verifier.accepts(SECRET, headers, BODY)
    # The receiver of the tests knows the newest secret only.
    assert verifier.accepts(OLD_SECRET, headers, BODY) is (verifier.name != RECEIVER)


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
def test_the_shell_verifier_accepts_only_the_signed_body(body: bytes, status: int) -> None:
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
