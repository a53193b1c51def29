"""Lists of a company: the first hundred in a lookup, all of them in pages, units in their order."""

from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, ProductionUnit, Status, UnitKey
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
from register_store import lists
from register_store.documents import dump
from register_store.indexes import make_indexes
from tests.builders.companies import (
    a_company_record,
    a_held_role,
    a_participant_record,
    a_unit,
    a_unit_record,
    an_address,
    an_owner,
)
from tests.builders.loading import NOON, Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

KEY = CompanyKey.parse("dk:12345674")
PRODUCTION_UNITS = ListedPart.PRODUCTION_UNITS
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

    async def load_units(self, *units: ProductionUnit, company: str = "12345674") -> None:
        records = [a_unit_record(unit, company=company) for unit in units]
        await self.load(*records, kind=DK_UNITS)

    async def shown(self) -> list[tuple[str, bool | None]]:
        """The units of a lookup, each with whether it is the main one."""
        units = (await self.looked_up())["production_units"]
        return [(unit["number"], unit["main"]) for unit in units]

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

    async def pages(self, part: ListedPart, limit: int, **fields: Any) -> list[dict[str, Any]]:
        pages = [await self.page(part, limit=limit, **fields)]
        while pages[-1]["cursor"]:
            after = pages[-1]["cursor"]
            pages.append(await self.page(part, limit=limit, after=after, **fields))
        return pages


@pytest.fixture
def store(register_db: Database) -> Store:
    return Store(register_db)


@pytest.mark.parametrize(
    "counts, merged",
    [
        ((0, 0, 0), 200),
        ((3, 2, 3), 1),
        ((100, 60, 40), 200),
        ((101, 1, 100), 1),
        ((250, 150, 90), 200),
        ((250, 150, 90), 1),
    ],
)
async def test_pages_have_every_entry_once_in_the_order_of_a_lookup(
    store: Store, counts: tuple[int, int, int], merged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_MERGED", merged)
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


async def test_a_cursor_of_no_answer_is_an_invalid_parameter(store: Store) -> None:
    await store.load(a_company_record())
    cursors = {
        ListedPart.EINVOICING: ("2x", "0", "0a b"),
        ListedPart.OWNERS: ("x", "-1"),
        ListedPart.ROLES: ("12345678",),
        PRODUCTION_UNITS: ("x", "3", "01234567890123", "0\n", "-1", "0٣"),
    }

    for part, cursor in [(part, one) for part, each in cursors.items() for one in each]:
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


@pytest.fixture(params=[100, 1], ids=["few units", "many units"])
def _read_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that are read at once, and more than are."""
    monkeypatch.setattr(lists, "MAX_LISTED", request.param)


#: Tests of what both ways of reading have to show.
either_way = pytest.mark.usefixtures("_read_at_once")


ENDED = a_unit(number="1000000001", started="1990-01-01", status=Status.ENDED)
YOUNG = a_unit(number="1000000002", started="2010-01-01")
OLD = a_unit(number="1000000003", started="2000-01-01", address=an_address("Fjernvej 1, Aalborg"))
AT_HOME = a_unit(number="1000000004", address=an_address())


@either_way
async def test_the_main_unit_is_the_one_at_the_companys_own_address_and_comes_first(
    store: Store,
) -> None:
    await store.load(a_company_record())
    await store.load_units(OLD, AT_HOME)

    assert await store.shown() == [("1000000004", True), ("1000000003", False)]


@either_way
async def test_without_a_unit_at_the_companys_address_the_oldest_active_one_is_main(
    store: Store,
) -> None:
    await store.load(a_company_record())
    await store.load_units(ENDED, YOUNG, OLD)

    assert await store.shown() == [
        ("1000000003", True),
        ("1000000002", False),
        ("1000000001", False),
    ]


@either_way
async def test_pages_have_every_unit_once_in_the_order_of_a_lookup(store: Store) -> None:
    listed = tuple(UnitKey.parse(f"dk:{number}") for number in (1_000_000_000, 1_000_000_009))
    await store.load(a_company_record(units=listed))
    await store.load_units(ENDED, YOUNG, OLD, AT_HOME)
    await store.load_units(a_unit(number="1000000005"), company="87654321")

    for limit in (1, 2, 3, 5, 6, 100):
        pages = await store.pages(PRODUCTION_UNITS, limit)

        shown = [unit for page in pages for unit in page["production_units"]]
        assert [unit["number"][-1] for unit in shown] == list("423109")
        assert {page["total"] for page in pages} == {6}
        assert len(pages) == -(-6 // limit)
        assert shown == (await store.looked_up())["production_units"]


@either_way
@pytest.mark.parametrize("wanted,numbers", [(True, "42"), (False, "3")])
async def test_units_are_selected_by_their_own_protection(
    store: Store, *, wanted: bool, numbers: str
) -> None:
    listed = (UnitKey.parse("dk:1000000009"),)
    await store.load(a_company_record(units=listed))
    given = ((ENDED, None), (YOUNG, True), (OLD, False), (AT_HOME, True))
    await store.load_units(
        *(unit.model_copy(update={"advertising_protected": value}) for unit, value in given)
    )

    pages = await store.pages(PRODUCTION_UNITS, 1, advertising_protected=wanted)

    shown = [unit for page in pages for unit in page["production_units"]]
    assert "".join(unit["number"][-1] for unit in shown) == numbers
    assert {page["total"] for page in pages} == {len(numbers)}
    assert [unit["main"] for unit in shown] == [unit["number"][-1] == "4" for unit in shown]


@either_way
async def test_a_page_goes_on_where_the_last_one_ended_although_units_came_and_went(
    store: Store,
) -> None:
    await store.load(a_company_record())
    await store.load_units(AT_HOME, OLD, a_unit(number="1000000006"))
    first = await store.page(PRODUCTION_UNITS, limit=2)

    await store.load_units(YOUNG, a_unit(number="1000000007"))
    await store.database["production_units"].delete_one({"_id": "dk:1000000003"})
    second = await store.page(PRODUCTION_UNITS, limit=2, after=first["cursor"])

    assert [unit["number"] for unit in second["production_units"]] == ["1000000006", "1000000007"]


async def test_a_company_without_units_has_an_empty_page_and_an_unknown_one_none(
    store: Store,
) -> None:
    unknown = await store.answer(PRODUCTION_UNITS)
    await store.load(a_company_record())

    assert isinstance(unknown, Failure)
    assert unknown.code is FailureCode.COMPANY_NOT_FOUND
    assert await store.page(PRODUCTION_UNITS) == {
        "production_units": [],
        "total": 0,
        "cursor": None,
    }


@either_way
async def test_a_unit_that_only_its_company_lists_is_returned_with_its_number(store: Store) -> None:
    listed = [
        UnitKey.parse(f"dk:{number}") for number in ("1012345678", "1012345686", "1012345694")
    ]
    await store.load(a_company_record(units=tuple(listed)))
    await store.load_units(a_unit())
    await store.load_units(a_unit(number="1012345686"), company="87654321")

    loaded, only_listed = (await store.looked_up())["production_units"]

    assert (loaded["number"], loaded["main"]) == ("1012345678", True)
    assert only_listed.pop("number") == "1012345694"
    assert not any(only_listed.values())


@either_way
async def test_a_removed_unit_is_not_found_even_if_its_company_lists_it(store: Store) -> None:
    unit = UnitKey.parse("dk:1012345678")
    await store.load(a_company_record(units=(unit,)))
    await store.database["tombstones"].insert_one({"_id": unit, "removed_at": NOON})

    assert (await store.looked_up())["production_units"] == []
    assert await store.register.companies_of_units([unit]) == {}


async def test_units_of_an_earlier_release_get_their_order_with_the_indexes(store: Store) -> None:
    await store.load(a_company_record())
    await store.database["production_units"].insert_many(
        [
            {"_id": f"dk:{unit.number}", "company": KEY, "core": dump(unit)}
            for unit in (ENDED, YOUNG, OLD, AT_HOME)
        ]
    )
    before = await store.shown()

    await make_indexes(store.database)

    assert [number for number, _ in before] == [f"100000000{last}" for last in (1, 2, 3, 4)]
    assert [number for number, _ in await store.shown()] == [
        f"100000000{last}" for last in (4, 2, 3, 1)
    ]


async def test_the_order_is_read_from_an_index_alone(store: Store) -> None:
    await store.load(a_company_record())
    await store.load_units(ENDED, YOUNG, OLD, AT_HOME)

    plan = await store.database.command(
        "explain",
        {
            "find": "production_units",
            "filter": {"company": KEY},
            "projection": {"ended": 1, "started": 1, "place": 1},
            "sort": {"ended": 1, "_id": 1},
        },
        verbosity="executionStats",
    )

    assert "COLLSCAN" not in str(plan)
    assert "'totalDocsExamined': 0" in str(plan)
