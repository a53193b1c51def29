"""Calls that wait to be sent: a message of each client in turn."""

import asyncio

from common.contracts.contract import Contract
from common.messaging.rpc_pending import Call, PendingCalls


def a_call(client: str, number: int = 0) -> Call:
    future = asyncio.get_running_loop().create_future()
    return Call(f"{client}{number}", Contract(), 0.0, future, None, client)


def pending(*calls: Call, in_flight: int | None = None) -> PendingCalls:
    found = PendingCalls(in_flight)
    for call in calls:
        found.append(call)
    return found


def ids(calls: list[Call]) -> list[str]:
    return [call.request_id for call in calls]


async def test_a_message_has_the_calls_of_one_client_and_clients_take_turns() -> None:
    waiting = pending(*(a_call("a", n) for n in range(5)), a_call("b"), a_call("c"))

    messages = [ids(waiting.take(2)) for _ in range(6)]

    assert messages == [["a0", "a1"], ["b0"], ["c0"], ["a2", "a3"], ["a4"], []]
    assert not len(waiting)


async def test_calls_without_clients_are_sent_in_their_order() -> None:
    waiting = pending(*(a_call("", n) for n in range(5)))

    assert [ids(waiting.take(3)) for _ in range(2)] == [["0", "1", "2"], ["3", "4"]]


async def test_a_client_with_its_messages_in_flight_waits_and_others_do_not() -> None:
    waiting = pending(*(a_call("a", n) for n in range(3)), a_call("b"), in_flight=1)
    first = waiting.take(1)
    waiting.sent("a")

    others = waiting.take(1)
    waiting.sent("b")

    assert (ids(first), ids(others), waiting.is_ready) == (["a0"], ["b0"], False)
    assert waiting.take(1) == []
    waiting.ended("a")
    assert waiting.is_ready
    assert ids(waiting.take(1)) == ["a1"]


async def test_calls_that_have_ended_are_not_sent_and_take_no_place() -> None:
    calls = [a_call("a", n) for n in range(4)]
    waiting = pending(*calls, a_call("b"))
    for call in calls[:3]:
        call.answer.cancel()

    waiting.drop_ended()

    assert (len(waiting), waiting.of("a"), waiting.of("b"), waiting.of("c")) == (2, 1, 1, 0)
    calls[3].answer.cancel()
    assert [ids(waiting.take(4)) for _ in range(2)] == [[], ["b0"]]


async def test_calls_of_a_message_that_came_back_are_next() -> None:
    waiting = pending(*(a_call("a", n) for n in range(4)), a_call("b"))
    returned = waiting.take(2)
    returned[0].answer.cancel()

    waiting.put_back(returned)

    assert len(waiting) == 4
    assert ids(list(waiting)) == ["a1", "a2", "a3", "b0"]
