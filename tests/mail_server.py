"""A real mail server (aiosmtpd) with STARTTLS and a login, which fails as a test says."""

import asyncio
import email
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "registry", "an invented password"

#: Closes the connection, or never replies, instead of a reply.
HANG_UP, HANG = "hang up", "hang"


@dataclass
class MailServer:
    """The messages that the server accepted, and the replies that replace its own, by command."""

    port: int = 0
    accepted: list[Envelope] = field(default_factory=list)
    #: By `MAIL`, `RCPT`, `DATA` (before the text) and `END`; the last one is kept.
    replies: dict[str, list[str]] = field(default_factory=dict)
    #: Recipients that are refused, with the reply.
    refused: dict[str, str] = field(default_factory=dict)
    #: Awaited after a message is accepted, before the reply.
    on_accepted: Callable[[], Any] | None = None
    #: Awaited before the server lets a client send the text.
    on_data: Callable[[], Any] | None = None
    sessions: int = 0
    password: str = PASSWORD

    @property
    def messages(self) -> list[EmailMessage]:
        return [message_of(one) for one in self.accepted]

    def reply(self, command: str) -> str | None:
        given = self.replies.get(command, [])
        return given.pop(0) if len(given) > 1 else (given[0] if given else None)

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        envelope.mail_from = address
        return await self._or(server, "MAIL", "250 OK")

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return await self._or(server, "RCPT", "250 OK")

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        given = self.replies.get("END", ["250"])[0]
        if given[:1] == "2" or given in (HANG, HANG_UP):
            self.accepted.append(envelope)
        if self.on_accepted is not None:
            await self.on_accepted()
        return await self._or(server, "END", "250 OK")

    async def _or(self, server: SMTP, command: str, usual: str) -> str:
        reply = self.reply(command) or usual
        if reply == HANG:
            await asyncio.Event().wait()
        if reply == HANG_UP:
            assert server.transport is not None
            server.transport.close()
        return reply

    def authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _how: str, given: object
    ) -> AuthResult:
        is_right = given == LoginPassword(USER.encode(), self.password.encode())
        return AuthResult(success=is_right, handled=False)


class _Session(SMTP):
    """A session that can also fail at DATA, before the text is sent."""

    def __init__(
        self, server: MailServer, context: ssl.SSLContext | None, *, needs_login: bool
    ) -> None:
        self._given = server
        server.sessions += 1
        super().__init__(
            server,
            hostname="mail.test",
            tls_context=context,
            require_starttls=context is not None,
            authenticator=server.authenticate,
            auth_required=needs_login,
            auth_require_tls=context is not None,
            loop=asyncio.get_running_loop(),
        )

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        if self._given.on_data is not None:
            await self._given.on_data()
        reply = self._given.reply("DATA")
        if reply is None:
            await super().smtp_DATA(arg)
        elif reply == HANG_UP:
            await self.push("354 Go ahead")
            assert self._reader is not None
            await self._reader.readuntil(b"\n")
            assert self.transport is not None
            self.transport.close()
        elif reply == HANG:
            await asyncio.Event().wait()
        else:
            await self.push(reply)


def message_of(envelope: Envelope) -> EmailMessage:
    content = envelope.content
    assert isinstance(content, bytes)
    message = email.message_from_bytes(content, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def text_of(message: EmailMessage) -> str:
    """The plain text of a message."""
    part = message.get_body(("plain",))
    assert part is not None
    text: str = part.get_content()
    return text


def link_in(message: EmailMessage, page: str) -> str:
    """The path and query of a message's link to a page."""
    found = re.search(rf"https?://[^/\s]+(/api/digests/\S+/{page}\?token=\S+)", text_of(message))
    assert found is not None
    return found[1]


def certificate_in(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's certificate for 127.0.0.1, and the file of its authority."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    file = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    return context, file


@asynccontextmanager
async def mail_server(
    context: ssl.SSLContext | None,
    port: int = 0,
    *,
    is_implicit: bool = False,
    needs_login: bool = True,
) -> AsyncIterator[MailServer]:
    """A server on 127.0.0.1: with STARTTLS, with TLS from the first byte, or without a context."""
    server = MailServer()
    upgrade = None if is_implicit else context
    listening = await asyncio.get_running_loop().create_server(
        lambda: _Session(server, upgrade, needs_login=needs_login),
        "127.0.0.1",
        port,
        ssl=context if is_implicit else None,
    )
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
