"""Loading of register files."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from common.contracts.company import CompanyKey
from common.mongo import Database
from ingest.changes import apply
from ingest.changes.company_plans import plan_companies
from ingest.changes.states import ApplyContext, Conflict, Plan
from ingest.changes.transaction import StoredRegisterWriter
from ingest.commands import main
from ingest.loading.load import NotWhole, Piece, WrongSource
from ingest.loading.stores import FileOrigin
from ingest.records.records import (
    CompanyRecord,
    FileBroken,
    RegisteredInError,
    Rejected,
    SourceVersion,
    Stored,
)
from ingest.records.source import MAX_STORED, RegisterSource
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_held_role,
    a_norwegian_record,
    a_participant_record,
    a_renamed_record,
    a_unit,
    a_unit_record,
    an_owner,
    an_owners_record,
)
from tests.builders.loading import NOON, Loader, a_document

pytestmark = pytest.mark.integration

KEY = CompanyKey.parse("dk:12345674")
OTHER = CompanyKey.parse("dk:87654321")
RENAMED = a_renamed_record()
BROKEN = "the file ends at byte 900, in the middle of record 3"


async def told(store: Loader) -> list[tuple[str, int]]:
    """Type and revision of each event."""
    return [(event["type"], event["revision"]) for event in await store.events()]


def truncated() -> Iterator[Piece]:
    yield a_document(a_company_record())
    yield Rejected(2, "byte 700", "organisasjonsnummer is missing")
    raise FileBroken(BROKEN)


async def test_loading_the_same_file_again_changes_nothing(store: Loader) -> None:
    records = (a_company_record(), a_company_record(a_company(vat=OTHER.number)))

    assert await store.count(*records, verdict="new") == 2
    assert await store.count(*records, verdict="unchanged") == 2
    assert (await store.revision(), await store.revision(OTHER)) == (1, 1)


async def test_a_document_is_parsed_again_only_after_its_record_changed_or_was_removed(
    store: Loader,
) -> None:
    document = a_document(a_company_record(), digest=b"a document")
    await store.load(document)

    unchanged, parsed = await store.count(document, verdict="unchanged"), store.parsed
    await store.load(RENAMED)
    stale = await store.count(document, verdict="stale")
    await store.remove()
    removed = await store.count(document, verdict="removed")

    assert (unchanged, parsed) == (1, 1)
    assert (stale, store.stale, removed) == (1, [KEY], 1)


@pytest.mark.parametrize(
    "record, kind",
    [
        (a_company_record(), DK_COMPANIES),
        (an_owners_record(an_owner(), vat="12345674"), NO_ROLES),
        (a_unit_record(), DK_UNITS),
        (a_participant_record(), PEPPOL),
    ],
    ids=["company", "owners", "unit", "participant"],
)
async def test_a_changed_document_with_an_unchanged_record_is_parsed_once(
    store: Loader, record: Stored, kind: RegisterSource
) -> None:
    await store.load(a_norwegian_record(vat="12345674"), kind=NO_ENTITIES)
    await store.load(record, kind=kind)
    before = await store.revision()
    reads = store.parsed

    for _ in range(3):
        document = a_document(record, digest=b"another document")
        assert await store.count(document, kind=kind, verdict="unchanged") == 1

    assert store.parsed == reads + 1
    assert await store.revision() == before
    assert await store.events() == []


async def test_a_repeated_record_of_a_file_is_compared_with_its_first_version(
    store: Loader,
) -> None:
    counts = (await store.load(a_company_record(), RENAMED, a_company_record())).of_file()

    assert (counts["new"], counts["changed"], counts["stale"]) == (1, 1, 1)
    assert await store.revision() == 2


async def test_what_a_file_marks_as_registered_in_error_has_ended(store: Loader) -> None:
    owned = a_company_record(owners=[an_owner()], roles=[a_held_role()])
    await store.load(owned, kind=DK_COMPANIES)
    await store.load(a_unit_record(), kind=DK_UNITS)
    mistakes = [RegisteredInError(key, TUESDAY) for key in (KEY, OTHER)]
    of_units = [RegisteredInError(a_unit_record().key, TUESDAY)]

    first = (await store.load(*mistakes, kind=DK_COMPANIES)).of_file()
    again = (await store.load(*mistakes, kind=DK_COMPANIES)).of_file()
    units = (await store.load(*of_units, kind=DK_UNITS)).of_file()

    company = (await store.stores.writer.known(companies=[KEY])).companies[KEY]
    assert company.core is not None
    assert (b'"status":"ended"' in company.core, b"FEJLREGISTRERET" in company.core) == (True, True)
    assert (company.owners, company.roles) == (b"[]", b"[]")
    assert (first["changed"], first["elsewhere"], first["read"]) == (1, 1, 2)
    assert (again["unchanged"], again["elsewhere"], units["changed"]) == (1, 1, 1)
    assert [event["type"] for event in await store.events()] == [
        "company.status_changed", "company.updated", "owners.changed", "production_unit.ended",
    ]  # fmt: skip


async def test_a_company_of_a_file_that_is_then_marked_as_registered_in_error_has_ended(
    store: Loader,
) -> None:
    counts = await store.load(RegisteredInError(KEY, TUESDAY), a_company_record())

    company = (await store.stores.writer.known(companies=[KEY])).companies[KEY]
    assert b'"status":"ended"' in (company.core or b"")
    assert (counts.of_file()["new"], counts.of_file()["changed"]) == (1, 1)


async def test_concurrent_loads_lose_no_change(store: Loader) -> None:
    await store.load(a_company_record())
    units = [a_unit_record(a_unit(number=str(number))) for number in range(10**9, 10**9 + 20)]

    await asyncio.gather(*(store.load(unit, kind=DK_UNITS) for unit in units))

    known = await store.stores.writer.known(units=[unit.key for unit in units])
    assert len(known.units) == 20
    assert await store.revision() == 21


async def test_a_plan_on_an_outdated_state_writes_nothing(store: Loader) -> None:
    await store.load(a_company_record())
    known = await store.stores.writer.known(companies=[KEY])
    await store.load(RENAMED)
    new = a_company_record(a_company(vat=OTHER.number))

    outdated = plan_companies([new, RENAMED], known, ApplyContext(TUESDAY, NOON))
    with pytest.raises(Conflict):
        await store.stores.writer.write(outdated)

    assert await store.revision(OTHER) is None


async def test_a_truncated_file_is_loaded_in_part_and_its_source_stays_loading(
    store: Loader,
) -> None:
    summary = await store.load_file(DK_COMPANIES, truncated(), file_version=MONDAY)

    assert summary.broken == BROKEN
    assert (summary.of_file()["new"], summary.of_file()["refused"]) == (1, 1)
    assert [refused.number for refused in store.refused] == [2]
    assert not await store.is_loaded()


async def test_a_complete_file_makes_its_source_loaded(store: Loader) -> None:
    await store.load(a_company_record())

    assert await store.is_loaded()
    assert not await store.is_loaded(DK_UNITS)


async def test_the_first_load_publishes_nothing_and_later_ones_their_changes(store: Loader) -> None:
    await store.load(a_company_record())
    first = await told(store)

    await store.load(RENAMED, a_company_record(a_company(vat=OTHER.number)))

    assert first == []
    assert await told(store) == [("company.created", 1), ("company.updated", 2)]


async def test_a_change_of_the_largest_records_is_stored_with_its_events(store: Loader) -> None:
    half = "x" * (MAX_STORED // 2 - 50_000)

    def largest(letter: str, version: SourceVersion) -> CompanyRecord:
        text = letter + half
        owners = [an_owner(name=f"{letter} {n} {text[:900]}") for n in range(1_000)]
        return a_company_record(a_company(purpose=text), owners=owners, version=version)

    await store.load(largest("A", MONDAY))
    await store.load(largest("B", TUESDAY))

    assert await told(store) == [("company.updated", 2), ("owners.changed", 2)]
    sizes = [len(row["body"]) async for row in store.database["outbox"].find()]
    assert max(sizes) < 8 << 20, "MongoDB and RabbitMQ refuse more than 16 MB"


async def test_the_next_file_does_not_restore_a_removed_company(store: Loader) -> None:
    await store.load(a_company_record())
    known = [await store.remove(publish_events=True) for _ in range(2)]

    companies = await store.count(a_company_record(version=TUESDAY), verdict="removed")
    units = await store.count(a_unit_record(), kind=DK_UNITS, verdict="removed")

    assert (companies, units, await store.revision()) == (1, 1, None)
    assert known == [True, False]
    assert await told(store) == [("company.removed", 2)], "a repeated removal keeps the first's"


async def test_removing_an_unknown_company_leaves_a_tombstone(store: Loader) -> None:
    assert not await store.remove()
    assert await store.count(a_company_record(), verdict="removed") == 1


async def test_a_file_with_less_than_half_of_the_records_is_refused(store: Loader) -> None:
    records = [a_company_record(a_company(vat=str(10_000_000 + n))) for n in range(5)]
    await store.load(*records)

    def file(count: int) -> Iterator[Piece]:
        return (a_document(record) for record in records[:count])

    await store.load_file.check(DK_COMPANIES, lambda: file(3))
    await store.load_file.check(DK_COMPANIES, lambda: file(1), force=True)
    with pytest.raises(NotWhole, match="2 records; the last whole file had 5"):
        await store.load_file.check(DK_COMPANIES, lambda: file(2))


async def test_later_files_are_not_compared_with_a_forced_one(store: Loader) -> None:
    await store.load(a_company_record(), a_company_record(a_company(vat=OTHER.number)))
    await store.load(a_company_record(), force=True)

    assert await store.stores.states.records(DK_COMPANIES.name, FileOrigin.IMPORTED) == 2


class Contested(StoredRegisterWriter):
    """Concurrent writers win the next writes."""

    conflicts = 0

    async def write(self, plan: Plan) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict
        await super().write(plan)


@pytest.mark.parametrize("conflicts", [2, 3])
async def test_a_plan_is_made_again_after_each_conflict_up_to_the_last(
    store: Loader, monkeypatch: pytest.MonkeyPatch, conflicts: int
) -> None:
    monkeypatch.setattr(apply, "TRIES", 3)
    writer = Contested(store.database, lambda: NOON)
    writer.conflicts = conflicts
    store.stores = replace(store.stores, writer=writer)

    if conflicts < 3:
        assert await store.count(a_company_record(), verdict="new") == 1
    else:
        with pytest.raises(Conflict, match="3 times in a row"):
            await store.load(a_company_record())
    assert await store.is_loaded() is (conflicts < 3)


async def test_an_import_says_that_another_process_writes(
    register_db: Database,
    mongo_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As for a minute after a process was killed in a transaction."""

    async def contested(_writer: StoredRegisterWriter, _plan: Plan) -> None:
        raise Conflict

    monkeypatch.setattr(apply, "TRIES", 2)
    monkeypatch.setattr(StoredRegisterWriter, "write", contested)
    monkeypatch.setenv("MONGO_URL", mongo_url)
    monkeypatch.setenv("REGISTER_DB", register_db.name)
    file = tmp_path / "entity.json"
    file.write_text('{"organisasjonsnummer": "310999989", "navn": "PRØVEN AS"}')

    with pytest.raises(SystemExit, match="4"):
        await asyncio.to_thread(main, ["import", "no-enheter", str(file)])

    assert "another process writes them; run the command again later" in capsys.readouterr().err


async def test_a_file_without_a_valid_record_is_of_another_source(store: Loader) -> None:
    def broken() -> Iterator[Piece]:
        yield from ()
        raise FileBroken("the file is empty")

    rejected = Rejected(1, "byte 0", "organisasjonsnummer: missing")
    with pytest.raises(WrongSource, match="of its first 1 record none is valid"):
        await store.load_file.check(DK_COMPANIES, lambda: iter([rejected]))
    with pytest.raises(WrongSource, match="the file is empty"):
        await store.load_file.check(DK_COMPANIES, broken)


async def test_a_truncated_file_passes_the_check(store: Loader) -> None:
    await store.load_file.check(DK_COMPANIES, truncated)
