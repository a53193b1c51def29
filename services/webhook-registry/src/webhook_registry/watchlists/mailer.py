"""Messages to a mail server (SMTP, RFC 5321): one at a time, each with a known outcome.

Only two parts of a session decide: before the end of the message was sent, it was certainly not
accepted; after the server's 250 it was. In between nothing is known, so that part is as short as
possible: the text of the message is sent first, then the caller is asked, then its final dot.
"""

import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from enum import Enum, StrEnum
from typing import Final

import aiosmtplib
from pydantic import SecretStr

#: Characters of a server's reply that are kept.
_MAX_REPLY: Final = 300
#: RFC 5321, 4.2.1: replies from this one on are permanent.
_PERMANENT: Final = 500

#: RFC 3463: codes about the recipient's address or mailbox; 5.1.7 and 5.1.8 are the sender's.
_OF_RECIPIENT: Final = re.compile(r"5\.(1\.(?![78]$)|2\.)\d{1,3}")
#: RFC 3463: any other permanent code, such as 5.7.1 of a relay that is not permitted.
_ENHANCED: Final = re.compile(r"5\.\d{1,3}\.\d{1,3}\b")


class TlsMode(StrEnum):
    """How the connection is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"
    #: Not at all: for a server on this machine.
    NONE = "none"


class Step(Enum):
    """A step of a session, by what is sent."""

    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    #: The end of the message.
    END = "."


class FailureReason(StrEnum):
    """Where a message failed; a label of a metric."""

    #: No connection, or none that is encrypted and trusted; the server said nothing, or hung up.
    CONNECTION = "connection"
    LOGIN = "login"
    #: The server refuses this sender, or a message for another reason than its recipient.
    SENDER = "sender"
    #: The server refuses the recipient for good.
    RECIPIENT = "recipient"
    #: The server refuses for now.
    TEMPORARY = "temporary"


class NotSent(Exception):
    """The message was not accepted, as far as is known."""

    def __init__(self, reason: FailureReason, reply: str, *, is_unknown: bool = False) -> None:
        """`reply` is the server's own, if it gave one; with `is_unknown` it may have accepted."""
        super().__init__(reply)
        self.reason = reason
        self.is_unknown = is_unknown
        #: The code of the reply, such as 550; empty without one.
        self.code = reply[:3] if reply[:3].isdigit() else ""


class NoLongerWanted(Exception):
    """The caller withdrew the message before its end was sent."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server and how to use it."""

    host: str
    port: int
    tls: TlsMode
    username: str
    password: SecretStr
    #: Bound of each step of a session.
    timeout: timedelta
    #: Bound of the wait for the server to accept a message; RFC 5321, 4.5.3.2.6 asks for 10 min.
    accept_timeout: timedelta
    #: PEM file of further certificate authorities.
    ca_file: str = ""

    def trust(self) -> ssl.SSLContext:
        """Returns the certificates to trust; raises OSError for an unreadable file."""
        context = ssl.create_default_context()
        if self.ca_file:
            context.load_verify_locations(self.ca_file)
        return context


@dataclass(frozen=True, slots=True)
class Mailer:
    """Sends messages, each in a session of its own."""

    server: MailServer
    trust: ssl.SSLContext
    #: The address that servers send notices of failed deliveries to.
    sender: str

    async def send(
        self, message: EmailMessage, recipient: str, before_end: Callable[[], Awaitable[bool]]
    ) -> None:
        """Returns when the server has accepted the message; raises NotSent.

        `before_end` is awaited when all except the final dot is sent. If it returns False the
        connection is closed, so that the server drops the message, and NoLongerWanted is raised.
        """
        content = _content(message)
        async with self._session() as client:
            await self._step(client, Step.MAIL, f"FROM:<{self.sender}>")
            await self._step(client, Step.RCPT, f"TO:<{recipient}>")
            await self._step(client, Step.DATA)
            with _translated(FailureReason.CONNECTION):
                if client.protocol is None:
                    raise aiosmtplib.SMTPServerDisconnected("Connection lost")
                client.protocol.write(content)
            if not await before_end():
                raise NoLongerWanted
            try:
                # The final dot is written and answered like a command.
                await self._step(client, Step.END, timeout=self.server.accept_timeout)
            except NotSent as error:
                is_unknown = error.reason is FailureReason.CONNECTION
                raise NotSent(error.reason, str(error), is_unknown=is_unknown) from error

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiosmtplib.SMTP]:
        server = self.server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            # By default the name is looked up for each message, which can take seconds.
            local_hostname=self.sender.rpartition("@")[2],
            use_tls=server.tls is TlsMode.TLS,
            start_tls=server.tls is TlsMode.STARTTLS,
            tls_context=self.trust,
            timeout=server.timeout.total_seconds(),
        )
        try:
            with _translated(FailureReason.CONNECTION):
                await client.connect()
                # Not a part of connecting, nor of a session without a login.
                await client.ehlo()
            if server.username:
                with _translated(FailureReason.LOGIN):
                    await client.login(server.username, server.password.get_secret_value())
            yield client
            # The message is accepted, whatever the server says now.
            with suppress(aiosmtplib.SMTPException, OSError):
                await client.quit(timeout=1)
        finally:
            client.close()

    async def _step(
        self,
        client: aiosmtplib.SMTP,
        step: Step,
        argument: str = "",
        *,
        timeout: timedelta | None = None,
    ) -> None:
        command = (step.value.encode(), argument.encode()) if argument else (step.value.encode(),)
        bound = (timeout or self.server.timeout).total_seconds()
        with _translated(FailureReason.CONNECTION):
            reply = await client.execute_command(*command, timeout=bound)
        if reply.code // 100 != (3 if step is Step.DATA else 2):
            raise NotSent(reason_of(step, reply.code, reply.message), _shown(*reply))


def reason_of(step: Step, code: int, reply: str) -> FailureReason:
    """Returns whose fault it is that a server refuses a step."""
    if code < _PERMANENT:
        return FailureReason.TEMPORARY
    enhanced = _ENHANCED.search(reply)
    if step not in (Step.RCPT, Step.END):
        return FailureReason.SENDER
    if enhanced is None:
        return FailureReason.RECIPIENT if step is Step.RCPT else FailureReason.SENDER
    is_recipient = _OF_RECIPIENT.fullmatch(enhanced[0])
    return FailureReason.RECIPIENT if is_recipient else FailureReason.SENDER


@contextmanager
def _translated(reason: FailureReason) -> Iterator[None]:
    """Turns errors of the library into NotSent, with the reason of a server's refusal."""
    try:
        yield
    except aiosmtplib.SMTPResponseException as error:
        is_temporary = error.code < _PERMANENT
        refused = FailureReason.TEMPORARY if is_temporary else reason
        raise NotSent(refused, _shown(error.code, error.message)) from error
    except (aiosmtplib.SMTPTimeoutError, TimeoutError) as error:
        raise NotSent(FailureReason.CONNECTION, "the mail server did not answer in time") from error
    except ssl.SSLError as error:
        raise NotSent(FailureReason.CONNECTION, "the mail server cannot be trusted") from error
    except (aiosmtplib.SMTPServerDisconnected, OSError) as error:
        raise NotSent(FailureReason.CONNECTION, "the mail server cannot be reached") from error
    except aiosmtplib.SMTPException as error:
        raise NotSent(reason, "the mail server does not support what the settings ask") from error


def _shown(code: int, reply: str) -> str:
    """Returns a server's reply as one line."""
    text = " ".join(f"{code} {reply}".encode("utf-8", "replace").decode().split())
    return text[:_MAX_REPLY]


def _content(message: EmailMessage) -> bytes:
    """Returns the lines of a message as they are sent after DATA, without the final dot."""
    # RFC 5321, 4.5.2: a dot that begins a line is doubled.
    return re.sub(rb"(?m)^\.", b"..", message.as_bytes())
