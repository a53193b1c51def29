"""Recognition of unchanged documents by their digest."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from common.contracts.company import CompanyKey, Country
from lookup.changes.companies import plan_companies, plan_owners
from lookup.changes.participants import plan_participants
from lookup.changes.states import ApplyContext, DigestUpdate, Known, Verdict
from lookup.changes.units import plan_units
from lookup.records.digests import Part, digest_of, modules_of, rules_of
from lookup.records.records import OutOfScope, RawDocument, RegisteredInError, Rejected
from lookup.records.source import RegisterSource, documents, understood
from lookup.registers.brreg.sources import NO_ENTITIES
from lookup.registers.cvr.sources import DK_COMPANIES
from lookup.registers.table import sources
from register_samples import write_registers
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_participant_record,
    a_unit_record,
    after,
    an_owner,
    an_owners_record,
)
from tests.builders.registers import a_cvr_company

KEY = CompanyKey.parse("no:987654321")
GIVEN = ApplyContext(MONDAY, MONDAY.at, publish_events=True)
ONE, OTHER = b"a document", b"another one"

COMPANY = a_company_record(
    a_company(country=Country.NO, vat="987654321"), owners=None, version=MONDAY
)
OWNERS = an_owners_record(an_owner())
UNIT = a_unit_record()
PARTICIPANT = a_participant_record()


def known_company() -> Known:
    return after(plan_companies([replace(COMPANY, digest=ONE)], Known(), GIVEN))


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
        record = understood(kind.parse, document)
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


def test_a_digest_is_stored_with_its_record() -> None:
    company = plan_companies([replace(COMPANY, digest=ONE)], Known(), GIVEN)
    owners = plan_owners([replace(OWNERS, digest=ONE)], Known(), GIVEN)
    unit = plan_units([replace(UNIT, digest=ONE)], Known(), GIVEN)
    participant = plan_participants([replace(PARTICIPANT, digest=ONE)], Known(), GIVEN)

    assert company.companies[0].state.digest == ONE
    assert owners.companies[0].state.owners_digest == ONE
    assert unit.units[0].state.digest == ONE
    assert participant.participants[0].state.digest == ONE


def test_a_change_without_a_document_clears_the_digest() -> None:
    renamed = a_company(country=Country.NO, vat="987654321", name="Nytt Navn AS")
    record = a_company_record(renamed, owners=None, version=TUESDAY)

    plan = plan_companies([record], known_company(), GIVEN)

    assert plan.verdicts == (Verdict.CHANGED,)
    assert plan.companies[0].state.digest is None


def test_owners_and_their_company_keep_each_others_digests() -> None:
    company = known_company()
    both = after(plan_owners([replace(OWNERS, digest=OTHER)], company, GIVEN), company)
    renamed = a_company(country=Country.NO, vat="987654321", name="Nytt Navn AS")
    record = a_company_record(renamed, owners=None, version=TUESDAY)

    state = plan_companies([replace(record, digest=None)], both, GIVEN).companies[0].state

    assert (both.companies[KEY].digest, both.companies[KEY].owners_digest) == (ONE, OTHER)
    assert (state.digest, state.owners_digest) == (None, OTHER)


def test_a_changed_document_with_the_same_record_stores_its_digest_without_an_event() -> None:
    company = known_company()
    unit = after(plan_units([replace(UNIT, digest=ONE)], Known(), GIVEN))
    participant = after(plan_participants([replace(PARTICIPANT, digest=ONE)], Known(), GIVEN))

    plans = [
        plan_companies([replace(COMPANY, digest=OTHER)], company, GIVEN),
        plan_units([replace(UNIT, digest=OTHER)], unit, GIVEN),
        plan_participants([replace(PARTICIPANT, digest=OTHER)], participant, GIVEN),
    ]

    assert [plan.digest_updates for plan in plans] == [
        (DigestUpdate(Part.COMPANY, KEY, 1, OTHER),),
        (DigestUpdate(Part.UNIT, UNIT.key, 1, OTHER),),
        (DigestUpdate(Part.PARTICIPANT, PARTICIPANT.key, 1, OTHER),),
    ]
    assert all(plan.verdicts == (Verdict.UNCHANGED,) and plan.writes for plan in plans)
    assert not any(plan.outbox_events or plan.bumps or plan.companies for plan in plans)


def test_an_unchanged_document_and_a_record_without_one_write_nothing() -> None:
    for digest in (ONE, None):
        plan = plan_companies([replace(COMPANY, digest=digest)], known_company(), GIVEN)

        assert plan.verdicts == (Verdict.UNCHANGED,)
        assert not plan.writes


def test_digests_of_owners_are_not_updated_without_a_company() -> None:
    waiting = after(plan_owners([replace(OWNERS, digest=ONE)], Known(), GIVEN))
    company = known_company()
    known = after(plan_owners([replace(OWNERS, digest=ONE)], company, GIVEN), company)

    assert not plan_owners([replace(OWNERS, digest=OTHER)], waiting, GIVEN).writes
    assert plan_owners([replace(OWNERS, digest=OTHER)], known, GIVEN).digest_updates == (
        DigestUpdate(Part.OWNERS, KEY, 2, OTHER),
    )


def test_stale_and_removed_records_store_no_digest() -> None:
    renamed = a_company(country=Country.NO, vat="987654321", name="Gammelt Navn AS")
    older = replace(a_company_record(renamed, owners=None, version=MONDAY), digest=OTHER)
    removed = Known(tombstones={KEY})

    stale = plan_companies([older], known_company(), GIVEN)

    assert (stale.verdicts, stale.writes) == ((Verdict.STALE,), False)
    assert not plan_companies([older], removed, GIVEN).writes
