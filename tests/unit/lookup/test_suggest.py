"""Suggestions over RPC."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from common.contracts.company import CompanyKey, Country, Status
from common.contracts.lookup import SuggestionList, SuggestReply, SuggestRequest
from lookup.answers.suggestions import AnswerSuggestions
from lookup.search.hits import SearchHit, SuggestionPage
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.reads import StoredRegister
from tests.builders.companies import a_company, an_address


class FakeSuggestions(IndexSearches):
    """Returns prepared suggestions by text."""

    def __init__(self, by_text: Mapping[str, Sequence[SearchHit]]) -> None:
        self.by_text = by_text
        #: The client of each request.
        self.clients: list[str] = []

    async def suggest(
        self, country: Country, text: str, limit: int, after: str | None = None, *, client: str = ""
    ) -> SuggestionPage:
        self.clients.append(client)
        hits = [one for one in self.by_text[text] if one.key.startswith(country)]
        start = int(after, 16) if after else 0
        end = start + limit
        return SuggestionPage(hits[start:end], f"{end:016x}" if hits[end:] else None)


@dataclass
class FakeCompanies(StoredRegister):
    """Stored companies, and the keys of each read."""

    cores: Mapping[CompanyKey, bytes]
    reads: list[set[CompanyKey]] = field(default_factory=list)

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        self.reads.append(set(keys))
        return {
            key: CompanyRow(
                revision=1, core=self.cores[key], owners=b"[]", roles=b"[]", updated_at=None
            )
            for key in keys
            if key in self.cores
        }


OSLO = an_address().model_copy(update={"city": "Oslo"})
PROVEN = a_company(vat="10000001", name="Prøven ApS", address=OSLO)
PROVEBO = a_company(vat="10000002", name="Prøvebo", address=None, status=Status.ENDED)
STORED = {
    CompanyKey(company.country, company.vat): company.model_dump_json().encode()
    for company in (PROVEN, PROVEBO)
}
[FIRST, SECOND] = STORED
GONE = CompanyKey(Country.DK, "10000003")


def asked(text: str, *, limit: int = 10, after: str | None = None) -> SuggestRequest:
    return SuggestRequest(country=Country.DK, text=text, limit=limit, after=after)


def shown(reply: SuggestReply) -> list[tuple[str, str, str | None, str, float]]:
    suggestions = SuggestionList.model_validate_json(reply.body).suggestions
    return [(one.vat, one.name, one.city, one.status, one.score) for one in suggestions]


async def test_each_list_has_its_companies_in_order_and_all_lists_share_one_read() -> None:
    register = FakeCompanies(STORED)
    answer = AnswerSuggestions(
        FakeSuggestions(
            {
                "prø": [SearchHit(SECOND, 95.0), SearchHit(FIRST, 85.0)],
                "prøven": [SearchHit(FIRST, 100.0)],
            }
        ),
        register,
    )

    replies = await answer([asked("prø"), asked("prøven"), asked("prø", limit=1)])

    proven = ("10000001", "Prøven ApS", "Oslo", "active")
    provebo = ("10000002", "Prøvebo", None, "ended")
    assert [shown(reply) for reply in replies] == [
        [(*provebo, 95.0), (*proven, 85.0)],
        [(*proven, 100.0)],
        [(*provebo, 95.0)],
    ]
    assert register.reads == [{FIRST, SECOND}]


async def test_a_company_that_was_removed_a_moment_ago_is_left_out() -> None:
    suggestions = FakeSuggestions({"p": [SearchHit(GONE, 95.0), SearchHit(FIRST, 95.0)]})

    [reply] = await AnswerSuggestions(suggestions, FakeCompanies(STORED))([asked("p")])

    assert [vat for vat, *_ in shown(reply)] == ["10000001"]


async def test_no_suggestion_needs_no_read() -> None:
    register = FakeCompanies(STORED)

    [reply] = await AnswerSuggestions(FakeSuggestions({"x": []}), register)([asked("x")])

    assert reply.body == b'{"suggestions":[],"cursor":null}'
    assert register.reads == []


async def test_scores_are_written_as_lookups_write_them() -> None:
    suggestions = FakeSuggestions({"p": [SearchHit(FIRST, 100.0), SearchHit(SECOND, 93.1)]})

    [reply] = await AnswerSuggestions(suggestions, FakeCompanies(STORED))([asked("p")])

    assert [one["score"] for one in orjson.loads(reply.body)["suggestions"]] == [100, 93.1]
    assert b'"score":100,' in reply.body


async def test_a_page_has_the_names_that_matched_and_the_cursor_of_the_next() -> None:
    found = [SearchHit(FIRST, 98.0, "Prøvehuset"), SearchHit(SECOND, 93.1)]
    answer = AnswerSuggestions(FakeSuggestions({"p": found}), FakeCompanies(STORED))

    [first] = await answer([asked("p", limit=1)])
    page = SuggestionList.model_validate_json(first.body)
    [last] = await answer([asked("p", limit=1, after=page.cursor)])

    assert page.suggestions[0].matched_name == "Prøvehuset"
    assert page.cursor
    assert orjson.loads(last.body)["suggestions"][0]["matched_name"] is None
    assert orjson.loads(last.body)["cursor"] is None
