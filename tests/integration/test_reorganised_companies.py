"""Parties of a merger that are loaded at different times, over MongoDB."""

import orjson
import pytest

from common.contracts.company import CompanyKey, RestructuringType
from common.mongo import Database
from ingest.records.records import CompanyRecord, Reorganisation, restructurings
from tests.builders.companies import a_company, a_company_record
from tests.builders.loading import Loader

pytestmark = pytest.mark.integration

DAY = "2011-08-11"


def a_party(vat: str, name: str, *, went_in: bool) -> CompanyRecord:
    parts = (Reorganisation("4007477649", RestructuringType.MERGER, DAY, went_in=went_in),)
    into, out_of = restructurings(parts)
    company = a_company(vat=vat, name=name, merged_into=into, merged_from=out_of)
    return a_company_record(company, reorganisations=parts)


async def test_the_second_party_completes_the_first_without_an_event(
    register_db: Database,
) -> None:
    loader = Loader(register_db)
    await loader.load(a_party("12345674", "Prøven ApS", went_in=True))
    await loader.load(a_company_record(a_company(vat="25052943", name="Testen ApS")), force=True)

    await loader.load(a_party("87654321", "Arvingen A/S", went_in=False), force=True)

    keys = [CompanyKey.parse(f"dk:{vat}") for vat in ("12345674", "87654321")]
    rows = await loader.register.companies(keys)
    gone, heir = (orjson.loads(rows[key].core) for key in keys)
    assert [one["vat"] for one in gone["merged_into"]] == ["87654321"]
    assert [one["name"] for one in heir["merged_from"]] == ["Prøven ApS"]
    assert await loader.revision() == 2
    assert [event["type"] for event in await loader.events() if event["vat"] == "12345674"] == []
