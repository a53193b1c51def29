"""The Norwegian register behind its interface: documents, feeds and files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from register_samples import documents
from register_samples.facts import Document
from register_samples.norway.parts import API
from register_samples.server.snapshots import Snapshot, gzipped_array
from register_samples.server.stamps import Stamps, iso

#: The feeds count on from the milliseconds since then, so that a register that is made anew takes
#: no number that an earlier one may have used: who followed that one goes on with this one.
_COUNTED_FROM = datetime(2018, 1, 1, tzinfo=UTC)


@dataclass
class Section:
    """Entities (`enheter`) or units (`underenheter`), and the feed of what happened to them."""

    name: str
    #: The feed's name for an entry's link.
    entry: str
    stamps: Stamps
    #: By number, those that have ended included.
    documents: dict[str, Document] = field(default_factory=dict)
    #: Numbers of entries that were removed for legal reasons.
    removed: set[str] = field(default_factory=set)
    #: Numbers that it takes for none, well-formed as they are.
    refused: set[str] = field(default_factory=set)
    #: The feed in its order, which is that of `oppdateringsid` unless a test disturbs it.
    updates: list[Document] = field(default_factory=list)
    _count: int = field(init=False)

    def __post_init__(self) -> None:
        self._count = (self.stamps.next() - _COUNTED_FROM) // timedelta(milliseconds=1)

    def standing(self) -> Iterable[Document]:
        """Entries that are neither deleted nor removed."""
        return (found for found in self.documents.values() if "slettedato" not in found)

    def add(self, document: Document) -> str:
        number: str = document["organisasjonsnummer"]
        self.documents[number] = document
        self.tell(number, "Ny")
        return number

    def change(self, number: str, fields: Mapping[str, Any]) -> None:
        """Sets these fields; one that becomes None is left out."""
        changed = {**self.documents[number], **fields}
        self.documents[number] = {k: v for k, v in changed.items() if v is not None}
        self.tell(number, "Endring")

    def delete(self, number: str, on: date) -> None:
        """It comes to its end."""
        self.documents[number] = {**self.documents[number], "slettedato": on.isoformat()}
        self.tell(number, "Sletting")

    def remove(self, number: str) -> None:
        """It is removed for legal reasons."""
        self.documents.pop(number, None)
        self.removed.add(number)
        self.tell(number, "Fjernet")

    def tell(self, number: str, kind: str) -> Document:
        """Puts an entry in the feed, whether or not there is such a number."""
        self._count += 1
        update = {
            "oppdateringsid": self._count,
            "dato": iso(self.stamps.next()),
            "organisasjonsnummer": number,
            "endringstype": kind,
            "_links": {self.entry: {"href": f"{API}/{self.name}/{number}"}},
        }
        self.updates.append(update)
        return update

    def repeat_last(self, times: int = 1) -> None:
        """The feed has its last entry several times."""
        self.updates.extend([self.updates[-1]] * times)

    def disorder(self, last: int) -> None:
        """The feed has its last entries the wrong way round."""
        self.updates[-last:] = reversed(self.updates[-last:])


class NorwegianRegister:
    """Entities, units and roles; changes by a test or a trial appear in the feeds immediately."""

    def __init__(self, stamps: Stamps, *, companies: int, seed: int) -> None:
        self._stamps = stamps
        self.entities = Section("enheter", "enhet", stamps)
        self.units = Section("underenheter", "underenhet", stamps)
        self.roles: dict[str, Document] = {}
        #: The feed of the roles.
        self.role_events: list[Document] = []
        self.snapshots: dict[str, Snapshot] = {}
        self._fill(companies, seed)
        self.publish()

    def _fill(self, companies: int, seed: int) -> None:
        for found in documents.companies_no(companies, seed):
            self.entities.documents[found["organisasjonsnummer"]] = found
        for found in documents.units_no(companies, seed):
            self.units.documents[found["organisasjonsnummer"]] = found
        for found in documents.roles_no(companies, seed):
            self.roles[found["organisasjonsnummer"]] = found

    def publish(self) -> None:
        """Generates the files again, as the register does every night."""
        modified = self._stamps.next()
        self.snapshots = {
            "enheter": gzipped_array(self.entities.standing(), modified),
            "underenheter": gzipped_array(self.units.standing(), modified),
            "roller": gzipped_array(self.roles.values(), modified),
        }

    def add_company(self, index: int, seed: int) -> str:
        """Registers the company that the generator has at this position, its units and roles."""
        [entity] = documents.companies_no(1, seed, start=index)
        number = self.entities.add(entity)
        for unit in documents.units_no(1, seed, start=index):
            self.units.add(unit)
        for roles in documents.roles_no(1, seed, start=index):
            self.set_roles(number, roles["rollegrupper"])
        return number

    def go_bankrupt(self, number: str, on: date) -> None:
        self.entities.change(number, {"konkurs": True, "konkursdato": on.isoformat()})

    def move_unit(self, number: str, *, to: str, on: date) -> None:
        """The unit passes to another company."""
        self.units.change(number, {"overordnetEnhet": to, "datoEierskifte": on.isoformat()})

    def set_roles(self, number: str, groups: Sequence[Document]) -> None:
        self.roles[number] = {"organisasjonsnummer": number, "rollegrupper": list(groups)}
        self.tell_roles(number)

    def tell_roles(self, number: str, *, at: datetime | None = None) -> Document:
        """Puts an entry in the feed of the roles, whether or not there is such a number."""
        event = {
            "specversion": "1.0",
            "id": str(len(self.role_events) + 1),
            "source": f"{API}/oppdateringer/roller",
            "type": "no.brreg.enhetsregisteret.rolle.oppdatert",
            "time": iso(at or self._stamps.next()),
            "data": {"organisasjonsnummer": number},
        }
        self.role_events.append(event)
        return event

    def units_of(self, company: str) -> list[str]:
        found = self.units.documents
        return [number for number, unit in found.items() if unit["overordnetEnhet"] == company]


def innehaver(given: str, family: str, born: str) -> list[Document]:
    """The roles of a sole trader: the owner alone."""
    kind = {"kode": "INNH", "beskrivelse": "Innehaver"}
    person = {
        "fodselsdato": born,
        "navn": {"fornavn": given, "etternavn": family},
        "erDoed": False,
    }
    role = {"type": kind, "person": person, "fratraadt": False, "avregistrert": False}
    return [{"type": kind, "sistEndret": "2026-06-30", "roller": [{**role, "rekkefolge": 0}]}]
