"""Context of a request in the gateway."""

from dataclasses import dataclass

from aiohttp import hdrs, web

from gateway.access.keys import ApiKey
from gateway.access.limits import Quota
from gateway.problems import Unauthorized


@dataclass(slots=True)
class RequestContext:
    """Context of an admitted request."""

    request_id: str
    #: The remaining quota of the client.
    quota: Quota
    #: The verified key; None in anonymous requests.
    key: ApiKey | None = None
    #: The requested search, once the query is read.
    search_type: str = "none"

    @property
    def required_key(self) -> ApiKey:
        """The key, of a route that needs one."""
        if self.key is None:
            raise Unauthorized("an API key is needed")
        return self.key


REQUEST_CONTEXT = web.RequestKey("request_context", RequestContext)


def parameters_of(request: web.BaseRequest) -> dict[str, list[str]]:
    """The query string's parameters, each with all its values."""
    return {name: request.query.getall(name) for name in request.query}


def accept_of(request: web.BaseRequest) -> str:
    """The values of all Accept headers."""
    return ",".join(request.headers.getall(hdrs.ACCEPT, ()))
