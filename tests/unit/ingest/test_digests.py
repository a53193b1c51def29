"""Recognition of unchanged documents by their digest."""

from pathlib import Path

import orjson
import pytest

from ingest.records.records import OutOfScope, RawDocument, RegisteredInError, Rejected
from ingest.records.source import Part, RegisterSource, digest_of, documents, understood
from ingest.registers.cvr.sync import DK_COMPANIES
from ingest.registers.table import sources
from register_samples import write_registers
from tests.builders.companies import TODAY
from tests.builders.registers import a_cvr_company


def test_the_quickly_read_key_has_the_leading_zeros(tmp_path: Path) -> None:
    path = tmp_path / "company.json"
    path.write_bytes(orjson.dumps({"Vrvirksomhed": a_cvr_company(cvrNummer=1234567)}))

    [document] = documents(path, DK_COMPANIES)

    assert isinstance(document, RawDocument)
    assert document.key == "dk:01234567"


@pytest.mark.parametrize(
    "kind", [kind for kind in sources().values() if kind.part is not Part.ACCOUNTS], ids=str
)
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


def test_equal_documents_of_one_release_have_equal_digests_and_others_do_not() -> None:
    assert digest_of(b'{"n":1}') == digest_of(b'{"n":1}')
    assert digest_of(b'{"n":1}') != digest_of(b'{"n":2}')
    assert digest_of(b'{"n":1}', release="1.0.0") != digest_of(b'{"n":1}', release="1.1.0")
