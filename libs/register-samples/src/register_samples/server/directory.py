"""The Peppol Directory: business cards, and the exports that are made of them once a day."""

from collections.abc import Mapping, Sequence
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
        """Makes the exports anew, as the directory does once a day."""
        at = self._stamps.next()
        cards = list(self.cards.values())
        head = {"creationdt": iso(at), "codeListSupported": "9.2"}
        whole = {"version": 2, **head, "participantCount": len(cards), "bc": cards}
        names = {"version": 1, "creationdt": iso(at), "count": len(cards)}
        listed = {**names, "participants": list(self.cards)}
        self.exports = {
            "businesscards-json": Snapshot(orjson.dumps(whole), at, "application/json"),
            "participants-json": Snapshot(orjson.dumps(listed), at, "application/json"),
            "businesscards-csv": Snapshot(_table(cards), at, "text/csv"),
        }

    def register(self, scheme: str, value: str, *, holder: str, country: str, on: date) -> str:
        """Somebody can receive documents under this identifier from now on."""
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
        """Nothing can be received under the identifier any more."""
        del self.cards[pid]

    def drop_document_type(self, pid: str) -> None:
        """One that can be received no more."""
        card = self.cards[pid]
        self.cards[pid] = {**card, "docTypes": card["docTypes"][:-1]}


def _table(cards: Sequence[Document]) -> bytes:
    """CSV with semicolons, in ISO-8859-1."""
    rows = [peppol.COLUMNS, *(row for card in cards for row in peppol.rows(card))]
    lines = [";".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return "\n".join(lines).encode("iso-8859-1", "replace")
