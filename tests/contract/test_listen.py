"""`company-registry listen` posts to a receiver with a certificate of a private authority."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import TestServer

from company_registry import verify
from tests.builders.answers import a_page, an_event
from tests.contract.test_client_command import Shell, shell

__all__ = ["shell"]

SECRET = "whsec_c2VjcmV0"
FOLLOWING = "/api/events"


class Receiver:
    """An HTTPS server, and the deliveries that it verified."""

    def __init__(self, port: int, ca: Path) -> None:
        self.port = port
        self.ca = str(ca)
        self.verified: list[bytes] = []

    def url(self, host: str = "localhost", scheme: str = "https") -> str:
        return f"{scheme}://{host}:{self.port}/hook"


@pytest.fixture
async def receiver(tmp_path: Path) -> AsyncIterator[Receiver]:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        verify(request.headers, body, SECRET)
        running.verified.append(body)
        return web.Response(status=204)

    application = web.Application()
    application.router.add_post("/hook", receive)
    server = TestServer(application, scheme="https")
    await server.start_server(ssl=context)
    assert server.port is not None
    running = Receiver(server.port, tmp_path / "ca.pem")
    yield running
    await server.close()


async def listened(shell: Shell, url: str, *more: str, cert_file: str = "") -> str:
    """What the command says of one event, on one line."""
    shell.answers[FOLLOWING] = [a_page(an_event())]
    given = ("listen", "--forward", url, "--secret", SECRET, "--count", "1", *more)
    done = await shell.run(*given, SSL_CERT_FILE=cert_file)
    return " ".join(done.output.split())


async def test_the_file_of_an_authority_is_trusted(shell: Shell, receiver: Receiver) -> None:
    by_option = await listened(shell, receiver.url(), "--ca", receiver.ca)
    by_variable = await listened(shell, receiver.url(), cert_file=receiver.ca)

    assert "webhook.test → 204" in by_option
    assert "webhook.test → 204" in by_variable
    assert len(receiver.verified) == 2


async def test_the_cause_is_named_when_a_certificate_is_not_trusted(
    shell: Shell, receiver: Receiver
) -> None:
    unknown = await listened(shell, receiver.url())
    misnamed = await listened(shell, receiver.url("127.0.0.1"), "--ca", receiver.ca)

    assert "→ the certificate is not trusted: unable to get local issuer certificate" in unknown
    assert "give its issuer with --ca" in unknown
    assert "the certificate is not trusted: IP address mismatch" in misnamed
    assert "--ca" not in misnamed.partition("→")[2]
    assert receiver.verified == []


async def test_a_port_without_tls_is_told(shell: Shell, tmp_path: Path) -> None:
    application = web.Application()
    async with TestServer(application) as server:
        said = await listened(shell, f"https://127.0.0.1:{server.port}/hook")

    assert "→ no TLS: does the port speak https?" in said


@pytest.mark.parametrize("content", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nx\n"])
async def test_a_file_without_certificates_is_refused(
    shell: Shell, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "other.pem"
    file.write_text(content)

    said = await listened(shell, "https://localhost:1/hook", "--ca", str(file))
    by_variable = await listened(shell, "https://localhost:1/hook", cert_file=str(file))

    for one in (said, by_variable):
        assert f"{file} has no certificates in PEM that can be read" in one
