"""Webhooks of `make run`: a sealing key, a trusted certificate, a receiver."""

import hmac
import json
import os
import secrets
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from pydantic import SecretStr

from common.contracts.webhooks import WebhookId
from local_stack.certificates import Certificates, certificates
from local_stack.ports import free_ports
from local_stack.processes import Process, Program
from local_stack.run_files import sealing_key
from tests.delivery.waiting import SOON
from webhook_store.secrets import SecretKeys

SECRET = "whsec_bm90IGEgc2VjcmV0IG9mIGFueWJvZHk="


def trusted(kept: Certificates, host: str) -> bool:
    """True if a handshake completes; raises ssl.SSLError for a certificate that is not trusted."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = ssl.create_default_context(cafile=kept.ca_file)
    # Later versions of Python ask for this by themselves.
    ours.verify_flags |= ssl.VERIFY_X509_STRICT
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain(kept.certificate, kept.key)
    sides = [
        ours.wrap_bio(to_client, to_server, server_hostname=host),
        theirs.wrap_bio(to_server, to_client, server_side=True),
    ]
    for side in sides * 3:
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return sides[0].version() is not None


def test_a_receiver_on_this_machine_is_trusted_under_each_of_its_names_alone(
    tmp_path: Path,
) -> None:
    made = certificates(tmp_path / "receiver")

    for host in ("localhost", "127.0.0.1", "::1"):
        assert trusted(made, host)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        trusted(made, "receiver.example.com")


def test_only_the_owner_reads_keys_which_are_kept_for_the_next_run_without_the_authoritys(
    tmp_path: Path,
) -> None:
    made = certificates(tmp_path / "receiver")
    first = made.certificate.read_bytes()
    sealing_key(tmp_path)

    modes = {path: path.stat().st_mode & 0o777 for path in (made.key, tmp_path / "sealing-key")}
    names = {path.name for path in made.folder.iterdir()}
    assert set(modes.values()) == {0o600}
    assert names == {"ca.pem", "receiver.pem", "receiver.key"}
    assert certificates(tmp_path / "receiver").certificate.read_bytes() == first


def test_a_secret_sealed_in_one_run_is_opened_in_the_next(tmp_path: Path) -> None:
    webhook = WebhookId("wh_a")
    first, second = (
        SecretKeys.parse(SecretStr(sealing_key(tmp_path)), random_bytes=secrets.token_bytes)
        for _ in range(2)
    )

    sealed = first.seal(SecretStr(SECRET), webhook)

    assert second.unseal(sealed, webhook).get_secret_value() == SECRET


@dataclass(frozen=True, slots=True)
class ReceiverProcess:
    process: Process
    port: int
    ca_file: Path

    def is_ready(self) -> bool:
        with suppress(urllib.error.URLError):
            return self.ask() == 200
        return False

    def ask(self, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> int:
        """The status of its answer to a GET, or to a POST of a body."""
        request = urllib.request.Request(
            f"https://localhost:{self.port}/hook", body, dict(headers or {})
        )
        context = ssl.create_default_context(cafile=self.ca_file)
        try:
            with urllib.request.urlopen(request, timeout=SOON, context=context) as answer:  # noqa: S310
                status: int = answer.status
                return status
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[ReceiverProcess]:
    [port] = free_ports(1)
    command = [sys.executable, "-m", "local_stack", "receiver", "--port", str(port)]
    environment = {"RUN_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = Process(
        Program("receiver", [*command, "--secret", SECRET], tmp_path / "receiver.log", environment)
    )
    try:
        running = ReceiverProcess(process, port, certificates(tmp_path / "receiver").ca_file)
        process.wait_until(running.is_ready, seconds=SOON)
        yield running
    finally:
        process.stop()


def signed(body: bytes) -> dict[str, str]:
    timestamp, delivery_id = str(int(time.time())), str(uuid.uuid4())
    message = timestamp.encode() + delivery_id.encode() + body
    return {
        "X-Timestamp": timestamp,
        "X-Delivery-Id": delivery_id,
        "X-Signature": hmac.new(SECRET.encode(), message, sha256).hexdigest(),
    }


def test_the_receiver_prints_signed_deliveries_refuses_others_and_ends_on_sigterm(
    receiver: ReceiverProcess,
) -> None:
    body = json.dumps({"type": "company.updated", "vat": "01234567"}).encode()
    headers = signed(body)
    second = receiver.process.program

    good = receiver.ask(body, headers)
    bad = receiver.ask(body + b" ", headers)
    told = subprocess.run(
        second.command,
        env={**os.environ, **second.environment},
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
    receiver.process.stop()

    printed = receiver.process.log_tail()
    assert (good, bad) == (204, 401)
    assert "company.updated, signed with the webhook's secret" in printed
    assert f"X-Delivery-Id: {headers['X-Delivery-Id']}" in printed
    assert '"vat": "01234567"' in printed
    assert "Rejected" in printed
    assert (told.returncode, receiver.process.exit_status) == (1, 0)
    assert f"Port {receiver.port} is taken" in told.stderr
