"""The Peppol Directory: business cards, and the export of them: few downloads a day."""

from collections import deque
from collections.abc import Callable
from datetime import date, datetime, timedelta

import orjson
from aiohttp import web

from register_samples import documents, peppol
from register_samples.facts import Document
from register_samples.server.answers import Snapshot
from register_samples.server.requests import read
from register_samples.server.stamps import Stamps, iso

_DAY = timedelta(hours=24)


class Directory:
    def __init__(self, stamps: Stamps, *, companies: int, seed: int) -> None:
        self._stamps = stamps
        #: By participant id.
        self.cards: dict[str, Document] = {
            card["pid"]: card for card in documents.participants(companies, seed)
        }
        self.publish()

    def publish(self) -> None:
        """Generates the export again, as the directory does once a day."""
        at, cards = self._stamps.next(), list(self.cards.values())
        head = {"creationdt": iso(at), "codeListSupported": "9.2"}
        whole = {"version": 2, **head, "participantCount": len(cards), "bc": cards}
        self.export = Snapshot(orjson.dumps(whole), at, "application/json")

    def register(self, scheme: str, value: str, *, holder: str, country: str, on: date) -> str:
        """Registers an identifier: documents can be sent to it from now on."""
        pid = f"{peppol.PARTICIPANT}::{scheme}:{value}"
        holder_scheme = {"dk": "0184", "no": "0192"}[country]
        self.cards[pid] = {
            "pid": pid,
            "entities": [
                {
                    "names": [{"name": holder}],
                    "countryCode": country.upper(),
                    "identifiers": [{"scheme": holder_scheme, "value": holder}],
                    "regdate": on.isoformat(),
                }
            ],
            "docTypes": peppol.billing(),
        }
        return pid

    def withdraw(self, pid: str) -> None:
        """Removes an identifier: no documents can be sent to it any more."""
        del self.cards[pid]


class Exports:
    """The interface of a directory: each client address may download so often a day."""

    def __init__(
        self, directory: Directory, *, downloads_a_day: int, now: Callable[[], datetime]
    ) -> None:
        self._directory = directory
        self._most = downloads_a_day
        self._now = now
        #: Download times by client address.
        self._downloads: dict[str, deque[datetime]] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/export/businesscards-json", self._export),
            web.get("/stored-exports/businesscards-json", self._stored),
        ]

    async def _export(self, request: web.Request) -> web.StreamResponse:
        read(request)
        known = request.headers.get("If-None-Match") == self._directory.export.etag
        wait = None if known else self._count(request.remote or "")
        if wait is not None:
            retry = {"Retry-After": str(int(wait.total_seconds()) + 1)}
            return web.Response(status=429, headers=retry)
        location = request.url.with_path("/stored-exports/businesscards-json")
        return web.Response(
            status=302,
            headers={"Location": str(location), "Cache-Control": "max-age=86400"},
        )

    async def _stored(self, request: web.Request) -> web.StreamResponse:
        return self._directory.export.answer(request)

    def _count(self, address: str) -> timedelta | None:
        """Counts a download; how long to wait where it is one too many."""
        now = self._now()
        made = self._downloads.setdefault(address, deque())
        while made and made[0] <= now - _DAY:
            made.popleft()
        if len(made) >= self._most:
            return made[0] + _DAY - now
        made.append(now)
        return None
