"""Recognition of unchanged documents by their digest."""

from pathlib import Path

import orjson
import pytest

from lookup.records.digests import digest_of, modules_of, rules_of
from lookup.records.records import OutOfScope, RawDocument, RegisteredInError, Rejected
from lookup.records.source import RegisterSource, documents, understood
from lookup.registers.brreg.sources import NO_ENTITIES
from lookup.registers.cvr.sources import DK_COMPANIES
from lookup.registers.table import sources
from register_samples import write_registers
from tests.builders.companies import TODAY
from tests.builders.registers import a_cvr_company


def test_the_quickly_read_key_has_the_leading_zeros(tmp_path: Path) -> None:
    path = tmp_path / "company.json"
    path.write_bytes(orjson.dumps({"Vrvirksomhed": a_cvr_company(cvrNummer=1234567)}))

    [document] = documents(path, DK_COMPANIES)

    assert isinstance(document, RawDocument)
    assert document.key == "dk:01234567"


@pytest.mark.parametrize("kind", sources().values())
def test_the_quickly_read_key_is_that_of_the_record(kind: RegisterSource, tmp_path: Path) -> None:
    file = write_registers(tmp_path, 40)[kind.name]
    stored = 0
    for document in documents(file, kind):
        assert isinstance(document, RawDocument)
        record = understood(kind.parse, document, TODAY)
        assert not isinstance(record, Rejected)
        if isinstance(record, OutOfScope | RegisteredInError):
            continue
        stored += 1

        assert (record.key, record.digest) == (document.key, document.digest)

    assert stored > 0


def test_documents_have_equal_digests_exactly_if_they_are_equal() -> None:
    parser = DK_COMPANIES.parse.__module__

    assert digest_of(b'{"n":1}', parser) == digest_of(b'{"n":1}', parser)
    assert digest_of(b'{"n":1}', parser) != digest_of(b'{"n":2}', parser)


def test_a_change_of_one_registers_code_keeps_the_digests_of_the_others() -> None:
    dk, no = DK_COMPANIES.parse.__module__, NO_ENTITIES.parse.__module__

    assert digest_of(b"{}", dk) != digest_of(b"{}", no)
    assert not [name for name in modules_of(no) if name.startswith("lookup.registers.cvr")]


@pytest.fixture
def invented_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A register's package, whose parser imports one of its two other modules."""
    folder = tmp_path / "invented_parser"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "parser.py").write_text("from invented_parser import rules\nAS = rules.AS")
    (folder / "rules.py").write_text("from lookup.records.text import country_name\nAS = 1")
    (folder / "client.py").write_text("from invented_parser import parser")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_change_of_what_a_parser_imports_changes_its_digests(invented_parser: Path) -> None:
    before = rules_of("invented_parser.parser")

    (invented_parser / "rules.py").write_text("AS = 2")

    assert rules_of("invented_parser.parser") != before


def test_a_change_of_other_code_keeps_the_digests(invented_parser: Path) -> None:
    before = rules_of("invented_parser.parser")

    (invented_parser / "client.py").write_text("from invented_parser import parser, rules")

    assert rules_of("invented_parser.parser") == before


@pytest.mark.parametrize("source", sources().values())
def test_the_code_of_a_digest_is_what_parses_and_nothing_else(source: RegisterSource) -> None:
    code = set(modules_of(source.parse.__module__))

    rooms = {".".join(name.split(".")[:2]) for name in code}
    assert {source.parse.__module__, "lookup.records.records", "common.contracts.company"} <= code
    assert rooms == {
        "common.contracts",
        "common.domain",
        "lookup.records",
        "lookup.registers",
        "lookup.store",
    }
    assert {name for name in code if name.startswith("lookup.store.")} == {
        "lookup.store.canonical_json",
        "lookup.store.ranking",
    }
