"""The route of each request to the lookup service, the name of its client, and its failures."""

from collections.abc import Iterator
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
    Question,
    SearchType,
    SuggestRequest,
    UnitsRequest,
)
from common.contracts.webhook_api import Operation, WebhookRequest
from common.messaging.rpc import RpcFailed, unavailable
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import CLIENT_OVERLOAD, Route
from gateway.access import clients
from gateway.problems import RateLimited
from gateway.rpc import RpcServices

DK = Country.DK
TOO_LARGE = RpcFailed(Failure(code=FailureCode.BATCH_TOO_LARGE))


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


@pytest.fixture(autouse=True)
def current() -> Iterator[str]:
    """The name of the current client."""
    token = clients.CURRENT.set("192.0.2.7")
    yield clients.short_name("192.0.2.7")
    clients.CURRENT.reset(token)


def asking(kind: SearchType, *include: Include) -> LookupRequest:
    question = Question(type=kind, term="x")
    return LookupRequest(country=DK, questions=(question,), include=include)


@pytest.mark.parametrize(
    "request_",
    [
        asking(SearchType.NAME),
        asking(SearchType.ADDRESS),
        asking(SearchType.VAT, Include.OWNERS, Include.PRODUCTION_UNITS),
        asking(SearchType.VAT, Include.EINVOICING),
    ],
)
async def test_lookups_that_take_long_go_with_the_searches_in_turns(
    request_: LookupRequest, current: str
) -> None:
    rpc = FakeRpc()

    await rpc.services.find(request_, request_id="r")

    assert rpc.calls == [("rpc.search.dk", current, current)]


async def test_other_lookups_share_messages_without_turns() -> None:
    rpc = FakeRpc()

    await rpc.services.find(asking(SearchType.VAT, Include.OWNERS), request_id="r")

    assert rpc.calls == [("rpc.lookup.dk", "", "")]


async def test_suggestions_and_units_are_served_in_turns(current: str) -> None:
    rpc = FakeRpc()

    await rpc.services.suggest(SuggestRequest(country=DK, text="x", limit=1), request_id="r")
    await rpc.services.units(UnitsRequest(country=DK, vat="1", limit=1), request_id="r")

    assert rpc.calls == [("rpc.suggest.dk", current, current), ("rpc.units.dk", current, current)]


async def test_a_lookup_that_others_left_no_room_for_is_asked_in_a_small_message() -> None:
    rpc = FakeRpc([TOO_LARGE])

    reply = await rpc.services.find(asking(SearchType.VAT, Include.ROLES), request_id="r")

    assert isinstance(reply, LookupReply)
    assert [queue for queue, *_ in rpc.calls] == ["rpc.lookup.dk", "rpc.search.dk"]


async def test_a_client_with_too_many_searches_waiting_is_told_so() -> None:
    rpc = FakeRpc([unavailable(CLIENT_OVERLOAD)])

    with pytest.raises(RateLimited) as limited:
        await rpc.services.find(asking(SearchType.NAME), request_id="r")

    assert "too many" in limited.value.detail
    assert limited.value.retry_after == 1


def test_a_short_name_is_the_same_everywhere_and_shared_by_many() -> None:
    assert clients.short_name("192.0.2.7") == clients.short_name("192.0.2.7")
    assert clients.short_name("192.0.2.7") != clients.short_name("192.0.2.8")
    assert len(bytes.fromhex(clients.short_name("192.0.2.7"))) == 3


@pytest.mark.parametrize(
    "operation, key, is_repeatable",
    [
        (Operation.LIST, None, True),
        (Operation.CREATE, None, False),
        (Operation.CREATE, "k", True),
        (Operation.DELETE, None, False),
    ],
)
async def test_an_operation_that_changes_something_is_repeated_only_under_an_idempotency_key(
    operation: Operation, key: str | None, *, is_repeatable: bool
) -> None:
    rpc = FakeRpc()
    request = WebhookRequest(operation=operation, call_id=UUID(int=1), idempotency_key=key)

    await rpc.services.do(request, request_id="r")

    assert rpc.are_repeatable == [is_repeatable]
