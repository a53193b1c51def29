"""Batch lookups: each succeeds or fails independently."""

import asyncio
from dataclasses import dataclass, field

import pytest

from common.contracts.company import Country, Include
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from gateway.lookups import batches
from gateway.lookups.batches import SEARCHES_AT_ONCE, LookUpAll
from gateway.problems import CompanyNotFound, InvalidParameter, LookupTimeout, Problem


def asking(term: str, kind: SearchType = SearchType.VAT) -> LookupRequest:
    return LookupRequest(country=Country.DK, questions=(Question(type=kind, term=term),))


@dataclass
class Echo:
    """`Lookups` that answers with the term; `unknown` is not found, and `never` not answered."""

    under_way: int = 0
    most_under_way: int = 0
    request_ids: set[str] = field(default_factory=set)

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        self.request_ids.add(request_id)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._answer(request.questions[0].term)
        finally:
            self.under_way -= 1

    async def _answer(self, term: str) -> LookupReply:
        await asyncio.sleep(0)
        if term == "unknown":
            raise CompanyNotFound("unknown")
        if term == "never":
            await asyncio.Event().wait()
        return LookupReply(body=term.encode(), tag=term)


def shown(results: list[LookupReply | Problem]) -> list[str]:
    return [one.tag if isinstance(one, LookupReply) else one.code for one in results]


async def test_results_come_in_the_order_of_the_lookups() -> None:
    terms = [str(number) for number in range(100)]
    lookups = Echo()

    results = await LookUpAll(lookups)([asking(term) for term in terms], request_id="r")

    assert shown(results) == terms
    assert lookups.most_under_way == 100
    assert lookups.request_ids == {"r"}


async def test_a_failed_lookup_does_not_affect_the_others() -> None:
    faulty = InvalidParameter("vat: must not be empty")

    results = await LookUpAll(Echo())([asking("1"), faulty, asking("unknown")], request_id="r")

    assert shown(results) == ["1", "invalid_parameter", "company_not_found"]
    assert results[1] is faulty


async def test_a_slow_lookup_times_out_and_the_others_are_answered() -> None:
    look_up_all = LookUpAll(Echo(), timeout=0.05)

    results = await look_up_all([asking("1"), asking("never"), asking("2")], request_id="r")

    assert shown(results) == ["1", "lookup_timeout", "2"]


async def test_searches_of_a_batch_are_bounded_and_do_not_delay_numbers() -> None:
    lookups = Echo()
    names = [asking("n", SearchType.NAME), asking("a", SearchType.ADDRESS)] * 20

    await LookUpAll(lookups)(names, request_id="r")
    searches = lookups.most_under_way
    await LookUpAll(lookups)([*names, asking("1"), asking("2")], request_id="r")

    assert searches == SEARCHES_AT_ONCE
    assert lookups.most_under_way == SEARCHES_AT_ONCE + 2


async def test_a_search_still_queued_at_the_deadline_times_out() -> None:
    stuck = [asking("never", SearchType.NAME)] * SEARCHES_AT_ONCE

    results = await LookUpAll(Echo(), timeout=0.05)(
        [*stuck, asking("n", SearchType.NAME)], request_id="r"
    )

    assert isinstance(results[-1], LookupTimeout)


async def test_companies_that_no_longer_fit_the_answer_are_to_be_looked_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "MAX_SIZE", 250)
    request = asking("x" * 100)
    large = request.model_copy(update={"include": (Include.EINVOICING,)})

    results = await LookUpAll(Echo())([large] * 30 + [request], request_id="r")

    fitting = [one for one in results[:30] if isinstance(one, LookupReply)]
    refused = {one.code for one in results[:30] if isinstance(one, Problem)}
    assert 3 <= len(fitting) <= SEARCHES_AT_ONCE
    assert refused == {"batch_too_large"}
