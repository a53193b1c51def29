"""`webhooks`: the deliveries of a webhook."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from company_registry.cli.options import TIMES, App
from company_registry.cli.output import Column
from company_registry.cli.session import Session
from company_registry.webhook_models import Attempt, AttemptStatus

WebhookId = Annotated[str, typer.Argument(help="Id of the webhook, wh_…", metavar="WEBHOOK")]


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


def retry(
    session: Session,
    webhook: WebhookId,
    delivery: Annotated[str, typer.Argument(help="Id of the delivery.", metavar="DELIVERY")],
) -> None:
    """Attempt a delivery once more."""
    with session.client() as client:
        _accepted(session, client.retry_delivery(webhook, delivery).delivery_id)


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


def add_to(webhooks: App) -> None:
    """Adds the commands of deliveries to those of webhooks."""
    webhooks.add("deliveries")(deliveries)
    webhooks.add("test")(send_test)
    webhooks.add("retry")(retry)
    webhooks.add("recover")(recover)
