"""Signing in with an API key, and out, and the key in use."""

from typing import Final

from aiohttp import web

from company_registry import AsyncClient, Unauthorized
from portal.adapters.http.context import DEPENDENCIES, SIGNED_IN, registry_of, registry_with
from portal.adapters.http.pages import is_own, page, redirect
from portal.adapters.http.sessions import SignedIn, add_note, sign_in, sign_out, uploaded
from portal.domain.keys import SCOPES, lacking

_MAX_PERSON: Final = 60
_KEY_ENDED: Final = "Your key is no longer valid: it was revoked or has expired."


async def show(request: web.Request) -> web.Response:
    """Shows the form for the API key; leads on if the reader is signed in."""
    if SIGNED_IN in request:
        return redirect("/")
    error = _KEY_ENDED if request.query.get("ended") == "key" else ""
    return await _form(request, next_=request.query.get("next", "/"), error=error)


async def enter(request: web.Request) -> web.Response:
    """Begins a session when the API accepts the key."""
    form = await request.post()
    key, next_ = str(form.get("key", "")).strip(), str(form.get("next", "/"))
    metrics = request.app[DEPENDENCIES].metrics
    try:
        person = str(form.get("person", "")).strip()[:_MAX_PERSON]
        user = await _user(registry_with(request, key), key, person)
    except (ValueError, Unauthorized):
        metrics.signed_in(accepted=False)
        error = "This key is not valid. Paste all of it, with the dot in the middle."
        return await _form(request, next_=next_, error=error, status=401)
    metrics.signed_in(accepted=True)
    await sign_in(request, user)
    return redirect(next_ if is_own(next_) else "/")


async def leave(request: web.Request) -> web.Response:
    """Signs the reader out; the file of the session leaves the memory."""
    uploads = request.app[DEPENDENCIES].uploads
    held = uploads.find(await uploaded(request), request[SIGNED_IN].key)
    if held is not None:
        uploads.forget(held)
    await sign_out(request, request.app[DEPENDENCIES].ended)
    await add_note(request, "You have signed out.")
    return redirect("/sign-in")


async def key(request: web.Request) -> web.Response:
    """Returns the session's key: its owner, scopes, rate and expiry."""
    found = await registry_of(request).me()
    return await page(request, "key.html", key=found, scopes=SCOPES, lacking=lacking(found.scopes))


async def _user(registry: AsyncClient, key: str, person: str) -> SignedIn:
    found = await registry.me()
    return SignedIn(key, f"{found.owner} · {found.name}", found.scopes, person=person)


async def _form(request: web.Request, *, next_: str, error: str, status: int = 200) -> web.Response:
    return await page(request, "sign_in.html", status=status, next=next_, error=error)
