"""Webhooks: their list, one with its health and what can be done with it, and their form."""

import json
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from aiohttp import web
from multidict import MultiDictProxy

from company_registry import InvalidBody, RotationPending, WebhookDisabled, WebhookLimitReached
from company_registry.webhook_models import EventType, Webhook, WebhookChanges
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import error_page, formats_of, page, redirect
from portal.adapters.http.sessions import add_note
from portal.adapters.http.views.deliveries import awaited
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.webhooks import WORD_LISTS, WebhookForm, arrivals, form_of, read_form
from portal.domain.wording import detail, faults

_STATES: Final = {"enabled": "The webhook is enabled.", "disabled": "The webhook is disabled."}


async def listing(request: web.Request) -> web.Response:
    """Shows the owner's webhooks, each with what it receives in a sentence."""
    webhooks = await registry_of(request).list_webhooks()
    told = [(each, arrivals(each.events, each.filter, COUNTRIES)) for each in webhooks]
    return await page(request, "webhooks.html", webhooks=told)


async def catalogue(request: web.Request) -> web.Response:
    """Shows the types of events, each with an invented one."""
    types = await registry_of(request).event_types()
    samples = {
        each.name: json.dumps(each.example, ensure_ascii=False, indent=2)
        for each in types
        if each.example
    }
    return await page(request, "event_types.html", types=types, samples=samples)


async def show(request: web.Request) -> web.Response:
    """Shows a webhook with its health."""
    return await _page(request)


async def _webhook(request: web.Request) -> Webhook:
    return await registry_of(request).get_webhook(request.match_info["id"])


async def _page(
    request: web.Request,
    *,
    since: str = "",
    until: str = "",
    found: Mapping[str, str] = MappingProxyType({}),
    status: int = HTTPStatus.OK,
) -> web.Response:
    registry, webhook = registry_of(request), await _webhook(request)
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
    return await page(request, "webhook_rotate.html", webhook=await _webhook(request))


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
        count = recovered.count
        words = "1 delivery is" if count == 1 else f"{count:,} deliveries are"
        await add_note(
            request,
            f"{words} sent again."
            if count
            else "No delivery of this period failed, so nothing is sent again.",
        )
    return redirect(f"/webhooks/{webhook_id}")


async def confirm_delete(request: web.Request) -> web.Response:
    """Shows the question before a webhook is deleted."""
    return await page(request, "webhook_delete.html", webhook=await _webhook(request))


async def delete(request: web.Request) -> web.Response:
    """Deletes a webhook, then leads to the list."""
    await registry_of(request).delete_webhook(request.match_info["id"])
    await add_note(request, "The webhook is deleted.")
    return redirect("/webhooks")


# The form

#: Tests are requested, not subscribed to.
_NOT_CHOSEN: Final = ("webhook.test",)

#: The button that shows what will arrive, for browsers without scripts.
_PREVIEW: Final = "preview"

#: The fields, in the order of the form.
_FIELDS: Final = (
    *("url", "description", "events", "countries", "watchlists"),
    *(*WORD_LISTS, "headers"),
)

_NONE_CHOSEN: Final = {
    "families": "Choose at least one family, or all events.",
    "types": "Choose at least one event, or all events.",
}


async def new(request: web.Request) -> web.Response:
    """Returns an empty form, or one for a company or a watchlist: `?company=dk:12345674`."""
    company, watchlist = request.query.get("company", ""), request.query.get("watchlist", "")
    name = request.query.get("name", "")[:200]
    words = {
        "companies": tuple(filter(None, [company])),
        "fields": tuple(request.query.getall("field", [])),
    }
    types = tuple(request.query.getall("type", []))
    form = WebhookForm(
        choice="types" if types else "all",
        types=types,
        words={part: given for part, given in words.items() if given},
        description=f"Changes of {name}" if name else "",
        watchlists=(watchlist,) if watchlist else (),
    )
    return await _form(request, form, await _types(request))


async def create(request: web.Request) -> web.Response:
    """Creates a webhook, or shows the form again with a preview or its errors."""
    posted = await request.post()
    form = _read(posted)
    if _PREVIEW in posted or not form.events:
        return await _unsaved(request, form, is_preview=_PREVIEW in posted)
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
        return await _refused(request, form, await _types(request), error)
    return await page(
        request, "webhook_secret.html", webhook=created, title="The webhook is created"
    )


async def edit(request: web.Request) -> web.Response:
    """Shows the form of a webhook, filled in."""
    webhook, types = await _webhook(request), await _types(request)
    form = form_of(webhook, [each.name for each in types])
    return await _form(request, form, types, webhook)


async def change(request: web.Request) -> web.Response:
    """Changes the edited fields of a webhook, or shows the form again."""
    posted, webhook = await request.post(), await _webhook(request)
    form = _read(posted)
    if _PREVIEW in posted or not form.events:
        return await _unsaved(request, form, webhook, is_preview=_PREVIEW in posted)
    types = await _types(request)
    changes: WebhookChanges = {
        "url": form.url,
        "filter": form.filter,
        "description": form.description or None,
    }
    # Families with single types are shown as types, and stay while no other is chosen.
    if form.events != form_of(webhook, [each.name for each in types]).events:
        changes["events"] = list(form.events)
    replaced = webhook.headers if form.headers or "clear_headers" in posted else ()
    if headers := {**dict.fromkeys(replaced), **form.header_values}:
        changes["headers"] = headers
    try:
        await registry_of(request).update_webhook(webhook.id, **changes)
    except InvalidBody as error:
        return await _refused(request, form, types, error, webhook)
    await add_note(request, "The webhook is changed.")
    return redirect(f"/webhooks/{webhook.id}")


async def arriving(request: web.Request) -> web.Response:
    """Returns the events that will arrive, for the script of the form."""
    form = _read(await request.post())
    return web.Response(text=arrivals(form.events, form.filter, COUNTRIES))


def _read(posted: MultiDictProxy[str | bytes | bytearray | web.FileField]) -> WebhookForm:
    return read_form({name: [str(one) for one in posted.getall(name)] for name in posted})


async def _types(request: web.Request) -> list[EventType]:
    listed = await registry_of(request).event_types()
    return [each for each in listed if each.name not in _NOT_CHOSEN]


async def _unsaved(
    request: web.Request, form: WebhookForm, webhook: Webhook | None = None, *, is_preview: bool
) -> web.Response:
    types = await _types(request)
    if is_preview:
        return await _form(request, form, types, webhook)
    found = {"events": _NONE_CHOSEN[form.choice]}
    return await _form(request, form, types, webhook, found=found, status=400)


async def _refused(
    request: web.Request,
    form: WebhookForm,
    types: list[EventType],
    error: InvalidBody | WebhookLimitReached,
    webhook: Webhook | None = None,
) -> web.Response:
    lists = {"countries": form.countries, "watchlists": form.watchlists, **form.words}
    found = faults(error.errors, lists)
    is_known = found and found.keys() <= set(_FIELDS)
    problem = "" if is_known else " ".join([detail(error), *found.values()])
    return await _form(
        request, form, types, webhook, found=found, problem=problem, status=error.status
    )


async def _form(  # noqa: PLR0913 (named options)
    request: web.Request,
    form: WebhookForm,
    types: list[EventType],
    webhook: Webhook | None = None,
    *,
    found: Mapping[str, str] = MappingProxyType({}),
    problem: str = "",
    status: int = HTTPStatus.OK,
) -> web.Response:
    return await page(
        request,
        "webhook_form.html",
        status=status,
        form=form,
        webhook_id=webhook and webhook.id,
        headers=webhook.headers if webhook else (),
        types=types,
        families=list(dict.fromkeys(each.name.partition(".")[0] + ".*" for each in types)),
        countries=COUNTRIES,
        watchlists=await registry_of(request).list_watchlists(),
        once=str(uuid.uuid4()),
        problem=problem,
        # In the order of the page: the first of them has the focus.
        faults={name: found[name] for name in _FIELDS if name in found},
        arrivals=arrivals(form.events, form.filter, COUNTRIES),
    )
