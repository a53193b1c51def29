"""Every record of the real samples is accounted for, where they are at hand.

SHARED_DATA names their folder; they are not part of the project.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from ingest.records.records import Rejected
from ingest.records.source import RegisterSource, read
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from tests.builders.companies import TODAY

SHARED_DATA = os.environ.get("SHARED_DATA")


@pytest.mark.skipif(SHARED_DATA is None, reason="SHARED_DATA names no folder of real samples")
@pytest.mark.parametrize(
    "name,kind,records",
    [
        ("no-enheter.json.gz", NO_ENTITIES, {"CompanyRecord": 3440}),
        ("no-enhet-2026.json", NO_ENTITIES, {"CompanyRecord": 1}),
        ("no-search-page.json", NO_ENTITIES, {"CompanyRecord": 5}),
        ("no-roller.json", NO_ROLES, {"OwnersRecord": 1}),
        ("dk-virksomhed.json", DK_COMPANIES, {"CompanyRecord": 1}),
        ("dk-produktionsenhed.json", DK_UNITS, {"UnitRecord": 4}),
    ],
)
def test_every_real_record_is_read(
    name: str, kind: RegisterSource, records: dict[str, int]
) -> None:
    found = read(Path(SHARED_DATA or ".") / name, kind, TODAY)

    assert records == Counter(
        one.reason if isinstance(one, Rejected) else type(one).__name__ for one in found
    )
