"""The Danish register (CVR) behind its interface: documents with their history."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from register_samples import documents
from register_samples.denmark.parts import address as address_part
from register_samples.denmark.periods import attribute, held
from register_samples.facts import Address, Document
from register_samples.server.stamps import Stamps, iso

_DAY = timedelta(days=1)


@dataclass
class Index:
    """Companies (`virksomhed`) or production units (`produktionsenhed`)."""

    name: str
    #: Field names of the document inside its hit, and of its number.
    wrapping: str
    number: str
    stamps: Stamps
    documents: dict[str, Document] = field(default_factory=dict)

    def add(self, document: Document, *, stamped: bool = True) -> str:
        content: Document = document[self.wrapping]
        number = f"{content[self.number]:08}"
        self.documents[number] = document
        if stamped:
            self.change(number, lambda _content: None)
        else:
            self.stamps.pass_by(self.updated(document))
        return number

    def content(self, number: str) -> Document:
        found: Document = self.documents[number][self.wrapping]
        return found

    def change(
        self, number: str, edit: Callable[[Document], None], *, at: datetime | None = None
    ) -> None:
        """Edits a document and dates it, `at` where it turns up late."""
        content = self.content(number)
        edit(content)
        content["sidstOpdateret"] = iso(at or self.stamps.next())

    def updated(self, document: Document) -> datetime:
        return datetime.fromisoformat(document[self.wrapping]["sidstOpdateret"])


class DanishRegister:
    def __init__(self, stamps: Stamps, *, companies: int, seed: int) -> None:
        self.companies = Index("virksomhed", "Vrvirksomhed", "cvrNummer", stamps)
        self.units = Index("produktionsenhed", "VrproduktionsEnhed", "pNummer", stamps)
        for found in documents.companies_dk(companies, seed):
            self.companies.add(found, stamped=False)
        for found in documents.units_dk(companies, seed):
            self.units.add(found, stamped=False)

    @property
    def indexes(self) -> tuple[Index, Index]:
        return self.companies, self.units

    def add_company(self, index: int, seed: int) -> str:
        """Registers the company that the generator has at this position, and its units."""
        [company] = documents.companies_dk(1, seed, start=index)
        number = self.companies.add(company)
        for unit in documents.units_dk(1, seed, start=index):
            self.units.add(unit)
        return number

    def rename(self, number: str, name: str, on: date) -> None:
        def edit(company: Document) -> None:
            _succeed(company["navne"], {"navn": name}, on)
            company["virksomhedMetadata"]["nyesteNavn"] = company["navne"][-1]

        self.companies.change(number, edit)

    def move(self, number: str, to: Address, on: date) -> None:
        """The company has another address."""

        def edit(company: Document) -> None:
            _close(company["beliggenhedsadresse"], on)
            company["beliggenhedsadresse"].append(address_part(to, on))

        self.companies.change(number, edit)

    def set_status(self, number: str, word: str, on: date) -> None:
        """`UNDER KONKURS` and the like."""

        def edit(company: Document) -> None:
            _succeed(company["virksomhedsstatus"], {"status": word}, on)
            company["virksomhedMetadata"]["sammensatStatus"] = word

        self.companies.change(number, edit)

    def set_owner(self, number: str, holder: str, share: str, on: date) -> None:
        """The company has this one more company among its owners."""
        name = self.companies.content(holder)["virksomhedMetadata"]["nyesteNavn"]["navn"]
        values = [
            attribute(kind, "decimal", held({"vaerdi": share}, on))
            for kind in ("EJERANDEL_PROCENT", "EJERANDEL_STEMMERET_PROCENT")
        ]
        relation = {
            "deltager": {
                "enhedsNummer": 4_000_000_000 + int(holder),
                "enhedstype": "VIRKSOMHED",
                "forretningsnoegle": int(holder),
                "navne": [held({"navn": name}, on)],
                "beliggenhedsadresse": [],
            },
            "kontorsteder": [],
            "organisationer": [
                {
                    "hovedtype": "REGISTER",
                    "organisationsNavn": [held({"navn": "EJERREGISTER"}, on)],
                    "attributter": [],
                    "medlemsData": [{"attributter": values}],
                }
            ],
        }
        self.companies.change(number, lambda company: company["deltagerRelation"].append(relation))

    def rename_unit(self, number: str, name: str, on: date) -> None:
        self.units.change(number, lambda unit: _succeed(unit["navne"], {"navn": name}, on))

    def close_unit(self, number: str, on: date) -> None:
        def edit(unit: Document) -> None:
            _close(unit["livsforloeb"], on + _DAY)
            unit["produktionsEnhedMetadata"]["sammensatStatus"] = "Ophørt"

        self.units.change(number, edit)

    def move_unit(self, number: str, *, to: str, on: date) -> None:
        """The unit passes to another company."""

        def edit(unit: Document) -> None:
            _succeed(unit["virksomhedsrelation"], {"cvrNummer": int(to)}, on)
            unit["produktionsEnhedMetadata"]["nyesteCvrNummerRelation"] = int(to)

        self.units.change(number, edit)

    def units_of(self, company: str) -> list[str]:
        return [
            number
            for number, unit in self.units.documents.items()
            if unit["VrproduktionsEnhed"]["virksomhedsrelation"][-1]["cvrNummer"] == int(company)
        ]


def _succeed(history: list[Any], values: Document, on: date) -> None:
    """A new value that holds from a day on; the one before ends the day before."""
    _close(history, on)
    history.append(held(values, on))


def _close(history: list[Any], on: date) -> None:
    if history:
        last = history[-1]
        history[-1] = {**last, "periode": {**last["periode"], "gyldigTil": str(on - _DAY)}}
