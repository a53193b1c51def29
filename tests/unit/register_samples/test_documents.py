"""The sample registers' documents: the same in every version, varied, and in the real formats."""

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import orjson
import pytest

from register_samples import companies_dk, companies_no, participants, roles_no, units_dk, units_no
from register_samples.showcase import SIZE

Stream = Callable[..., Iterator[dict[str, Any]]]
COUNT = 1000

#: Writes a register and prints the peak memory of the process in kilobytes. (Not by `getrusage`,
#: which includes the parent's memory at the start of the process.)
_WRITE = """
import re, sys
from pathlib import Path
from register_samples import write_registers
write_registers(Path(sys.argv[1]), 2500)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@cache
def of(stream: Stream) -> list[dict[str, Any]]:
    """The documents of a stream, without their wrapping."""
    return [next(iter(each.values())) if len(each) == 1 else each for each in stream(COUNT)]


def current(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for part in parts if part["periode"]["gyldigTil"] is None]


@pytest.mark.parametrize(
    "stream,digest",
    [
        (companies_no, "14525bf200f600ff"),
        (units_no, "35a19ede4bc3b837"),
        (roles_no, "ac85e31b3104810e"),
        (companies_dk, "c1cedb8932e6ab40"),
        (units_dk, "162afca24666b1ab"),
        (participants, "b41b7ad256ce4d05"),
    ],
)
def test_a_position_has_the_same_document_in_every_version_so_that_figures_compare(
    stream: Stream, digest: str
) -> None:
    found = hashlib.sha256()
    for each in (*stream(300), *stream(50, start=800_000)):
        found.update(orjson.dumps(each))

    assert found.hexdigest()[:16] == digest


@pytest.mark.parametrize("stream", [companies_dk, companies_no, roles_no, units_dk, units_no])
def test_a_part_of_a_stream_equals_the_same_part_of_the_whole(stream: Stream) -> None:
    assert [*stream(35), *stream(25, start=35)] == list(stream(60))


def test_a_stream_of_any_length_starts_at_once() -> None:
    assert len(list(islice(companies_no(7_000_000), 3))) == 3


def test_memory_does_not_grow_with_the_register(tmp_path: Any) -> None:
    # As objects the documents of this register would take some 120 MB.
    command = [sys.executable, "-c", _WRITE, str(tmp_path)]

    told = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120)

    assert int(told.stdout) < 70_000


@pytest.mark.parametrize(
    "stream,field",
    [
        (companies_no, "organisasjonsnummer"),
        (units_no, "organisasjonsnummer"),
        (companies_dk, "cvrNummer"),
        (units_dk, "pNummer"),
        (participants, "pid"),
    ],
)
def test_no_two_documents_have_the_same_number(stream: Stream, field: str) -> None:
    assert len({each[field] for each in of(stream)}) == len(of(stream))


def test_nothing_is_later_than_the_day_of_the_register() -> None:
    days = [
        value
        for each in (*of(companies_no), *of(units_no))
        for name, value in each.items()
        if name.lower().endswith("dato") or "dato" in name
    ]

    assert max(days) <= "2026-06-30"


def test_a_company_that_holds_a_role_comes_before_the_one_in_which_it_does() -> None:
    position = {each["organisasjonsnummer"]: n for n, each in enumerate(of(companies_no))}

    for each in of(roles_no)[SIZE:]:
        held = [role for group in each["rollegrupper"] for role in group["roller"]]
        firms = [role["enhet"]["organisasjonsnummer"] for role in held if "enhet" in role]
        assert all(position[firm] < position[each["organisasjonsnummer"]] for firm in firms)


# Norway


def test_bulk_records_have_empty_links_in_two_places() -> None:
    entity = of(companies_no)[0]

    assert entity["links"] == entity["organisasjonsform"]["links"] == []
    assert "_links" not in entity


def test_some_buildings_hold_several_companies() -> None:
    found = Counter(
        (at["adresse"][-1], at["postnummer"])
        for each in of(companies_no)
        if "postnummer" in (at := each.get("forretningsadresse", {}))
    )

    assert 0.1 < sum(count for count in found.values() if count > 1) / COUNT < 0.25


def test_a_foreign_address_has_neither_postcode_nor_municipality() -> None:
    addresses = [each.get("forretningsadresse", {}) for each in of(companies_no)]
    abroad = [at for at in addresses if at.get("landkode", "NO") != "NO"]

    assert {} in addresses
    assert {field for at in abroad for field in at} == {"adresse", "poststed", "land", "landkode"}
    assert any(at["adresse"] == [] for at in abroad)


def test_a_care_of_name_is_a_line_before_the_street() -> None:
    lines = [each.get("forretningsadresse", {}).get("adresse", ()) for each in of(companies_no)]
    with_name = [each for each in lines if any(line.startswith("c/o ") for line in each)]

    assert 0.08 < len(with_name) / COUNT < 0.18
    assert all(each[0].startswith("c/o ") and len(each) == 2 for each in with_name)


def test_every_norwegian_unit_belongs_to_an_entity_and_some_are_closed() -> None:
    numbers = {each["organisasjonsnummer"] for each in of(companies_no)}

    assert {each["overordnetEnhet"] for each in of(units_no)} <= numbers
    assert {each["organisasjonsform"]["kode"] for each in of(units_no)} == {"BEDR", "AAFY"}
    assert {"nedleggelsesdato" in each for each in of(units_no)} == {True, False}


@pytest.mark.parametrize(
    "form,group,code", [("ENK", "INNH", "INNH"), ("ANS", "DELT", "DTSO"), ("DA", "DELT", "DTPR")]
)
def test_the_owners_of_a_form_are_a_group_of_roles(form: str, group: str, code: str) -> None:
    wanted = {
        each["organisasjonsnummer"]
        for each in of(companies_no)
        if each["organisasjonsform"]["kode"] == form and "slettedato" not in each
    }
    found = {
        each["organisasjonsnummer"]
        for each in of(roles_no)
        for held in each["rollegrupper"]
        if group == held["type"]["kode"] and code == held["roller"][0]["type"]["kode"]
    }

    assert found == wanted


def test_most_sole_traders_are_named_like_their_owner() -> None:
    names = {each["organisasjonsnummer"]: each["navn"] for each in of(companies_no)}
    alike = [
        all(part.upper() in names[each["organisasjonsnummer"]].upper() for part in owner.values())
        for each in of(roles_no)
        for group in each["rollegrupper"]
        if group["type"]["kode"] == "INNH"
        for owner in [group["roller"][0]["person"]["navn"]]
    ]

    assert 0.7 < sum(alike) / len(alike) < 1


# Denmark


def test_a_postcode_is_an_integer_that_has_lost_its_leading_zero() -> None:
    addresses = [at for each in of(companies_dk) for at in each["beliggenhedsadresse"]]

    assert 800 in {at.get("postnummer") for at in addresses}
    assert any("\n" in at["fritekst"] for at in addresses if at["landekode"] != "DK")


def test_a_company_has_at_most_one_current_name_and_address() -> None:
    for each in of(companies_dk):
        ended = not current(each["livsforloeb"])
        for part in ("navne", "beliggenhedsadresse", "virksomhedsform"):
            assert len(current(each[part])) <= (0 if ended else 1)
        days = {one["periode"]["gyldigFra"] for one in current(each["hovedbranche"])}
        assert len(days) <= (0 if ended else 1)


def test_no_period_ends_before_it_begins() -> None:
    parts = ("navne", "beliggenhedsadresse", "virksomhedsstatus", "penheder", "livsforloeb")
    periods = [
        held["periode"] for each in of(companies_dk) for part in parts for held in each[part]
    ]

    assert all(each["gyldigFra"] <= (each["gyldigTil"] or "9999") for each in periods)


def test_some_contacts_are_secret() -> None:
    phones = [contact["hemmelig"] for each in of(companies_dk) for contact in each["telefonNummer"]]

    assert sum(phones) > 20


def test_status_words_are_those_of_the_register_in_more_than_one_spelling() -> None:
    words = {each["virksomhedMetadata"]["sammensatStatus"] for each in of(companies_dk)}

    assert {"NORMAL", "UNDER KONKURS", "OPHØRT", "TVANGSOPLØST", "Aktiv", "Ophørt"} <= words
    assert any("_" in word or "OE" in word for word in words)


def test_employees_are_classes_with_the_open_one_ending_in_an_underscore() -> None:
    codes = {
        held["intervalKodeAntalAnsatte"]
        for each in of(companies_dk)
        for held in each.get("aarsbeskaeftigelse", ())
    }

    assert {"ANTAL_0_0", "ANTAL_1_1", "ANTAL_2_4", "ANTAL_20_49", "ANTAL_1000_"} <= codes


def test_every_unit_of_a_company_names_it() -> None:
    by_company = {
        (each["cvrNummer"], unit["pNummer"])
        for each in of(companies_dk)
        for unit in each["penheder"]
    }
    by_unit = {
        (relation["cvrNummer"], unit["pNummer"])
        for unit in of(units_dk)
        for relation in unit["virksomhedsrelation"]
    }

    assert by_company == by_unit


def test_a_unit_of_the_showcase_belonged_to_another_company_before() -> None:
    [unit] = [each for each in of(units_dk) if len(each["virksomhedsrelation"]) == 2]

    before, now = unit["virksomhedsrelation"]
    assert before["periode"]["gyldigTil"] <= now["periode"]["gyldigFra"]
    assert unit["produktionsEnhedMetadata"]["nyesteCvrNummerRelation"] == now["cvrNummer"]


def test_owners_are_of_every_type_and_hold_floors_of_the_intervals_of_cvr() -> None:
    bodies = [
        body
        for each in of(companies_dk)
        for relation in each["deltagerRelation"]
        for body in relation["organisationer"]
    ]
    shares = {
        value["vaerdi"]
        for body in bodies
        for attribute in body["medlemsData"][0]["attributter"]
        if attribute["type"] == "EJERANDEL_PROCENT"
        for value in attribute["vaerdier"]
    }

    assert {(body["hovedtype"], body["organisationsNavn"][0]["navn"]) for body in bodies} >= {
        ("REGISTER", "EJERREGISTER"),
        ("FULDT_ANSVARLIG_DELTAGERE", "Indehaver"),
        ("FULDT_ANSVARLIG_DELTAGERE", "Interessenter"),
        ("LEDELSESORGAN", "Direktion"),
        ("LEDELSESORGAN", "Bestyrelse"),
        ("REVISION", "Revision"),
    }
    assert shares <= {"0.05", "0.1", "0.15", "0.2", "0.25", "0.3333", "0.5", "0.6667", "0.9", "1.0"}


def test_persons_have_home_addresses_and_companies_their_number() -> None:
    found = [
        each["deltager"] for company in of(companies_dk) for each in company["deltagerRelation"]
    ]
    persons = [each for each in found if each["enhedstype"] == "PERSON"]
    firms = {each["forretningsnoegle"] for each in found if each["enhedstype"] == "VIRKSOMHED"}

    assert all(each["forretningsnoegle"] is None for each in persons)
    assert any(each["beliggenhedsadresse"] for each in persons)
    assert firms <= {each["cvrNummer"] for each in of(companies_dk)}


# Peppol


@pytest.mark.parametrize(
    "scheme,stream,prefixes",
    [("0192", companies_no, {""}), ("0184", companies_dk, {"", "DK"}), ("0096", units_dk, {""})],
)
def test_identifiers_are_numbers_of_the_registers(
    scheme: str, stream: Stream, prefixes: set[str]
) -> None:
    numbers = {str(next(iter(each.values()))).zfill(8) for each in of(stream)}
    beginning = f"iso6523-actorid-upis::{scheme}:"
    pids = [each["pid"] for each in of(participants) if each["pid"].startswith(beginning)]
    values = [pid.removeprefix(beginning) for pid in pids]

    assert len(values) > 5
    assert {value.removeprefix("DK") for value in values} <= numbers
    assert {value.rstrip("0123456789") for value in values} == prefixes
