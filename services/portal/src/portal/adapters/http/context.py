"""Context of handlers: the dependencies, and the session and language of the request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from company_registry import AsyncClient
from portal.adapters.http.live import LiveReaders
from portal.adapters.http.metrics import HttpMetrics
from portal.adapters.http.sessions import SessionPolicy, SignedIn, forwarded_for
from portal.adapters.reading import Reader
from portal.adapters.registry import Registries
from portal.adapters.spreadsheets import Spreadsheets
from portal.adapters.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses outside of the portal, for its users; empty where there is none."""

    api_reference: str = ""
    #: Where users request a key.
    key_request: str = ""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the handlers."""

    registries: Registries
    sessions: SessionPolicy
    live: LiveReaders
    spreadsheets: Spreadsheets
    reader: Reader
    uploads: Uploads
    metrics: HttpMetrics
    links: Links
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    new_id: Callable[[], str]


DEPENDENCIES: Final = web.AppKey("dependencies", Dependencies)
REQUEST_ID: Final = web.RequestKey("request_id", str)
SIGNED_IN: Final = web.RequestKey("signed_in", SignedIn)


def registry_with(request: web.Request, key: str, *, is_patient: bool = False) -> AsyncClient:
    """Returns the API with a key; raises ValueError for a key of another form."""
    return request.app[DEPENDENCIES].registries.with_key(
        key,
        forwarded_for=forwarded_for(request),
        request_id=request[REQUEST_ID],
        is_patient=is_patient,
    )


def registry_of(request: web.Request, *, is_patient: bool = False) -> AsyncClient:
    """Returns the API with the key of the session; a patient one is for work in the background."""
    return registry_with(request, request[SIGNED_IN].key, is_patient=is_patient)
