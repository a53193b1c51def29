"""The door of a server over HTTP: what a request may cost before the SDK reads it (ADR 0100).

In this order: the path and the method, the names of the server, the rate of the client, the body's
length, time and form, and the lengths of a tool's arguments. Each request has one log line.
"""

import math
import re
import time
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from uuid import uuid4

import anyio
from mcp.types import Tool
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from company_registry.mcp.hosts import Hosts
from company_registry.mcp.logs import info, log
from company_registry.mcp.messages import ArgumentLimits, Invalid, TooLong, parsed
from company_registry.mcp.metrics import count
from company_registry.mcp.rates import KnownKeys, Network, Rate, RateLimiter, address_of

#: The path of the server; a slash at its end changes nothing, since a redirect could leave TLS.
PATH: Final = "/mcp"
READY_PATH: Final = "/readyz"

_SERVER_ERROR: Final = -32000
_INTERNAL_ERROR: Final = -32603
_REQUEST_ID: Final = "x-request-id"
_SANE_ID: Final = re.compile(r"[!-~]{1,128}")
_BEARER: Final = re.compile(r"bearer +([!-~]+) *", re.IGNORECASE)

#: Bytes of a body that is read although its request is refused, so that the connection is kept.
_SMALL: Final = 8 * 1024
#: Seconds after which a refused client may try again where only others' calls are in its way.
_SOON: Final = 5
#: Letters of a name in the log.
_MAX_NAME: Final = 64
#: The status of a request whose client has gone, in the log alone.
_CLIENT_GONE: Final = 499


ADDRESS_RATE: Final = Rate(300, 60)
KEY_RATE: Final = Rate(1200, 60)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of requests; the defaults serve a public instance with 256 MiB."""

    #: Connections, and calls that are answered at the same time.
    connections: int = 400
    calls: int = 128
    #: Seconds for a head and for a body.
    head_timeout: float = 15.0
    body_timeout: float = 10.0
    #: Bytes of a body, and the bodies that are received at the same time.
    max_body: int = 256 * 1024
    bodies: int = 32
    #: Of an address without a key that the API has accepted, and of such a key.
    address_rate: Rate = ADDRESS_RATE
    key_rate: Rate = KEY_RATE
    #: Networks whose X-Forwarded-For is trusted.
    trusted_proxies: tuple[Network, ...] = ()


class Refused(Exception):
    """A request that the SDK does not see, and the answer to it."""

    def __init__(
        self, status: HTTPStatus, text: str, code: int = _SERVER_ERROR, **headers: str
    ) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class _Bodies:
    """Bodies that are being received; beyond the maximum the one that has taken longest ends.

    The maximum bounds their memory and their time in each turn of the event loop, which
    every other answer waits for several times.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._scopes: dict[anyio.CancelScope, None] = {}

    def add(self, scope: anyio.CancelScope) -> None:
        """Registers a body whose end has not come, unless it is registered."""
        if scope not in self._scopes and len(self._scopes) == self._maximum:
            longest = next(iter(self._scopes))
            self.remove(longest)
            longest.cancel()
        self._scopes[scope] = None

    def remove(self, scope: anyio.CancelScope) -> None:
        """Forgets a body."""
        self._scopes.pop(scope, None)


@dataclass(slots=True)
class _Request:
    """A request as its log line has it."""

    scope: Scope
    headers: Headers
    id: str
    began: float
    #: The message of its body, once it is known to be one.
    message: Mapping[str, Any] = field(default_factory=dict)
    is_read: bool = False
    call: str | None = None
    tool: str | None = None
    key_id: str | None = None
    status: int = 0

    def note_call(self) -> None:
        """Notes what is called, for the log."""
        self.call = str(self.message["method"])[:_MAX_NAME]
        params = self.message.get("params") or {}
        if self.call == "tools/call":
            self.tool = str(params.get("name"))[:_MAX_NAME]

    def inner_scope(self) -> Scope:
        """Returns the request as the application sees it, with the id that the log has."""
        kept = [each for each in self.scope["headers"] if each[0] != _REQUEST_ID.encode()]
        return {**self.scope, "headers": [*kept, (_REQUEST_ID.encode(), self.id.encode())]}

    def record(self, now: float, tools: Container[str]) -> None:
        """Writes the line, and counts the request."""
        count(self.status, self.tool, tools, now - self.began)
        info(
            "request.done",
            request_id=self.id,
            method=self.scope["method"],
            route=self.scope["path"] if self.scope["path"] in (PATH, READY_PATH) else "unmatched",
            status=self.status,
            duration_ms=round((now - self.began) * 1000, 3),
            call=self.call,
            tool=self.tool,
            key_id=self.key_id,
        )


@dataclass(slots=True)
class Guard:
    """Refuses what exceeds the limits, and gives the application whole and valid messages."""

    app: ASGIApp
    hosts: Hosts
    limits: Limits
    known: KnownKeys
    #: The tools with their schemas.
    tools: Callable[[], Awaitable[Sequence[Tool]]]
    clock: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: uuid4().hex
    _of_address: RateLimiter = field(init=False)
    _of_key: RateLimiter = field(init=False)
    _bodies: _Bodies = field(init=False)
    _calls: int = field(init=False, default=0)
    _checks: ArgumentLimits | None = field(init=False, default=None)
    #: Of the tools, once a message was read.
    _names: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        self._of_address = RateLimiter(self.limits.address_rate, self.clock)
        self._of_key = RateLimiter(self.limits.key_rate, self.clock)
        self._bodies = _Bodies(self.limits.bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request; other events pass."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope, "path": _path(scope["path"])}
        headers = Headers(scope=scope)
        given = headers.get(_REQUEST_ID, "")
        id_ = given if _SANE_ID.fullmatch(given) else self.new_id()
        request = _Request(scope, headers, id_, self.clock())

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id_.encode())]
            await send(message)

        try:
            await self._answer(request, receive, sent)
        finally:
            if scope["path"] != READY_PATH:
                request.record(self.clock(), self._names)

    async def _answer(self, request: _Request, receive: Receive, send: Send) -> None:
        response: Response | None
        try:
            response = await self._response(request, receive, send)
        except Refused as refusal:
            if 0 < int(request.headers.get("content-length", 0)) <= _SMALL and not request.is_read:
                with suppress(Refused):
                    await self._body(receive)
            response = _error(request.message.get("id"), refusal)
        except Exception:  # noqa: BLE001 (whatever it is, the agent gets an answer)
            log.exception("request.failed", extra={"fields": {"request_id": request.id}})
            response = None if request.status else _error(request.message.get("id"), _failed())
        if response is not None:
            await response(request.scope, receive, send)

    async def _response(self, request: _Request, receive: Receive, send: Send) -> Response | None:
        """Returns an answer, or None where the application has sent it, or nobody awaits one."""
        if request.scope["path"] == READY_PATH:
            return _ready(request.scope["method"])
        self._admit(request)
        request.is_read = True
        body = await self._body(receive)
        if body is None:
            request.status = _CLIENT_GONE
            return None
        try:
            request.message = parsed(body)
            request.note_call()
            (await self._arguments()).check(request.message)
        except Invalid as fault:
            raise Refused(HTTPStatus.BAD_REQUEST, fault.text, fault.code) from None
        except TooLong as fault:
            return _tool_error(request, fault.text)
        with self._turn() as end_turn:

            async def sent(message: Message) -> None:
                # A client that does not read keeps its connection, and no turn of others.
                end_turn()
                await send(message)

            await self.app(request.inner_scope(), _replayed(body, receive), sent)
        return None

    @contextmanager
    def _turn(self) -> Iterator[Callable[[], None]]:
        """Counts a call until it is answered; raises Refused if there are as many as may be."""
        if self._calls >= self.limits.calls:
            raise _busy()
        turn = ExitStack()
        self._calls += 1
        turn.callback(self._end_call)
        with turn:
            yield turn.close

    def _end_call(self) -> None:
        self._calls -= 1

    def _admit(self, request: _Request) -> None:
        """Raises Refused by what the head says."""
        scope, headers = request.scope, request.headers
        if scope["path"] != PATH:
            raise Refused(HTTPStatus.NOT_FOUND, f"The server is at {PATH}.")
        if scope["method"] != "POST":
            # There is nothing to listen to, no session to end, and no CORS for pages of others.
            text = "Send messages with POST; there are no streams and no sessions."
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, text, Allow="POST")
        if not self.hosts.allows(headers.get("host", "")):
            text = "The server has another name; --allowed-host adds one."
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, text)
        origin = headers.get("origin")
        if origin is not None and not self.hosts.allows_origin(origin):
            raise Refused(HTTPStatus.FORBIDDEN, "Pages of other sites cannot call the server.")
        wait = self._wait(request)
        if wait > 0:
            text = f"The rate limit is exceeded: call again in {math.ceil(wait)} s."
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, text, Retry_After=str(math.ceil(wait)))
        if int(headers.get("content-length", 0)) > self.limits.max_body:
            raise self._too_large()

    def _wait(self, request: _Request) -> float:
        """Counts the request; returns the seconds until its client may call again."""
        headers = request.headers
        bearer = _BEARER.fullmatch(headers.get("authorization", ""))
        client = None if bearer is None else self.known.client(bearer[1])
        if bearer is not None and client is not None:
            request.key_id = bearer[1].partition(".")[0]
            return self._of_key.take(client)
        peer = (request.scope.get("client") or ("", 0))[0]
        hops = ",".join(headers.getlist("x-forwarded-for")).split(",")
        return self._of_address.take(address_of(peer, hops, self.limits.trusted_proxies))

    async def _body(self, receive: Receive) -> bytes | None:
        """Returns the whole body, or None if its client has gone."""
        body = bytearray()
        with anyio.move_on_after(self.limits.body_timeout) as scope:
            try:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self.limits.max_body:
                        raise self._too_large()
                    if not message.get("more_body"):
                        return bytes(body)
                    self._bodies.add(scope)
            finally:
                self._bodies.remove(scope)
        if scope.deadline > anyio.current_time():
            raise _busy()
        text = f"The body did not arrive within {self.limits.body_timeout:g} s."
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, text)

    def _too_large(self) -> Refused:
        text = f"The body has more than {self.limits.max_body:,} bytes; send fewer rows in each."
        return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)

    async def _arguments(self) -> ArgumentLimits:
        if self._checks is None:
            schemas = {tool.name: tool.input_schema for tool in await self.tools()}
            self._checks = ArgumentLimits(schemas)
            self._names = frozenset(schemas)
        return self._checks


def _path(path: str) -> str:
    return PATH if path == f"{PATH}/" else path


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Returns what the application receives: the body at once, then what follows it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received


def _ready(method: str) -> Response:
    if method not in ("GET", "HEAD"):
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Ask with GET.", Allow="GET, HEAD")
    return JSONResponse({"status": "ready"})


def _busy() -> Refused:
    text = f"The server is busy with other calls: call again in {_SOON} s."
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, text, Retry_After=str(_SOON))


def _failed() -> Refused:
    text = "An error of the server, not of the arguments: tell the user."
    return Refused(HTTPStatus.INTERNAL_SERVER_ERROR, text, _INTERNAL_ERROR)


def _error(message_id: Any, refusal: Refused) -> Response:
    error = {"code": refusal.code, "message": str(refusal)}
    document = {"jsonrpc": "2.0", "id": message_id, "error": error}
    return JSONResponse(document, refusal.status, refusal.headers)


def _tool_error(request: _Request, text: str) -> Response:
    """Returns a tool's error, which models read, as the version of the caller's protocol has it."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    version = request.headers.get("mcp-protocol-version")
    if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        result["resultType"] = "complete"
    return JSONResponse({"jsonrpc": "2.0", "id": request.message.get("id"), "result": result})
