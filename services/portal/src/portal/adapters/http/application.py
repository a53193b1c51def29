"""The application: its routes and its middleware, outermost first, and refusals before it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import aiohttp_jinja2
import aiohttp_session
from aiohttp import hdrs, web

from common.runtime.public_port.connections import Refuse
from portal.adapters.http.context import DEPENDENCIES, Dependencies
from portal.adapters.http.ended_sessions import ENDED_PATH
from portal.adapters.http.middleware import (
    HEADERS,
    STATIC_PATH,
    UPLOAD_PATH,
    observe,
    protect,
    refuse_other_sites,
    show_errors,
)
from portal.adapters.http.pages import static_files, templates
from portal.adapters.http.sessions import session_storage
from portal.adapters.http.views import (
    adding,
    alerts,
    companies,
    company,
    customers,
    deliveries,
    events,
    home,
    keys,
    search,
    signing_in,
    watchlists,
    webhooks,
)
from portal.adapters.http.views.adding import ADD_PATH

ROUTES: Final = (
    web.get("/", home.show),
    web.get("/suggest", search.suggest),
    web.get("/sign-in", signing_in.show),
    web.post("/sign-in", signing_in.enter),
    web.post("/sign-out", signing_in.leave),
    web.get("/key", signing_in.key),
    web.get("/key/requests", keys.requests),
    web.get("/keys", keys.listing),
    web.get("/keys/new", keys.new),
    web.post("/keys/new", keys.create),
    web.get("/keys/{key_id}/requests", keys.requests),
    web.get("/keys/{key_id}/rotate", keys.confirm_rotation),
    web.post("/keys/{key_id}/rotate", keys.rotate),
    web.get("/keys/{key_id}/end", keys.confirm_end),
    web.post("/keys/{key_id}/end", keys.end),
    web.get("/companies", companies.listing),
    web.get("/companies.{format:csv|xlsx}", companies.download),
    web.get("/companies/{country:dk|no}/{vat:[0-9]{8,9}}", company.show),
    web.get("/companies/{country:dk|no}/{vat:[0-9]{8,9}}/group", company.group),
    web.get("/companies/{country:dk|no}/{vat:[0-9]{8,9}}.{format:json|xml}", company.document),
    web.get("/customers", customers.show),
    web.post(UPLOAD_PATH, customers.upload),
    web.post("/customers/read", customers.read_again),
    web.post("/customers/match", customers.match),
    web.post("/customers/decide", customers.decide),
    web.post("/customers/forget", customers.forget),
    web.post("/customers/close", customers.close),
    web.post("/customers/undo", customers.undo),
    web.post("/customers/open", customers.open_kept),
    web.post("/customers/delete", customers.delete_kept),
    web.get("/customers/again", customers.show_again),
    web.post("/customers/again", customers.search_again),
    web.get("/customers/rows/{row:[0-9]{1,6}}", customers.review),
    web.get("/customers.{format:csv|xlsx}", customers.download),
    web.post("/customers/watchlist", customers.save),
    web.get("/watchlists", watchlists.listing),
    web.post("/watchlists", watchlists.create),
    web.post(ADD_PATH, adding.add),
    web.get("/watchlists/{id}", watchlists.show),
    web.post("/watchlists/{id}", watchlists.change),
    web.post("/watchlists/{id}/companies", watchlists.change_companies),
    web.get("/watchlists/{id}/companies.{format:csv|xlsx}", companies.download),
    web.get("/watchlists/{id}/feed", watchlists.confirm_renewal),
    web.post("/watchlists/{id}/feed", watchlists.renew_feed),
    web.post("/watchlists/{id}/feed/end", watchlists.end_feed),
    web.post("/watchlists/{id}/digests", watchlists.add_digest),
    web.post("/watchlists/{id}/digests/remove", watchlists.remove_digest),
    web.get("/watchlists/{id}/delete", watchlists.confirm_delete),
    web.post("/watchlists/{id}/delete", watchlists.delete),
    web.get("/webhooks", webhooks.listing),
    web.get("/webhooks/event-types", webhooks.catalogue),
    web.get("/webhooks/new", webhooks.new),
    web.post("/webhooks/new", webhooks.create),
    web.post("/webhooks/arriving", webhooks.arriving),
    web.get("/webhooks/{id}", webhooks.show),
    web.get("/webhooks/{id}/edit", webhooks.edit),
    web.post("/webhooks/{id}/edit", webhooks.change),
    web.post("/webhooks/{id}/test", webhooks.send_test),
    web.get("/webhooks/{id}/rotate", webhooks.confirm_rotation),
    web.post("/webhooks/{id}/rotate", webhooks.rotate),
    web.post("/webhooks/{id}/status", webhooks.set_status),
    web.post("/webhooks/{id}/recover", webhooks.recover),
    web.get("/webhooks/{id}/delete", webhooks.confirm_delete),
    web.post("/webhooks/{id}/delete", webhooks.delete),
    web.get("/webhooks/{id}/deliveries", deliveries.listing),
    web.get("/webhooks/{id}/deliveries/{delivery_id}", deliveries.show),
    web.post("/webhooks/{id}/deliveries/{delivery_id}/retry", deliveries.retry),
    web.get(alerts.HERE, alerts.new),
    web.post(f"{alerts.HERE}/mail", alerts.send_mail),
    web.post(f"{alerts.HERE}/feed", alerts.get_feed),
    web.get(f"{alerts.HERE}/webhook", alerts.to_webhook),
    web.get("/events", events.listing),
    web.get("/events/live", events.live),
    *(web.get(f"{STATIC_PATH}/{name}", handler) for name, handler in static_files().items()),
)


def application(dependencies: Dependencies) -> web.Application:
    """Returns the web application, with all of its routes."""
    app = web.Application(
        client_max_size=dependencies.forms.size,
        middlewares=[
            observe,
            refuse_other_sites,
            aiohttp_session.session_middleware(session_storage(dependencies.sessions)),
            show_errors,
            protect,
        ],
    )
    app[DEPENDENCIES] = dependencies
    app[aiohttp_jinja2.APP_KEY] = templates()
    app.add_routes([*ROUTES, web.get(ENDED_PATH, dependencies.ended.show)])
    app.on_shutdown.append(dependencies.live.end)
    app.cleanup_ctx.append(dependencies.uploads.running)
    app.cleanup_ctx.append(dependencies.replicas.following)
    return app


_TEXTS: Final = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read as HTTP/1.1, or its head exceeds 16 KiB.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Too many people are connected. Try again in a moment.",
}


def refusals(new_id: Callable[[], str]) -> Refuse:
    """Refuses with a sentence; `new_id` names the request."""

    def refuse(status: HTTPStatus, _error: BaseException | None) -> web.Response:
        text = _TEXTS.get(status, "An internal error.")
        headers = {**HEADERS, "X-Request-Id": new_id(), hdrs.CACHE_CONTROL: "no-store"}
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers[hdrs.RETRY_AFTER] = "5"
        return web.Response(status=status, text=text, headers=headers)

    return refuse
