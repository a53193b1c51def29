"""Deliveries of a webhook: content, times and the receiver's responses."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from aiohttp import web

from company_registry import AsyncClient, Attempt, DeliveryPending, WebhookDisabled
from company_registry.webhook_models import AttemptStatus
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import page, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.plot import HEIGHT, WIDTH, plot

_PAGE: Final = 25
_STATES: Final = ("succeeded", "failed", "cancelled")

#: Attempts of the plot are read in pages; a busier webhook has its plot from the latest ones.
_PLOT_PAGE: Final = 100
_MAX_PLOT_PAGES: Final = 5


async def listing(request: web.Request) -> web.Response:
    registry = registry_of(request)
    webhook = await registry.get_webhook(request.match_info["id"])
    filters = {name: request.query.get(name, "") for name in ("status", "type", "since", "until")}
    status = filters["status"] if filters["status"] in _STATES else None
    now = datetime.now(UTC)
    attempts = await registry.list_attempts(
        webhook.id,
        status=cast(AttemptStatus | None, status),
        type=filters["type"] or None,
        since=_time(filters["since"]),
        until=_time(filters["until"]),
        after=request.query.get("after") or None,
        limit=_PAGE,
    )
    return await page(
        request,
        "deliveries.html",
        webhook=webhook,
        attempts=attempts,
        filters=filters,
        states=_STATES,
        types=await registry.event_types(),
        plot=plot(await _last_day(registry, webhook.id, now), now=now),
        plot_size=(WIDTH, HEIGHT),
    )


async def show(request: web.Request) -> web.Response:
    registry = registry_of(request)
    webhook = await registry.get_webhook(request.match_info["id"])
    delivery = await registry.get_delivery(webhook.id, request.match_info["delivery_id"])
    return await page(
        request,
        "delivery.html",
        webhook=webhook,
        delivery=delivery,
        body=None if delivery.body is None else _indented(delivery.body),
        attempts=sorted(delivery.attempts, key=lambda attempt: attempt.attempt),
    )


async def retry(request: web.Request) -> web.Response:
    webhook_id, delivery_id = request.match_info["id"], request.match_info["delivery_id"]
    try:
        await registry_of(request).retry_delivery(webhook_id, delivery_id)
    except (DeliveryPending, WebhookDisabled) as error:
        await add_note(request, f"No attempt is made: {error.detail}.", is_error=True)
    else:
        await add_note(request, "Another attempt is being made.")
    return redirect(f"/webhooks/{webhook_id}/deliveries/{delivery_id}")


async def _last_day(registry: AsyncClient, webhook_id: str, now: datetime) -> list[Attempt]:
    attempts: list[Attempt] = []
    after = None
    for _ in range(_MAX_PLOT_PAGES):
        found = await registry.list_attempts(
            webhook_id, since=now - timedelta(days=1), after=after, limit=_PLOT_PAGE
        )
        attempts += found.deliveries
        after = found.cursor
        if after is None:
            break
    return attempts


def _time(value: str) -> datetime | None:
    """A value of `datetime-local`, in UTC; another text is no filter."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=UTC) if value else None
    except ValueError:
        return None


def _indented(body: str) -> str:
    """The body to read; it was sent without line breaks."""
    try:
        document: Any = json.loads(body)
    except ValueError:
        return body
    return json.dumps(document, ensure_ascii=False, indent=2)
