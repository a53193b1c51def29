"""The Peppol Directory: business cards, and the exports that are made of them once a day."""

from collections.abc import Mapping
from datetime import date

import orjson

from register_samples import documents, peppol
from register_samples.facts import Document
from register_samples.server.snapshots import Snapshot
from register_samples.server.stamps import Stamps, iso

_PARTICIPANT = "iso6523-actorid-upis"


class Directory:
    def __init__(self, stamps: Stamps, *, companies: int, seed: int) -> None:
        self._stamps = stamps
        #: By participant id.
        self.cards: dict[str, Document] = {
            card["pid"]: card for card in documents.participants(companies, seed)
        }
        self.exports: Mapping[str, Snapshot] = {}
        self.publish()

    def publish(self) -> None:
        """Generates the exports again, as the directory does once a day."""
        at = self._stamps.next()
        cards = list(self.cards.values())
        head = {"creationdt": iso(at), "codeListSupported": "9.2"}
        whole = {"version": 2, **head, "participantCount": len(cards), "bc": cards}
        self.exports = {
            "businesscards-json": Snapshot(orjson.dumps(whole), at, "application/json"),
        }

    def register(self, scheme: str, value: str, *, holder: str, country: str, on: date) -> str:
        """Registers an identifier: documents can be sent to it from now on."""
        pid = f"{_PARTICIPANT}::{scheme}:{value}"
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

    def drop_document_type(self, pid: str) -> None:
        """An identifier that was removed."""
        card = self.cards[pid]
        self.cards[pid] = {**card, "docTypes": card["docTypes"][:-1]}
