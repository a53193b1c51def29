"""Long lists of a company: the first hundred in a lookup, and all of them in pages."""

from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import (
    MAX_LISTED,
    ListedPart,
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    Question,
    SearchType,
)
from common.mongo import Database
from ingest.registers.cvr.sync import DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from lookup.answers.lookups import AnswerLookups
from lookup.answers.parts import AnswerPages
from register_store import lists as einvoicing
from tests.builders.companies import (
    a_company_record,
    a_held_role,
    a_participant_record,
    a_unit,
    a_unit_record,
    an_owner,
)
from tests.builders.loading import Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

KEY = CompanyKey.parse("dk:12345674")
UNITS = [UnitKey.parse(f"dk:{number}") for number in (1000000001, 1000000002)]
EVERY = LookupRequest(
    country=Country.DK,
    questions=(Question(type=SearchType.VAT, term="12345674"),),
    include=(Include.PRODUCTION_UNITS, Include.EINVOICING, Include.OWNERS, Include.ROLES),
)
NAMES = {
    ListedPart.EINVOICING: "identifier",
    ListedPart.PRODUCTION_UNITS: "number",
    ListedPart.OWNERS: "name",
    ListedPart.ROLES: "name",
}


class Store(Loader):
    async def fill(self, *, owners: int, identifiers: int, of_units: int) -> None:
        """Stores a company with two units, and so many entries of its lists."""
        record = a_company_record(
            owners=[an_owner(name=f"Owner {number:04}") for number in range(owners)],
            roles=[a_held_role(name=f"Member {number:04}") for number in range(owners)],
        )
        await self.load(record)
        units = (a_unit_record(a_unit(number=unit.number)) for unit in UNITS)
        await self.load(*units, kind=DK_UNITS)
        own = [(f"0088:{2 * number:013}", KEY) for number in range(identifiers)]
        other = [(f"0088:{2 * n + 1:013}", UNITS[n % 2]) for n in range(of_units)]
        records = (a_participant_record(name, holder=holder) for name, holder in own + other)
        await self.load(*records, kind=PEPPOL)

    async def looked_up(self) -> dict[str, Any]:
        (reply,) = await AnswerLookups(self.register, FakeSearches())([EVERY])
        assert isinstance(reply, LookupReply)
        company: dict[str, Any] = orjson.loads(reply.body)
        return company

    async def answer(self, part: ListedPart, **fields: Any) -> PartReply | Failure:
        request = PartRequest(
            country=Country.DK, vat=KEY.vat, part=part, **{"limit": 100, **fields}
        )
        (reply,) = await AnswerPages(self.register)([request])
        return reply

    async def page(self, part: ListedPart, **fields: Any) -> dict[str, Any]:
        reply = await self.answer(part, **fields)
        assert isinstance(reply, PartReply)
        page: dict[str, Any] = orjson.loads(reply.body)
        return page

    async def pages(self, part: ListedPart, limit: int) -> list[dict[str, Any]]:
        pages = [await self.page(part, limit=limit)]
        while pages[-1]["cursor"]:
            pages.append(await self.page(part, limit=limit, after=pages[-1]["cursor"]))
        return pages


@pytest.fixture
def store(register_db: Database) -> Store:
    return Store(register_db)


@pytest.mark.parametrize("merged", [1, 200])
@pytest.mark.parametrize(
    "counts", [(0, 0, 0), (3, 2, 3), (100, 60, 40), (101, 1, 100), (250, 150, 90)]
)
async def test_pages_have_every_entry_once_in_the_order_of_a_lookup(
    store: Store, counts: tuple[int, int, int], merged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(einvoicing, "_MERGED", merged)
    owners, identifiers, of_units = counts
    await store.fill(owners=owners, identifiers=identifiers, of_units=of_units)
    totals = {
        ListedPart.PRODUCTION_UNITS: 2,
        ListedPart.EINVOICING: identifiers + of_units,
        ListedPart.OWNERS: owners,
        ListedPart.ROLES: owners,
    }

    company = await store.looked_up()

    for part, total in totals.items():
        assert (len(company[part]), company[f"{part}_total"]) == (min(total, MAX_LISTED), total)
        for limit in (1, 7, 100) if total < 10 else (33, 100):
            pages = await store.pages(part, limit)

            shown = [entry[NAMES[part]] for page in pages for entry in page[part]]
            first = [entry[NAMES[part]] for entry in company[part]]
            assert shown[:MAX_LISTED] == first
            assert len(set(shown)) == len(shown) == total
            assert {page["total"] for page in pages} == {total}
            assert len(pages) == max(-(-total // limit), 1)
    shown = [entry["identifier"] for entry in company["einvoicing"]]
    assert shown == sorted(shown, key=lambda name: (int(name[-1]) % 2, name))


async def test_a_list_that_the_register_lacks_is_null(store: Store) -> None:
    await store.load(a_company_record(owners=None, roles=None))

    company = await store.looked_up()

    for part in (ListedPart.OWNERS, ListedPart.ROLES):
        assert (company[part], company[f"{part}_total"]) == (None, None)
        assert await store.page(part) == {part: None, "total": None, "cursor": None}


@pytest.mark.parametrize(
    "part,cursor",
    [
        (ListedPart.EINVOICING, "2x"),
        (ListedPart.EINVOICING, "0"),
        (ListedPart.EINVOICING, "0a b"),
        (ListedPart.OWNERS, "x"),
        (ListedPart.OWNERS, "-1"),
        (ListedPart.ROLES, "12345678"),
    ],
)
async def test_a_cursor_of_no_answer_is_an_invalid_parameter(
    store: Store, part: ListedPart, cursor: str
) -> None:
    await store.load(a_company_record())

    failure = await store.answer(part, after=cursor)

    assert isinstance(failure, Failure)
    assert failure.code is FailureCode.INVALID_PARAMETER
    assert [error.parameter for error in failure.errors] == ["after"]


async def test_a_page_of_identifiers_is_read_from_the_index_in_order(store: Store) -> None:
    await store.fill(owners=0, identifiers=300, of_units=0)

    plan = await store.database.command(
        "explain",
        {
            "find": "participants",
            "filter": {"holder": {"$in": [KEY]}, "_id": {"$gt": "0088:0000000000100"}},
            "sort": {"_id": 1},
            "limit": 50,
        },
        verbosity="executionStats",
    )

    assert "'stage': 'SORT'" not in str(plan)
    assert plan["executionStats"]["totalDocsExamined"] == 50
