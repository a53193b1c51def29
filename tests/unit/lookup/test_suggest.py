"""Suggestions over RPC."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from common.contracts.company import CompanyKey, Country, Status
from common.contracts.lookup import SuggestReply, SuggestRequest
from lookup.answers.searches import AnswerSuggestions
from lookup.search.results import SearchHit, SuggestionPage
from lookup.search.searcher import IndexSearches
from register_store.canonical_json import dump
from register_store.documents import CompanyRow
from tests.builders.companies import a_company, an_address
from tests.fakes.lookup import FakeRegister


class FakeSuggestions(IndexSearches):
    """Returns prepared suggestions by text."""

    def __init__(self, by_text: Mapping[str, Sequence[SearchHit]]) -> None:
        self.by_text = by_text

    async def suggest(
        self,
        country: Country,
        text: str,
        limit: int,
        after: str | None = None,
        *,
        client: str = "",  # noqa: ARG002
    ) -> SuggestionPage:
        hits = [one for one in self.by_text[text] if one.key.startswith(country)]
        start = int(after, 16) if after else 0
        end = start + limit
        return SuggestionPage(hits[start:end], f"{end:016x}" if hits[end:] else None)


@dataclass
class CountedReads(FakeRegister):
    """Notes the keys of each read."""

    reads: list[set[CompanyKey]] = field(default_factory=list)

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        self.reads.append(set(keys))
        return await super().companies(keys)


OSLO = an_address().model_copy(update={"city": "Oslo"})
PROVEN = a_company(vat="10000001", name="Prøven ApS", address=OSLO)
PROVEBO = a_company(vat="10000002", name="Prøvebo", address=None, status=Status.ENDED)
STORED = {
    CompanyKey(company.country, company.vat): CompanyRow(1, dump(company), b"[]", b"[]", None)
    for company in (PROVEN, PROVEBO)
}
[FIRST, SECOND] = STORED


def asked(text: str, *, limit: int = 10, after: str | None = None) -> SuggestRequest:
    return SuggestRequest(country=Country.DK, text=text, limit=limit, after=after)


def shown(reply: SuggestReply) -> list[tuple[Any, ...]]:
    names = ("vat", "name", "city", "status", "score")
    suggestions = orjson.loads(reply.body)["suggestions"]
    return [tuple(one[name] for name in names) for one in suggestions]


async def test_each_list_has_its_companies_in_order_and_all_lists_share_one_read() -> None:
    register = CountedReads(STORED)
    found = {
        "prø": [SearchHit(SECOND, 93.1), SearchHit(FIRST, 85.0)],
        "prøven": [SearchHit(FIRST, 100.0)],
    }

    replies = await AnswerSuggestions(FakeSuggestions(found), register)(
        [asked("prø"), asked("prøven"), asked("prø", limit=1)]
    )

    proven = ("10000001", "Prøven ApS", "Oslo", "active")
    provebo = ("10000002", "Prøvebo", None, "ended")
    assert [shown(reply) for reply in replies] == [
        [(*provebo, 93.1), (*proven, 85)],
        [(*proven, 100)],
        [(*provebo, 93.1)],
    ]
    assert b'"score":100,' in replies[1].body, "as lookups write it"
    assert register.reads == [{FIRST, SECOND}]


async def test_a_company_that_was_removed_a_moment_ago_is_left_out() -> None:
    gone = CompanyKey(Country.DK, "10000003")
    suggestions = FakeSuggestions({"p": [SearchHit(gone, 95.0), SearchHit(FIRST, 95.0)]})

    [reply] = await AnswerSuggestions(suggestions, CountedReads(STORED))([asked("p")])

    assert [vat for vat, *_ in shown(reply)] == ["10000001"]


async def test_no_suggestion_needs_no_read() -> None:
    register = CountedReads(STORED)

    [reply] = await AnswerSuggestions(FakeSuggestions({"x": []}), register)([asked("x")])

    assert reply.body == b'{"suggestions":[],"cursor":null}'
    assert register.reads == []


async def test_a_page_has_the_names_that_matched_and_the_cursor_of_the_next() -> None:
    found = {"p": [SearchHit(FIRST, 98.0, "Prøvehuset"), SearchHit(SECOND, 93.1)]}
    answer = AnswerSuggestions(FakeSuggestions(found), CountedReads(STORED))

    [first] = await answer([asked("p", limit=1)])
    page = orjson.loads(first.body)
    [second] = await answer([asked("p", limit=1, after=page["cursor"])])
    last = orjson.loads(second.body)

    assert [page["suggestions"][0]["matched_name"], bool(page["cursor"])] == ["Prøvehuset", True]
    assert [last["suggestions"][0]["matched_name"], last["cursor"]] == [None, None]
