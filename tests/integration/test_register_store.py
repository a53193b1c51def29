"""The registers in MongoDB: lookups read the records that loading writes."""

from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, Status, UnitKey
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from ingest.registers.cvr.sync import DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from lookup.answers.lookups import AnswerLookups
from tests.builders.companies import (
    MONDAY,
    a_company,
    a_company_record,
    a_norwegian_record,
    a_participant_record,
    a_renamed_record,
    a_unit,
    a_unit_record,
    an_owner,
    an_owners_record,
)
from tests.builders.loading import Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

KEY = CompanyKey.parse("dk:12345674")


async def test_a_loaded_company_is_read_by_its_key(store: Loader) -> None:
    summary = await store.load(a_company_record(owners=(an_owner(),)))

    row = (await store.register.companies([KEY]))[KEY]

    assert summary.of_file()["new"] == 1
    assert row.revision == 1
    assert b"Pr\xc3\xb8vefabrikken" in row.core
    assert b"Anna Testesen" in row.owners
    assert row.updated_at == MONDAY.at


async def test_companies_with_a_phone_number_precede_those_whose_unit_has_it(
    store: Loader,
) -> None:
    ended = a_company(vat="10000009", status=Status.ENDED)
    active = a_company(vat="10000017")
    await store.load(a_company_record())
    await store.load(a_unit_record(phones=("33112233",)), kind=DK_UNITS)
    of_its_unit = await store.register.companies_of_phones(Country.DK, ["33112233"])
    await store.load(
        a_company_record(ended, phones=("33112233",)),
        a_company_record(active, phones=("33112233",)),
    )

    three = await store.register.companies_of_phones(Country.DK, ["33112233", "44556677"], 3)
    two = await store.register.companies_of_phones(Country.DK, ["33112233"], 2)

    assert of_its_unit == {"33112233": [KEY]}
    assert three == {"33112233": ["dk:10000017", "dk:10000009", KEY], "44556677": []}
    assert two == {"33112233": ["dk:10000017", "dk:10000009"]}


async def test_owners_loaded_before_their_company_appear_with_it(store: Loader) -> None:
    key = CompanyKey.parse("no:987654321")
    await store.load(an_owners_record(an_owner()), kind=NO_ROLES)
    hidden = await store.register.companies([key])

    await store.load(a_norwegian_record(), kind=NO_ENTITIES)

    assert hidden == {}
    row = (await store.register.companies([key]))[key]
    assert b"Anna Testesen" in row.owners


async def test_an_identifier_finds_its_holder(store: Loader) -> None:
    await store.load(a_company_record())
    await store.load(a_participant_record(), kind=PEPPOL)

    assert await store.register.holders(["0088:5790000000005"]) == {"0088:5790000000005": KEY}
    assert (await store.register.companies([KEY]))[KEY].revision == 2


async def test_a_company_is_removed_with_its_units_identifiers_and_events(store: Loader) -> None:
    await store.load(a_company_record())
    await store.load(a_renamed_record())
    await store.load(a_unit_record(), kind=DK_UNITS)
    await store.load(a_participant_record(), kind=PEPPOL)

    was_known = await store.remove(publish_events=True)

    names = ("companies", "production_units", "participants", "tombstones")
    left = [await store.database[name].count_documents({}) for name in names]
    [event] = await store.events()
    assert (was_known, left) == (True, [0, 0, 0, 1])
    assert (event["type"], event["revision"]) == ("company.removed", 5)
    assert event["data"]["company"] is None


async def test_lookups_and_events_list_identifiers_in_the_same_order(store: Loader) -> None:
    one, other = UnitKey.parse("dk:1012345678"), UnitKey.parse("dk:1012345670")
    await store.load(a_company_record())
    for unit in (one, other):
        await store.load(a_unit_record(a_unit(number=unit.number)), kind=DK_UNITS)
    held = {"0096:1": one, "0184:9": KEY, "0096:2": other, "0088:3": one, "0088:4": KEY}
    for identifier, holder in held.items():
        await store.load(a_participant_record(identifier, holder=holder), kind=PEPPOL)
    question = Question(type=SearchType.VAT, term="12345674")
    request = LookupRequest(
        country=Country.DK, questions=(question,), include=(Include.EINVOICING,)
    )

    [reply] = await AnswerLookups(store.register, FakeSearches())([request])

    [*_, newest] = [e for e in await store.events() if e["type"] == "einvoicing.changed"]
    [change] = newest["data"]["changes"]
    assert isinstance(reply, LookupReply)
    shown = [entry["identifier"] for entry in orjson.loads(reply.body)["einvoicing"]]
    assert shown == ["0088:4", "0184:9", "0088:3", "0096:1", "0096:2"]
    assert shown == [entry["identifier"] for entry in change["new"]]


async def test_every_read_uses_an_index(store: Loader) -> None:
    await store.load(a_company_record(phones=("33112233",)))
    queries: dict[str, dict[str, Any]] = {
        "companies": {"phones": "dk:33112233"},
        "production_units": {"company": KEY},
        "participants": {"holder": KEY},
    }

    for collection, query in queries.items():
        plan = await store.database[collection].find(query).explain()

        assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"])


async def test_a_unit_that_only_its_company_lists_finds_the_company(store: Loader) -> None:
    unit = UnitKey.parse("dk:1012345678")
    await store.load(a_company_record(units=(unit,)))
    listed = await store.register.companies_of_units([unit])
    await store.load(a_unit_record(company="87654321"), kind=DK_UNITS)

    moved = await store.register.companies_of_units([unit])

    assert listed == {unit: KEY}
    assert moved == {unit: "dk:87654321"}
