"""Every kind of change that real registers make, each of a company of its own."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

from register_samples.denmark import shareholder
from register_samples.registers import Document
from register_samples.server import Registers
from register_samples.server.cvr import Index

#: Type and company of an event, and the changed field that it names.
Told = tuple[str, str, str]

_DAY: Final = timedelta(days=1)
#: The showcase's companies, which other tests change.
_SHOWN: Final = 10
#: In no register, so no other test counts what it owns.
_COMMON_OWNER: Final = {"number": "98765417", "name": "Prøveejer Holding ApS"}


@dataclass(frozen=True)
class Kind:
    """A kind of change, and what its one event is about."""

    name: str
    #: Makes the change of one of the subjects that come next; returns its company.
    make: Callable[["Subjects"], str]
    event: str
    field: str
    #: True if the document says it a day ahead.
    is_ahead: bool = False

    def told(self, company: str) -> Told:
        return self.event, company, self.field


@dataclass
class Subjects:
    """Companies and units that nothing has happened to."""

    registers: Registers
    today: date

    def __post_init__(self) -> None:
        self._danish = self._numbers(self.registers.dk.companies.documents, _is_danish)
        self._traders = self._numbers(self.registers.dk.companies.documents, _is_danish_trader)
        self._units = self._numbers(self.registers.dk.units.documents, _is_danish_unit)
        self._norwegian = self._numbers(self.registers.no.entities.documents, _is_norwegian)
        roles = self.registers.no.roles
        self._without_roles = self._numbers(
            self.registers.no.entities.documents,
            lambda entity: (
                entity["organisasjonsnummer"] not in roles and "slettedato" not in entity
            ),
        )
        self._places = self._numbers(
            self.registers.no.units.documents, lambda unit: "nedleggelsesdato" not in unit
        )

    @property
    def tomorrow(self) -> date:
        return self.today + _DAY

    def danish(self) -> str:
        return next(self._danish)

    def danish_trader(self) -> str:
        """A sole proprietor, whom the register gives no status."""
        return next(self._traders)

    def danish_unit(self) -> tuple[str, str]:
        """A unit and its company."""
        number = next(self._units)
        return number, f"{_owner(self.registers.dk.units.content(number)):08}"

    def norwegian(self) -> str:
        return next(self._norwegian)

    def norwegian_without_roles(self) -> str:
        return next(self._without_roles)

    def norwegian_unit(self) -> tuple[str, str]:
        number = next(self._places)
        return number, self.registers.no.units.documents[number]["overordnetEnhet"]

    @staticmethod
    def _numbers(
        documents: Mapping[str, Document], fits: Callable[[Document], bool]
    ) -> Iterator[str]:
        return (number for number, each in list(documents.items())[_SHOWN:] if fits(each))


def _is_danish(document: Document) -> bool:
    company = document["Vrvirksomhed"]
    is_normal = company["virksomhedMetadata"]["sammensatStatus"] == "NORMAL"
    return is_normal and bool(company["deltagerRelation"]) and company["sidstIndlaest"] is not None


def _is_danish_trader(document: Document) -> bool:
    company = document["Vrvirksomhed"]
    return company["virksomhedMetadata"]["sammensatStatus"] == "Aktiv" and not company.get(
        "virksomhedsstatus"
    )


def _is_danish_unit(document: Document) -> bool:
    unit = document["VrproduktionsEnhed"]
    return bool(unit["produktionsEnhedMetadata"]["sammensatStatus"] == "Aktiv")


def _is_norwegian(entity: Document) -> bool:
    is_active = "slettedato" not in entity and not entity["konkurs"]
    return is_active and entity["organisasjonsform"]["kode"] == "AS"


def _owner(unit: Document) -> int:
    return int(unit["produktionsEnhedMetadata"]["nyesteCvrNummerRelation"])


def period(since: date, until: date | None = None) -> Document:
    return {"gyldigFra": str(since), "gyldigTil": None if until is None else str(until)}


def succeed(history: list[Any], on: date, **values: Any) -> None:
    """Adds a value from a day on; the one before ends the day before."""
    if history:
        last = history[-1]
        history[-1] = {**last, "periode": {**last["periode"], "gyldigTil": str(on - _DAY)}}
    history.append({**values, "periode": period(on)})


def _end(history: list[Any], last_day: date) -> None:
    last = history[-1]
    history[-1] = {**last, "periode": {**last["periode"], "gyldigTil": str(last_day)}}


# Denmark


def _dane(edit: Callable[..., None], *, reloaded: bool = False) -> Any:
    """Edits the document of a company; `reloaded` if that moves only the time of loading."""

    def make(subjects: Subjects) -> str:
        index, number = subjects.registers.dk.companies, subjects.danish()
        _edited(index, number, partial(edit, subjects=subjects), reloaded=reloaded)
        return f"dk:{number}"

    return make


def _edited(index: Index, number: str, edit: Callable[[Document], None], *, reloaded: bool) -> None:
    (index.reload if reloaded else index.change)(number, edit)


def _count_employees(company: Document, subjects: Subjects) -> None:
    company["erstMaanedsbeskaeftigelse"] = [
        {
            "aar": subjects.today.year,
            "maaned": subjects.today.month,
            "antalAnsatte": 17,
            "intervalKodeAntalAnsatte": None,
        }
    ]


def _rename_officer(company: Document, subjects: Subjects) -> None:
    _add_officer(company, subjects, name="Ny Navnesen", body="Direktion", role="DIREKTION")


def _add_officer(company: Document, subjects: Subjects, *, name: str, body: str, role: str) -> None:
    value = {"vaerdi": role, "periode": period(subjects.today - _DAY)}
    attribute = {"type": "FUNKTION", "vaerdier": [value]}
    company["deltagerRelation"].append(
        {
            "deltager": {"enhedstype": "PERSON", "navne": [{"navn": name}]},
            "organisationer": [
                {
                    "hovedtype": "LEDELSESORGAN",
                    "organisationsNavn": [{"navn": body}],
                    "medlemsData": [{"attributter": [attribute]}],
                }
            ],
        }
    )


def _add_owner(company: Document, subjects: Subjects) -> None:
    company["deltagerRelation"].append(shareholder(_COMMON_OWNER, "0.05", subjects.today))


def _add_owner_later(company: Document, subjects: Subjects) -> None:
    company["deltagerRelation"].append(shareholder(_COMMON_OWNER, "0.05", subjects.tomorrow))


def _decree(subjects: Subjects) -> str:
    number = subjects.danish_trader()
    decree = {
        "statuskode": 1,
        "statustekst": "Dekret",
        "kreditoplysningkode": 1,
        "kreditoplysningtekst": "Konkurs",
        "periode": period(subjects.today),
    }
    subjects.registers.dk.companies.change(number, lambda found: found.update(status=[decree]))
    return f"dk:{number}"


def _protection_unknown(company: Document, subjects: Subjects) -> None:
    company["reklamebeskyttet"] = None


def _status_without_spaces(company: Document, subjects: Subjects) -> None:
    company["virksomhedsstatus"] = []
    company["virksomhedMetadata"]["sammensatStatus"] = "UNDERKONKURS"


def _move_abroad(company: Document, subjects: Subjects) -> None:
    text = "Testgatan 1, 211 20 Malmö"
    succeed(company["beliggenhedsadresse"], subjects.today, landekode="SE", fritekst=text)


def _two_phones(company: Document, subjects: Subjects) -> None:
    company["telefonNummer"] = [
        {
            "kontaktoplysning": "22334455/22334456",
            "hemmelig": False,
            "periode": period(subjects.today),
        }
    ]


def _odd_share_capital(company: Document, subjects: Subjects) -> None:
    company["attributter"] = [
        {
            "type": "KAPITAL",
            "vaerdier": [{"vaerdi": "1.250.000,00", "periode": period(subjects.today)}],
        }
    ]


def _rename_later(company: Document, subjects: Subjects) -> None:
    succeed(company["navne"], subjects.tomorrow, navn="Morgendagens Navn ApS")


def _end_later(company: Document, subjects: Subjects) -> None:
    _end(company["livsforloeb"], subjects.tomorrow)


def _move_later(company: Document, subjects: Subjects) -> None:
    old = company["beliggenhedsadresse"][-1]
    succeed(
        company["beliggenhedsadresse"],
        subjects.tomorrow,
        **{**old, "vejnavn": "Morgenvej", "periode": None},
    )


def _change_industry_later(company: Document, subjects: Subjects) -> None:
    succeed(
        company["hovedbranche"],
        subjects.tomorrow,
        branchekode="433200",
        branchetekst="Tømrer- og bygningssnedkervirksomhed",
    )


def _protect_unit(subjects: Subjects) -> str:
    unit, company = subjects.danish_unit()
    subjects.registers.dk.units.change(
        unit, lambda found: found.update(reklamebeskyttet=not found.get("reklamebeskyttet"))
    )
    return f"dk:{company}"


def _rename_unit_later(subjects: Subjects) -> str:
    unit, company = subjects.danish_unit()
    subjects.registers.dk.rename_unit(unit, "Morgenbutikken", subjects.tomorrow)
    return f"dk:{company}"


def _close_unit_later(subjects: Subjects) -> str:
    unit, company = subjects.danish_unit()

    def edit(found: Document) -> None:
        _end(found["livsforloeb"], subjects.tomorrow)

    subjects.registers.dk.units.change(unit, edit)
    return f"dk:{company}"


# Norway


def _norwegian(**fields: Any) -> Any:
    def make(subjects: Subjects) -> str:
        number = subjects.norwegian()
        given = {name: of(subjects) if callable(of) else of for name, of in fields.items()}
        subjects.registers.no.entities.change(number, given)
        return f"no:{number}"

    return make


def _found(subjects: Subjects) -> str:
    document = {"organisasjonsnummer": "310998885", "navn": "PRØVESTRØMMEN AS"}
    return f"no:{subjects.registers.no.entities.add(document)}"


def _open_place(subjects: Subjects) -> str:
    document = {"organisasjonsnummer": "310998893", "navn": "PRØVEAVDELINGEN"}
    company = subjects.norwegian()
    subjects.registers.no.units.add({**document, "overordnetEnhet": company})
    return f"no:{company}"


def _delete(subjects: Subjects) -> str:
    """An entity without roles, which would be withdrawn in another event."""
    number = subjects.norwegian_without_roles()
    subjects.registers.no.entities.delete(number, subjects.today)
    return f"no:{number}"


def _remove(subjects: Subjects) -> str:
    """The feed says no more than that it changed."""
    number = subjects.norwegian()
    subjects.registers.no.entities.withdraw(number)
    subjects.registers.no.entities.tell(number, "Endring")
    return f"no:{number}"


def _with_roles(*groups: Document) -> Any:
    def make(subjects: Subjects) -> str:
        number = subjects.norwegian()
        standing = subjects.registers.no.roles.get(number, {}).get("rollegrupper", [])
        subjects.registers.no.set_roles(number, [*standing, *groups])
        return f"no:{number}"

    return make


def _group(code: str, text: str, **holder: Any) -> Document:
    kind = {"kode": code, "beskrivelse": text}
    return {"type": kind, "roller": [{"type": kind, **holder}]}


def _close_place_later(subjects: Subjects) -> str:
    unit, company = subjects.norwegian_unit()
    subjects.registers.no.units.change(unit, {"nedleggelsesdato": str(subjects.tomorrow)})
    return f"no:{company}"


# Peppol


def _gln(subjects: Subjects) -> str:
    """The usual Danish card."""
    number = subjects.danish()
    _list(subjects, number, 1)
    return f"dk:{number}"


def _ninety_glns(subjects: Subjects) -> str:
    number = subjects.danish()
    _list(subjects, number, 90)
    return f"dk:{number}"


def _list(subjects: Subjects, number: str, count: int) -> None:
    directory = subjects.registers.directory
    for position in range(count):
        body = f"57909{count:03}{position:04}"
        odd, even = (sum(map(int, body[start::2])) for start in (0, 1))
        pid = f"iso6523-actorid-upis::0088:{body}{-(odd + 3 * even) % 10}"
        entity = {
            "names": [{"name": "Nyhavns Testkommune"}],
            "countryCode": "DK",
            "identifiers": [{"scheme": "OrgNr", "value": number}],
        }
        directory.cards[pid] = {"pid": pid, "entities": [entity], "docTypes": []}
    directory.publish()


_UPDATED, _TURNED, _OWNED = "company.updated", "company.status_changed", "owners.changed"
_UNIT_UPDATED, _UNIT_ENDED = "production_unit.updated", "production_unit.ended"
_ON_BOARD: Final[dict[str, Any]] = {
    "name": "Ane Tilsyn",
    "body": "Tilsynsråd",
    "role": "TILSYNSRÅDSMEDLEM",
}
_KARI: Final = {"person": {"navn": {"fornavn": "Kari", "etternavn": "Prøvesen"}}}

KINDS: Final = (
    Kind("employees of a month", _dane(_count_employees, reloaded=True), _UPDATED, "employees"),
    Kind("a new officer", _dane(_rename_officer, reloaded=True), _UPDATED, "roles"),
    Kind("a new owner", _dane(_add_owner, reloaded=True), _OWNED, "owners"),
    Kind("the decree of a sole proprietor", _decree, _TURNED, "status"),
    Kind("unknown protection", _dane(_protection_unknown), _UPDATED, "advertising_protected"),
    Kind("a status without spaces", _dane(_status_without_spaces), _TURNED, "status"),
    Kind(
        "a supervisory board",
        _dane(partial(_add_officer, **_ON_BOARD)),
        _UPDATED,
        "roles",
    ),
    Kind("an address abroad", _dane(_move_abroad), _UPDATED, "address"),
    Kind("two phone numbers in one field", _dane(_two_phones), _UPDATED, "phones"),
    Kind("an amount as people write it", _dane(_odd_share_capital), _UPDATED, "capital"),
    Kind("a unit's own protection", _protect_unit, _UNIT_UPDATED, "advertising_protected"),
    Kind("a name of tomorrow", _dane(_rename_later), _UPDATED, "name", is_ahead=True),
    Kind("an end of tomorrow", _dane(_end_later), _TURNED, "status", is_ahead=True),
    Kind("an address of tomorrow", _dane(_move_later), _UPDATED, "address", is_ahead=True),
    Kind(
        "an industry of tomorrow",
        _dane(_change_industry_later),
        _UPDATED,
        "industry",
        is_ahead=True,
    ),
    Kind("an owner of tomorrow", _dane(_add_owner_later), _OWNED, "owners", is_ahead=True),
    Kind(
        "a unit's name of tomorrow",
        _rename_unit_later,
        _UNIT_UPDATED,
        "name",
        is_ahead=True,
    ),
    Kind(
        "a unit's end of tomorrow",
        _close_unit_later,
        _UNIT_ENDED,
        "status",
        is_ahead=True,
    ),
    Kind("a new entity", _found, "company.created", ""),
    Kind("a new place of business", _open_place, "production_unit.created", ""),
    Kind("a deleted entity", _delete, _TURNED, "status"),
    Kind("a removed entity", _remove, "company.removed", ""),
    Kind(
        "an estate in bankruptcy",
        _with_roles(_group("BOBE", "Bostyrer", bostyrer={"navn": "Adv. Kari Testesen"})),
        _UPDATED,
        "roles",
    ),
    Kind(
        "a share with a per cent sign",
        _with_roles(_group("DTPR", "Deltaker med proratarisk ansvar", ansvarsandel="50%", **_KARI)),
        _OWNED,
        "owners",
    ),
    Kind(
        "a municipality of a name that two have",
        _norwegian(
            forretningsadresse={
                "land": "Norge",
                "landkode": "NO",
                "postnummer": "6076",
                "poststed": "MOLTUSTRANDA",
                "adresse": ["Prøveveien 1"],
                "kommune": "HERØY",
                "kommunenummer": "1515",
            }
        ),
        _UPDATED,
        "address",
    ),
    Kind(
        "two Norwegian numbers in one field",
        _norwegian(telefon="22334455 / 91919191", mobil=None),
        _UPDATED,
        "phones",
    ),
    Kind("an odd day", _norwegian(stiftelsesdato="2020"), _UPDATED, "founded"),
    Kind("an activity", _norwegian(aktivitet=["Prøver"]), _UPDATED, "activity"),
    Kind(
        "a bankruptcy of tomorrow",
        _norwegian(konkurs=True, konkursdato=lambda subjects: str(subjects.tomorrow)),
        _TURNED,
        "status",
        is_ahead=True,
    ),
    Kind(
        "a closure of tomorrow",
        _close_place_later,
        _UNIT_ENDED,
        "status",
        is_ahead=True,
    ),
    Kind("a GLN of the usual Danish card", _gln, "einvoicing.changed", "einvoicing"),
    Kind("ninety GLNs", _ninety_glns, "einvoicing.changed", "einvoicing"),
)


def counted(events: Iterable[dict[str, Any]]) -> Counter[Told]:
    """Type, company and first part of each changed field of events."""
    return Counter(
        (event["type"], f"{event['country']}:{event['vat']}", field)
        for event in events
        for field in {change["field"].partition(".")[0] for change in event["data"]["changes"]}
        or {""}
    )


def wrong(expected: Mapping[str, Told], came: Counter[Told]) -> dict[str, int]:
    """How many events came of each kind that has not exactly one."""
    counts = {name: came[each] for name, each in expected.items()}
    return {name: count for name, count in counts.items() if count != 1}
