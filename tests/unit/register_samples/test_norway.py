from functools import cache

import pytest

from register_samples import companies_no, roles_no, units_no
from register_samples.facts import Document

COUNT = 1000


@cache
def companies() -> list[Document]:
    return list(companies_no(COUNT))


@cache
def units() -> list[Document]:
    return list(units_no(COUNT))


@cache
def roles() -> list[Document]:
    return list(roles_no(COUNT))


def test_bulk_records_have_empty_links_in_two_places() -> None:
    entity = companies()[0]

    assert entity["links"] == []
    assert entity["organisasjonsform"]["links"] == []
    assert "_links" not in entity


def test_a_foreign_address_has_neither_postcode_nor_municipality() -> None:
    addresses = [each.get("forretningsadresse", {}) for each in companies()]
    abroad = [at for at in addresses if at.get("landkode", "NO") != "NO"]

    assert {field for at in abroad for field in at} == {"adresse", "poststed", "land", "landkode"}
    assert any(at["adresse"] == [] for at in abroad)


def test_a_care_of_name_is_a_line_before_the_street() -> None:
    lines = [
        each["forretningsadresse"]["adresse"]
        for each in companies()
        if "forretningsadresse" in each
    ]

    with_name = [each for each in lines if any(line.startswith("c/o ") for line in each)]

    assert 0.08 < len(with_name) / COUNT < 0.18
    assert all(each[0].startswith("c/o ") and len(each) == 2 for each in with_name)


def test_every_unit_belongs_to_an_entity() -> None:
    numbers = {each["organisasjonsnummer"] for each in companies()}

    assert {each["overordnetEnhet"] for each in units()} <= numbers
    assert {each["organisasjonsform"]["kode"] for each in units()} == {"BEDR", "AAFY"}


@pytest.mark.parametrize("form,group", [("ENK", "INNH"), ("ANS", "DTSO"), ("DA", "DTPR")])
def test_the_owners_of_a_form_are_a_group_of_roles(form: str, group: str) -> None:
    wanted = {
        each["organisasjonsnummer"]
        for each in companies()
        if each["organisasjonsform"]["kode"] == form and "slettedato" not in each
    }
    found = {
        each["organisasjonsnummer"]
        for each in roles()
        if any(group == held["type"]["kode"] for held in each["rollegrupper"])
    }

    assert found == wanted
