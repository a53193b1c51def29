"""`webhooks`: everything about the webhooks of the key's owner."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from company_registry.cli.session import Country, Exit, Session
from company_registry.webhook_models import (
    Attempt,
    AttemptStatus,
    NewWebhook,
    Webhook,
    WebhookFilter,
    WebhookHealth,
)

app = typer.Typer(help="Create webhooks, and see what they received.", no_args_is_help=True)

WebhookId = Annotated[str, typer.Argument(help="Id of the webhook, wh_…", metavar="WEBHOOK")]
_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]


@app.command("list")
def list_webhooks(context: typer.Context) -> None:
    """List the webhooks, newest first."""
    session: Session = context.obj
    with session.client() as client:
        found = client.list_webhooks()
    rows = [(each.id, each.status, each.url, " ".join(each.events)) for each in found]
    session.show(found, lambda: session.table("Id", "Status", "URL", "Events", rows=rows))


@app.command()
def create(  # noqa: PLR0913 (the command's options)
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="HTTPS endpoint that receives the events.")],
    *,
    events: Annotated[
        list[str], typer.Option("--event", "-e", help="company.updated, company.*, …; repeatable.")
    ] = ["*"],  # noqa: B006 (Typer copies it)
    countries: Annotated[
        list[Country], typer.Option("--country", help="Only this register; repeatable.")
    ] = [],  # noqa: B006
    companies: Annotated[
        list[str],
        typer.Option("--company", help="Only this company, dk:12345674; repeatable."),
    ] = [],  # noqa: B006
    forms: Annotated[
        list[str],
        typer.Option("--form", help="Only this legal form by its code, 80 or AS; repeatable."),
    ] = [],  # noqa: B006
    industries: Annotated[
        list[str],
        typer.Option("--industry", help="Only industry codes that begin so, 62; repeatable."),
    ] = [],  # noqa: B006
    municipalities: Annotated[
        list[str], typer.Option("--municipality", help="Only this municipality; repeatable.")
    ] = [],  # noqa: B006
    fields: Annotated[
        list[str],
        typer.Option("--field", help="Only changes of this field, name or address; repeatable."),
    ] = [],  # noqa: B006
    headers: Annotated[
        list[str],
        typer.Option("--header", help="Sent with each delivery, 'X-Tenant: 7'; repeatable."),
    ] = [],  # noqa: B006
    description: Annotated[str | None, typer.Option(help="A word for yourself.")] = None,
) -> None:
    """Create a webhook, and print its signing secret: it is shown only this once."""
    session: Session = context.obj
    limits = WebhookFilter(
        countries=tuple(countries),
        companies=tuple(companies),
        forms=tuple(forms),
        industries=tuple(industries),
        municipalities=tuple(municipalities),
        fields=tuple(fields),
    )
    with session.client() as client:
        created = client.create_webhook(
            url,
            events,
            filter=limits if limits != WebhookFilter() else None,
            description=description,
            headers=_headers(session, headers),
        )
    _show_new(session, created)


def _headers(session: Session, given: Sequence[str]) -> dict[str, str]:
    """Headers by name, from `Name: value`."""
    headers = {}
    for header in given:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            session.fail("--header must be a name and a value, such as 'X-Tenant: 7'", Exit.USAGE)
        headers[name.strip()] = value.strip()
    return headers


@app.command()
def show(context: typer.Context, webhook: WebhookId) -> None:
    """Show a webhook and its last attempts."""
    session: Session = context.obj
    with session.client() as client:
        found = client.get_webhook(webhook)
        if session.as_json:
            session.print_json(found)
            return
        attempts = client.list_attempts(webhook).deliveries
    _show(session, found)
    _show_attempts(session, attempts, title="\nLast attempts")


@app.command()
def deliveries(
    context: typer.Context,
    webhook: WebhookId,
    *,
    status: Annotated[
        AttemptStatus | None, typer.Option(help="Only attempts that ended so.")
    ] = None,
    delivery: Annotated[str | None, typer.Option(help="All of one delivery, as JSON.")] = None,
) -> None:
    """List the last 50 attempts, newest first."""
    session: Session = context.obj
    with session.client() as client:
        if delivery is not None:
            session.print_json(client.get_delivery(webhook, delivery))
            return
        attempts = client.list_attempts(webhook, status=status).deliveries
    session.show(attempts, lambda: _show_attempts(session, attempts))


@app.command("test")
def send_test(
    context: typer.Context,
    webhook: WebhookId,
    *,
    type_: Annotated[
        str | None, typer.Option("--type", "-t", help="An invented event of this type.")
    ] = None,
) -> None:
    """Send a test event."""
    session: Session = context.obj
    with session.client() as client:
        _accepted(session, client.send_test(webhook, type_).delivery_id)


@app.command()
def retry(
    context: typer.Context,
    webhook: WebhookId,
    delivery: Annotated[str, typer.Argument(help="Id of the delivery.", metavar="DELIVERY")],
) -> None:
    """Attempt a delivery once more."""
    session: Session = context.obj
    with session.client() as client:
        _accepted(session, client.retry_delivery(webhook, delivery).delivery_id)


@app.command()
def recover(
    context: typer.Context,
    webhook: WebhookId,
    since: Annotated[datetime, typer.Option(formats=_FORMATS, help="At most 30 days back.")],
    until: Annotated[datetime | None, typer.Option(formats=_FORMATS, help="Default now.")] = None,
) -> None:
    """Send again what failed for good or was cancelled; times are local unless they say."""
    session: Session = context.obj
    with session.client() as client:
        recovered = client.recover(webhook, since, until)
    text = f"{recovered.count} deliveries are sent again."
    session.show(recovered, lambda: session.note(text))


@app.command()
def enable(context: typer.Context, webhook: WebhookId) -> None:
    """Enable a webhook; `recover` sends what it missed."""
    _set_status(context.obj, webhook, "enabled")


@app.command()
def disable(context: typer.Context, webhook: WebhookId) -> None:
    """Disable a webhook: it receives nothing until it is enabled."""
    _set_status(context.obj, webhook, "disabled")


@app.command()
def rotate(context: typer.Context, webhook: WebhookId) -> None:
    """Print a new secret, shown only this once; the old one signs too for 24 hours."""
    session: Session = context.obj
    with session.client() as client:
        rotated = client.rotate_secret(webhook)
    _show_new(session, rotated)


@app.command()
def delete(
    context: typer.Context,
    webhook: WebhookId,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a webhook and cancel its waiting deliveries."""
    session: Session = context.obj
    with session.client() as client:
        if not yes:
            typer.confirm(f"Delete {webhook}?", abort=True, err=True)
        client.delete_webhook(webhook)
    session.note("Deleted.")


def _set_status(session: Session, webhook_id: str, status: str) -> None:
    with session.client() as client:
        changed = client.update_webhook(webhook_id, status=status)
    session.show(changed, lambda: _show(session, changed))


def _accepted(session: Session, delivery_id: str) -> None:
    text = f"Accepted as delivery {delivery_id}."
    session.show({"delivery_id": delivery_id}, lambda: session.note(text))


def _show_new(session: Session, webhook: NewWebhook) -> None:
    if session.as_json:
        session.print_json(webhook)
        return
    _show(session, webhook)
    if webhook.secret is not None:
        session.note(f"\nSigning secret, shown only this once: [bold]{webhook.secret}[/]")


def _show(session: Session, webhook: Webhook) -> None:
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
    ]
    session.table("Field", "Value", rows=rows)


def _health(health: WebhookHealth | None) -> str | None:
    if health is None:
        return None
    day = health.last_24h
    counts = f"{day.succeeded} succeeded, {day.failed} failed in 24 h"
    return f"failing since {health.failing_since}, {counts}" if health.failing_since else counts


def _show_attempts(session: Session, attempts: Sequence[Attempt], *, title: str = "") -> None:
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
    columns = ("Time", "Event", "Attempt", "Status", "Response", "Duration", "Delivery")
    session.table(*columns, rows=rows, title=title)
