"""The ledger of a register names each member and code of its documents."""

import json
from collections.abc import Mapping
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ingest.commands import main
from ingest.records.fields import Document
from ingest.records.ledger import Ledger, Members, members_of
from ingest.records.records import CompanyRecord, RawDocument, Stored
from ingest.records.source import RegisterSource, all_understood, digest_of, parse
from ingest.registers.brreg import ledger as brreg
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr import ledger as cvr
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol import ledger as peppol
from ingest.registers.peppol.sync import PEPPOL
from register_samples import companies_dk, companies_no, participants, roles_no, units_dk, units_no
from tests.builders.companies import TODAY

SOURCES = (DK_COMPANIES, DK_UNITS, NO_ENTITIES, NO_UNITS, NO_ROLES, PEPPOL)
DOCUMENTS = Path(__file__).parent / "documents"


def models_of(model: type[Document]) -> set[type[Document]]:
    found, left = set(), [model]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += [child for child in members_of(one).values() if child is not None]
    return found


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_ledger_lists_as_read_what_the_models_read_and_nothing_else(
    source: RegisterSource,
) -> None:
    assert source.ledger is not None
    listed = source.ledger.members

    assert set(listed) == models_of(source.ledger.root)
    assert {model: set(members_of(model)) for model in listed} == {
        model: set(table.read) for model, table in listed.items()
    }


@pytest.mark.parametrize(
    "tables", [cvr.MEMBERS, brreg.MEMBERS, peppol.MEMBERS], ids=["cvr", "brreg", "peppol"]
)
def test_nothing_in_the_ledger_is_both_read_and_left_out_or_without_a_word(
    tables: Mapping[type[Document], Members],
) -> None:
    for table in tables.values():
        assert not set(table.read) & set(table.left_out)
        assert all([*table.read.values(), *table.left_out.values()])


@pytest.mark.parametrize(
    "ledger", [cvr.COMPANIES, cvr.UNITS, brreg.ENTITIES, brreg.UNITS, brreg.ROLES]
)
def test_codes_in_the_ledger_belong_to_its_members_and_are_read_if_these_are(
    ledger: Ledger,
) -> None:
    for one in ledger.values:
        table = ledger.members[one.model]
        assert one.member in (table.read if one.read else table.left_out)
        assert not set(one.read) & set(one.left_out)


@pytest.mark.parametrize(
    "source,samples",
    [
        (DK_COMPANIES, companies_dk),
        (DK_UNITS, units_dk),
        (NO_ENTITIES, companies_no),
        (NO_UNITS, units_no),
        (NO_ROLES, roles_no),
        (PEPPOL, participants),
    ],
    ids=["companies_dk", "units_dk", "entities_no", "units_no", "roles_no", "cards"],
)
def test_the_ledger_knows_all_of_the_invented_registers(
    source: RegisterSource, samples: Any
) -> None:
    ledger = source.ledger
    assert ledger is not None

    found = {path for raw in islice(samples(200), 200) for path in ledger.unknown(raw)}

    assert found == set()


def a_danish_document() -> dict[str, Any]:
    return deepcopy(next(iter(companies_dk(1))))


def changed(raw: dict[str, Any], **members: Any) -> dict[str, Any]:
    inner = raw.get("_source", raw)
    document = inner.get("Vrvirksomhed", inner)
    document.update(members)
    return raw


@pytest.mark.parametrize(
    "members,path",
    [
        ({"nytFelt": 1}, "nytFelt"),
        ({"navne": [{"navn": "A", "nyt": 1}]}, "navne.nyt"),
        (
            {"attributter": [{"type": "NY_ATTRIBUT", "vaerdier": []}]},
            "attributter.type=NY_ATTRIBUT",
        ),
        ({"status": [{"statuskode": 77, "kreditoplysningkode": 1}]}, "status.statuskode=77"),
        ({"virksomhedsform": [{"virksomhedsformkode": 999}]}, None),
        ({"a\u2028b": 1}, "(another)"),
    ],
)
def test_what_is_not_in_the_ledger_is_told_by_its_name(
    members: dict[str, Any], path: str | None
) -> None:
    raw = changed(a_danish_document(), **members)
    expected = "virksomhedsform.virksomhedsformkode=999" if path is None else path

    record = parse(DK_COMPANIES.parse, raw, TODAY, DK_COMPANIES.ledger)

    assert isinstance(record, CompanyRecord)
    assert f"{expected} (not in the ledger)" in record.odd


def test_a_norwegian_form_that_is_not_in_the_ledger_is_told() -> None:
    raw = {**next(iter(companies_no(1))), "organisasjonsform": {"kode": "NYFORM"}}

    record = parse(NO_ENTITIES.parse, raw, TODAY, NO_ENTITIES.ledger)

    assert isinstance(record, Stored)
    assert "organisasjonsform=NYFORM (not in the ledger)" in record.odd


def test_of_a_file_every_sixteenth_document_is_compared_and_of_a_small_batch_each() -> None:
    text = json.dumps(changed(a_danish_document(), nytFelt=1)).encode()
    document = RawDocument(1, "byte 0", text, None, digest_of(text))

    large, small = (
        all_understood(DK_COMPANIES.parse, [document] * count, TODAY, DK_COMPANIES.ledger)
        for count in (320, 10)
    )

    told = ["nytFelt (not in the ledger)" in one.odd for one in large if isinstance(one, Stored)]
    assert told == [place % 16 == 0 for place in range(320)]
    assert all("nytFelt (not in the ledger)" in one.odd for one in small if isinstance(one, Stored))


def test_the_command_counts_what_is_read_left_out_and_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "virksomheder.json"
    file.write_text(json.dumps([changed(a_danish_document(), nytFelt=1)]))

    with pytest.raises(SystemExit) as ended:
        main(["ledger", "dk-virksomhed", str(file)])

    said = capsys.readouterr()
    ledger = cvr.COMPANIES
    assert ended.value.code == 1
    assert f"{ledger.paths.read:,} members read, {ledger.paths.left_out:,} left out" in said.err
    assert f"{ledger.codes.read:,} codes read, {ledger.codes.left_out:,} left out" in said.err
    assert "1 unknown\n  nytFelt (not in the ledger): 1, as in dk:" in said.err
    assert "CvrAddress\tvejkode\tleft out\t" in said.out
