"""The documents have every field that the lookup service publishes of their register."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from ingest.records.source import RegisterSource
from ingest.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sources import PEPPOL
from register_samples import companies_dk, companies_no, participants, roles_no, units_dk, units_no
from tests.builders.companies import parsed

COUNT = 800


def values(record: object) -> Iterator[tuple[str, Any]]:
    """The public fields of a record, of its owners and of its roles."""
    for part in ("core", "owner_list", "role_list"):
        found = orjson.loads(getattr(record, part, None) or b"null")
        for each in found if isinstance(found, list) else [found or {}]:
            yield from ((f"{part}.{name}", value) for name, value in each.items())


@pytest.mark.parametrize(
    "stream,source,unknown",
    [
        (
            companies_dk,
            DK_COMPANIES,
            {
                *("registered", "vat_registered", "vat_registered_since", "accounts", "parent"),
                *("shares", "activity", "registrations", "sector", "in_group", "language"),
                *("home_register", "remarks"),
            },
        ),
        (
            companies_no,
            NO_ENTITIES,
            {
                *("trade_names", "fax", "advertising_protected", "signing_rule", "financial_year"),
                *("listed", "founders", "merged_into", "merged_from"),
            },
        ),
        (units_dk, DK_UNITS, {"website"}),
        (units_no, NO_UNITS, {"advertising_protected"}),
        (participants, PEPPOL, set()),
    ],
)
def test_some_document_has_each_field_that_its_register_publishes(
    stream: Callable[[int], Iterator[Any]], source: RegisterSource, unknown: set[str]
) -> None:
    found = [pair for each in stream(COUNT) for pair in values(parsed(source, each))]

    known = {name for name, value in found if value not in (None, [])}
    assert {name for name, _ in found} - known == {f"core.{name}" for name in unknown}


def test_norwegian_roles_have_owners_and_officers_with_every_field() -> None:
    found = [pair for each in roles_no(COUNT) for pair in values(parsed(NO_ROLES, each))]

    known = {name for name, value in found if value is not None}
    assert known >= {
        *("owner_list.vat", "owner_list.name", "owner_list.share"),
        *("role_list.vat", "role_list.role_text"),
    }
