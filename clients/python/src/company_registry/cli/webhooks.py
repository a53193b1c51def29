"""`webhooks`: create, change and delete the webhooks of the key's owner."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from company_registry.cli import filters
from company_registry.cli.deliveries import show_attempts
from company_registry.cli.filters import filter_of
from company_registry.cli.options import App
from company_registry.cli.output import Column
from company_registry.cli.session import Exit, Session
from company_registry.webhook_models import (
    NewWebhook,
    Webhook,
    WebhookFilter,
    WebhookHealth,
)

app = App(help="Create webhooks, and see what they received.")

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
    rows = [(each.id, each.status, each.url, " ".join(each.events)) for each in found]
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
    filter_file: filters.FilterFile = None,
    countries: filters.Countries = [],  # noqa: B006
    companies: filters.Companies = [],  # noqa: B006
    forms: filters.Forms = [],  # noqa: B006
    industries: filters.Industries = [],  # noqa: B006
    municipalities: filters.Municipalities = [],  # noqa: B006
    fields: filters.Fields = [],  # noqa: B006
    watchlists: filters.Watchlists = [],  # noqa: B006
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
            filter=limits,
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
    filter_file: filters.FilterFile = None,
    countries: filters.Countries = [],  # noqa: B006
    companies: filters.Companies = [],  # noqa: B006
    forms: filters.Forms = [],  # noqa: B006
    industries: filters.Industries = [],  # noqa: B006
    municipalities: filters.Municipalities = [],  # noqa: B006
    fields: filters.Fields = [],  # noqa: B006
    watchlists: filters.Watchlists = [],  # noqa: B006
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
        changed = client.update_webhook(webhook, **changes)
    session.show(changed, lambda: _show(session, changed))


def _cleared(changes: dict[str, Any], clear: Sequence[Clearable]) -> dict[str, Any]:
    """The changes, in which what is to be cleared is empty."""
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
    """Headers by name, from `Name: value`."""
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
        ("Status", " ".join(filter(None, (webhook.status, webhook.disabled_reason)))),
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
    return f"failing since {health.failing_since}, {counts}" if health.failing_since else counts
