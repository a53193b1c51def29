"""Creating and editing webhooks."""

import uuid
from typing import Final

from aiohttp import web

from company_registry import InvalidBody, WebhookLimitReached
from company_registry.webhook_models import WebhookChanges
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import page, redirect
from portal.adapters.http.sessions import add_note
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.webhook_form import WebhookForm, form_of, read_form

#: In the order of the form, which groups types by their families.
_NOT_CHOSEN: Final = ("webhook.test",)


async def new(request: web.Request) -> web.Response:
    """An empty form, or one for a company: `?company=dk:12345674`."""
    company = request.query.get("company", "")
    name = request.query.get("name", "")[:200]
    form = WebhookForm(
        description=f"Changes of {name}" if name else "",
        words={"companies": (company,)} if company else {},
    )
    return await _page(request, form)


async def create(request: web.Request) -> web.Response:
    posted = await request.post()
    form = read_form({name: [str(one) for one in posted.getall(name)] for name in posted})
    try:
        created = await registry_of(request).create_webhook(
            form.url,
            form.events,
            filter=form.filter,
            description=form.description or None,
            headers=form.header_values or None,
            # A form that is sent twice creates one webhook.
            idempotency_key=str(posted.get("once", "")) or None,
        )
    except (InvalidBody, WebhookLimitReached) as error:
        return await _page(request, form, error=error)
    return await page(
        request, "webhook_secret.html", webhook=created, title="The webhook is created"
    )


async def edit(request: web.Request) -> web.Response:
    webhook = await registry_of(request).get_webhook(request.match_info["id"])
    return await _page(request, form_of(webhook), webhook_id=webhook.id, headers=webhook.headers)


async def change(request: web.Request) -> web.Response:
    posted = await request.post()
    form = read_form({name: [str(one) for one in posted.getall(name)] for name in posted})
    webhook_id = request.match_info["id"]
    changes: WebhookChanges = {
        "url": form.url,
        "events": list(form.events),
        "filter": form.filter,
        "description": form.description or None,
    }
    if form.headers or posted.get("clear_headers"):
        changes["headers"] = form.header_values
    try:
        await registry_of(request).update_webhook(webhook_id, **changes)
    except InvalidBody as error:
        return await _page(request, form, webhook_id=webhook_id, error=error)
    await add_note(request, "The webhook is changed.")
    return redirect(f"/webhooks/{webhook_id}")


async def _page(
    request: web.Request,
    form: WebhookForm,
    *,
    webhook_id: str | None = None,
    headers: tuple[str, ...] = (),
    error: InvalidBody | WebhookLimitReached | None = None,
) -> web.Response:
    types = [
        each for each in await registry_of(request).event_types() if each.name not in _NOT_CHOSEN
    ]
    return await page(
        request,
        "webhook_form.html",
        status=200 if error is None else error.status,
        form=form,
        webhook_id=webhook_id,
        headers=headers,
        types=types,
        families=list(dict.fromkeys(each.name.partition(".")[0] + ".*" for each in types)),
        countries=COUNTRIES,
        once=str(uuid.uuid4()),
        error=error,
        faults={} if error is None else _faults(error),
    )


def _faults(error: InvalidBody | WebhookLimitReached) -> dict[str, str]:
    """Messages by the field that they belong to: `filter.companies[0]` to `companies`."""
    faults: dict[str, str] = {}
    for each in error.errors:
        name = each.parameter.removeprefix("filter.").partition("[")[0].partition(".")[0]
        faults[name] = f"{faults[name]}; {each.message}" if name in faults else each.message
    return faults
