"""The Peppol Directory: business cards, and the export of them."""

from datetime import date

import orjson
from aiohttp import web

from register_samples import files, peppol
from register_samples.registers import REGISTERS, Document
from register_samples.server.messages import Snapshot, Stamps, iso, read

_STORED = "/stored-exports/businesscards-json"


class Directory:
    def __init__(self, stamps: Stamps, *, companies: int) -> None:
        self._stamps = stamps
        #: By participant id.
        self.cards: dict[str, Document] = {
            card["pid"]: card for card in files.participants(companies)
        }
        self.publish()

    def publish(self) -> None:
        """Generates the export again, as the directory does once a day."""
        at, cards = self._stamps.next(), list(self.cards.values())
        whole = {"version": 2, "creationdt": iso(at), "bc": cards}
        self.export = Snapshot(orjson.dumps(whole), at, "application/json")

    def register(self, scheme: str, value: str, *, holder: str, country: str, on: date) -> str:
        """Registers an identifier: documents can be sent to it from now on."""
        identifier = {"scheme": scheme, "value": value, "registered": on}
        card = peppol.card(REGISTERS[country], identifier, holder, holder)
        pid: str = card["pid"]
        self.cards[pid] = card
        return pid

    def withdraw(self, pid: str) -> None:
        """Removes an identifier: no documents can be sent to it any more."""
        del self.cards[pid]

    def routes(self) -> list[web.RouteDef]:
        """Returns the table of the interface."""
        return [
            web.get("/export/businesscards-json", self._export),
            web.get(_STORED, self._stored),
        ]

    async def _export(self, request: web.Request) -> web.StreamResponse:
        read(request)
        raise web.HTTPFound(request.url.with_path(_STORED))

    async def _stored(self, request: web.Request) -> web.StreamResponse:
        return self.export.answer(request)
