"""Keys of the owner: their list with their use, a form for a new one, replacement and end."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from aiohttp import web

from company_registry import Forbidden, InvalidBody, KeyLimitReached
from company_registry.key_models import IssuedKey, Keys, OwnedKey
from portal.adapters.http.context import DEPENDENCIES, SIGNED_IN, registry_of
from portal.adapters.http.pages import formats_of, page, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.keys import (
    HEIGHT,
    SCOPES,
    UNITS,
    WIDTH,
    KeyForm,
    bars,
    first_day,
    lacking,
    read_form,
)
from portal.domain.wording import detail, faults

#: In the order of the form.
_FIELDS: Final = ("name", "scopes", "origins", "visitor_rate", "rate", "expires_at")
#: The statuses by which requests are chosen.
STATUSES: Final = {
    "": "all",
    "2xx": "2xx: answered",
    "4xx": "4xx: refused",
    "429": "429: beyond a rate",
    "5xx": "5xx: failed",
}
#: The choices for how long a replaced key goes on, in seconds.
OVERLAPS: Final = {
    "0": "ends at once",
    "3600": "ends in an hour",
    "86400": "ends in a day",
    "604800": "ends in a week",
}


async def listing(request: web.Request) -> web.Response:
    """Shows the keys with their use of 30 days."""
    found = await registry_of(request).list_keys()
    today = request.app[DEPENDENCIES].now().date()
    return await page(
        request,
        "keys.html",
        keys=[(key, bars(key.days, today=today)) for key in found.keys],
        limit=found.limit,
        own=_own_id(request),
        first=first_day(today),
        scopes=SCOPES,
        plot_size=(WIDTH, HEIGHT),
        lacking=lacking(request[SIGNED_IN].scopes),
    )


async def requests(request: web.Request) -> web.Response:
    """Shows the last requests of a key: of the one in use, or of another of its owner."""
    own, status = _own_id(request), request.query.get("status", "")
    request_id = request.query.get("request_id", "").strip()
    key_id = request.match_info.get("key_id", own)
    if status not in STATUSES:
        raise web.HTTPBadRequest
    found = await registry_of(request).key_requests(
        key_id, status=status or None, request_id=request_id or None, limit=1000
    )
    return await page(
        request,
        "key_requests.html",
        key_id=key_id,
        is_other=key_id != own,
        requests=found,
        statuses=STATUSES,
        chosen=status,
        request_id=request_id,
    )


async def new(request: web.Request) -> web.Response:
    """Shows the form of a new key."""
    return await _form(request, KeyForm())


async def create(request: web.Request) -> web.Response:
    """Creates a key, which this page alone shows, or shows the form again."""
    posted = await request.post()
    form = read_form({name: [str(one) for one in posted.getall(name)] for name in posted})
    options, found = form.members()
    times, wrong = formats_of(request).read_all({"expires_at": form.expires_at})
    found |= wrong
    if found:
        return await _form(request, form, found=found, status=HTTPStatus.BAD_REQUEST)
    try:
        issued = await registry_of(request).create_key(
            form.name, expires_at=times.get("expires_at"), **options
        )
    except (InvalidBody, Forbidden, KeyLimitReached) as error:
        found = faults(error.errors, {})
        is_known = found and found.keys() <= set(_FIELDS)
        problem = "" if is_known else " ".join([detail(error), *found.values()])
        return await _form(request, form, found=found, problem=problem, status=error.status)
    return await _issued(request, issued, "The key is created")


async def confirm_rotation(request: web.Request) -> web.Response:
    """Shows the question before a key is replaced."""
    return await page(request, "key_rotate.html", key=await _key(request), overlaps=OVERLAPS)


async def rotate(request: web.Request) -> web.Response:
    """Replaces a key, and shows the new one on this page alone."""
    overlap = str((await request.post()).get("overlap", ""))
    if overlap not in OVERLAPS:
        raise web.HTTPBadRequest
    registry, key_id = registry_of(request), request.match_info["key_id"]
    try:
        issued = await registry.rotate_key(key_id, overlap_seconds=int(overlap))
    except (Forbidden, KeyLimitReached) as error:
        said = " ".join(faults(error.errors, {}).values()) or detail(error)
        await add_note(request, f"The key is not replaced. {said}", is_error=True)
        return redirect("/keys")
    return await _issued(request, issued, "The key is replaced")


async def confirm_end(request: web.Request) -> web.Response:
    """Shows the question before a key is ended."""
    key = await _key(request)
    return await page(request, "key_end.html", key=key, is_own=key.key_id == _own_id(request))


async def end(request: web.Request) -> web.Response:
    """Ends a key, then leads to the list."""
    await registry_of(request).end_key(request.match_info["key_id"])
    await add_note(request, "The key is ended. It is refused within 10 s.")
    return redirect("/keys")


def _own_id(request: web.Request) -> str:
    return request[SIGNED_IN].key.partition(".")[0]


async def _key(request: web.Request) -> OwnedKey:
    found: Keys = await registry_of(request).list_keys()
    for key in found.keys:
        if key.key_id == request.match_info["key_id"]:
            return key
    raise web.HTTPNotFound


async def _issued(request: web.Request, issued: IssuedKey, title: str) -> web.Response:
    return await page(request, "key_issued.html", issued=issued, title=title)


async def _form(
    request: web.Request,
    form: KeyForm,
    *,
    found: Mapping[str, str] = MappingProxyType({}),
    problem: str = "",
    status: int = HTTPStatus.OK,
) -> web.Response:
    return await page(
        request,
        "key_form.html",
        status=status,
        form=form,
        scopes=SCOPES,
        own_scopes=request[SIGNED_IN].scopes,
        units=UNITS,
        problem=problem,
        faults={name: found[name] for name in _FIELDS if name in found},
    )
