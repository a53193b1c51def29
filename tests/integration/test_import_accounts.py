"""Files of filings are imported with the folder of their documents, over MongoDB."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from common.mongo import Database
from ingest.changes.accounts import ApplyAccounts
from ingest.loading.accounts import LoadAccounts
from ingest.loading.load import LoadFile, ReadDocuments, Tally, reading_processes
from ingest.loading.stores import FileOrigin, Stores
from ingest.records.files import raw_records
from ingest.records.records import Rejected, SourceVersion
from ingest.records.source import documents
from ingest.registers.cvr.accounts_sync import from_folder
from ingest.registers.cvr.sync import DK_COMPANIES
from register_samples import write_registers

pytestmark = pytest.mark.integration


@pytest.fixture
async def stores(register_db: Database, tmp_path: Path) -> Stores:
    """With the companies of 40 positions, whose files are in the test's folder."""
    made = Stores.of(register_db)
    file = write_registers(tmp_path, 40)["dk-virksomhed"]
    async with reading_processes() as reader:
        load = LoadFile(
            made, ReadDocuments(made.parts, reader), origin=FileOrigin.IMPORTED, refuse=print
        )
        version = SourceVersion(datetime(2026, 11, 2, tzinfo=UTC))
        await load(DK_COMPANIES, documents(file, DK_COMPANIES), file_version=version)
    return made


async def load(stores: Stores, folder: Path, refused: list[Rejected]) -> Tally:
    loading = LoadAccounts(
        from_folder(folder / "documents"), ApplyAccounts(stores.writer, stores.now)
    )
    file = raw_records(folder / "dk-regnskab.jsonl")
    return await loading(file, publish_events=False, refuse=refused.append)


async def test_filings_are_stored_with_their_documents(
    stores: Stores, register_db: Database, tmp_path: Path
) -> None:
    refused: list[Rejected] = []

    first = await load(stores, tmp_path, refused)
    again = await load(stores, tmp_path, refused)

    assert refused == []
    assert first.results == {"new": first.read}
    assert again.results == {"unchanged": first.read}
    assert await register_db["accounts"].count_documents({}) >= first.read
    assert not await stores.states.is_loaded("dk-regnskab")


async def test_what_is_no_filing_is_refused_and_passed(stores: Stores, tmp_path: Path) -> None:
    hits = tmp_path / "dk-regnskab.jsonl"
    first, *rest = hits.read_bytes().splitlines()
    broken = first.replace(b'"cvrNummer":', b'"cvr":')
    other = first.replace(b'"regnskab","om', b'"aktivitetspligt","om')
    hits.write_bytes(b"\n".join([broken, other, *rest]))
    refused: list[Rejected] = []

    tally = await load(stores, tmp_path, refused)

    assert [each.reason for each in refused] == ["cvrNummer: not a registration number"]
    assert tally.elsewhere == Counter({"no annual accounts": 1})
    assert tally.results["new"] == len(rest)


async def test_a_missing_document_leaves_a_filing_without_figures(
    stores: Stores, register_db: Database, tmp_path: Path
) -> None:
    for each in (tmp_path / "documents").iterdir():
        each.unlink()

    tally = await load(stores, tmp_path, [])

    stored = await register_db["accounts"].find().to_list(None)
    assert len(stored) == tally.read
    assert all(
        b'"document_unreadable"' in each["body"] for each in stored if b".xml" in each["body"]
    )


@pytest.mark.parametrize("folder", [None, "nowhere"])
def test_the_folder_of_documents_is_required(folder: str | None, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--documents: dk-regnskab needs the folder"):
        from_folder(None if folder is None else tmp_path / folder)
