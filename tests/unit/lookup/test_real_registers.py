"""Every record of the real samples is accounted for, where they are at hand.

SHARED_DATA names their folder; they are not part of the project.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from lookup.ingest.records import Kind
from lookup.registers.reading import ReadRecord, read

SHARED_DATA = os.environ.get("SHARED_DATA")


@pytest.mark.skipif(SHARED_DATA is None, reason="SHARED_DATA names no folder of real samples")
@pytest.mark.parametrize(
    "name,kind,records",
    [
        ("no-enheter.json.gz", Kind.NO_ENTITIES, {"CompanyRecord": 3440}),
        ("no-enhet-2026.json", Kind.NO_ENTITIES, {"CompanyRecord": 1}),
        ("no-search-page.json", Kind.NO_ENTITIES, {"CompanyRecord": 5}),
        ("no-roller.json", Kind.NO_ROLES, {"OwnersRecord": 1}),
        ("dk-virksomhed.json", Kind.DK_COMPANIES, {"CompanyRecord": 1}),
        ("dk-produktionsenhed.json", Kind.DK_UNITS, {"UnitRecord": 4}),
    ],
)
def test_every_real_record_is_read(name: str, kind: Kind, records: dict[str, int]) -> None:
    found = read(Path(SHARED_DATA or ".") / name, kind)

    assert records == Counter(
        type(one.record).__name__ if isinstance(one, ReadRecord) else one.reason for one in found
    )
