"""Imports of documents in the registers' own shapes, from the file to the answer."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Include
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.mongo import Database
from ingest.records.ledger import Ledger
from ingest.records.records import Parser, RawDocument, Record, Rejected, SourceVersion
from ingest.records.source import RegisterSource, all_understood, documents
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from ingest.registers.cvr.sync import DK_COMPANIES
from lookup.answers.lookups import AnswerLookups
from tests.builders.companies import MONDAY
from tests.builders.loading import NOON, Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

DANISH, NORWEGIAN = CompanyKey.parse("dk:12345674"), CompanyKey.parse("no:923609016")
SHAPES = Path(__file__).parents[1] / "unit" / "ingest" / "documents"


class Files(Loader):
    """Files of a register, each an hour newer than the one before."""

    def __init__(self, database: Database, folder: Path) -> None:
        super().__init__(database)
        self.folder, self.files = folder, 0

    async def take(self, source: RegisterSource, *raws: Any) -> None:
        self.files += 1
        path = self.folder / f"{self.files}.json"
        path.write_text(json.dumps(raws))
        version = SourceVersion(MONDAY.at + timedelta(hours=self.files))
        tally = await self.load_file(
            source, documents(path, source), file_version=version, force=True
        )
        assert (tally.results["refused"], dict(tally.odd.counts)) == (0, {})

    async def answer(self, key: CompanyKey, as_of: str | None = None) -> Any:
        request = LookupRequest(
            country=key.country,
            questions=(Question(type=SearchType.VAT, term=key.vat),),
            include=(Include.OWNERS, Include.ROLES),
            as_of=as_of,
        )
        [reply] = await AnswerLookups(self.register, FakeSearches(), now=lambda: NOON)([request])
        assert isinstance(reply, LookupReply), reply
        return orjson.loads(reply.body)

    async def changes(self) -> list[tuple[str, str, Any, Any]]:
        return [
            (event["type"], change["field"], change["old"], change["new"])
            for event in await self.events()
            for change in event["data"]["changes"]
        ]

    async def _read(self, parser: Parser, given: Any, today: date, ledger: Ledger | None) -> Any:
        found: list[RawDocument] = list(given)
        read: list[Record | Rejected] = list(all_understood(parser, found, today, ledger))
        return read


@pytest.fixture
def files(register_db: Database, tmp_path: Path) -> Files:
    return Files(register_db, tmp_path)


def shape(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SHAPES / f"{name}.json").read_text())["document"]
    return document


def dated(value: str, since: str, until: str | None = None) -> dict[str, Any]:
    return {
        "vaerdi": value,
        "periode": {"gyldigFra": since, "gyldigTil": until},
        "sidstOpdateret": "2019-01-01T00:00:00.000+01:00",
    }


def attribute(type_: str, kind: str, *values: Any) -> dict[str, Any]:
    return {"sekvensnr": 0, "type": type_, "vaerditype": kind, "vaerdier": list(values)}


def danish_holder(number: int, *organisations: Any) -> dict[str, Any]:
    return {
        "deltager": {
            "enhedsNummer": number,
            "enhedstype": "PERSON",
            "forretningsnoegle": None,
            "organisationstype": None,
            "sidstIndlaest": "2019-01-01T00:00:00.000+01:00",
            "sidstOpdateret": None,
            "navne": [
                {
                    "navn": "Jens Prøve Hansen",
                    "periode": {"gyldigFra": None, "gyldigTil": None},
                    "sidstOpdateret": "2019-01-01T00:00:00.000+01:00",
                }
            ],
            "adresseHemmelig": False,
            "adresseHemmeligUndtagelse": False,
            "adresseOpdateringOphoert": False,
            "beliggenhedsadresse": [],
        },
        "kontorsteder": [],
        "organisationer": [
            {
                "enhedsNummerOrganisation": 4000000000 + place,
                "hovedtype": hovedtype,
                "organisationsNavn": [
                    {
                        "navn": body,
                        "periode": {"gyldigFra": "2010-01-01", "gyldigTil": None},
                        "sidstOpdateret": "2019-01-01T00:00:00.000+01:00",
                    }
                ],
                "attributter": [],
                "medlemsData": [{"attributter": attributes}],
            }
            for place, (hovedtype, body, attributes) in enumerate(organisations)
        ],
    }


BOARD = ("LEDELSESORGAN", "Bestyrelse")
REGISTER = ("REGISTER", "EJERREGISTER")


def seat(until: str | None = None) -> list[Any]:
    return [attribute("FUNKTION", "string", dated("BESTYRELSESMEDLEM", "2015-03-01", until))]


def ownership(until: str | None = None) -> list[Any]:
    return [
        attribute("EJERANDEL_PROCENT", "decimal", dated("0.3333", "2015-03-01", until)),
        attribute("EJERANDEL_STEMMERET_PROCENT", "decimal", dated("0.3333", "2015-03-01", until)),
    ]


def danish_company(relations: list[Any], hour: int, **members: Any) -> dict[str, Any]:
    at = f"2026-02-05T{hour:02}:00:00.000+01:00"
    company = {**shape("dk-virksomhed"), "deltagerRelation": relations, "sidstIndlaest": at}
    return {"Vrvirksomhed": {**company, **members}}


async def test_two_danes_with_one_name_are_two_and_one_of_them_leaves(files: Files) -> None:
    both = [danish_holder(n, (*REGISTER, ownership()), (*BOARD, seat())) for n in (41, 42)]
    left = danish_holder(42, (*REGISTER, ownership("2026-01-31")), (*BOARD, seat("2026-01-31")))

    await files.take(DK_COMPANIES, danish_company(both, 1))
    first = await files.answer(DANISH)
    await files.take(DK_COMPANIES, danish_company([both[0], left], 2))
    second = await files.answer(DANISH)

    assert (first["owners_total"], len(first["owners"]), len(first["roles"])) == (2, 2, 2)
    assert (second["owners_total"], len(second["owners"]), len(second["roles"])) == (1, 1, 1)
    assert [(field, len(old), len(new)) for _, field, old, new in await files.changes()] == [
        ("roles", 2, 1), ("owners", 2, 1),
    ]  # fmt: skip


def norwegian_partner(born: str) -> dict[str, Any]:
    return {
        "type": {"kode": "DTSO", "beskrivelse": "Deltaker med fullt ansvar"},
        "person": {
            "fodselsdato": born,
            "navn": {"fornavn": "Kari", "etternavn": "Prøve"},
            "erDoed": False,
        },
        "avregistrert": False,
        "rekkefolge": 0,
    }


def norwegian_roles(*roles: Any) -> dict[str, Any]:
    type_ = {"kode": "DELT", "beskrivelse": "Deltakere"}
    return {
        "organisasjonsnummer": NORWEGIAN.vat,
        "rollegrupper": [{"type": type_, "sistEndret": "2026-01-31", "roller": list(roles)}],
    }


def norwegian_company(**members: Any) -> dict[str, Any]:
    return {**shape("no-enheter"), "organisasjonsnummer": NORWEGIAN.vat, **members}


async def test_two_norwegians_with_one_name_are_two_and_one_of_them_leaves(files: Files) -> None:
    both = [norwegian_partner(born) for born in ("1950-01-01", "1985-06-30")]

    await files.take(NO_ENTITIES, norwegian_company())
    await files.take(NO_ROLES, norwegian_roles(*both))
    first = await files.answer(NORWEGIAN)
    await files.take(NO_ROLES, norwegian_roles(both[1]))

    assert (first["owners_total"], len(first["owners"])) == (2, 2)
    assert (await files.answer(NORWEGIAN))["owners_total"] == 1
    [(type_, field, old, new)] = await files.changes()
    assert (type_, field, len(old), len(new)) == ("owners.changed", "owners", 2, 1)


async def test_a_deleted_norwegian_company_of_a_file_has_no_owners_and_roles_any_more(
    files: Files,
) -> None:
    await files.take(NO_ENTITIES, norwegian_company())
    await files.take(NO_ROLES, norwegian_roles(norwegian_partner("1950-01-01")))

    await files.take(
        NO_ENTITIES,
        {
            "respons_klasse": "SlettetEnhet",
            "organisasjonsnummer": NORWEGIAN.vat,
            "navn": shape("no-enheter")["navn"],
            "organisasjonsform": shape("no-enheter")["organisasjonsform"],
            "slettedato": "2026-02-27",
            "_links": {},
        },
    )

    company = await files.answer(NORWEGIAN)
    assert (company["status"], company["ended"]) == ("ended", "2026-02-27")
    assert (company["owners"], company["roles"]) == (None, [])
    assert ("owners.changed", "owners") in {change[:2] for change in await files.changes()}


async def test_a_danish_company_registered_in_error_ends_by_an_import(files: Files) -> None:
    relations = [danish_holder(41, (*REGISTER, ownership()), (*BOARD, seat()))]
    await files.take(DK_COMPANIES, danish_company(relations, 1))

    await files.take(DK_COMPANIES, danish_company(relations, 2, fejlRegistreret=True))

    company = await files.answer(DANISH)
    assert (company["status"], company["status_text"]) == ("ended", "FEJLREGISTRERET")
    assert (company["owners"], company["roles"]) == ([], [])
    turned = [change for change in await files.changes() if change[1] == "status"]
    assert [(type_, new) for type_, _, _, new in turned] == [("company.status_changed", "ended")]


async def test_a_norwegian_company_has_its_former_name_on_a_day_before(files: Files) -> None:
    former = [
        {"navn": "PRØVEN AS", "fraDato": "2014-10-29 14:14:38", "tilDato": "2020-09-01 12:29:08"},
        {"navn": "TESTEN AS", "fraDato": "2020-09-01 12:29:08", "tilDato": "2025-05-02 09:00:00"},
    ]
    await files.take(NO_ENTITIES, norwegian_company(historiskeNavn=former))

    today = await files.answer(NORWEGIAN)
    then = {
        day: (await files.answer(NORWEGIAN, day))["name"]
        for day in ("2016-01-01", "2020-09-01", "2025-05-01", "2025-05-02")
    }

    assert today["former_names"] == ["TESTEN AS", "PRØVEN AS"]
    assert then == {
        "2016-01-01": "PRØVEN AS",
        "2020-09-01": "TESTEN AS",
        "2025-05-01": "TESTEN AS",
        "2025-05-02": today["name"],
    }
