"""Deliveries of a webhook: content, times and the receiver's responses."""

import json
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import quote

from aiohttp import web

from company_registry import (
    AsyncClient,
    Attempt,
    DeliveryNotFound,
    DeliveryPending,
    InvalidParameter,
    WebhookDisabled,
)
from company_registry.webhook_models import Attempts, AttemptStatus
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import formats_of, page, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.drawings import HEIGHT, SPANS, WIDTH, plot
from portal.domain.languages import Formats
from portal.domain.wording import detail, faults

_PAGE: Final = 25
_STATES: Final = ("succeeded", "failed", "cancelled")

_NO_ATTEMPTS: Final = Attempts(deliveries=())

#: Times that a page looks for a result, once a second.
_MAX_TRIES: Final = 60

#: The plot reads attempts in pages; that of a busier webhook has only the latest ones.
_PLOT_PAGE: Final = 100
_MAX_PLOT_PAGES: Final = 5


async def listing(request: web.Request) -> web.Response:
    """Shows a page of the attempts of a webhook, filtered by the query."""
    registry, formats = registry_of(request), formats_of(request)
    webhook = await registry.get_webhook(request.match_info["id"])
    filters = {name: request.query.get(name, "") for name in ("status", "type", "since", "until")}
    attempts, found = await _attempts(
        registry, webhook.id, filters, formats, request.query.get("after", "")
    )
    now = datetime.now(formats.zone)
    period = request.query.get("period", "day")
    span = SPANS.get(period, SPANS["day"])
    drawn, is_part = await _drawn(registry, webhook.id, now - span.length)
    return await page(
        request,
        "deliveries.html",
        status=HTTPStatus.BAD_REQUEST if found else HTTPStatus.OK,
        webhook=webhook,
        attempts=attempts,
        filters=filters,
        faults=found,
        states=_STATES,
        types=await registry.event_types(),
        plot=plot(drawn, now=now, span=span),
        is_part=is_part,
        span=span,
        spans=SPANS,
        period=period if period in SPANS else "day",
        plot_size=(WIDTH, HEIGHT),
    )


async def _attempts(
    registry: AsyncClient, webhook_id: str, filters: Mapping[str, str], formats: Formats, after: str
) -> tuple[Attempts, dict[str, str]]:
    times, found = formats.read_all({name: filters[name] for name in ("since", "until")})
    status = filters["status"] if filters["status"] in _STATES else None
    if found:
        return _NO_ATTEMPTS, found
    try:
        listed = await registry.list_attempts(
            webhook_id,
            status=cast(AttemptStatus | None, status),
            type=filters["type"] or None,
            **times,
            after=after or None,
            limit=_PAGE,
        )
    except InvalidParameter as error:
        found = faults(error.errors, {})
        if not found or not found.keys() <= filters.keys():
            raise
        return _NO_ATTEMPTS, found
    return listed, {}


async def show(request: web.Request) -> web.Response:
    """Shows a delivery; with `?seen=`, again until it has more attempts than these."""
    registry = registry_of(request)
    webhook = await registry.get_webhook(request.match_info["id"])
    delivery_id = request.match_info["delivery_id"]
    seen, tries = _count(request, "seen"), _count(request, "tries") or 0
    again = awaited(webhook.id, delivery_id, seen=seen or 0, tries=tries + 1)
    if tries >= _MAX_TRIES:
        again = ""
    try:
        delivery = await registry.get_delivery(webhook.id, delivery_id)
    except DeliveryNotFound:
        if seen is None or not again:
            raise
        # A test is an event first, and a delivery a moment later.
        return await page(request, "delivery_coming.html", webhook=webhook, refresh=again)
    progress = ""
    if seen is not None:
        is_done = len(delivery.attempts) > seen or delivery.status == "cancelled"
        progress = "arrived" if is_done else "waiting"
    return await page(
        request,
        "delivery.html",
        webhook=webhook,
        delivery=delivery,
        body=None if delivery.body is None else _indented(delivery.body),
        attempts=sorted(delivery.attempts, key=lambda attempt: attempt.attempt),
        progress=progress,
        refresh=again if progress == "waiting" else "",
    )


async def retry(request: web.Request) -> web.Response:
    """Retries a delivery, then leads to the page that waits for its result."""
    webhook_id, delivery_id = request.match_info["id"], request.match_info["delivery_id"]
    registry = registry_of(request)
    seen = len((await registry.get_delivery(webhook_id, delivery_id)).attempts)
    try:
        await registry.retry_delivery(webhook_id, delivery_id)
    except WebhookDisabled as error:
        await add_note(request, f"No attempt is made. {detail(error)}", is_error=True)
        return redirect(f"/webhooks/{webhook_id}/deliveries/{delivery_id}")
    except DeliveryPending:
        # Its result is the one to wait for.
        pass
    return redirect(awaited(webhook_id, delivery_id, seen=seen))


def awaited(webhook_id: str, delivery_id: str, *, seen: int, tries: int = 0) -> str:
    """Returns the path of a delivery that is shown until it has more attempts than were seen."""
    path = f"/webhooks/{quote(webhook_id, safe='')}/deliveries/{quote(delivery_id, safe='')}"
    return f"{path}?seen={seen}&tries={tries}"


def _count(request: web.Request, name: str) -> int | None:
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else None


async def _drawn(
    registry: AsyncClient, webhook_id: str, since: datetime
) -> tuple[list[Attempt], bool]:
    """The attempts for the plot, the latest first, and whether there are more."""
    attempts: list[Attempt] = []
    after = None
    for _ in range(_MAX_PLOT_PAGES):
        found = await registry.list_attempts(webhook_id, since=since, after=after, limit=_PLOT_PAGE)
        attempts += found.deliveries
        after = found.cursor
        if after is None:
            break
    return attempts, after is not None


def _indented(body: str) -> str:
    try:
        document: Any = json.loads(body)
    except ValueError:
        return body
    return json.dumps(document, ensure_ascii=False, indent=2)
