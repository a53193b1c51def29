import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from register_samples import (
    Format,
    Shape,
    companies_dk,
    companies_no,
    participants,
    units_dk,
    units_no,
    write_registers,
)
from register_samples.containers import write_pages
from register_samples.files import MAX_COMPANIES
from register_samples.norway.table import COLUMNS

COUNT = 120


def _array(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        found: list[dict[str, Any]] = json.load(file)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_kind_has_a_file_named_after_it(tmp_path: Path) -> None:
    written = write_registers(tmp_path / "new", 12)

    assert {kind: path.name for kind, path in written.items()} == {
        "no-enheter": "no-enheter.json.gz",
        "no-underenheter": "no-underenheter.json.gz",
        "no-roller": "no-roller.json.gz",
        "dk-virksomhed": "dk-virksomhed.jsonl",
        "dk-produktionsenhed": "dk-produktionsenhed.jsonl",
        "peppol": "peppol.json",
    }
    assert set(written.values()) == set((tmp_path / "new").iterdir())


def test_files_hold_the_documents(tmp_path: Path) -> None:
    written = write_registers(tmp_path, COUNT, seed=3)

    assert _array(written["no-enheter"]) == list(companies_no(COUNT, seed=3))
    assert _array(written["no-underenheter"]) == list(units_no(COUNT, seed=3))
    assert _lines(written["dk-virksomhed"]) == list(companies_dk(COUNT, seed=3))


def test_the_same_register_written_twice_is_the_same_bytes(tmp_path: Path) -> None:
    one = write_registers(tmp_path / "one", 40, seed=3)
    other = write_registers(tmp_path / "other", 40, seed=3)

    for kind, path in one.items():
        assert path.read_bytes() == other[kind].read_bytes()


def test_one_country_is_written_alone_with_its_cards(tmp_path: Path) -> None:
    written = write_registers(tmp_path, 30, countries=["dk"])

    assert set(written) == {"dk-virksomhed", "dk-produktionsenhed", "peppol"}
    assert "0192:" not in written["peppol"].read_text()


def test_business_cards_come_with_their_number(tmp_path: Path) -> None:
    written = write_registers(tmp_path, COUNT)

    export = json.loads(written["peppol"].read_text())

    assert export["version"] == 2
    assert export["participantCount"] == len(export["bc"])
    assert export["bc"] == list(participants(COUNT, seed=1))


def test_danish_documents_come_as_one_answer(tmp_path: Path) -> None:
    written = write_registers(tmp_path, COUNT, countries=["dk"], formats=[Format.DK_ANSWER])

    hits = json.loads(written["dk-produktionsenhed"].read_text())["hits"]

    assert hits["total"] == len(hits["hits"])
    assert [hit["_source"] for hit in hits["hits"]] == list(units_dk(COUNT, seed=1))


def test_danish_documents_come_as_pages(tmp_path: Path) -> None:
    written = write_registers(tmp_path, COUNT, countries=["dk"], formats=[Format.DK_SCROLL])

    (page,) = _lines(written["dk-virksomhed"])

    assert page["_scroll_id"]
    assert [hit["_source"] for hit in page["hits"]["hits"]] == list(companies_dk(COUNT, seed=1))


def test_a_page_holds_a_thousand_documents_and_tells_the_number_of_all(tmp_path: Path) -> None:
    documents = ({"Vrvirksomhed": {"enhedsNummer": number}} for number in range(2300))

    write_pages(tmp_path / "pages", documents, total=2300)

    pages = _lines(tmp_path / "pages")
    assert [len(page["hits"]["hits"]) for page in pages] == [1000, 1000, 300]
    assert {page["hits"]["total"] for page in pages} == {2300}


def test_norwegian_records_come_in_the_shape_of_2022(tmp_path: Path) -> None:
    formats = [Format.NO_2022, Format.NO_LINKS]
    written = write_registers(tmp_path, 30, countries=["no"], formats=formats)

    shape = Shape(old=True, supervised=True)
    assert _array(written["no-enheter"]) == list(companies_no(30, seed=1, shape=shape))


def test_norwegian_entities_come_as_a_table(tmp_path: Path) -> None:
    written = write_registers(tmp_path, 30, countries=["no"], formats=[Format.NO_CSV])

    with written["no-enheter"].open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))

    assert tuple(table[0]) == COLUMNS
    assert len(table) == 30
    assert table[0]["forretningsadresse.adresse"] == "Prøveveien 12"
    assert table[0]["antallAnsatte"] == "42"
    assert table[5]["konkurs"] == "true"
    assert table[8]["forretningsadresse.adresse"] == "c/o Ola Mønstersen, Bjørkestien 4"


def test_business_cards_come_as_a_table_in_latin_letters(tmp_path: Path) -> None:
    written = write_registers(tmp_path, 30, formats=[Format.PEPPOL_CSV])

    with written["peppol"].open(encoding="iso-8859-1", newline="") as file:
        table = list(csv.DictReader(file, delimiter=";"))

    assert table[0]["Names (per-row)"] == "Prøvefabrikken ApS"
    assert len(table) == len(list(participants(30, seed=1)))


@pytest.mark.parametrize("companies", [0, MAX_COMPANIES + 1])
def test_a_register_without_companies_or_beyond_the_numbers_is_an_error(
    companies: int, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="a register has"):
        write_registers(tmp_path, companies)

    assert not list(tmp_path.iterdir())
