"""Batch lookups, and the route of each request to the lookup service."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest

from common.contracts.company import Country, Include
from common.contracts.contract import Contract
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    PartRequest,
    Question,
    SearchType,
    SuggestRequest,
)
from common.contracts.webhook_api import Operation, WebhookRequest
from common.messaging.rpc import RpcFailed, unavailable
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_servers import CLIENT_OVERLOAD, Route
from gateway.access.clients import Caller, short_name
from gateway.lookups import batch as batches
from gateway.lookups.batch import SEARCHES_AT_ONCE, LookUpAll
from gateway.problems import CompanyNotFound, InvalidParameter, Problem, RateLimited
from gateway.rpc import RpcServices

DK = Country.DK
VAT, NAME, ADDRESS = SearchType.VAT, SearchType.NAME, SearchType.ADDRESS


def asking(type_: SearchType, *include: Include, term: str = "x") -> LookupRequest:
    return LookupRequest(country=DK, questions=(Question(type=type_, term=term),), include=include)


def number(term: str) -> LookupRequest:
    return asking(VAT, term=term)


CALLER = Caller("r", "192.0.2.7")
NAME_OF_CALLER = short_name(CALLER.client)


@dataclass
class Echo:
    """`Lookups` that answers with the term; `unknown` is not found, and `never` not answered."""

    under_way: int = 0
    most_under_way: int = 0
    request_ids: set[str] = field(default_factory=set)
    timeouts: list[float | None] = field(default_factory=list)

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, timeout: float | None = None
    ) -> LookupReply:
        term = request.questions[0].term
        self.request_ids.add(caller.request_id)
        self.timeouts.append(timeout)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await (asyncio.Event().wait() if term == "never" else asyncio.sleep(0))
        finally:
            self.under_way -= 1
        if term == "unknown":
            raise CompanyNotFound("unknown")
        return LookupReply(body=term.encode(), tag=term)


async def results_of(
    *lookups: LookupRequest | Problem, of: Echo | None = None, timeout: float = 60
) -> list[str]:
    """The tag or the problem's code of each lookup of a batch."""
    look_up_all = LookUpAll(of or Echo(), timeout=timeout)
    results = await look_up_all(lookups, caller=CALLER)
    return [one.tag if isinstance(one, LookupReply) else one.code for one in results]


async def test_results_come_in_the_order_of_the_lookups() -> None:
    terms = [str(number) for number in range(100)]
    lookups = Echo()

    assert await results_of(*map(number, terms), of=lookups) == terms
    assert lookups.most_under_way == 100
    assert lookups.request_ids == {"r"}


async def test_a_failed_lookup_does_not_affect_the_others() -> None:
    faulty = InvalidParameter("vat: must not be empty")

    results = await results_of(number("1"), faulty, number("unknown"))

    assert results == ["1", "invalid_parameter", "company_not_found"]


async def test_a_slow_lookup_times_out_and_the_others_are_answered() -> None:
    results = await results_of(number("1"), number("never"), number("2"), timeout=0.05)

    assert results == ["1", "lookup_timeout", "2"]


async def test_each_lookup_has_what_is_left_of_the_time_of_its_batch() -> None:
    lookups = Echo()

    await results_of(*[asking(NAME)] * (SEARCHES_AT_ONCE + 1), of=lookups, timeout=5)

    times = [each for each in lookups.timeouts if each is not None]
    assert times[0] == max(times) <= 5
    assert times[-1] == min(times) < times[0]


async def test_searches_of_a_batch_are_bounded_and_do_not_delay_numbers() -> None:
    lookups = Echo()
    searches = [asking(NAME), asking(ADDRESS)] * 20

    await results_of(*searches, of=lookups)
    alone = lookups.most_under_way
    await results_of(*searches, number("1"), number("2"), of=lookups)

    assert (alone, lookups.most_under_way) == (SEARCHES_AT_ONCE, SEARCHES_AT_ONCE + 2)


async def test_a_search_still_queued_at_the_deadline_times_out() -> None:
    stuck = [asking(NAME, term="never")] * SEARCHES_AT_ONCE

    assert (await results_of(*stuck, asking(NAME), timeout=0.05))[-1] == "lookup_timeout"


async def test_companies_that_no_longer_fit_the_answer_are_to_be_looked_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "MAX_SIZE", 250)
    term = "x" * 100
    large = asking(VAT, Include.EINVOICING, term=term)

    results = await results_of(*[large] * 30, number(term))

    assert 3 <= results[:30].count(term) <= SEARCHES_AT_ONCE
    assert set(results[:30]) == {term, "batch_too_large"}


@dataclass
class FakeRpc:
    """`RpcClient.call` with the failures of the first calls; records the calls."""

    failures: list[RpcFailed] = field(default_factory=list)
    #: Queue, client in the request, and client of the turn.
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    are_repeatable: list[bool] = field(default_factory=list)

    async def call(
        self, route: Route, request: Any, reply: type[Contract], *, client: str = "", **_: object
    ) -> Contract:
        self.calls.append((route.queue, getattr(request, "client", ""), client))
        self.are_repeatable.append(route.is_repeatable)
        if self.failures:
            raise self.failures.pop(0)
        return reply.model_construct()

    @property
    def services(self) -> RpcServices:
        return RpcServices(cast(RpcClient, self))


@pytest.mark.parametrize(
    "request_",
    [
        asking(NAME),
        asking(ADDRESS),
        asking(VAT, Include.OWNERS, Include.PRODUCTION_UNITS),
        asking(VAT, Include.EINVOICING),
    ],
)
async def test_lookups_that_take_long_go_with_the_searches_in_turns(
    request_: LookupRequest,
) -> None:
    rpc = FakeRpc()

    await rpc.services.look_up(request_, caller=CALLER)

    assert rpc.calls == [("rpc.search.dk", NAME_OF_CALLER, NAME_OF_CALLER)]


async def test_other_lookups_share_messages_without_turns() -> None:
    rpc = FakeRpc()

    await rpc.services.look_up(asking(VAT, Include.OWNERS), caller=CALLER)

    assert rpc.calls == [("rpc.lookup.dk", "", "")]


async def test_suggestions_and_units_are_served_in_turns() -> None:
    rpc = FakeRpc()

    await rpc.services.suggest(SuggestRequest(country=DK, text="x", limit=1), caller=CALLER)
    await rpc.services.part(PartRequest(country=DK, vat="1", limit=1), caller=CALLER)

    assert rpc.calls == [
        ("rpc.suggest.dk", NAME_OF_CALLER, NAME_OF_CALLER),
        ("rpc.units.dk", NAME_OF_CALLER, NAME_OF_CALLER),
    ]


async def test_a_lookup_without_room_in_its_batch_is_sent_again_in_a_small_one() -> None:
    rpc = FakeRpc([RpcFailed(Failure(code=FailureCode.BATCH_TOO_LARGE))])

    reply = await rpc.services.look_up(asking(VAT, Include.ROLES), caller=CALLER)

    assert isinstance(reply, LookupReply)
    assert [queue for queue, *_ in rpc.calls] == ["rpc.lookup.dk", "rpc.search.dk"]


async def test_too_many_waiting_searches_of_a_client_are_rate_limited() -> None:
    rpc = FakeRpc([unavailable(CLIENT_OVERLOAD)])

    with pytest.raises(RateLimited) as limited:
        await rpc.services.look_up(asking(NAME), caller=CALLER)

    assert "too many" in limited.value.detail
    assert limited.value.retry_after == 1


def test_a_short_name_is_the_same_everywhere_and_shared_by_many() -> None:
    assert short_name("192.0.2.7") == short_name("192.0.2.7")
    assert short_name("192.0.2.7") != short_name("192.0.2.8")
    assert len(bytes.fromhex(short_name("192.0.2.7"))) == 3


@pytest.mark.parametrize(
    "operation, key, is_repeatable",
    [
        (Operation.LIST, None, True),
        (Operation.CREATE, None, False),
        (Operation.CREATE, "k", False),
        (Operation.DELETE, None, False),
    ],
)
async def test_an_operation_that_changes_something_is_never_sent_twice(
    operation: Operation, key: str | None, *, is_repeatable: bool
) -> None:
    rpc = FakeRpc()
    request = WebhookRequest(operation=operation, call_id=UUID(int=1), idempotency_key=key)

    await rpc.services.do(request, caller=CALLER)

    assert rpc.are_repeatable == [is_repeatable]
