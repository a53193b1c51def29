"""Suggestions over RPC."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import orjson

from common.contracts.company import CompanyKey, Country, Status
from common.contracts.lookup import SuggestRequest
from lookup.answers.searches import AnswerSuggestions
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import indexed_core
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow, dump
from tests.builders.companies import a_company, an_address
from tests.builders.indexed import filled
from tests.fakes.lookup import FakeRegister


@dataclass
class CountedReads(FakeRegister):
    """Notes the keys of each read."""

    reads: list[set[CompanyKey]] = field(default_factory=list)

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        self.reads.append(set(keys))
        return await super().companies(keys)


OSLO = an_address().model_copy(update={"city": "Oslo"})
CORES = [
    dump(a_company(vat="10000001", name="Nordlys", address=OSLO)),
    dump(a_company(vat="10000002", name="Nordlysene", address=None, status=Status.ENDED)),
    dump(a_company(vat="10000003", name="Aurora", address=OSLO, former_names=("Nordlyset",))),
    dump(a_company(vat="10000004", name="Nordlyset Removed")),
]
KEYS = [CompanyKey(Country.DK, f"1000000{n}") for n in range(1, 5)]
#: The last company was removed a moment ago.
ROWS = {key: CompanyRow(1, CORES[n], b"[]", b"[]", None) for n, key in enumerate(KEYS[:3])}
NORDLYS = {"vat": "10000001", "name": "Nordlys", "city": "Oslo", "status": "active", "score": 100}


async def test_each_list_has_stored_companies_in_order_and_all_lists_share_one_read(
    index: SearchIndex, searches: IndexSearches
) -> None:
    filled(index, *map(indexed_core, CORES))
    register = CountedReads(ROWS)
    answer = AnswerSuggestions(searches, register)

    def asked(text: str, limit: int = 10, after: str | None = None) -> SuggestRequest:
        return SuggestRequest(country=Country.DK, text=text, limit=limit, after=after)

    [whole, first, nothing] = await answer([asked("nordlys"), asked("nordlys", 1), asked("x")])
    page = orjson.loads(first.body)
    [second] = await answer([asked("nordlys", 3, page["cursor"])])

    lists = [orjson.loads(reply.body)["suggestions"] for reply in (whole, second)]
    assert [[one["vat"][-1] for one in each] for each in lists] == [["1", "2", "3"], ["2", "3"]]
    assert whole.body.startswith(b'{"suggestions":[{"vat":"10000001"')
    assert b'"score":100,' in whole.body, "as lookups write it"
    more = {"country": "dk", "form": None, "postal_code": None}
    assert page["suggestions"] == [{**NORDLYS, "matched_name": None, **more}]
    assert [one["matched_name"] for one in lists[1]] == [None, "Nordlyset"]
    assert [one["city"] for one in lists[1]] == [None, "Oslo"]
    assert orjson.loads(second.body)["cursor"] is None
    assert nothing.body == b'{"suggestions":[],"cursor":null}'
    assert register.reads[0] == set(KEYS)
    assert len(register.reads) == 2


async def test_no_suggestion_needs_no_read(index: SearchIndex, searches: IndexSearches) -> None:
    filled(index)
    register = CountedReads(ROWS)

    await AnswerSuggestions(searches, register)(
        [SuggestRequest(country=Country.DK, text="x", limit=10)]
    )

    assert register.reads == []


async def test_companies_of_another_status_leave_room_for_further_ones(
    index: SearchIndex, searches: IndexSearches
) -> None:
    numbers = range(10_000_001, 10_000_031)
    cores = {
        number: dump(a_company(vat=str(number), name=f"Nordlys {number}", status=status))
        for number in numbers
        for status in [Status.ACTIVE if number % 10 else Status.ENDED]
    }
    filled(index, *map(indexed_core, cores.values()))
    rows = {
        CompanyKey(Country.DK, str(number)): CompanyRow(1, core, b"[]", b"[]", None)
        for number, core in cores.items()
    }
    request = SuggestRequest(country=Country.DK, text="nordlys", limit=2, statuses=(Status.ENDED,))

    [reply] = await AnswerSuggestions(searches, CountedReads(rows))([request])

    page = orjson.loads(reply.body)
    assert [one["status"] for one in page["suggestions"]] == ["ended", "ended"]
    assert page["cursor"] is not None
    assert page["suggestions"][0]["vat"] == "10000010"
