"""`keys`: list, create, replace and end the API keys of the owner."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

import typer

from company_registry.cli.output import Column
from company_registry.cli.session import TIMES, App, Session
from company_registry.key_models import IssuedKey, KeyRate, OwnedKey

app = App(help="Create, replace and end API keys, and see what they are used for.")


class Scope(StrEnum):
    """What a key may do."""

    LOOKUP = "lookup"
    WEBHOOKS = "webhooks"
    EVENTS = "events"
    EXPORT = "export"
    PROTECTED = "protected"
    KEYS = "keys"


KeyId = Annotated[str, typer.Argument(help="The part of the key before the dot.", metavar="KEY_ID")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600}


@app.add("list")
def list_keys(session: Session) -> None:
    """List the owner's keys, newest first, with their use of 30 days."""
    with session.client() as client:
        found = client.list_keys()
    columns = (
        Column("Id", whole=True),
        "Name",
        "Status",
        "Scopes",
        Column("Requests", rank=1),
        Column("Refused", rank=2),
        Column("Last used", rank=1),
    )
    session.show(found, lambda: session.table(*columns, rows=map(_row, found.keys)))


@app.add("create")
def create(  # noqa: PLR0913 (the command's options)
    session: Session,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    *,
    scopes: Annotated[
        list[Scope], typer.Option("--scope", help="What it may do; repeatable.")
    ] = [],  # noqa: B006 (Typer copies it)
    expires: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="When it ends; else as your key.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="<count>/<second|minute|hour>; else as your key.")
    ] = None,
    origins: Annotated[
        list[str],
        typer.Option(
            "--origin",
            help="Makes it publishable, for pages of this origin: https://www.example.com; "
            "repeatable.",
        ),
    ] = [],  # noqa: B006
    visitor_rate: Annotated[
        str | None, typer.Option(help="Rate of each visitor of these pages.")
    ] = None,
) -> None:
    """Create a key, and print it: it is shown only this once."""
    with session.client() as client:
        issued = client.create_key(
            name,
            scopes=[each.value for each in scopes],
            expires_at=expires,
            rate=_rate(rate),
            origins=origins,
            visitor_rate=_rate(visitor_rate),
        )
    _show_new(session, issued)


@app.add("rotate")
def rotate(
    session: Session,
    key_id: KeyId,
    *,
    overlap_hours: Annotated[
        int, typer.Option(min=0, max=720, help="Hours for which the old key goes on.")
    ] = 24,
    yes: Yes = False,
) -> None:
    """Print a new key in the place of another, which goes on for a day."""
    session.confirm(f"Replace {key_id}? It ends in {overlap_hours} h.", yes=yes)
    with session.client() as client:
        issued = client.rotate_key(key_id, overlap_seconds=overlap_hours * 3600)
    _show_new(session, issued)


@app.add("end")
def end(session: Session, key_id: KeyId, *, yes: Yes = False) -> None:
    """End a key: whoever uses it is refused within 10 s."""
    session.confirm(f"End {key_id}?", yes=yes)
    with session.client() as client:
        client.end_key(key_id)
    session.note("Ended.")


@app.add("requests")
def requests(
    session: Session,
    key_id: Annotated[
        str | None, typer.Argument(help="The part of a key before the dot; else of your own.")
    ] = None,
    *,
    status: Annotated[str | None, typer.Option(help="Only this status: 404, 4xx or 5xx.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Only the request with this id.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
) -> None:
    """List the last requests of a key, newest first, without the values of parameters."""
    with session.client() as client:
        found = client.key_requests(
            key_id or client.me().key_id, status=status, request_id=request_id, limit=limit
        )
    columns = ("Time", "Request", "Status", Column("ms", rank=1), "Id", Column("Problem", rank=2))
    rows = [
        (
            each.at,
            f"{each.method} {each.path}",
            str(each.status),
            f"{each.duration_ms:.1f}",
            each.request_id,
            each.problem or "",
        )
        for each in found
    ]
    session.show(
        {"requests": [each.model_dump() for each in found]},
        lambda: session.table(*columns, rows=rows),
    )


def _row(key: OwnedKey) -> tuple[str | None, ...]:
    scopes = " ".join(key.scopes) + (f" for {' '.join(key.origins)}" if key.origins else "")
    counts = (f"{key.requests:,}", f"{key.refused:,}")
    return (key.key_id, key.name, key.status, scopes, *counts, key.last_used_at or "–")


def _show_new(session: Session, issued: IssuedKey) -> None:
    # The key alone goes to standard output, for scripts.
    session.show(issued, lambda: typer.echo(issued.key))
    session.note(f"Key {issued.key_id}. Store it now: it is not shown again.")


def _rate(text: str | None) -> KeyRate | None:
    if text is None:
        return None
    count, _, unit = text.partition("/")
    if not (count.isascii() and count.isdecimal()) or unit not in _SECONDS:
        raise ValueError("write a rate as <count>/<second|minute|hour>, such as 60/minute")
    return KeyRate(count=int(count), window_seconds=_SECONDS[unit])
