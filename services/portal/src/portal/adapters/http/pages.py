"""Pages: templates and the variables common to all of them."""

import re
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from mimetypes import guess_type
from typing import Any, Final
from urllib.parse import quote, unquote

import aiohttp_jinja2
import jinja2
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.domain.displayed import displayed
from common.runtime.public_port.conditional import fixed
from company_registry.change_words import day_of_year
from company_registry.models import Share
from portal.adapters.http.context import DEPENDENCIES, FORM, SIGNED_IN
from portal.adapters.http.sessions import CSRF_FIELD, SignedIn, csrf_token, take_notes, take_undo
from portal.domain import facts
from portal.domain.alerts import said
from portal.domain.languages import Formats, formats_for
from portal.domain.wording import brief, cause, happening, without_members

_PACKAGE: Final = "portal.adapters.http"

#: The pages of the menu, and the scope that each needs.
_MENU: Final = (
    ("/", "Home", None),
    ("/companies", "Companies", "lookup"),
    ("/customers", "Customers", "lookup"),
    ("/webhooks", "Webhooks", "webhooks"),
    ("/watchlists", "Watchlists", "webhooks"),
    ("/events", "Events", "events"),
    ("/keys", "Keys", "keys"),
    ("/key", "Key", None),
)

#: A path of this site: to a browser `//host` and `/\host` are other sites, also with tabs between.
_OWN_PATH: Final = re.compile(r"/(?![/\\])[!-~]*")


#: The statuses of failures after which the same request may succeed.
PASSING: Final = (429, 502, 503, 504)


@cache
def templates() -> jinja2.Environment:
    """Returns the templates with their filters and functions, compiled once by a process."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(
        segment=lambda text: quote(str(text), safe=""),
        words=lambda text: str(text).replace("_", " "),
        share=_share,
        cause=cause,
        without_members=without_members,
        happening=happening,
        brief=brief,
        about=lambda digest: said(digest.events, digest.fields),
    )
    environment.globals.update(company_path=company_path, terms=facts, day_of_year=day_of_year)
    return environment


def _shown(value: Any) -> Any:
    """Returns a value of a template without control and direction characters."""
    # HTML of the templates themselves has been through here.
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return displayed(value) if is_text else value


def menu(user: SignedIn) -> list[tuple[str, str]]:
    """Returns paths and names of the pages that the user's key may use."""
    found = [(path, name) for path, name, scope in _MENU if scope is None or scope in user.scopes]
    # The page of all keys leads to that of the one in use.
    return [each for each in found if each[0] != "/key" or "keys" not in user.scopes]


def static_files() -> dict[str, Handler]:
    """Returns the handlers of scripts and styles, by their names."""
    return {
        file.name: fixed(
            file.read_bytes(),
            {
                hdrs.CONTENT_TYPE: guess_type(file.name)[0] or "application/octet-stream",
                hdrs.CACHE_CONTROL: "no-cache",
                hdrs.VARY: hdrs.ACCEPT_ENCODING,
            },
        )
        for file in (files(_PACKAGE) / "static").iterdir()
    }


def company_path(country: str, vat: str) -> str:
    """Returns the path of a company's page."""
    return f"/companies/{quote(country, safe='')}/{quote(vat, safe='')}"


def formats_of(request: web.Request) -> Formats:
    """Returns the formats of the browser, whose time zone a script keeps in a cookie."""
    zone = unquote(request.cookies.get("zone", ""))
    return formats_for(request.headers.get(hdrs.ACCEPT_LANGUAGE, ""), zone)


def is_scripted(request: web.Request) -> bool:
    """Returns True if a script reads the page, for a part of it."""
    return request.headers.get("Sec-Fetch-Dest") == "empty"


async def page(
    request: web.Request, template: str, *, status: int = HTTPStatus.OK, **context: Any
) -> web.Response:
    """Returns a page of a template."""
    session: dict[str, Any] = {
        "csrf": await csrf_token(request),
        "notes": await take_notes(request),
    }
    session["undo"] = await take_undo(request)
    return _rendered(request, template, status, {**session, **context})


def page_without_session(
    request: web.Request, status: int, title: str, detail: str
) -> web.Response:
    """Returns an error, whose answer leaves the session as it is."""
    context: dict[str, Any] = {
        "csrf": "",
        "notes": [],
        "undo": None,
        "title": title,
        "detail": detail,
        "again": "",
        "kept": None,
        "request_id": "",
    }
    return _rendered(request, "error.html", status, context)


def _rendered(
    request: web.Request, template: str, status: int, context: dict[str, Any]
) -> web.Response:
    signed_in = request.get(SIGNED_IN)
    shown = {
        "signed_in": signed_in,
        "menu": () if signed_in is None else menu(signed_in),
        "path": request.path,
        "formats": formats_of(request),
        "links": request.app[DEPENDENCIES].links,
        "evidence": _evidence(request),
        **context,
    }
    response = aiohttp_jinja2.render_template(template, request, shown, status=status)
    # Pages have data that only the key's owner may see.
    response.headers[hdrs.CACHE_CONTROL] = "no-store"
    return response


def _evidence(request: web.Request) -> dict[str, str]:
    """Returns when and where a page was read, which its print says."""
    dependencies = request.app[DEPENDENCIES]
    scheme = "https" if dependencies.sessions.is_secure else "http"
    return {
        "at": dependencies.now().isoformat(),
        "address": f"{scheme}://{request.host}{request.path_qs}",
    }


def fragment(request: web.Request, template: str, **context: Any) -> str:
    """Returns a part of a page, for a script that adds it."""
    shown = {"formats": formats_of(request), **context}
    return aiohttp_jinja2.render_string(template, request, shown)


async def error_page(
    request: web.Request, status: int, title: str, detail: str, *, request_id: str = ""
) -> web.Response:
    """Returns the page of an error; one that passes offers the page, or the form as it was sent.

    With the id of a request to the API it leads to the key's requests.
    """
    again, kept = "", None
    if status in PASSING and request.method == hdrs.METH_GET:
        again = request.path_qs
    # The form of a sign-in has the key, which no page contains, and a file cannot be kept.
    elif status in PASSING and SIGNED_IN in request and FORM in request:
        fields = request[FORM].items()
        again, kept = request.path_qs, [each for each in fields if each[0] != CSRF_FIELD]
    context = {"title": title, "detail": detail, "again": again, "kept": kept}
    context["request_id"] = request_id
    return await page(request, "error.html", status=status, **context)


def is_own(path: str) -> bool:
    """Returns True for a path of this site, to which a form may lead."""
    return _OWN_PATH.fullmatch(path) is not None


def redirect(path: str) -> web.Response:
    """Returns the next page after a form was sent."""
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={hdrs.LOCATION: path})


def _share(share: Share | dict[str, str] | None) -> str:
    if share is None:
        return "–"
    low, high = (share.min, share.max) if isinstance(share, Share) else (share["min"], share["max"])
    return f"{low} %" if low == high else f"{low}–{high} %"
