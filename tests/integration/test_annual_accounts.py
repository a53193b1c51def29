"""Annual accounts are stored once, with their events, and a correction replaces others."""

from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest

from common.contracts.accounts import AccountsBasis, AccountsState, AnnualAccounts
from common.contracts.company import CompanyAnswer, CompanyKey, Country, Include, LegalForm
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import (
    ListedPart,
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    Question,
    SearchType,
)
from common.domain.limited import hash_of_name
from common.mongo import Database
from ingest.changes.accounts import ApplyAccounts, FiledAccounts
from ingest.changes.states import Verdict
from ingest.registers.brreg.sync import NO_ENTITIES
from lookup.answers.lookups import AnswerLookups
from lookup.answers.parts import AnswerPages
from register_store.accounts import ACCOUNTS, ACCOUNTS_STATES, AccountsPage
from register_store.indexes import make_indexes
from tests.builders.accounts import accounts_of
from tests.builders.companies import TUESDAY, a_company, a_company_record, a_norwegian_record
from tests.builders.loading import NOON, Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

COMPANY = CompanyKey.parse("no:987654321")
FIGURES = "annual_accounts.figures"


@dataclass
class Shelf:
    """The accounts of one company, and how they are written and read."""

    loader: Loader
    sole_proprietors: bool = False
    company: CompanyKey = COMPANY

    async def store(self, *accounts: AnnualAccounts, publish_events: bool = True) -> Verdict:
        apply = ApplyAccounts(self.loader.stores.writer, lambda: NOON, self.sole_proprietors)
        [verdict] = await apply(
            [FiledAccounts(self.company, accounts)], publish_events=publish_events
        )
        return verdict

    async def page(self, limit: int = 10, before: str = "") -> AccountsPage:
        return await self.loader.register.accounts.page(self.company, limit, before)

    async def read(self) -> list[dict[str, Any]]:
        return [orjson.loads(body) for body in (await self.page()).accounts]

    async def told(self) -> list[dict[str, Any]]:
        events = await self.loader.events()
        return [event for event in events if event["type"] == "company.accounts_published"]

    async def revision(self) -> int | None:
        return await self.loader.revision(self.company)


@pytest.fixture
async def shelf(store: Loader, register_db: Database) -> Shelf:
    """A company without accounts."""
    await make_indexes(register_db)
    await store.load(a_norwegian_record(), kind=NO_ENTITIES)
    return Shelf(store)


async def test_accounts_come_newest_first_and_in_pages(shelf: Shelf) -> None:
    years = range(2015, 2026)
    await shelf.store(*(accounts_of(year, str(year)) for year in years))

    first = await shelf.page(limit=10)
    rest = await shelf.page(limit=10, before=first.cursor or "")

    ends = [orjson.loads(body)["period"]["end"] for body in [*first.accounts, *rest.accounts]]
    assert ends == [f"{year}-12-31" for year in reversed(years)]
    assert (first.cursor, rest.cursor) == ("2016-12-31/company/2016", None)
    assert first.state is AccountsState.OK


async def test_a_lookup_has_the_newest_ten_with_an_entity_tag_of_their_own(shelf: Shelf) -> None:
    answers = AnswerLookups(shelf.loader.register, FakeSearches())
    term = Question(type=SearchType.VAT, term=COMPANY.number)
    request = LookupRequest(
        country=Country.NO, questions=(term,), include=(Include.ANNUAL_ACCOUNTS,)
    )
    [before] = await answers([request])
    await shelf.store(*(accounts_of(year, str(year)) for year in range(2010, 2026)))

    [reply] = await answers([request])
    [plain] = await answers([request.model_copy(update={"include": ()})])

    assert isinstance(before, LookupReply)
    assert isinstance(reply, LookupReply)
    company = CompanyAnswer.model_validate_json(reply.body)
    assert [one.period.end[:4] for one in company.annual_accounts or ()] == [
        str(year) for year in range(2025, 2015, -1)
    ]
    assert company.accounts_state is AccountsState.OK
    assert orjson.loads(before.body)["accounts_state"] == "unknown"
    assert before.tag != reply.tag
    assert isinstance(plain, LookupReply)
    assert b"annual_accounts" not in plain.body


async def test_pages_of_accounts_go_on_from_a_cursor(shelf: Shelf) -> None:
    await shelf.store(*(accounts_of(year, str(year)) for year in (2023, 2024, 2025)))
    answers = AnswerPages(shelf.loader.register)

    async def page(after: str) -> PartReply | Failure:
        request = PartRequest(
            country=Country.NO, vat=COMPANY.number, part=ListedPart.ACCOUNTS, limit=2, after=after
        )
        return (await answers([request]))[0]

    first = await page("")
    assert isinstance(first, PartReply)
    cursor = orjson.loads(first.body)["cursor"]
    rest, wrong = await page(cursor), await page("2024")

    assert isinstance(rest, PartReply)
    assert [one["period"]["end"] for one in orjson.loads(rest.body)["annual_accounts"]] == [
        "2023-12-31"
    ]
    assert isinstance(wrong, Failure)
    assert wrong.code is FailureCode.INVALID_PARAMETER


async def test_the_same_accounts_again_change_nothing(shelf: Shelf) -> None:
    verdicts = [await shelf.store(accounts_of(profit="1")) for _ in range(3)]

    assert verdicts == [Verdict.NEW, Verdict.UNCHANGED, Verdict.UNCHANGED]
    assert await shelf.revision() == 2
    assert len(await shelf.told()) == 1


async def test_each_scope_of_a_filing_has_an_event_with_its_accounts(shelf: Shelf) -> None:
    await shelf.store(accounts_of(2024, "1"), publish_events=False)
    await shelf.store(
        accounts_of(2024, "1"), accounts_of(2025, "3", scope="group"), accounts_of(2025, "2")
    )

    company, group = await shelf.told()

    assert company["data"]["accounts"] == (await shelf.read())[1]
    assert company["data"]["changes"] == [
        {"field": "annual_accounts", "old": "2024-12-31", "new": "2025-12-31"}
    ]
    assert group["data"]["accounts"]["scope"] == "group"
    assert group["data"]["changes"] == [
        {"field": "annual_accounts", "old": None, "new": "2025-12-31"}
    ]
    assert group["id"] != company["id"]
    assert group["revision"] == company["revision"] == 3


async def test_a_new_year_names_the_figures_that_differ_from_the_year_before(shelf: Shelf) -> None:
    short: Any = {"period": {"start": "2023-10-01", "end": "2023-12-31"}}
    await shelf.store(accounts_of(2023, "1", revenue="3", **short))
    await shelf.store(accounts_of(2024, "2", revenue="11400000", equity="5"))
    await shelf.store(accounts_of(2025, "3", revenue="12345678", equity="5", profit="-4"))
    await shelf.store(accounts_of(2026, "4", revenue="1", currency="EUR"))

    [first, *told] = [event["data"]["changes"] for event in await shelf.told()]

    assert [[change["field"] for change in changes] for changes in (first, *told)] == [
        ["annual_accounts"],
        # A year is not compared with a quarter, nor with another currency.
        ["annual_accounts"],
        ["annual_accounts", f"{FIGURES}.revenue", f"{FIGURES}.profit"],
        ["annual_accounts"],
    ]
    assert told[1][1] == {"field": f"{FIGURES}.revenue", "old": "11400000", "new": "12345678"}


async def test_a_first_load_has_no_events_and_raises_the_revision(shelf: Shelf) -> None:
    await shelf.store(accounts_of(), publish_events=False)

    assert await shelf.told() == []
    assert await shelf.revision() == 2


async def test_a_correction_replaces_the_accounts_and_names_the_changed_figures(
    shelf: Shelf,
) -> None:
    await shelf.store(accounts_of(source="9", profit="1", equity="5"), publish_events=False)
    await shelf.store(accounts_of(source="10", profit="-2", equity="5"))
    # As a file of the day before has it.
    await shelf.store(accounts_of(source="9", profit="1", equity="5"))

    [current] = await shelf.read()
    [event] = await shelf.told()

    assert current["source"]["id"] == "10"
    assert current["correction"] is True
    assert event["data"]["accounts"] == current
    assert event["data"]["changes"] == [{"field": f"{FIGURES}.profit", "old": "1", "new": "-2"}]
    assert await shelf.loader.database[ACCOUNTS].count_documents({}) == 2


async def test_other_figures_of_the_same_filing_are_no_new_filing(shelf: Shelf) -> None:
    await shelf.store(accounts_of(profit="1"), publish_events=False)

    verdict = await shelf.store(accounts_of(profit="1", cash="7"))

    [current] = await shelf.read()
    assert (verdict, current["figures"]["cash"], current["correction"]) == ("changed", "7", False)
    assert await shelf.told() == []
    assert await shelf.revision() == 3


async def test_the_year_before_gives_way_to_its_own_filing_in_any_order(shelf: Shelf) -> None:
    before = {"basis": AccountsBasis.COMPARATIVE}
    later = [accounts_of(2025, "z"), accounts_of(2024, "z", profit="3", **before)]
    await shelf.store(*later)
    [_, comparative] = await shelf.read()

    await shelf.store(accounts_of(2024, "a", profit="4"))

    assert comparative["basis"] == "comparative"
    [_, own] = await shelf.read()
    assert (own["basis"], own["figures"]["profit"], own["correction"]) == ("filed", "4", False)
    assert len(await shelf.told()) == 2


async def test_a_period_that_was_made_longer_replaces_the_one_that_began_with_it(
    shelf: Shelf,
) -> None:
    longer: Any = {"period": {"start": "2025-01-01", "end": "2026-06-30"}}
    await shelf.store(accounts_of(2025, "1"))
    await shelf.store(accounts_of(2025, "2", **longer))

    assert [one["source"]["id"] for one in await shelf.read()] == ["2"]


async def test_accounts_that_a_filing_no_longer_has_are_deleted(shelf: Shelf) -> None:
    await shelf.store(accounts_of(scope="unknown"))
    await shelf.store(accounts_of(scope="group"))

    assert [one["scope"] for one in await shelf.read()] == ["group"]


async def test_accounts_of_an_unknown_or_removed_company_are_not_stored(shelf: Shelf) -> None:
    await shelf.store(accounts_of())
    await shelf.loader.remove(COMPANY)
    assert await shelf.loader.database[ACCOUNTS].count_documents({}) == 0

    verdicts = [await shelf.store(accounts_of())]
    await shelf.loader.database["tombstones"].delete_many({})
    verdicts.append(await shelf.store(accounts_of()))

    assert verdicts == [Verdict.REMOVED, Verdict.UNKNOWN]
    assert await shelf.loader.database[ACCOUNTS].count_documents({}) == 0


@pytest.fixture
async def person(shelf: Shelf) -> Shelf:
    """The business of one person."""
    form = LegalForm(code="ENK")
    record = a_norwegian_record(form=form, name="TESTESEN ANNA", version=TUESDAY)
    assert await shelf.loader.count(record, kind=NO_ENTITIES, verdict="changed") == 1
    return shelf


async def a_danish_person(shelf: Shelf, form: str) -> Shelf:
    record = a_company_record(a_company(form=LegalForm(code=form), name="Anna Testesen"))
    assert await shelf.loader.count(record, verdict="new") == 1
    return replace(shelf, company=CompanyKey.parse("dk:12345674"))


#: Enkeltpersonforetak; enkeltmandsvirksomhed, and personligt ejet mindre virksomhed.
@pytest.fixture(params=["ENK", "10", "15"])
async def sole_proprietor(shelf: Shelf, person: Shelf, request: pytest.FixtureRequest) -> Shelf:
    return person if request.param == "ENK" else await a_danish_person(shelf, request.param)


async def test_accounts_of_a_sole_proprietor_are_left_out_by_default(
    sole_proprietor: Shelf,
) -> None:
    verdict = await sole_proprietor.store(accounts_of())

    assert verdict is Verdict.LEFT_OUT
    assert await sole_proprietor.page() == AccountsPage([], AccountsState.UNAVAILABLE, None)
    assert await sole_proprietor.loader.database[ACCOUNTS].count_documents({}) == 0


async def test_accounts_of_a_sole_proprietor_go_with_the_limit_of_the_person(
    sole_proprietor: Shelf,
) -> None:
    sole_proprietor.sole_proprietors = True
    assert await sole_proprietor.store(accounts_of()) is Verdict.NEW

    name = hash_of_name(sole_proprietor.company, "Anna Testesen")
    writer = sole_proprietor.loader.stores.writer
    await writer.limit(sole_proprietor.company, name, at=NOON, publish_events=True)

    assert await sole_proprietor.page() == AccountsPage([], AccountsState.UNAVAILABLE, None)
    assert await sole_proprietor.store(accounts_of()) is Verdict.LEFT_OUT
    assert await sole_proprietor.loader.database[ACCOUNTS].count_documents({}) == 0


async def test_accounts_of_a_sole_proprietor_go_with_the_company(sole_proprietor: Shelf) -> None:
    sole_proprietor.sole_proprietors = True
    await sole_proprietor.store(accounts_of())

    await sole_proprietor.loader.remove(sole_proprietor.company)

    assert await sole_proprietor.loader.database[ACCOUNTS].count_documents({}) == 0
    assert await sole_proprietor.store(accounts_of()) is Verdict.REMOVED


async def test_a_setting_that_is_taken_back_deletes_what_was_stored(person: Shelf) -> None:
    person.sole_proprietors = True
    await person.store(accounts_of())
    person.sole_proprietors = False

    await person.store(accounts_of())

    assert (await person.page()).accounts == []


async def test_an_absence_is_known_of_a_danish_company_after_the_first_load(shelf: Shelf) -> None:
    danish, read = CompanyKey.parse("dk:12345674"), shelf.loader.register.accounts
    before = await read.page(danish, 1)
    await shelf.loader.stores.states.begin("dk-regnskab", at=NOON)
    await shelf.loader.stores.states.finish("dk-regnskab", at=NOON, counts={})

    after = await read.page(danish, 1)

    assert (before.state, after.state) == (AccountsState.UNKNOWN, AccountsState.NONE)
    assert (await shelf.page()).state is AccountsState.UNKNOWN
    assert await shelf.loader.database[ACCOUNTS_STATES].count_documents({}) == 0
