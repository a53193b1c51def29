"""Production units in MongoDB: their order, their pages, and what an earlier release stored."""

from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, ProductionUnit, Status, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    Question,
    SearchType,
)
from common.mongo import Database
from ingest.registers.cvr.sync import DK_UNITS
from lookup.answers.lookups import AnswerLookups
from lookup.answers.parts import AnswerPages
from register_store import lists as units
from register_store.documents import dump
from register_store.indexes import drop_replaced, make_indexes
from tests.builders.companies import a_company_record, a_unit, a_unit_record, an_address
from tests.builders.loading import NOON, Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

KEY = CompanyKey.parse("dk:12345674")
WITH_UNITS = LookupRequest(
    country=Country.DK,
    questions=(Question(type=SearchType.VAT, term="12345674"),),
    include=(Include.PRODUCTION_UNITS,),
)
FIRST = PartRequest(country=Country.DK, vat="12345674", limit=2)


class Store(Loader):
    async def load_units(self, *units: ProductionUnit, company: str = "12345674") -> None:
        records = [a_unit_record(unit, company=company) for unit in units]
        await self.load(*records, kind=DK_UNITS)

    async def shown(self) -> list[tuple[str, bool | None]]:
        """The units of a lookup, each with whether it is the main one."""
        return [(unit["number"], unit["main"]) for unit in await self.looked_up()]

    async def looked_up(self) -> list[dict[str, Any]]:
        (reply,) = await AnswerLookups(self.register, FakeSearches())([WITH_UNITS])
        assert isinstance(reply, LookupReply)
        shown: list[dict[str, Any]] = orjson.loads(reply.body)["production_units"]
        return shown

    async def answer(self, **fields: Any) -> PartReply | Failure:
        request = PartRequest(**{**FIRST.model_dump(), **fields})
        (reply,) = await AnswerPages(self.register)([request])
        return reply

    async def page(self, **fields: Any) -> dict[str, Any]:
        reply = await self.answer(**fields)
        assert isinstance(reply, PartReply)
        page: dict[str, Any] = orjson.loads(reply.body)
        return page

    async def pages(self, limit: int, **fields: Any) -> list[dict[str, Any]]:
        pages = [await self.page(limit=limit, **fields)]
        while pages[-1]["cursor"]:
            pages.append(await self.page(limit=limit, after=pages[-1]["cursor"], **fields))
        return pages


@pytest.fixture(params=[100, 1], ids=["few units", "many units"])
def store(
    register_db: Database, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Store:
    """Of units that are read at once, and of more than are."""
    monkeypatch.setattr(units, "MAX_LISTED", request.param)
    return Store(register_db)


ENDED = a_unit(number="1000000001", started="1990-01-01", status=Status.ENDED)
YOUNG = a_unit(number="1000000002", started="2010-01-01")
OLD = a_unit(number="1000000003", started="2000-01-01", address=an_address("Fjernvej 1, Aalborg"))
AT_HOME = a_unit(number="1000000004", address=an_address())


async def test_the_main_unit_is_the_one_at_the_companys_own_address_and_comes_first(
    store: Store,
) -> None:
    await store.load(a_company_record())
    await store.load_units(OLD, AT_HOME)

    assert await store.shown() == [("1000000004", True), ("1000000003", False)]


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


async def test_pages_have_every_unit_once_in_the_order_of_a_lookup(store: Store) -> None:
    listed = tuple(UnitKey.parse(f"dk:{number}") for number in (1_000_000_000, 1_000_000_009))
    await store.load(a_company_record(units=listed))
    await store.load_units(ENDED, YOUNG, OLD, AT_HOME)
    await store.load_units(a_unit(number="1000000005"), company="87654321")

    for limit in (1, 2, 3, 5, 6, 100):
        pages = await store.pages(limit)

        shown = [unit for page in pages for unit in page["production_units"]]
        assert [unit["number"][-1] for unit in shown] == list("423109")
        assert {page["total"] for page in pages} == {6}
        assert len(pages) == -(-6 // limit)
        assert shown == await store.looked_up()


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

    pages = await store.pages(1, advertising_protected=wanted)

    shown = [unit for page in pages for unit in page["production_units"]]
    assert "".join(unit["number"][-1] for unit in shown) == numbers
    assert {page["total"] for page in pages} == {len(numbers)}
    assert [unit["main"] for unit in shown] == [unit["number"][-1] == "4" for unit in shown]


async def test_a_page_goes_on_where_the_last_one_ended_although_units_came_and_went(
    store: Store,
) -> None:
    await store.load(a_company_record())
    await store.load_units(AT_HOME, OLD, a_unit(number="1000000006"))
    first = await store.page(limit=2)

    await store.load_units(YOUNG, a_unit(number="1000000007"))
    await store.database["production_units"].delete_one({"_id": "dk:1000000003"})
    second = await store.page(after=first["cursor"])

    assert [unit["number"] for unit in second["production_units"]] == ["1000000006", "1000000007"]


async def test_a_company_without_units_has_an_empty_page_and_an_unknown_one_none(
    store: Store,
) -> None:
    unknown = await store.answer()
    await store.load(a_company_record())

    assert isinstance(unknown, Failure)
    assert unknown.code is FailureCode.COMPANY_NOT_FOUND
    assert await store.page() == {"production_units": [], "total": 0, "cursor": None}


async def test_a_cursor_of_no_answer_is_an_invalid_parameter(store: Store) -> None:
    await store.load(a_company_record())

    for cursor in ("x", "3", "01234567890123", "0\n", "-1", "0٣"):
        failure = await store.answer(after=cursor)

        assert isinstance(failure, Failure)
        assert failure.code is FailureCode.INVALID_PARAMETER
        assert [error.parameter for error in failure.errors] == ["after"]


async def test_a_unit_that_only_its_company_lists_is_returned_with_its_number(store: Store) -> None:
    listed = [
        UnitKey.parse(f"dk:{number}") for number in ("1012345678", "1012345686", "1012345694")
    ]
    await store.load(a_company_record(units=tuple(listed)))
    await store.load_units(a_unit())
    await store.load_units(a_unit(number="1012345686"), company="87654321")

    loaded, only_listed = await store.looked_up()

    assert (loaded["number"], loaded["main"]) == ("1012345678", True)
    assert only_listed.pop("number") == "1012345694"
    assert not any(only_listed.values())


async def test_a_removed_unit_is_not_found_even_if_its_company_lists_it(store: Store) -> None:
    unit = UnitKey.parse("dk:1012345678")
    await store.load(a_company_record(units=(unit,)))
    await store.database["tombstones"].insert_one({"_id": unit, "removed_at": NOON})

    assert await store.looked_up() == []
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


async def test_an_index_of_an_earlier_release_stays_until_it_is_dropped(store: Store) -> None:
    units = store.database["production_units"]
    await units.create_index("company", name="company")

    await make_indexes(store.database)
    during_the_rollout = await units.index_information()
    dropped = [await drop_replaced(store.database) for _ in range(2)]

    assert "company" in during_the_rollout
    assert "company" not in await units.index_information()
    assert dropped == [["production_units.company"], []]


async def test_the_order_is_read_from_an_index_alone(store: Store) -> None:
    await store.load(a_company_record())
    await store.load_units(ENDED, YOUNG, OLD, AT_HOME)

    plan = await store.database.command(
        "explain",
        {
            "aggregate": "production_units",
            "pipeline": store.register.units.pipeline(KEY, None),
            "cursor": {},
        },
        verbosity="executionStats",
    )

    assert "COLLSCAN" not in str(plan)
    assert "'totalDocsExamined': 0" in str(plan)
