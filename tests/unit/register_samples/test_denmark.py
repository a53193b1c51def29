from typing import Any

import pytest

from register_samples import companies_dk, units_dk

COUNT = 1000


@pytest.fixture(name="companies", scope="module")
def _companies() -> list[dict[str, Any]]:
    return [document["Vrvirksomhed"] for document in companies_dk(COUNT)]


@pytest.fixture(name="units", scope="module")
def _units() -> list[dict[str, Any]]:
    return [document["VrproduktionsEnhed"] for document in units_dk(COUNT)]


def test_a_postcode_is_an_integer_that_has_lost_its_leading_zero(
    companies: list[dict[str, Any]],
) -> None:
    postcodes = {at.get("postnummer") for each in companies for at in each["beliggenhedsadresse"]}

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


def test_some_contacts_are_secret(companies: list[dict[str, Any]]) -> None:
    phones = [contact["hemmelig"] for each in companies for contact in each["telefonNummer"]]

    assert sum(phones) > 20


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
        for held in each.get("aarsbeskaeftigelse", ())
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


def test_a_unit_of_the_showcase_belonged_to_another_company_before(
    units: list[dict[str, Any]],
) -> None:
    moved = [each for each in units if len(each["virksomhedsrelation"]) == 2]

    [unit] = moved
    before, now = unit["virksomhedsrelation"]
    assert before["periode"]["gyldigTil"] <= now["periode"]["gyldigFra"]
    assert unit["produktionsEnhedMetadata"]["nyesteCvrNummerRelation"] == now["cvrNummer"]


def test_owners_are_of_every_kind(companies: list[dict[str, Any]]) -> None:
    kinds = {
        (body["hovedtype"], body["organisationsNavn"][0]["navn"])
        for each in companies
        for relation in each["deltagerRelation"]
        for body in relation["organisationer"]
    }

    assert kinds >= {
        ("REGISTER", "EJERREGISTER"),
        ("FULDT_ANSVARLIG_DELTAGERE", "Indehaver"),
        ("FULDT_ANSVARLIG_DELTAGERE", "Interessenter"),
        ("LEDELSESORGAN", "Direktion"),
        ("LEDELSESORGAN", "Bestyrelse"),
        ("REVISION", "Revision"),
    }


def test_persons_have_home_addresses_and_companies_their_number(
    companies: list[dict[str, Any]],
) -> None:
    participants = [
        relation["deltager"] for each in companies for relation in each["deltagerRelation"]
    ]
    persons = [each for each in participants if each["enhedstype"] == "PERSON"]
    firms = [each for each in participants if each["enhedstype"] == "VIRKSOMHED"]

    assert all(each["forretningsnoegle"] is None for each in persons)
    assert any(each["beliggenhedsadresse"] for each in persons)
    assert {each["forretningsnoegle"] for each in firms} <= {
        each["cvrNummer"] for each in companies
    }
