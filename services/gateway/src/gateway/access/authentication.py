"""Authentication, authorization and rate limiting of requests."""

from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple

import structlog
from aiohttp import hdrs, web

from common.domain.clients import Network
from common.runtime.public_port.rates import Quota, Rate, RateLimiter, address_of
from common.runtime.tasks import SingleFlight
from gateway.access.keys import ApiKey, ApiKeys, PresentedKey, Scope, parse_key
from gateway.problems import (
    Forbidden,
    InternalError,
    Problem,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
)

KEY_HEADER = "X-API-Key"

#: Maximum number of remembered valid keys, about 2 MB.
MAX_PROVEN = 10_000

#: Rejections because the key could not be checked.
_CHECK_FAILED = (ServiceUnavailable, InternalError)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Access:
    """Access rules of a route."""

    #: The scope that a key needs; None: any.
    scope: Scope | None = None
    #: True if the route may be used without a key.
    anonymous: bool = True
    #: True if requests are counted and keys are checked.
    counted: bool = True
    #: True if publishable keys may use the route.
    for_visitors: bool = False
    #: The query parameter that may have the key, for clients that send no headers.
    key_parameter: str | None = None


class AuthResult(NamedTuple):
    """The outcome of a request's authentication; it is admitted if there is no `refusal`."""

    quota: Quota
    #: The request's key, once it is verified.
    key: ApiKey | None = None
    #: The reason to reject the request.
    refusal: Problem | None = None
    #: The client of a counted request: the id of its key, or its address.
    client: str = ""


class Authenticator:
    """Checks keys and counts requests: by key, or by client address without a valid key."""

    def __init__(  # noqa: PLR0913 (the rates, and the dependencies of a key check)
        self,
        keys: ApiKeys,
        *,
        anonymous: RateLimiter,
        keyed: Callable[[Rate | None], RateLimiter],
        visitors: Callable[[Rate | None], RateLimiter],
        unproven: RateLimiter,
        trusted_proxies: Sequence[Network],
        now: Callable[[], datetime],
    ) -> None:
        """`keyed` gives the limiter of keys with a rate; None is the rate of the settings.

        `visitors` gives that of the visitors of publishable keys, by their addresses.
        """
        self._keys = keys
        self._now = now
        self._anonymous = anonymous
        self._keyed = keyed
        self._visitors = visitors
        self._unproven = unproven
        #: Ids of keys that were valid, the most recently used last.
        self._proven: OrderedDict[str, None] = OrderedDict()
        #: By key id, the first of simultaneous checks.
        self._checks = SingleFlight[AuthResult]()
        self._trusted_proxies = tuple(trusted_proxies)

    async def admit(self, request: web.BaseRequest, access: Access) -> AuthResult:
        """Returns whether the request may use the route, and the quota that is left.

        Counts the request and reads its key, unless the route is not counted. A refusal is part of
        the result, not raised, because its response has the headers of the quota, too.
        """
        if not access.counted:
            return AuthResult(self._anonymous.look(self._client(request)))
        text = presented_text(request, access.key_parameter)
        if text is None:
            refusal = None if access.anonymous else Unauthorized("an API key is needed")
            return self._without_key(request, refusal)
        presented = parse_key(text)
        if presented is None:
            return self._without_key(request, _bad_key())
        if presented.id in self._proven:
            return await self._with_presented(request, presented, access)
        return await self._first_with(request, presented, access)

    def charge(self, key: ApiKey, requests: int) -> Quota:
        """Counts further requests of a key; raises RateLimited, and counts none, if not all fit."""
        quota = self._keyed(key.rate).take(key.id, requests)
        if not quota.allowed:
            wait = max(1, quota.reset)
            raise RateLimited(
                f"the batch exceeds your remaining quota; retry in {wait} s, or send fewer lookups",
                retry_after=wait,
            )
        return quota

    def count_token(self, request: web.BaseRequest, token_hash: str) -> Quota:
        """Counts a request with a token of its own, and as unproven by the client's address.

        A token has the rate of an address without a key; `prove_token` ends the second count.
        """
        quota = self._unproven.take(self._client(request))
        if quota.allowed:
            quota = self._anonymous.take(f"token:{token_hash[:16]}")
            if not quota.allowed:
                self.prove_token(request)
        return quota

    def prove_token(self, request: web.BaseRequest) -> None:
        """Gives back the request of a valid token to the client's address."""
        self._unproven.give_back(self._client(request))

    async def _first_with(
        self, request: web.BaseRequest, presented: PresentedKey, access: Access
    ) -> AuthResult:
        if not await self._checks.ended(presented.id):
            check = partial(self._with_unproven, request, presented, access)
            return await self._checks(presented.id, check)
        if presented.id in self._proven:
            return await self._with_presented(request, presented, access)
        return await self._with_unproven(request, presented, access)

    async def _with_unproven(
        self, request: web.BaseRequest, presented: PresentedKey, access: Access
    ) -> AuthResult:
        client = self._client(request)
        quota = self._unproven.take(client)
        if not quota.allowed:
            return AuthResult(quota, refusal=too_many(quota))
        admission = await self._with_presented(request, presented, access)
        if admission.key is not None or isinstance(admission.refusal, _CHECK_FAILED):
            self._unproven.give_back(client)
        return admission

    async def _with_presented(
        self, request: web.BaseRequest, presented: PresentedKey, access: Access
    ) -> AuthResult:
        try:
            key = await self._good_key(presented)
        except Problem as problem:
            return AuthResult(self._anonymous.look(self._client(request)), refusal=problem)
        if key is None:
            # Counted like a request without a key, which limits guessing.
            return self._without_key(request, _bad_key())
        self._remember(key)
        if key.is_publishable:
            return self._with_publishable(request, key, access)
        return self._with_key(key, access)

    def _remember(self, key: ApiKey) -> None:
        self._proven[key.id] = None
        self._proven.move_to_end(key.id)
        if len(self._proven) > MAX_PROVEN:
            self._proven.popitem(last=False)

    async def _good_key(self, presented: PresentedKey) -> ApiKey | None:
        try:
            key = await self._keys.get(presented.id)
        except ServiceUnavailable:
            raise
        except Exception:
            log.exception("keys.failed", key_id=presented.id)
            raise InternalError() from None
        is_good = key is not None and key.accepts(presented, at=self._now())
        return key if is_good else None

    def _client(self, request: web.BaseRequest) -> str:
        return address_of(request, self._trusted_proxies)

    def _without_key(self, request: web.BaseRequest, refusal: Problem | None) -> AuthResult:
        client = self._client(request)
        quota = self._anonymous.take(client)
        if not quota.allowed:
            refusal = too_many(quota)
        return AuthResult(quota, refusal=refusal, client=client)

    def _with_publishable(
        self, request: web.BaseRequest, key: ApiKey, access: Access
    ) -> AuthResult:
        # Whoever reads the page has the key, so what is refused costs its owner nothing.
        visitor = f"{key.id} {self._client(request)}"
        quota = self._visitors(key.visitor_rate).take(visitor)
        if not quota.allowed:
            return AuthResult(quota, key, too_many(quota), key.id)
        if not access.for_visitors:
            refusal = Forbidden("a publishable key looks up and suggests, and does nothing else")
            return AuthResult(quota, key, refusal, key.id)
        if request.headers.get(hdrs.ORIGIN) not in key.origins:
            refusal = Forbidden("the key is for pages of other origins; its owner can add yours")
            return AuthResult(quota, key, refusal, key.id)
        of_key = self._with_key(key, access)
        return of_key if of_key.refusal is not None else of_key._replace(quota=quota)

    def _with_key(self, key: ApiKey, access: Access) -> AuthResult:
        quota = self._keyed(key.rate).take(key.id)
        refusal: Problem | None = None
        if not quota.allowed:
            refusal = too_many(quota)
        elif access.scope is not None and access.scope not in key.scopes:
            refusal = Forbidden(f"the API key lacks the scope {access.scope}")
        return AuthResult(quota, key, refusal, key.id)


def _bad_key() -> Unauthorized:
    return Unauthorized("the API key is unknown, revoked or expired")


def presented_text(request: web.BaseRequest, parameter: str | None = None) -> str | None:
    """Returns the key that the client sent; "" when it sent credentials of another form."""
    authorization = request.headers.get(hdrs.AUTHORIZATION)
    if authorization is None:
        found = request.headers.get(KEY_HEADER)
        return request.query.get(parameter) if found is None and parameter else found
    scheme, _, credentials = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return credentials.strip()
        case "basic":
            return _user_of(credentials.strip())
        case _:
            return ""


#: Bytes of credentials of the scheme Basic, several times those of a key.
_MAX_BASIC = 400


def _user_of(credentials: str) -> str:
    """Returns the key that is the user of the scheme Basic (RFC 7617); "" if it is not readable.

    `curl -u "$API_KEY:"` sends it so. A key as the password, without a user, is read as well.
    """
    if len(credentials) > _MAX_BASIC:
        return ""
    try:
        user, _, password = b64decode(credentials, validate=True).decode("ascii").partition(":")
    except ValueError:
        return ""
    return user or password


def too_many(quota: Quota) -> RateLimited:
    """Returns the problem of a client without quota."""
    wait = max(1, quota.reset)
    return RateLimited(f"too many requests; retry in {wait} s", retry_after=wait)
