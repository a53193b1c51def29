"""Webhooks: their list, one with its health, and what can be done with it."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from aiohttp import web

from company_registry import InvalidBody, RotationPending, WebhookDisabled
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import error_page, formats_of, page, redirect
from portal.adapters.http.sessions import add_note
from portal.adapters.http.views.deliveries import awaited
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.arrivals import arrivals
from portal.domain.wording import detail, faults

_STATES: Final = {"enabled": "The webhook is enabled.", "disabled": "The webhook is disabled."}


async def listing(request: web.Request) -> web.Response:
    """Shows the owner's webhooks."""
    webhooks = await registry_of(request).list_webhooks()
    return await page(request, "webhooks.html", webhooks=webhooks)


async def show(request: web.Request) -> web.Response:
    """Shows a webhook with its health."""
    return await _page(request)


async def _page(
    request: web.Request,
    *,
    since: str = "",
    until: str = "",
    found: Mapping[str, str] = MappingProxyType({}),
    status: int = HTTPStatus.OK,
) -> web.Response:
    """Returns a webhook, with the form of a recovery as it was sent and its faults."""
    registry = registry_of(request)
    webhook = await registry.get_webhook(request.match_info["id"])
    attempts = await registry.list_attempts(webhook.id)
    return await page(
        request,
        "webhook.html",
        status=status,
        webhook=webhook,
        arrivals=arrivals(webhook.events, webhook.filter, COUNTRIES),
        attempts=attempts.deliveries[:5],
        types=await registry.event_types(),
        since=since,
        until=until,
        faults=found,
    )


async def send_test(request: web.Request) -> web.Response:
    """Sends a test, or an invented event of the chosen type, and shows its delivery."""
    form, webhook_id = await request.post(), request.match_info["id"]
    chosen = str(form.get("type", ""))
    try:
        sent = await registry_of(request).send_test(webhook_id, chosen or None)
    except (WebhookDisabled, InvalidBody) as error:
        details = " ".join(faults(error.errors, {}).values()) or detail(error)
        await add_note(request, f"No test was sent. {details}", is_error=True)
        return redirect(f"/webhooks/{webhook_id}")
    return redirect(awaited(webhook_id, sent.delivery_id, seen=0))


async def confirm_rotation(request: web.Request) -> web.Response:
    """Shows the question before the secret is rotated."""
    webhook = await registry_of(request).get_webhook(request.match_info["id"])
    return await page(request, "webhook_rotate.html", webhook=webhook)


async def rotate(request: web.Request) -> web.Response:
    """Returns a new secret, shown on the answer to this form alone."""
    webhook_id = request.match_info["id"]
    try:
        webhook = await registry_of(request).rotate_secret(webhook_id)
    except RotationPending as error:
        time = formats_of(request).moment(error.possible_from)
        text = f"The secret was replaced recently. It can be rotated again from {time}."
        await add_note(request, text, is_error=True)
        return redirect(f"/webhooks/{webhook_id}")
    return await page(
        request, "webhook_secret.html", webhook=webhook, title="The secret is rotated"
    )


async def set_status(request: web.Request) -> web.Response:
    """Enables or disables a webhook."""
    form, webhook_id = await request.post(), request.match_info["id"]
    status = str(form.get("status", ""))
    if status not in _STATES:
        return await error_page(request, 400, "Invalid request", "Choose enabled or disabled.")
    try:
        await registry_of(request).update_webhook(webhook_id, status=status)
    except WebhookDisabled as error:
        await add_note(request, f"It stays disabled. {detail(error)}", is_error=True)
    else:
        await add_note(request, _STATES[status])
    return redirect(f"/webhooks/{webhook_id}")


async def recover(request: web.Request) -> web.Response:
    """Resends the deliveries that failed in a period; its times are of the reader's zone."""
    form, webhook_id = await request.post(), request.match_info["id"]
    given = {name: str(form.get(name, "")) for name in ("since", "until")}
    times, found = formats_of(request).read_all(given)
    if "since" not in times:
        found.setdefault("since", "Enter a date and a time.")
    if found:
        return await _page(request, **given, found=found, status=HTTPStatus.BAD_REQUEST)
    try:
        recovered = await registry_of(request).recover(
            webhook_id, times["since"], times.get("until")
        )
    except InvalidBody as error:
        shown = faults(error.errors, {})
        return await _page(request, **given, found=shown, status=error.status)
    except WebhookDisabled as error:
        await add_note(request, f"Nothing is recovered. {detail(error)}", is_error=True)
    else:
        await add_note(request, _recovered(recovered.count))
    return redirect(f"/webhooks/{webhook_id}")


def _recovered(count: int) -> str:
    match count:
        case 0:
            return "No delivery of this period failed, so nothing is sent again."
        case 1:
            return "1 delivery is sent again."
        case _:
            return f"{count:,} deliveries are sent again."


async def confirm_delete(request: web.Request) -> web.Response:
    """Shows the question before a webhook is deleted."""
    webhook = await registry_of(request).get_webhook(request.match_info["id"])
    return await page(request, "webhook_delete.html", webhook=webhook)


async def delete(request: web.Request) -> web.Response:
    """Deletes a webhook, then leads to the list."""
    await registry_of(request).delete_webhook(request.match_info["id"])
    await add_note(request, "The webhook is deleted.")
    return redirect("/webhooks")
