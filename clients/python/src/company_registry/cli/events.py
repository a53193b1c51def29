"""`events follow` and `listen`: changes as they happen."""

import base64
import json
import secrets
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.markup import escape

from company_registry.cli.session import Country, Exit, Session, plain, printable
from company_registry.models import Change, Event
from company_registry.sender import is_http_url
from company_registry.signatures import SECRET_PREFIX, signed_headers
from company_registry.streams import FileCursor

app = typer.Typer(help="Changes in the registers, as they happen.", no_args_is_help=True)


Types = Annotated[
    list[str], typer.Option("--type", "-t", help="company.updated, company.*, …; repeatable.")
]
Countries = Annotated[list[Country], typer.Option("--country", help="Only this register.")]
Companies = Annotated[
    list[str], typer.Option("--company", help="Only this company, dk:12345674; repeatable.")
]
After = Annotated[
    str, typer.Option(help="Begin after this cursor: `latest`, or `oldest` for all that is kept.")
]
Count = Annotated[
    int | None, typer.Option("--count", "-n", min=1, help="End after so many events.")
]
CursorFile = Annotated[
    Path | None, typer.Option("--cursor", help="File that keeps the place between runs.")
]

#: Seconds that the developer's machine has to respond, as of the service.
_TIMEOUT = 10.0


@app.command()
def follow(  # noqa: PLR0913 (the command's options)
    context: typer.Context,
    *,
    types: Types = [],  # noqa: B006 (Typer copies it)
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    after: After = "latest",
    cursor: CursorFile = None,
    count: Count = None,
) -> None:
    """Print each event when it happens, until Ctrl-C."""
    session: Session = context.obj
    if cursor is not None and count is not None:
        # A cursor is saved between pages, and a count may end within one.
        session.fail("--cursor and --count cannot be combined", Exit.USAGE)
    session.note("[dim]Waiting for events; Ctrl-C ends it.[/]")
    with session.client() as client, _until_interrupted():
        events = client.events(
            None if after == "oldest" else after,
            types=types,
            countries=[each.value for each in countries],
            companies=companies,
            cursor=None if cursor is None else FileCursor(cursor),
        )
        for event in _counted(events, count):
            session.show(event, partial(_print_event, session, event))


@app.command()
def show(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="Id of the event.", metavar="EVENT")],
) -> None:
    """Print an event as JSON."""
    session: Session = context.obj
    with session.client() as client:
        session.print_json(client.get_event(event))


def listen(  # noqa: PLR0913 (the command's options)
    context: typer.Context,
    forward: Annotated[str, typer.Option(help="URL on your machine, http://localhost:3000/hook.")],
    *,
    types: Types = [],  # noqa: B006 (Typer copies it)
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    after: After = "latest",
    secret: Annotated[
        str | None, typer.Option(help="Signing secret; by default a new one is made.")
    ] = None,
    count: Count = None,
) -> None:
    """Post each event to your own machine, signed like a delivery, and show each response.

    Nothing needs to reach your machine: the events are pulled.
    """
    session: Session = context.obj
    key = secret or SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    target = _Target(session, forward, key)
    session.note(f"Forwarding to [bold]{escape(forward)}[/]; Ctrl-C ends it.")
    # Standard output is one JSON document per line for programs.
    session.err.print(f"Signing secret: {key}", highlight=False, markup=False)
    with session.client() as client, _until_interrupted():
        events = client.events(
            None if after == "oldest" else after,
            types=types,
            countries=[each.value for each in countries],
            companies=companies,
        )
        for event in _counted(events, count):
            target.post(event)


class _Target:
    """The developer's endpoint."""

    def __init__(self, session: Session, url: str, secret: str) -> None:
        if not is_http_url(url):
            session.fail("--forward must be a URL such as http://localhost:3000/hook", Exit.USAGE)
        self._session, self._url, self._secret = session, url, secret

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
            status = httpx.post(
                self._url,
                content=body,
                headers={"Content-Type": "application/json", **headers},
                timeout=_TIMEOUT,
                trust_env=False,
            ).status_code
        except httpx.TimeoutException:
            error = f"no response within {_TIMEOUT:g} s"
        except httpx.RequestError:
            error = "no connection"
        milliseconds = round((time.monotonic() - begun) * 1000)
        self._show(event, delivery_id, status, error, milliseconds)

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
        self._session.out.print(f"{_heading(event)} → {result}", highlight=False, soft_wrap=True)


def _counted(events: Iterator[Event], count: int | None) -> Iterator[Event]:
    """All of them, or so many."""
    yield from events if count is None else islice(events, count)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C is how these commands end."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(Exit.OK) from None


def _heading(event: Event) -> str:
    company = event.data.company
    name = "" if company is None else printable(company.name)
    number = "" if event.vat is None else f"{event.country}:{event.vat}"
    words = [event.occurred_at, f"[bold]{event.type}[/]", number, escape(name)]
    return " ".join(word for word in words if word)


def _print_event(session: Session, event: Event) -> None:
    session.out.print(_heading(event), highlight=False, soft_wrap=True)
    for change in event.data.changes:
        session.out.print(f"  {escape(_words(change))}", highlight=False, soft_wrap=True)


def _words(change: Change) -> str:
    return printable(f"{change.field}: {_value(change.old)} → {_value(change.new)}")


def _value(value: object) -> str:
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
