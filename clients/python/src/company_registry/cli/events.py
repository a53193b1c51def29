"""`events` and `listen`: changes as they happen, printed or posted to one's own machine."""

import base64
import json
import os
import secrets
import ssl
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import httpx
import typer
from rich.markup import escape

from company_registry.change_words import in_words
from company_registry.cli.output import plain, printable
from company_registry.cli.session import READ_COUNTRY, TIMES, App, Country, Exit, Session
from company_registry.cli.spreadsheets import values
from company_registry.cli.watchlists import watchlist_id
from company_registry.errors import ApiError, NoResponse
from company_registry.models import Event
from company_registry.sender import is_http_url
from company_registry.signatures import SECRET_PREFIX, signed_headers
from company_registry.streams import FileCursor

app = App(help="Changes in the registers, as they happen.")


Types = Annotated[
    list[str], typer.Option("--type", "-t", help="company.updated, company.*, …; repeatable.")
]
Countries = Annotated[
    list[Country], typer.Option("--country", help="Only this register.", **READ_COUNTRY)
]
Companies = Annotated[
    list[str],
    typer.Option(
        "--company", help="Only this company, dk:12345674, or those in @FILE; repeatable."
    ),
]
Watchlists = Annotated[
    list[str],
    typer.Option("--watchlist", help="Only companies of this list, its id or name; repeatable."),
]
After = Annotated[
    str | None,
    typer.Option(
        help="Begin after this cursor: latest unless given, or oldest for all that is kept."
    ),
]
Since = Annotated[
    datetime | None,
    typer.Option(
        formats=TIMES, help="Begin with what was published then or later; local unless it says."
    ),
]
Count = Annotated[
    int | None, typer.Option("--count", "-n", min=1, help="End after so many events.")
]
CursorFile = Annotated[
    Path | None, typer.Option("--cursor", help="File that keeps the place between runs.")
]


@app.add("follow")
def follow(  # noqa: PLR0913 (the command's options)
    session: Session,
    *,
    types: Types = [],  # noqa: B006 (Typer copies it)
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    watchlists: Watchlists = [],  # noqa: B006
    after: After = None,
    since: Since = None,
    cursor: CursorFile = None,
    count: Count = None,
    until_now: Annotated[
        bool, typer.Option("--until-now", help="End after the last event that there is.")
    ] = False,
) -> None:
    """Print each event when it happens, until Ctrl-C.

    With --cursor and --until-now, or --count, a run catches up from where the last one ended.
    """
    if after and since:
        session.fail("give --after or --since", Exit.USAGE)
    if not until_now:
        session.note("Waiting for events; Ctrl-C ends it.")
    with session.client() as client, until_interrupted():
        for event in client.events(
            after or ("latest" if since is None else None),
            types=types,
            countries=[each.value for each in countries],
            companies=values(session, companies),
            watchlists=[watchlist_id(client, each) for each in watchlists],
            cursor=None if cursor is None else FileCursor(cursor),
            since=since,
            count=count,
            until_now=until_now,
            on_outage=partial(say_outage, session),
        ):
            session.show(event, partial(_print_event, session, event))


@app.add("show")
def show(
    session: Session,
    event: Annotated[str, typer.Argument(help="Id of the event.", metavar="EVENT")],
) -> None:
    """Print an event as JSON."""
    with session.client() as client:
        session.print_json(client.get_event(event))


def say_outage(session: Session, error: NoResponse | ApiError, seconds: float) -> None:
    """Says why nothing arrives, and when the next attempt is."""
    session.note(f"{error}; trying again in {seconds:.1f} s")


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Ctrl-C is how these commands end."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(Exit.OK) from None


def heading(event: Event) -> str:
    """The event on one line, as markup."""
    company = event.data.company
    number = "" if event.vat is None else f"{event.country}:{event.vat}"
    name = "" if company is None else company.name
    if event.type == "company.removed":
        name = "removed by order of its register: nothing more of it is kept"
    time, type_, number, name = (
        escape(printable(word)) for word in (event.occurred_at, event.type, number, name)
    )
    return " ".join(word for word in (time, f"[bold]{type_}[/]", number, name) if word)


def _print_event(session: Session, event: Event) -> None:
    session.out.print(heading(event), highlight=False, soft_wrap=True)
    words = in_words(plain(event))
    for text in filter(None, (words.unit, *(line.text for line in words.lines))):
        session.out.print(f"  {escape(printable(text))}", highlight=False, soft_wrap=True)


#: Seconds that the developer's machine has to respond, as of the service.
_TIMEOUT = 10.0


def listen(  # noqa: PLR0913 (the command's options)
    session: Session,
    forward: Annotated[str, typer.Option(help="URL on your machine, http://localhost:3000/hook.")],
    *,
    types: Types = [],  # noqa: B006 (Typer copies it)
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    watchlists: Watchlists = [],  # noqa: B006
    after: After = None,
    secret: Annotated[
        str | None, typer.Option(help="Signing secret; by default a new one is made.")
    ] = None,
    count: Count = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            help="File of certificates that are trusted too, such as your own; else SSL_CERT_FILE.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Post each event to your own machine, signed like a delivery, and show each response.

    Nothing needs to reach your machine: the events are pulled.
    """
    key = secret or SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    target = _Target(session, forward, key, ca)
    session.note(f"Forwarding to {forward}; Ctrl-C ends it.")
    if secret is None:
        session.note(f"Signing secret: {key}")
    with session.client() as client, until_interrupted():
        for event in client.events(
            after or "latest",
            types=types,
            countries=[each.value for each in countries],
            companies=values(session, companies),
            watchlists=[watchlist_id(client, each) for each in watchlists],
            count=count,
            on_outage=partial(say_outage, session),
        ):
            target.post(event)


def _trusted(session: Session, ca: Path | None) -> ssl.SSLContext:
    # Without a file, httpx's own choice; it reads no environment here, lest a proxy be used.
    context = httpx.create_ssl_context(trust_env=False)
    file = ca or os.environ.get("SSL_CERT_FILE")
    if file:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError):
            session.fail(f"{file} has no certificates in PEM that can be read", Exit.USAGE)
    return context


#: Codes of OpenSSL for a certificate that another one could make trusted: it is signed by itself,
#: or its issuer is not known.
_UNKNOWN_ISSUER: Final = (18, 19, 20, 21)


def _cause(failed: httpx.RequestError) -> str:
    """Returns why nothing was answered, in words of this command."""
    cause: BaseException | None = failed
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            hint = "; give its issuer with --ca" if cause.verify_code in _UNKNOWN_ISSUER else ""
            return f"the certificate is not trusted: {cause.verify_message}{hint}"
        if isinstance(cause, ssl.SSLError):
            return "no TLS: does the port speak https?"
        cause = cause.__cause__ or cause.__context__
    return "no connection"


class _Target:
    """The developer's endpoint."""

    def __init__(self, session: Session, url: str, secret: str, ca: Path | None) -> None:
        if not is_http_url(url):
            session.fail("--forward must be a URL such as http://localhost:3000/hook", Exit.USAGE)
        self._session, self._url, self._secret = session, url, secret
        self._verify = _trusted(session, ca) if url.startswith("https:") else True

    def post(self, event: Event) -> None:
        """Posts an event once and shows the response; a failure is shown, not repeated."""
        body = json.dumps(plain(event), ensure_ascii=False, separators=(",", ":")).encode()
        delivery_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{event.id} {self._url}"))
        headers = signed_headers(
            self._secret, delivery_id=delivery_id, body=body, timestamp=int(time.time())
        )
        begun = time.monotonic()
        status, error = None, None
        try:
            status = self._status(body, headers)
        except httpx.TimeoutException:
            error = f"no response within {_TIMEOUT:g} s"
        except httpx.RequestError as failed:
            error = _cause(failed)
        milliseconds = round((time.monotonic() - begun) * 1000)
        self._show(event, delivery_id, status, error, milliseconds)

    def _status(self, body: bytes, headers: dict[str, str]) -> int:
        # Only the head is read: a body may have any size.
        with httpx.stream(
            "POST",
            self._url,
            content=body,
            headers={"Content-Type": "application/json", **headers},
            timeout=_TIMEOUT,
            trust_env=False,
            verify=self._verify,
        ) as response:
            return response.status_code

    def _show(
        self, event: Event, delivery_id: str, status: int | None, error: str | None, ms: int
    ) -> None:
        if self._session.as_json:
            self._session.print_json(
                {
                    "event": plain(event),
                    "delivery_id": delivery_id,
                    "response_code": status,
                    "error": error,
                    "duration_ms": ms,
                }
            )
            return
        good = status is not None and 200 <= status < 300
        result = f"[{'green' if good else 'red'}]{status or error}[/] {ms} ms"
        self._session.out.print(f"{heading(event)} → {result}", highlight=False, soft_wrap=True)
