"""The API as tools call it: with the key of the agent, a deadline, and errors that lead on."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

from company_registry import errors
from company_registry.client import AsyncClient
from company_registry.mcp.arguments import shown
from company_registry.mcp.rates import KnownKeys
from company_registry.mcp.visible import visible
from company_registry.models import Country
from company_registry.retries import Retries

#: The context of a tool's call, as the SDK passes it.
Call = Context[Any, Any]

#: An agent decides itself how long it waits, so that one retry has to do.
RETRIES: Final = Retries(attempts=2, max_retry_after=1)

_BEARER: Final = re.compile(r"bearer +([!-~]+) *", re.IGNORECASE)

#: An id of a company, or a registration number as it is printed, without blanks and points.
_ID: Final = re.compile(r"(?:(dk|no):?)?([0-9]{8,9})(?:mva)?")
#: The country of a number by its digits.
_BY_DIGITS: Final[Mapping[int, Country]] = {8: "dk", 9: "no"}

#: Of a detail: where HTTP clients read more.
_HTTP_HINT: Final = re.compile(r"(?:; | \()GET /api/[^;()]*\)?")
#: By the API's parameter, the argument of tools.
_ARGUMENTS: Final[Mapping[str, str]] = {
    "q": "query",
    "search": "company",
    "after": "cursor",
    "facets": "count_by",
}
_PARAMETER: Final = re.compile(rf"({'|'.join(_ARGUMENTS)}): ")
_QUERY: Final = re.compile(r"\bq\b")
_NAMED: Final = re.compile(r"[a-z_]+(\[[0-9]+\])?: ")

_NEEDS_KEY: Final = (
    "This needs an API key. Over HTTP the client's configuration sends it as the header "
    "Authorization: Bearer <key>; over stdio it is COMPANY_REGISTRY_API_KEY or the profile of "
    "company-registry login. Ask the user to configure one; lookup_company, search_companies, "
    "company_group, company_history, company_accounts, search, fetch and, for up to 10, "
    "validate_identifiers work without a key at a low rate."
)

#: By problem code, the sentence that follows the detail.
_NEXT: Final[Mapping[str, str]] = {
    "company_not_found": "Check the spelling and the country, or call search_companies with words "
    "of the name.",
    "company_removed": "The register has ordered its removal; nothing else can be read of it.",
    "unauthorized": _NEEDS_KEY,
    "forbidden": "Ask the user for a key with this scope.",
    "invalid_parameter": "Correct the argument, and call again.",
    "invalid_body": "Correct the argument, and call again.",
    "missing_parameter": "Add the argument, and call again.",
    "watchlist_not_found": "Call watchlists for those that exist.",
    "watchlist_limit_reached": "Remove companies or use another list.",
    "event_not_found": "Call company_changes for events that are kept.",
    "not_found": "The service may be an older release; tell the user.",
}


@dataclass(frozen=True, slots=True)
class Api:
    """A service and the connections to it, which all calls share."""

    url: str
    http: httpx.AsyncClient
    #: The key over stdio. Over HTTP each request brings its own, and this one is never used.
    key: str | None = None
    #: The address that answers name for people; that of the service unless given.
    public_url: str = ""
    #: Seconds for each tool's call.
    deadline: float = 20.0
    retries: Retries = RETRIES
    #: Keys that the service has accepted.
    known: KnownKeys = field(default_factory=KnownKeys)

    @asynccontextmanager
    async def client(self, call: Call) -> AsyncIterator[AsyncClient]:
        """Yields a client with the caller's key; its errors become those of the tool."""
        key = self._key(call)
        try:
            with anyio.fail_after(self.deadline):
                yield AsyncClient(
                    self.url,
                    key,
                    timeout=self.deadline,
                    retries=self.retries,
                    headers=_forwarded(call),
                    http=self.http,
                )
            self.known.add(key)
        except errors.ApiError as error:
            raise ToolError(explained(error)) from error
        except errors.NoResponse as error:
            raise ToolError(f"The service cannot be reached ({error}). Try again later.") from None
        except TimeoutError:
            raise ToolError(
                f"The service did not answer within {self.deadline:g} s. Try again later, or ask "
                "for less at a time."
            ) from None
        except errors.CompanyRegistryError as error:
            raise ToolError(f"{error}. Tell the user.") from None

    async def guide(self, name: str) -> str:
        """Returns a guide as Markdown. Raises ResourceError."""
        try:
            answer = await self.http.get(
                f"{self.url}/guides/{name}.md",
                timeout=self.deadline,
                # A guide that is a folder is at the path of its own file.
                follow_redirects=True,
            )
        except httpx.RequestError:
            raise ResourceError("The service cannot be reached. Try again later.") from None
        if answer.status_code != httpx.codes.OK:
            raise ResourceError(f"The service answered with {answer.status_code}; tell the user.")
        return answer.text

    def has_key(self, call: Call) -> bool:
        """Returns whether the call is made with a key."""
        return self._key(call) is not None

    def address(self, company: str) -> str:
        """Returns the URL of a company such as `dk:12345678`."""
        country, _, number = company.partition(":")
        return f"{(self.public_url or self.url).rstrip('/')}/api/companies/{country}/{number}"

    def _key(self, call: Call) -> str | None:
        headers = call.headers
        if headers is None:
            return self.key
        given = headers.get("authorization")
        if given is None:
            return None
        bearer = _BEARER.fullmatch(given)
        if bearer is None:
            raise ToolError("The header Authorization must be Bearer and the key; tell the user.")
        return bearer[1]


def parsed(company: str, country: Country | None = None) -> tuple[Country, str]:
    """Returns the country and the number of an id such as `dk:12345678`, or of a number alone.

    Raises ToolError.
    """
    match = _ID.fullmatch(re.sub(r"[\s.-]", "", company).lower())
    if match is None:
        raise ToolError(
            f"{shown(company)} is no id of a company: it must be like dk:12345674 or no:310345679; "
            "lookup_company finds it."
        )
    named: Country | None = None if match[1] is None else "dk" if match[1] == "dk" else "no"
    if named and country and named != country:
        raise ToolError(f"{shown(company)} is not of the country {country}; leave country out.")
    return named or country or _BY_DIGITS[len(match[2])], match[2]


def explained(error: errors.ApiError) -> str:
    """Returns what went wrong, and what to do next, in sentences."""
    # Tools are called here, and no paths.
    detail = _told(error.detail or error.code)
    faults = (_told(f"{each.parameter}: {each.message}") for each in error.errors)
    lines = [_sentence(detail), *(_sentence(fault) for fault in faults if fault not in detail)]
    if isinstance(error, errors.RateLimited):
        wait = f"in {error.retry_after:g} s" if error.retry_after else "in a minute"
        lines.append(
            f"The rate limit is exceeded: call again {wait}. match_companies and "
            "validate_identifiers do the work of up to 100 lookups in one call."
        )
    elif isinstance(error, errors.CursorExpired):
        lines.append(f"Go on with cursor={error.oldest}, and expect a gap.")
    elif error.status >= 500:
        wait = f" in {error.retry_after:g} s" if error.retry_after else " in a minute"
        lines.append(f"The fault is of the service, not of the arguments: try again{wait}.")
    elif error.code in _NEXT:
        lines.append(_NEXT[error.code])
    # The API may quote a text of a register.
    return visible(" ".join(lines))


def _told(text: str) -> str:
    """Returns a text of the API in the words of tools."""
    named = _PARAMETER.sub(lambda found: f"{_ARGUMENTS[found[1]]}: ", _HTTP_HINT.sub("", text))
    return _QUERY.sub(_ARGUMENTS["q"], named)


def _sentence(text: str) -> str:
    # The name of an argument stays as it is.
    begun = text if _NAMED.match(text) else f"{text[:1].upper()}{text[1:]}"
    return f"{begun}{'' if text.endswith(('.', '?')) else '.'}"


def _forwarded(call: Call) -> dict[str, str]:
    """Returns whose request it is; a gateway reads it from proxies that it trusts."""
    request = None if call.headers is None else call.request_context.request
    if request is None or request.client is None:
        return {}
    hops = ", ".join([*request.headers.getlist("x-forwarded-for"), request.client.host])
    # A request to the API has ASCII headers, and a proxy may have sent others.
    forwarded = {"X-Forwarded-For": hops.encode("ascii", "replace").decode()}
    request_id = request.headers.get("x-request-id")
    return forwarded if request_id is None else {**forwarded, "X-Request-Id": request_id}
