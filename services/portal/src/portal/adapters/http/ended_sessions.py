"""Sessions that have ended before the cookies that copies of them may hold (ADR 0090)."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any, Final

import httpx
from aiohttp import hdrs, web
from cryptography.fernet import Fernet

from common.contracts.failures import Unavailable
from common.runtime.tasks import background, repeat

#: Where the other replicas read them.
ENDED_PATH: Final = "/sessions/ended"

#: Seconds between two reads of the other replicas.
_INTERVAL: Final = 1.0
#: Ids that are kept: of one key, and of all. An id takes about 200 bytes.
_MAX_OF_KEY: Final = 500
_MAX: Final = 20_000


class EndedSessions:
    """Ids of ended sessions, each with the id of its key, until no cookie of it can be valid."""

    def __init__(self, fernet: Fernet, *, kept: float, now: Callable[[], float]) -> None:
        """`kept` is in seconds, and `now` the time of the other replicas, too."""
        self._fernet = fernet
        self._kept = kept
        self._now = now
        #: The id of the key and the time until which it is kept, by id; the oldest first.
        self._ended: dict[str, tuple[str, float]] = {}
        #: Encrypted for the other replicas, until it changes.
        self._sealed = b""

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._ended

    def end(self, session_id: str, key_id: str) -> None:
        """Ends a session for all of its cookies."""
        self._add(session_id, key_id, self._now() + self._kept)

    def _add(self, session_id: str, key_id: str, until: float) -> None:
        now = self._now()
        if session_id in self._ended or until < now:
            return
        self._ended = {id_: each for id_, each in self._ended.items() if each[1] >= now}
        of_key = [id_ for id_, (owner, _) in self._ended.items() if owner == key_id]
        if len(of_key) >= _MAX_OF_KEY:
            del self._ended[of_key[0]]
        elif len(self._ended) >= _MAX:
            del self._ended[next(iter(self._ended))]
        self._ended[session_id] = (key_id, until)
        self._sealed = b""

    def sealed(self) -> bytes:
        """Returns the ids as another replica reads them, encrypted."""
        if not self._sealed:
            self._sealed = self._fernet.encrypt(json.dumps({"ended": self._ended}).encode())
        return self._sealed

    def merge(self, sealed: bytes) -> None:
        """Adds the ids of another replica; raises InvalidToken if it has another key."""
        document: dict[str, Any] = json.loads(self._fernet.decrypt(sealed))
        for session_id, (key_id, until) in document.get("ended", {}).items():
            self._add(session_id, key_id, until)

    async def show(self, request: web.Request) -> web.Response:
        """Answers another replica."""
        sealed = self.sealed()
        # A token differs each time that it is made.
        etag = f'"{sealed[-44:].decode()}"'
        headers = {hdrs.ETAG: etag, hdrs.CACHE_CONTROL: "no-store"}
        if request.headers.get(hdrs.IF_NONE_MATCH) == etag:
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        return web.Response(body=sealed, headers=headers)


class Replicas:
    """Reads the ended sessions of the other replicas, each second."""

    def __init__(self, ended: EndedSessions, http: httpx.AsyncClient, peers: str) -> None:
        """`peers` is `http://<host>:<port>`, whose host resolves to each replica; empty: none."""
        self._ended = ended
        self._http = http
        self._url = httpx.URL(peers)
        #: By URL.
        self._etags: dict[httpx.URL, str] = {}

    async def following(self, _app: web.Application) -> AsyncIterator[None]:
        """Reads them from the start to the end of the application."""
        if not self._url.host:
            yield
            return
        reading = repeat(
            self.read,
            every=_INTERVAL,
            unavailable="sessions.peers_unavailable",
            failed="sessions.peers_failed",
        )
        async with background(reading):
            yield

    async def read(self) -> None:
        """Reads each replica once; raises Unavailable after the others if one does not answer."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(self._url.host, self._url.port, type=socket.SOCK_STREAM)
        except OSError:
            raise Unavailable("the replicas cannot be resolved") from None
        urls = {self._url.copy_with(host=each[4][0], path=ENDED_PATH) for each in found}
        self._etags = {url: etag for url, etag in self._etags.items() if url in urls}
        results = await asyncio.gather(*map(self._read, urls), return_exceptions=True)
        for fault in filter(None, results):
            raise Unavailable("a replica does not answer") from fault

    async def _read(self, url: httpx.URL) -> None:
        response = await self._http.get(
            url, headers={"If-None-Match": self._etags.get(url, "")}, timeout=_INTERVAL
        )
        if response.status_code == HTTPStatus.OK:
            self._ended.merge(response.content)
            self._etags[url] = response.headers.get(hdrs.ETAG, "")
