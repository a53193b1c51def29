"""What is kept with a request on its way through the gateway."""

from dataclasses import dataclass

from aiohttp import hdrs, web

from gateway.adapters.http.limits import Quota
from gateway.domain.keys import ApiKey

#: As it is written everywhere; aiohttp's own constant is "Etag".
ETAG = "ETag"


@dataclass(slots=True)
class RequestContext:
    """What is known of a request that was let in."""

    request_id: str
    #: What is left of the rate that it counts for.
    quota: Quota
    #: The good key it was made with; None in anonymous requests.
    key: ApiKey | None = None
    #: The search as it was asked for, once the query is read.
    search_type: str = "none"


REQUEST_CONTEXT = web.RequestKey("passing", RequestContext)


def parameters_of(request: web.BaseRequest) -> dict[str, list[str]]:
    """The query string's parameters, each with all its values."""
    parameters: dict[str, list[str]] = {}
    for name, value in request.query.items():
        parameters.setdefault(name, []).append(value)
    return parameters


def if_none_match(request: web.BaseRequest) -> str | None:
    """The entity tags that the client has, of all such headers."""
    if hdrs.IF_NONE_MATCH not in request.headers:
        return None
    return ",".join(request.headers.getall(hdrs.IF_NONE_MATCH))
