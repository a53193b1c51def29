from collections.abc import Iterator
from typing import Any

import pytest

from register_samples import companies_dk, units_dk
from tests.unit.register_samples.paths import all_paths

COUNT = 1000

_PERIOD = ("periode.gyldigFra", "periode.gyldigTil", "sidstOpdateret")
_ADDRESS = (
    *("landekode", "fritekst", "vejkode", "vejnavn", "husnummerFra", "husnummerTil"),
    *("bogstavFra", "bogstavTil", "etage", "sidedoer", "conavn", "postboks", "bynavn"),
    *("postnummer", "postdistrikt", "adresseId", "sidstValideret"),
    *(f"kommune.{field}" for field in ("kommuneKode", "kommuneNavn", *_PERIOD)),
)
_CLASSES = ("intervalKodeAntalAnsatte", "intervalKodeAntalAarsvaerk")
_MEMBER = "deltagerRelation[].organisationer[]"


def _held(part: str, *fields: str) -> Iterator[str]:
    yield from (f"{part}[].{field}" for field in (*fields, *_PERIOD))


#: Parts of both documents that an importer needs.
SHARED_FIELDS = {
    "reklamebeskyttet",
    "fejlRegistreret",
    "dataAdgang",
    "enhedsNummer",
    "enhedstype",
    "sidstIndlaest",
    "sidstOpdateret",
    *_held("navne", "navn"),
    *_held("beliggenhedsadresse", *_ADDRESS),
    *_held("telefonNummer", "kontaktoplysning", "hemmelig"),
    *_held("elektroniskPost", "kontaktoplysning", "hemmelig"),
    *_held("livsforloeb"),
    *_held("hovedbranche", "branchekode", "branchetekst"),
    *(f"aarsbeskaeftigelse[].{field}" for field in ("aar", "antalAnsatte", *_CLASSES)),
    *(f"kvartalsbeskaeftigelse[].{field}" for field in ("aar", "kvartal", *_CLASSES)),
    *(f"erstMaanedsbeskaeftigelse[].{field}" for field in ("aar", "maaned", *_CLASSES)),
}
COMPANY_FIELDS = SHARED_FIELDS | {
    "cvrNummer",
    *_held("binavne", "navn"),
    *_held("postadresse", *_ADDRESS),
    *_held("sekundaertTelefonNummer", "kontaktoplysning", "hemmelig"),
    *_held("telefaxNummer", "kontaktoplysning", "hemmelig"),
    *_held("hjemmeside", "kontaktoplysning", "hemmelig"),
    *_held("obligatoriskEmail", "kontaktoplysning", "hemmelig"),
    *_held("bibranche1", "branchekode", "branchetekst"),
    *_held("virksomhedsform", "virksomhedsformkode", "kortBeskrivelse", "langBeskrivelse"),
    *_held("virksomhedsstatus", "status"),
    *_held("status", "statuskode", "statustekst", "kreditoplysningkode", "kreditoplysningtekst"),
    *_held("penheder", "pNummer"),
    *(f"attributter[].{field}" for field in ("sekvensnr", "type", "vaerditype")),
    *_held("attributter[].vaerdier", "vaerdi"),
    *(
        f"deltagerRelation[].deltager.{field}"
        for field in ("enhedsNummer", "enhedstype", "forretningsnoegle", "navne[].navn")
    ),
    *(f"deltagerRelation[].deltager.beliggenhedsadresse[].{field}" for field in _ADDRESS),
    f"{_MEMBER}.enhedsNummerOrganisation",
    f"{_MEMBER}.hovedtype",
    *_held(f"{_MEMBER}.organisationsNavn", "navn"),
    *_held(f"{_MEMBER}.medlemsData[].attributter[].vaerdier", "vaerdi"),
    "virksomhedMetadata.nyesteNavn.navn",
    "virksomhedMetadata.nyesteBinavne[]",
    "virksomhedMetadata.nyesteVirksomhedsform.virksomhedsformkode",
    "virksomhedMetadata.nyesteBeliggenhedsadresse.vejnavn",
    "virksomhedMetadata.nyesteHovedbranche.branchekode",
    "virksomhedMetadata.nyesteKontaktoplysninger[]",
    "virksomhedMetadata.nyesteErstMaanedsbeskaeftigelse.intervalKodeAntalAnsatte",
    "virksomhedMetadata.antalPenheder",
    "virksomhedMetadata.sammensatStatus",
    "virksomhedMetadata.stiftelsesDato",
    "virksomhedMetadata.virkningsDato",
}
UNIT_FIELDS = SHARED_FIELDS | {
    "pNummer",
    *_held("virksomhedsrelation", "cvrNummer"),
    "produktionsEnhedMetadata.nyesteNavn.navn",
    "produktionsEnhedMetadata.nyesteBeliggenhedsadresse.vejnavn",
    "produktionsEnhedMetadata.nyesteHovedbranche.branchekode",
    "produktionsEnhedMetadata.nyesteCvrNummerRelation",
    "produktionsEnhedMetadata.sammensatStatus",
}


@pytest.fixture(name="companies", scope="module")
def _companies() -> list[dict[str, Any]]:
    return [document["Vrvirksomhed"] for document in companies_dk(COUNT, seed=1)]


@pytest.fixture(name="units", scope="module")
def _units() -> list[dict[str, Any]]:
    return [document["VrproduktionsEnhed"] for document in units_dk(COUNT, seed=1)]


def test_companies_have_every_field_an_importer_needs(companies: list[dict[str, Any]]) -> None:
    assert not COMPANY_FIELDS - all_paths(companies)


def test_units_have_every_field_an_importer_needs(units: list[dict[str, Any]]) -> None:
    assert not UNIT_FIELDS - all_paths(units)


def test_a_postcode_is_an_integer_that_has_lost_its_leading_zero(
    companies: list[dict[str, Any]],
) -> None:
    postcodes = {at["postnummer"] for each in companies for at in each["beliggenhedsadresse"]}

    assert 800 in postcodes


def test_an_address_abroad_is_text_in_lines(companies: list[dict[str, Any]]) -> None:
    texts = [
        at["fritekst"]
        for each in companies
        for at in each["beliggenhedsadresse"]
        if at["landekode"] != "DK"
    ]

    assert any("\n" in text for text in texts)


def test_a_company_has_at_most_one_current_name_and_address(
    companies: list[dict[str, Any]],
) -> None:
    for each in companies:
        ended = each["livsforloeb"][-1]["periode"]["gyldigTil"]
        for part in ("navne", "beliggenhedsadresse", "virksomhedsform", "hovedbranche"):
            current = [held for held in each[part] if held["periode"]["gyldigTil"] is None]
            assert len(current) <= (0 if ended else 1)


def test_no_period_ends_before_it_begins(companies: list[dict[str, Any]]) -> None:
    for each in companies:
        for part in (
            "navne",
            "beliggenhedsadresse",
            "virksomhedsstatus",
            "penheder",
            "livsforloeb",
        ):
            for held in each[part]:
                period = held["periode"]
                assert period["gyldigTil"] is None or period["gyldigFra"] <= period["gyldigTil"]


def test_some_contacts_are_secret_and_not_in_the_digest(companies: list[dict[str, Any]]) -> None:
    secret = [
        (contact["kontaktoplysning"], each["virksomhedMetadata"]["nyesteKontaktoplysninger"])
        for each in companies
        for part in ("telefonNummer", "elektroniskPost")
        for contact in each[part]
        if contact["hemmelig"]
    ]

    assert len(secret) > 20
    assert not any(value in shown for value, shown in secret)


def test_status_words_are_those_of_the_register_in_more_than_one_spelling(
    companies: list[dict[str, Any]],
) -> None:
    words = {each["virksomhedMetadata"]["sammensatStatus"] for each in companies}

    assert {"NORMAL", "UNDER KONKURS", "OPHØRT", "TVANGSOPLØST", "Aktiv", "Ophørt"} <= words
    assert any("_" in word or "OE" in word for word in words)


def test_employees_are_classes_with_the_open_one_ending_in_an_underscore(
    companies: list[dict[str, Any]],
) -> None:
    codes = {
        held["intervalKodeAntalAnsatte"]
        for each in companies
        for held in each["aarsbeskaeftigelse"]
    }

    assert {"ANTAL_0_0", "ANTAL_1_1", "ANTAL_2_4", "ANTAL_20_49", "ANTAL_1000_"} <= codes


def test_every_unit_of_a_company_names_it(
    companies: list[dict[str, Any]], units: list[dict[str, Any]]
) -> None:
    by_company = {
        (each["cvrNummer"], unit["pNummer"]) for each in companies for unit in each["penheder"]
    }
    by_unit = {
        (relation["cvrNummer"], unit["pNummer"])
        for unit in units
        for relation in unit["virksomhedsrelation"]
    }

    assert by_company == by_unit


def test_some_units_belonged_to_another_company_before(units: list[dict[str, Any]]) -> None:
    moved = [each for each in units if len(each["virksomhedsrelation"]) == 2]

    assert len(moved) > 10
    for each in moved:
        before, now = each["virksomhedsrelation"]
        assert before["periode"]["gyldigTil"] <= now["periode"]["gyldigFra"]
        assert each["produktionsEnhedMetadata"]["nyesteCvrNummerRelation"] == now["cvrNummer"]


def test_owners_are_of_every_kind(companies: list[dict[str, Any]]) -> None:
    kinds = {
        (body["hovedtype"], body["organisationsNavn"][0]["navn"])
        for each in companies
        for relation in each["deltagerRelation"]
        for body in relation["organisationer"]
    }

    assert kinds >= {
        ("REGISTER", "EJERREGISTER"),
        ("REGISTER", "Reelle ejere"),
        ("FULDT_ANSVARLIG_DELTAGERE", "Indehaver"),
        ("FULDT_ANSVARLIG_DELTAGERE", "Interessenter"),
        ("LEDELSESORGAN", "Direktion"),
        ("LEDELSESORGAN", "Bestyrelse"),
        ("STIFTERE", "Stiftere"),
        ("REVISION", "Revision"),
    }


def test_persons_have_home_addresses_and_companies_their_number(
    companies: list[dict[str, Any]],
) -> None:
    participants = [
        relation["deltager"] for each in companies for relation in each["deltagerRelation"]
    ]
    known = [each for each in participants if each]
    persons = [each for each in known if each["enhedstype"] == "PERSON"]
    firms = [each for each in known if each["enhedstype"] == "VIRKSOMHED"]

    assert None in participants
    assert all(each["forretningsnoegle"] is None for each in persons)
    assert any(each["beliggenhedsadresse"] for each in persons)
    assert {each["forretningsnoegle"] for each in firms} <= {
        each["cvrNummer"] for each in companies
    }


def test_a_few_documents_are_there_by_mistake(companies: list[dict[str, Any]]) -> None:
    mistaken = sum(each["fejlRegistreret"] for each in companies)

    assert 0 < mistaken < COUNT / 100
