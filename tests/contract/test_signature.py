"""Signatures against vectors that openssl made, and every verifier that we publish."""

import atexit
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from pydantic import SecretStr

from company_registry import InvalidSignature, verify
from company_registry.signatures import signed_headers
from dispatcher.signature import sign, sign_standard, signature_headers
from tests.delivery.verifying import is_genuine
from webhook_store.secrets import SigningSecrets

DOCS = Path(__file__).parents[2] / "docs" / "webhooks"
PROGRAMS = Path(__file__).parent / "verifiers"

#: Made with `vectors/make.sh <secret> <timestamp> <delivery id> < body`.
VECTORS = json.loads((Path(__file__).parent / "vectors" / "signatures.json").read_text())

SECRET = "whsec_HcSPnfews4js58abO2H+gp0NELDlYuKSQu4sGT4UksQ="
OLD_SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
DELIVERY_ID = "0ff41c72-3467-5d60-b0af-9f4382c99c39"
BODY = '{"id":"b201141a-b778-5426-8072-e3d66ffad770","name":"Prøven"}'.encode()
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NOW = int(NOON.timestamp())

#: Languages with the suffix of their files, and those whose verifier is compiled by a program.
INTERPRETED = {"node": "mjs", "php": "php", "ruby": "rb"}
RUNTIMES = {**{each: each for each in (*INTERPRETED, "go")}, "java": "javac", "csharp": "mcs"}

Headers = Mapping[str, str]
#: Whether a verifier accepts a delivery: secret, headers, body, Unix time.
Accepts = Callable[[str, Headers, bytes, int], bool]


def headers_of(
    *, at: datetime = NOON, previous: str | None = None, delivery_id: str = DELIVERY_ID
) -> Headers:
    secrets = SigningSecrets(SecretStr(SECRET), SecretStr(previous) if previous else None)
    return signature_headers(secrets, delivery_id=delivery_id, body=BODY, at=at)


HEADERS = headers_of()


def by_client(secret: str, headers: Headers, body: bytes, now: int) -> bool:
    try:
        verify(headers, body, secret, now=now)
    except InvalidSignature:
        return False
    return True


def by_receiver(secret: str, headers: Headers, body: bytes, now: int) -> bool:
    """By the tests' receiver, which knows the newest secret only."""
    return is_genuine(headers, body, secret, now=now)


def by_python(secret: str, headers: Headers, body: bytes, now: int) -> bool:
    spec = importlib.util.spec_from_file_location("verify", DOCS / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bool(module.verify(secret, headers, body, now))


def by_program(language: str, secret: str, headers: Headers, body: bytes, now: int) -> bool:
    given = [part for pair in headers.items() for part in pair]
    done = subprocess.run(
        [*program(language), secret, str(now), *given],
        input=body,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip() == b"true"


@cache
def program(language: str) -> tuple[str | Path, ...]:
    """The command that runs a published verifier; compiled once in each process."""
    if language in INTERPRETED:
        suffix = INTERPRETED[language]
        return (language, PROGRAMS / f"main.{suffix}", DOCS / f"verify.{suffix}")
    folder = Path(tempfile.mkdtemp(prefix="verifier-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    compiling = partial(subprocess.run, cwd=folder, check=True, timeout=300)
    if language == "java":
        compiling(["javac", "-d", folder, DOCS / "Verify.java", PROGRAMS / "Main.java"])
        return ("java", "-cp", folder, "Main")
    if language == "csharp":
        compiling(["mcs", "-out:verify.exe", DOCS / "Verify.cs", PROGRAMS / "Main.cs"])
        return ("mono", folder / "verify.exe")
    (folder / "hooks").mkdir()
    shutil.copy(DOCS / "verify.go", folder / "hooks")
    shutil.copy(PROGRAMS / "main.go", folder)
    (folder / "go.mod").write_text("module hooks\n\ngo 1.19\n")
    local = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": str(folder / "cache")}
    compiling(["go", "build", "-o", "verify", "."], env={**os.environ, **local})
    return (folder / "verify",)


VERIFIERS: dict[str, Accepts] = {
    "python": by_python,
    "client": by_client,
    "receiver": by_receiver,
    **{language: partial(by_program, language) for language in RUNTIMES},
}


@pytest.fixture(params=VERIFIERS)
def language(request: pytest.FixtureRequest) -> str:
    needed = RUNTIMES.get(request.param)
    if needed is not None and shutil.which(needed) is None:
        pytest.skip(f"{needed} is not here")
    return str(request.param)


@pytest.fixture
def accepts(language: str) -> Accepts:
    return VERIFIERS[language]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["timestamp"])
def test_our_signatures_are_openssls(vector: dict[str, str]) -> None:
    secret, timestamp, delivery_id, body = (
        vector[part] for part in ("secret", "timestamp", "delivery_id", "body")
    )
    own = [
        signing(secret, timestamp=timestamp, delivery_id=delivery_id, body=body.encode())
        for signing in (sign, sign_standard)
    ]
    of_client = signed_headers(
        secret, timestamp=int(timestamp), delivery_id=delivery_id, body=body.encode()
    )

    assert own == [vector["signature"], vector["standard"]]
    assert [of_client["X-Signature"], of_client["webhook-signature"]] == own
    verify(of_client, body.encode(), secret, now=float(timestamp))


@pytest.mark.parametrize("late", [0, 299, -299])
def test_a_delivery_is_accepted_by_a_clock_up_to_300_s_off(accepts: Accepts, late: int) -> None:
    assert accepts(SECRET, HEADERS, BODY, NOW + late)


@pytest.mark.parametrize("late", [302, -302])
def test_a_timestamp_more_than_300_s_off_is_refused(accepts: Accepts, late: int) -> None:
    assert not accepts(SECRET, HEADERS, BODY, NOW + late)


def test_another_body_and_another_secret_are_refused(accepts: Accepts) -> None:
    assert not accepts(SECRET, HEADERS, BODY + b" ", NOW)
    assert not accepts(OLD_SECRET, HEADERS, BODY, NOW)


def test_a_signature_that_is_no_text_is_refused(accepts: Accepts, language: str) -> None:
    # As servers in Python give a byte that is no UTF-8; Node gives such as Latin-1.
    no_text = "\xff" if language in RUNTIMES else "\udcff"

    for header in (no_text, no_text * 64):
        assert not accepts(SECRET, {**HEADERS, "X-Signature": header}, BODY, NOW)


def test_bytes_moved_between_the_parts_are_refused(accepts: Accepts) -> None:
    # The same string is signed; its borders are elsewhere.
    moved = {**HEADERS, "X-Delivery-Id": DELIVERY_ID[:-1]}

    assert not accepts(SECRET, moved, DELIVERY_ID[-1:].encode() + BODY, NOW)


def test_during_a_rotation_both_secrets_verify(accepts: Accepts, language: str) -> None:
    headers = headers_of(previous=OLD_SECRET)

    assert accepts(SECRET, headers, BODY, NOW)
    assert accepts(OLD_SECRET, headers, BODY, NOW) is (language != "receiver")


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"X-Timestamp": "177245280"}, "not ten digits"),
        ({"X-Timestamp": "+177245280"}, "not ten digits"),
        ({"X-Timestamp": f"{NOW - 301}"}, "300 seconds off"),
        ({"X-Delivery-Id": "short"}, "36 characters"),
        ({"X-Signature": HEADERS["X-Signature"].upper()}, "no signature"),
        ({"X-Signature": ""}, "no signature"),
    ],
)
def test_the_client_says_why_it_refuses(changed: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidSignature, match=reason):
        verify({**HEADERS, **changed}, BODY, SECRET, now=NOW)
    with pytest.raises(InvalidSignature, match="missing"):
        verify({}, BODY, SECRET, now=NOW)


@pytest.mark.parametrize(
    "mistake, words",
    [
        ({"secret": SECRET + "\n"}, "line break"),
        ({"secret": ""}, "empty"),
        ({"secret": SECRET.encode()}, "secret must be the text"),
        ({"body": BODY.decode()}, "raw bytes of the request"),
        ({"body": {"id": 1}}, "raw bytes of the request"),
        ({"headers": [("X-Timestamp", "1")]}, "mapping of names to values"),
    ],
)
def test_a_mistake_of_the_receiver_is_said(mistake: dict[str, object], words: str) -> None:
    given: Any = {"headers": {}, "body": BODY, "secret": SECRET, **mistake}

    with pytest.raises((TypeError, ValueError), match=words):
        verify(given["headers"], given["body"], given["secret"])


def test_the_client_reads_header_names_in_any_case_by_the_clock() -> None:
    current = headers_of(at=datetime.now(UTC))

    verify({name.upper(): value for name, value in current.items()}, BODY, SECRET)


def test_without_a_rotation_there_is_no_previous_signature() -> None:
    assert "X-Signature-Previous" not in HEADERS


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
def test_the_library_of_the_standard_webhooks_verifies_our_deliveries(secret: str) -> None:
    headers = dict(headers_of(at=datetime.now(UTC), previous=OLD_SECRET))
    library = standardwebhooks.Webhook(secret)

    assert library.verify(BODY, headers)["name"] == "Prøven"
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        library.verify(BODY + b" ", headers)


def test_the_library_of_the_standard_webhooks_verifies_what_the_client_signs() -> None:
    headers = signed_headers(SECRET, delivery_id=DELIVERY_ID, body=BODY, timestamp=int(time.time()))

    assert standardwebhooks.Webhook(SECRET).verify(BODY, headers)["name"] == "Prøven"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")
@pytest.mark.parametrize("body, status", [(BODY, 0), (BODY + b" ", 1)])
def test_the_shell_verifier_accepts_only_the_signed_body(body: bytes, status: int) -> None:
    given = [HEADERS[name] for name in ("X-Timestamp", "X-Delivery-Id", "X-Signature")]
    done = subprocess.run(
        [DOCS / "verify.sh", *given],
        input=body,
        env={"PATH": "/usr/bin:/bin", "SECRET": SECRET},
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == status


def test_a_timestamp_that_has_not_ten_digits_is_never_sent() -> None:
    with pytest.raises(ValueError, match="10 digits"):
        headers_of(at=datetime(2001, 9, 8, tzinfo=UTC))


def test_a_delivery_id_that_has_not_36_characters_is_never_sent() -> None:
    with pytest.raises(ValueError, match="36 characters"):
        headers_of(delivery_id="short")
