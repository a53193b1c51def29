"""Webhooks: their list, one with its health, and what can be done with it."""

from datetime import UTC, datetime
from typing import Final

from aiohttp import web

from company_registry import InvalidBody, WebhookDisabled
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import error_page, page, redirect
from portal.adapters.http.sessions import add_note

_STATES: Final = {"enabled": "The webhook is enabled.", "disabled": "The webhook is disabled."}


async def listing(request: web.Request) -> web.Response:
    webhooks = await registry_of(request).list_webhooks()
    return await page(request, "webhooks.html", webhooks=webhooks)


async def show(request: web.Request) -> web.Response:
    registry = registry_of(request)
    webhook = await registry.get_webhook(request.match_info["id"])
    attempts = await registry.list_attempts(webhook.id)
    return await page(
        request,
        "webhook.html",
        webhook=webhook,
        attempts=attempts.deliveries[:5],
        types=await registry.event_types(),
    )


async def send_test(request: web.Request) -> web.Response:
    """Sends a test, or an invented event of the chosen type."""
    form, webhook_id = await request.post(), request.match_info["id"]
    chosen = str(form.get("type", ""))
    try:
        await registry_of(request).send_test(webhook_id, chosen or None)
    except (WebhookDisabled, InvalidBody) as error:
        await add_note(request, f"No test was sent: {error.detail}.", is_error=True)
    else:
        await add_note(request, "A test is on its way. It is in the list of deliveries.")
    return redirect(f"/webhooks/{webhook_id}")


async def rotate(request: web.Request) -> web.Response:
    """A new secret, shown on the answer to this form alone."""
    webhook = await registry_of(request).rotate_secret(request.match_info["id"])
    return await page(
        request, "webhook_secret.html", webhook=webhook, title="The secret is rotated"
    )


async def set_status(request: web.Request) -> web.Response:
    form, webhook_id = await request.post(), request.match_info["id"]
    status = str(form.get("status", ""))
    if status not in _STATES:
        return await error_page(request, 400, "Invalid request", "Choose enabled or disabled.")
    try:
        await registry_of(request).update_webhook(webhook_id, status=status)
    except WebhookDisabled as error:
        await add_note(request, f"It stays disabled: {error.detail}.", is_error=True)
    else:
        await add_note(request, _STATES[status])
    return redirect(f"/webhooks/{webhook_id}")


async def recover(request: web.Request) -> web.Response:
    """Resends the deliveries that failed in a period; its times are UTC."""
    form, webhook_id = await request.post(), request.match_info["id"]
    try:
        since, until = _time(form.get("since")), _time(form.get("until"))
        if since is None:
            raise ValueError
        recovered = await registry_of(request).recover(webhook_id, since, until)
    except ValueError:
        await add_note(request, "Give the beginning of the period.", is_error=True)
    except (InvalidBody, WebhookDisabled) as error:
        details = "; ".join(each.message for each in error.errors) or error.detail
        await add_note(request, f"Nothing is recovered: {details}.", is_error=True)
    else:
        await add_note(request, f"{recovered.count} deliveries are sent again.")
    return redirect(f"/webhooks/{webhook_id}")


async def confirm_delete(request: web.Request) -> web.Response:
    webhook = await registry_of(request).get_webhook(request.match_info["id"])
    return await page(request, "webhook_delete.html", webhook=webhook)


async def delete(request: web.Request) -> web.Response:
    await registry_of(request).delete_webhook(request.match_info["id"])
    await add_note(request, "The webhook is deleted.")
    return redirect("/webhooks")


def _time(value: object) -> datetime | None:
    """A value of `datetime-local`; raises ValueError for another form."""
    if not isinstance(value, str) or not value:
        return None
    return datetime.fromisoformat(value).replace(tzinfo=UTC)
