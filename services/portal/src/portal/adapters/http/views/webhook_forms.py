"""Creating and editing webhooks."""

import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, TypedDict

from aiohttp import web
from multidict import MultiDictProxy

from company_registry import InvalidBody, WebhookLimitReached
from company_registry.webhook_models import EventType, WebhookChanges
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import page, redirect
from portal.adapters.http.sessions import add_note
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.arrivals import arrivals
from portal.domain.webhook_form import WORD_LISTS, WebhookForm, form_of, read_form
from portal.domain.wording import detail, faults

#: In the order of the form, which groups types by their families.
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


Posted = MultiDictProxy[str | bytes | bytearray | web.FileField]


class _Refusal(TypedDict):
    problem: str
    found: Mapping[str, str]
    status: int


async def new(request: web.Request) -> web.Response:
    """Returns an empty form, or one for a company or a watchlist: `?company=dk:12345674`."""
    company, watchlist = request.query.get("company", ""), request.query.get("watchlist", "")
    name = request.query.get("name", "")[:200]
    form = WebhookForm(
        description=f"Changes of {name}" if name else "",
        words={"companies": (company,)} if company else {},
        watchlists=(watchlist,) if watchlist else (),
    )
    return await _page(request, form, await _types(request))


async def create(request: web.Request) -> web.Response:
    """Creates a webhook, or shows the form again with a preview or its errors."""
    posted = await request.post()
    form = _read(posted)
    if _PREVIEW in posted or not form.events:
        return await _shown_again(request, form, is_preview=_PREVIEW in posted)
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
        return await _page(request, form, await _types(request), **_refusal(form, error))
    return await page(
        request, "webhook_secret.html", webhook=created, title="The webhook is created"
    )


async def edit(request: web.Request) -> web.Response:
    """Shows the form of a webhook, filled in."""
    webhook = await registry_of(request).get_webhook(request.match_info["id"])
    types = await _types(request)
    form = form_of(webhook, [each.name for each in types])
    return await _page(request, form, types, webhook_id=webhook.id, headers=webhook.headers)


async def change(request: web.Request) -> web.Response:
    """Changes the edited fields of a webhook, or shows the form again."""
    posted, webhook_id = await request.post(), request.match_info["id"]
    form = _read(posted)
    if _PREVIEW in posted or not form.events:
        return await _shown_again(request, form, webhook_id, is_preview=_PREVIEW in posted)
    webhook = await registry_of(request).get_webhook(webhook_id)
    types = await _types(request)
    shown = form_of(webhook, [each.name for each in types])
    clears = form.headers or "clear_headers" in posted
    changes = _changes(form, shown, replaced=webhook.headers if clears else ())
    try:
        await registry_of(request).update_webhook(webhook_id, **changes)
    except InvalidBody as error:
        refusal = _refusal(form, error)
        return await _page(
            request, form, types, webhook_id=webhook_id, headers=webhook.headers, **refusal
        )
    await add_note(request, "The webhook is changed.")
    return redirect(f"/webhooks/{webhook_id}")


async def arriving(request: web.Request) -> web.Response:
    """Returns the events that will arrive, for the script of the form."""
    return web.Response(text=_arrivals(_read(await request.post())))


def _changes(form: WebhookForm, shown: WebhookForm, *, replaced: Sequence[str]) -> WebhookChanges:
    changes: WebhookChanges = {
        "url": form.url,
        "filter": form.filter,
        "description": form.description or None,
    }
    # Families beside single types are shown as types, and stay while no other is chosen.
    if form.events != shown.events:
        changes["events"] = list(form.events)
    if headers := {**dict.fromkeys(replaced), **form.header_values}:
        changes["headers"] = headers
    return changes


def _read(posted: Posted) -> WebhookForm:
    return read_form({name: [str(one) for one in posted.getall(name)] for name in posted})


def _arrivals(form: WebhookForm) -> str:
    return arrivals(form.events, form.filter, COUNTRIES)


async def _types(request: web.Request) -> list[EventType]:
    """Returns the types that may be chosen."""
    listed = await registry_of(request).event_types()
    return [each for each in listed if each.name not in _NOT_CHOSEN]


async def _shown_again(
    request: web.Request, form: WebhookForm, webhook_id: str | None = None, *, is_preview: bool
) -> web.Response:
    """Returns the form as it was sent, before anything is saved."""
    headers = (
        () if webhook_id is None else (await registry_of(request).get_webhook(webhook_id)).headers
    )
    types = await _types(request)
    if is_preview:
        return await _page(request, form, types, webhook_id=webhook_id, headers=headers)
    found = {"events": _NONE_CHOSEN[form.choice]}
    return await _page(
        request, form, types, webhook_id=webhook_id, headers=headers, found=found, status=400
    )


async def _page(  # noqa: PLR0913 (named options)
    request: web.Request,
    form: WebhookForm,
    types: list[EventType],
    *,
    webhook_id: str | None = None,
    headers: tuple[str, ...] = (),
    problem: str = "",
    found: Mapping[str, str] = MappingProxyType({}),
    status: int = HTTPStatus.OK,
) -> web.Response:
    return await page(
        request,
        "webhook_form.html",
        status=status,
        form=form,
        webhook_id=webhook_id,
        headers=headers,
        types=types,
        families=list(dict.fromkeys(each.name.partition(".")[0] + ".*" for each in types)),
        countries=COUNTRIES,
        watchlists=await registry_of(request).list_watchlists(),
        once=str(uuid.uuid4()),
        problem=problem,
        # In the order of the page: the first of them has the focus.
        faults={name: found[name] for name in _FIELDS if name in found},
        arrivals=_arrivals(form),
    )


def _refusal(form: WebhookForm, error: InvalidBody | WebhookLimitReached) -> _Refusal:
    """Returns the options of a page that shows why the form was refused."""
    found = faults(
        error.errors,
        {"countries": form.countries, "watchlists": form.watchlists, **form.words},
    )
    known = all(name in _FIELDS for name in found)
    problem = "" if found and known else " ".join([detail(error), *found.values()])
    return {"problem": problem, "found": found, "status": error.status}
