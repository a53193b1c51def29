"""`webhooks`: create, change and delete the webhooks of the key's owner, and their deliveries."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import ValidationError

from company_registry.cli.output import Column
from company_registry.cli.session import READ_COUNTRY, TIMES, App, Country, Exit, Session
from company_registry.cli.spreadsheets import read_text, values
from company_registry.cli.watchlists import watchlist_id
from company_registry.client import Client
from company_registry.webhook_models import (
    Attempt,
    AttemptStatus,
    NewWebhook,
    Webhook,
    WebhookFilter,
    WebhookHealth,
)

app = App(help="Create webhooks, and see what they received.")

Countries = Annotated[
    list[Country], typer.Option("--country", help="Only this register; repeatable.", **READ_COUNTRY)
]
Companies = Annotated[
    list[str],
    typer.Option(
        "--company", help="Only this company, dk:12345674, or those in @FILE; repeatable."
    ),
]
Forms = Annotated[
    list[str],
    typer.Option("--form", help="Only this legal form by its code, 80 or AS; repeatable."),
]
Industries = Annotated[
    list[str],
    typer.Option("--industry", help="Only industry codes that begin so, 62; repeatable."),
]
Municipalities = Annotated[
    list[str],
    typer.Option("--municipality", help="Only this municipality, name or code; repeatable."),
]
Fields = Annotated[
    list[str],
    typer.Option("--field", help="Only changes of this field, name or address; repeatable."),
]
Watchlists = Annotated[
    list[str],
    typer.Option(
        "--watchlist",
        help="Only companies of this list, its id or name, or those of --company; repeatable.",
    ),
]
FilterFile = Annotated[
    Path | None,
    typer.Option(
        "--filter",
        help='JSON of a filter, {"countries": ["dk"]}; - is standard input. Other options of a '
        "filter replace its members.",
    ),
]

_MEMBERS: Final = ", ".join(WebhookFilter.model_fields)


def filter_of(session: Session, file: Path | None, **given: Sequence[str]) -> WebhookFilter | None:
    """The filter of the file and the options, with the members that either has; else None."""
    members = {name: tuple(values(session, listed)) for name, listed in given.items() if listed}
    if file is None:
        return WebhookFilter(**members) if members else None
    try:
        stored = WebhookFilter.model_validate_json(read_text(session, str(file)))
    except ValidationError:
        session.fail(f"{file} is not the JSON of a filter, lists of {_MEMBERS}", Exit.USAGE)
    if stored.model_extra:
        unknown = ", ".join(stored.model_extra)
        session.fail(f"{file}: a filter has no {unknown}; it has {_MEMBERS}", Exit.USAGE)
    return stored.model_copy(update=members)


WebhookId = Annotated[str, typer.Argument(help="Id of the webhook, wh_…", metavar="WEBHOOK")]


Events = Annotated[
    list[str], typer.Option("--event", "-e", help="company.updated, company.*, …; repeatable.")
]
Headers = Annotated[
    list[str],
    typer.Option("--header", help="Sent with each delivery, 'X-Tenant: 7'; repeatable."),
]
Description = Annotated[str | None, typer.Option(help="A word for yourself.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class Clearable(StrEnum):
    """The fields that `update --clear` empties: the filter, a member of it, or another field."""

    FILTER = "filter"
    COUNTRIES = "countries"
    COMPANIES = "companies"
    FORMS = "forms"
    INDUSTRIES = "industries"
    MUNICIPALITIES = "municipalities"
    FIELDS = "fields"
    WATCHLISTS = "watchlists"
    HEADERS = "headers"
    DESCRIPTION = "description"


@app.add("list")
def list_webhooks(session: Session) -> None:
    """List the webhooks, newest first."""
    with session.client() as client:
        found = client.list_webhooks()
    rows = [(each.id, each.condition, each.url, " ".join(each.events)) for each in found]
    columns = (Column("Id", whole=True), "Status", "URL", Column("Events", rank=1))
    session.show(found, lambda: session.table(*columns, rows=rows))


@app.add("create")
def create(  # noqa: PLR0913 (the command's options)
    session: Session,
    endpoint: Annotated[
        str, typer.Argument(help="HTTPS endpoint that receives the events.", metavar="URL")
    ],
    *,
    events: Events = ["*"],  # noqa: B006 (Typer copies it)
    filter_file: FilterFile = None,
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    forms: Forms = [],  # noqa: B006
    industries: Industries = [],  # noqa: B006
    municipalities: Municipalities = [],  # noqa: B006
    fields: Fields = [],  # noqa: B006
    watchlists: Watchlists = [],  # noqa: B006
    headers: Headers = [],  # noqa: B006
    description: Description = None,
) -> None:
    """Create a webhook, and print its signing secret: it is shown only this once."""
    limits = filter_of(
        session,
        filter_file,
        countries=countries,
        companies=companies,
        forms=forms,
        industries=industries,
        municipalities=municipalities,
        fields=fields,
        watchlists=watchlists,
    )
    with session.client() as client:
        created = client.create_webhook(
            endpoint,
            events,
            filter=_with_ids(client, limits),
            description=description,
            headers=_headers(session, headers),
        )
    _show_new(session, created)


@app.add("update")
def update(  # noqa: PLR0913 (the command's options)
    session: Session,
    webhook: WebhookId,
    *,
    endpoint: Annotated[
        str | None, typer.Option(help="HTTPS endpoint that receives the events.", metavar="URL")
    ] = None,
    events: Events = [],  # noqa: B006 (Typer copies it)
    filter_file: FilterFile = None,
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    forms: Forms = [],  # noqa: B006
    industries: Industries = [],  # noqa: B006
    municipalities: Municipalities = [],  # noqa: B006
    fields: Fields = [],  # noqa: B006
    watchlists: Watchlists = [],  # noqa: B006
    headers: Headers = [],  # noqa: B006
    description: Description = None,
    clear: Annotated[list[Clearable], typer.Option(help="Make this empty; repeatable.")] = [],  # noqa: B006
) -> None:
    """Change a webhook: what is given replaces what it had, and the rest stays."""
    limits = filter_of(
        session,
        filter_file,
        countries=countries,
        companies=companies,
        forms=forms,
        industries=industries,
        municipalities=municipalities,
        fields=fields,
        watchlists=watchlists,
    )
    fresh: dict[str, Any] = {
        "url": endpoint,
        "events": events,
        "filter": limits,
        "description": description,
        "headers": _headers(session, headers),
    }
    changes = _cleared({name: value for name, value in fresh.items() if value}, clear)
    if not changes:
        session.fail("give what to change; --help lists it", Exit.USAGE)
    with session.client() as client:
        if changes.get("filter"):
            changes["filter"] = _with_ids(client, changes["filter"])
        changed = client.update_webhook(webhook, **changes)
    session.show(changed, lambda: _show(session, changed))


def _with_ids(client: Client, limits: WebhookFilter | None) -> WebhookFilter | None:
    """Returns a filter whose watchlists, given by id or name, are named by their ids."""
    if limits is None or not limits.watchlists:
        return limits
    ids = tuple(watchlist_id(client, each) for each in limits.watchlists)
    return limits.model_copy(update={"watchlists": ids})


def _cleared(changes: dict[str, Any], clear: Sequence[Clearable]) -> dict[str, Any]:
    members: dict[str, tuple[str, ...]] = {
        each.value: () for each in clear if each in WebhookFilter.model_fields
    }
    if members:
        given = changes.get("filter") or WebhookFilter()
        changes["filter"] = given.model_copy(update=members)
    empty: dict[str, Any] = {"filter": None, "headers": None, "description": None}
    changes.update({each.value: empty[each] for each in clear if each in empty})
    return changes


def _headers(session: Session, given: Sequence[str]) -> dict[str, str]:
    headers = {}
    for header in given:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            session.fail("--header must be a name and a value, such as 'X-Tenant: 7'", Exit.USAGE)
        headers[name.strip()] = value.strip()
    return headers


@app.add("show")
def show(session: Session, webhook: WebhookId) -> None:
    """Show a webhook and its last attempts."""
    with session.client() as client:
        found = client.get_webhook(webhook)
        if session.as_json:
            session.print_json(found)
            return
        attempts = client.list_attempts(webhook).deliveries
    _show(session, found)
    show_attempts(session, attempts, title="Last attempts")


@app.add("enable")
def enable(session: Session, webhook: WebhookId) -> None:
    """Enable a webhook; the command recover sends what it missed."""
    _set_status(session, webhook, "enabled")


@app.add("disable")
def disable(session: Session, webhook: WebhookId) -> None:
    """Disable a webhook: it receives nothing until it is enabled."""
    _set_status(session, webhook, "disabled")


@app.add("rotate", hidden=True)
@app.add("rotate-secret")
def rotate_secret(session: Session, webhook: WebhookId, *, yes: Yes = False) -> None:
    """Print a new secret, shown only this once; the old one signs too for 24 hours.

    Until then the secret cannot be rotated again.
    """
    session.confirm(
        f"Give {webhook} a new secret? The old one signs too for 24 hours, and only then can the "
        "secret be rotated again.",
        yes=yes,
    )
    with session.client() as client:
        rotated = client.rotate_secret(webhook)
    _show_new(session, rotated)
    session.note("The old secret signs too for 24 hours: give your receivers the new one by then.")


@app.add("delete")
def delete(session: Session, webhook: WebhookId, *, yes: Yes = False) -> None:
    """Delete a webhook and cancel its waiting deliveries."""
    session.confirm(f"Delete {webhook} and cancel its waiting deliveries?", yes=yes)
    with session.client() as client:
        client.delete_webhook(webhook)
    session.note("Deleted.")


def _set_status(session: Session, webhook_id: str, status: str) -> None:
    with session.client() as client:
        changed = client.update_webhook(webhook_id, status=status)
    session.show(changed, lambda: _show(session, changed))


def _show_new(session: Session, webhook: NewWebhook) -> None:
    if session.as_json:
        session.print_json(webhook)
        return
    _show(session, webhook, ("Secret", webhook.secret))
    if webhook.secret is not None:
        session.note("The signing secret is shown only this once.")


def _show(session: Session, webhook: Webhook, *more: tuple[str, str | None]) -> None:
    limits = webhook.filter or WebhookFilter()
    rows = [
        ("Id", webhook.id),
        ("URL", webhook.url),
        ("Status", " ".join(filter(None, (webhook.condition, webhook.disabled_reason)))),
        ("Events", " ".join(webhook.events)),
        *(
            (part.capitalize(), ", ".join(getattr(limits, part)) or "all")
            for part in WebhookFilter.model_fields
        ),
        ("Headers", ", ".join(webhook.headers)),
        ("Health", _health(webhook.health)),
        ("Description", webhook.description),
        ("Created", webhook.created_at),
        *more,
    ]
    session.table(Column("Field", whole=True), "Value", rows=rows)


def _health(health: WebhookHealth | None) -> str | None:
    if health is None:
        return None
    day = health.last_24h
    counts = f"{day.succeeded} succeeded, {day.failed} failed in 24 h"
    if health.failing_since is None:
        return counts
    parts = [f"failing since {health.failing_since}", counts]
    parts += [f"next attempt {health.next_attempt_at}"] if health.next_attempt_at else []
    parts += (
        [f"disabled {health.disables_at} unless an attempt succeeds"] if health.disables_at else []
    )
    return ", ".join(parts)


# Deliveries


@app.add("deliveries")
def deliveries(
    session: Session,
    webhook: WebhookId,
    *,
    status: Annotated[
        AttemptStatus | None, typer.Option(help="Only attempts that ended so.")
    ] = None,
    delivery: Annotated[str | None, typer.Option(help="All of one delivery, as JSON.")] = None,
) -> None:
    """List the last 50 attempts, newest first."""
    with session.client() as client:
        if delivery is not None:
            session.print_json(client.get_delivery(webhook, delivery))
            return
        attempts = client.list_attempts(webhook, status=status).deliveries
    session.show(attempts, lambda: show_attempts(session, attempts))


@app.add("test")
def send_test(
    session: Session,
    webhook: WebhookId,
    *,
    type_: Annotated[
        str | None, typer.Option("--type", "-t", help="An invented event of this type.")
    ] = None,
) -> None:
    """Send a test event."""
    with session.client() as client:
        _accepted(session, client.send_test(webhook, type_).delivery_id)


@app.add("retry")
def retry(
    session: Session,
    webhook: WebhookId,
    delivery: Annotated[str, typer.Argument(help="Id of the delivery.", metavar="DELIVERY")],
) -> None:
    """Attempt a delivery once more."""
    with session.client() as client:
        _accepted(session, client.retry_delivery(webhook, delivery).delivery_id)


@app.add("recover")
def recover(
    session: Session,
    webhook: WebhookId,
    since: Annotated[datetime, typer.Option(formats=TIMES, help="At most 30 days back.")],
    until: Annotated[datetime | None, typer.Option(formats=TIMES, help="Default now.")] = None,
) -> None:
    """Send again what failed for good or was cancelled; times are local unless they say."""
    with session.client() as client:
        recovered = client.recover(webhook, since, until)
    several = recovered.count != 1
    text = f"{recovered.count} {'deliveries are' if several else 'delivery is'} sent again."
    session.show(recovered, lambda: session.note(text))


def _accepted(session: Session, delivery_id: str) -> None:
    text = f"Accepted as delivery {delivery_id}."
    session.show({"delivery_id": delivery_id}, lambda: session.note(text))


def show_attempts(session: Session, attempts: Sequence[Attempt], *, title: str = "") -> None:
    """Prints delivery attempts as a table, one attempt a row."""
    rows = [
        (
            each.attempted_at,
            each.event_type,
            each.attempt,
            each.status,
            each.response_code or each.error,
            None if each.duration_ms is None else f"{each.duration_ms} ms",
            each.delivery_id,
        )
        for each in attempts
    ]
    columns = (
        Column("Time", whole=True),
        Column("Event", rank=1),
        Column("Attempt", rank=3),
        Column("Status", rank=2),
        "Response",
        Column("Duration", rank=4),
        Column("Delivery", whole=True),
    )
    session.table(*columns, rows=rows, title=title)
