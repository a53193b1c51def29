"""What is kept with a request on its way through the gateway."""

from aiohttp import web

from gateway.adapters.http.limits import Allowance
from gateway.domain.keys import ApiKey

REQUEST_ID = web.RequestKey("request_id", str)

#: The good key it was made with; absent in anonymous requests.
API_KEY = web.RequestKey("api_key", ApiKey)

#: What is left of the rate, where a request has counted for more than one.
ALLOWANCE = web.RequestKey("allowance", Allowance)

#: The search as it was asked for, once the query is read.
SEARCH_TYPE = web.RequestKey("search_type", str)


def parameters_of(request: web.BaseRequest) -> dict[str, list[str]]:
    """The query string's parameters, each with all its values."""
    parameters: dict[str, list[str]] = {}
    for name, value in request.query.items():
        parameters.setdefault(name, []).append(value)
    return parameters
