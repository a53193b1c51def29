"""Messages of RPC and of deliveries, calls that wait to be sent, and errors of the libraries."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Any, cast

import ormsgpack
import pytest
from aio_pika.abc import AbstractIncomingMessage, AbstractQueue
from aiormq.exceptions import ConnectionClosed

from common.contracts.company import Country
from common.contracts.contract import Contract, TraceContext
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.contracts.topology import (
    DEAD_LETTERS_QUEUE,
    MAX_BATCH_SIZE,
    RETRIES_QUEUE,
    WORK_ARGUMENTS,
    DeliveryTasks,
    delay_arguments,
    delay_queue,
    encode_tasks,
)
from common.messaging import consumer
from common.messaging.connection import BrokerUnavailable, SupervisedConnection, broker_calls
from common.messaging.consumer import Consumer, Consumption
from common.messaging.queues import Topology
from common.messaging.rpc import (
    Call,
    PendingCalls,
    Undecodable,
    decode_requests,
    decode_results,
    encode_requests,
    encode_results,
    encode_traces,
)
from dispatcher.queues import delivery_topology
from tests.builders.deliveries import a_task
from tests.delivery.waiting import SOON

REQUEST = LookupRequest(
    country=Country.DK, questions=(Question(type=SearchType.VAT, term="12345674"),)
)
#: Ids, milliseconds and requests.
TWO = encode_requests([("one", 1500, REQUEST), ("two", 20, REQUEST)])


def test_requests_arrive_with_their_ids_and_their_time_on_the_receivers_clock() -> None:
    asked = decode_requests(TWO, LookupRequest, now=100.0)

    assert [(each.request_id, each.deadline) for each in asked] == [("one", 101.5), ("two", 100.02)]
    assert [each.request for each in asked] == [REQUEST, REQUEST]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        *map(ormsgpack.packb, (7, {"one": 1}, [["one", 1500]])),
        ormsgpack.packb([["one", "soon", REQUEST.model_dump()]]),
        ormsgpack.packb([["one", 1500, {"country": "se", "questions": []}]]),
    ],
)
def test_a_message_that_is_no_list_of_requests_is_refused(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_requests(body, LookupRequest, now=0.0)


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "traces",
    [
        [None, None],
        [TraceContext(PARENT), None],
        [None, TraceContext(PARENT, "a=1,b=2")],
        [TraceContext(PARENT, "a=1"), TraceContext(PARENT)],
    ],
)
def test_each_request_has_its_own_trace(traces: list[TraceContext | None]) -> None:
    asked = decode_requests(TWO, LookupRequest, now=0.0, headers=encode_traces(traces))

    assert [each.trace for each in asked] == traces
    assert encode_traces([None, None]) == {}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"other": "1"},
        {"traceparent": "not one\nnor this"},
        {"traceparent": PARENT},
        {"traceparent": f"{PARENT}\n{PARENT}\n{PARENT}", "tracestate": "a=1"},
    ],
)
def test_headers_that_are_not_of_the_requests_are_ignored(headers: dict[str, str]) -> None:
    asked = decode_requests(TWO, LookupRequest, now=0.0, headers=headers)

    assert [each.trace for each in asked] == [None, None]


def test_results_arrive_in_order_each_a_failure_or_a_reply() -> None:
    failure = Failure(code=FailureCode.COMPANY_NOT_FOUND, detail="no company matches")
    reply = LookupReply(body=b'{"vat":"12345674"}', tag="1")

    results = decode_results(encode_results([reply, failure]))

    assert results == [(None, reply.model_dump()), (failure, None)]


def test_a_failure_of_an_unknown_code_is_internal_and_spares_its_batch() -> None:
    newer = {"code": "not_yet_known", "detail": "", "errors": []}

    results = decode_results(ormsgpack.packb([(newer, None), (None, {"body": b"{}"})]))

    assert results == [(Failure(code=FailureCode.INTERNAL), None), (None, {"body": b"{}"})]


@pytest.mark.parametrize("body", [b"", b"\xc1", ormsgpack.packb(7), ormsgpack.packb([[None]])])
def test_a_message_that_is_no_list_of_results_is_refused(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_results(body)


# Calls that wait to be sent: a message of each client in turn


def calls(client: str, count: int = 1) -> list[Call]:
    loop = asyncio.get_running_loop()
    return [
        Call(f"{client}{number}", Contract(), 0.0, loop.create_future(), None, client)
        for number in range(count)
    ]


def pending(*clients: list[Call], in_flight: int | None = None) -> PendingCalls:
    found = PendingCalls(in_flight)
    for each in clients:
        for call in each:
            found.append(call)
    return found


def taken(waiting: PendingCalls, count: int, *, times: int = 1) -> list[list[str]]:
    """The ids of the calls of each message."""
    return [[call.request_id for call in waiting.take(count)] for _ in range(times)]


async def test_a_message_has_the_calls_of_one_client_and_clients_take_turns() -> None:
    waiting = pending(calls("a", 5), calls("b"), calls("c"))

    assert taken(waiting, 2, times=6) == [["a0", "a1"], ["b0"], ["c0"], ["a2", "a3"], ["a4"], []]
    assert not len(waiting)


async def test_calls_without_clients_are_sent_in_their_order() -> None:
    assert taken(pending(calls("", 5)), 3, times=2) == [["0", "1", "2"], ["3", "4"]]


async def test_a_client_with_its_messages_in_flight_waits_and_others_do_not() -> None:
    waiting = pending(calls("a", 3), calls("b"), in_flight=1)
    first = taken(waiting, 1)
    waiting.sent("a")
    others = taken(waiting, 1)
    waiting.sent("b")

    assert (first, others, waiting.is_ready, waiting.take(1)) == ([["a0"]], [["b0"]], False, [])
    waiting.ended("a")
    assert waiting.is_ready
    assert taken(waiting, 1) == [["a1"]]


async def test_calls_that_have_ended_are_not_sent_and_take_no_place() -> None:
    of_a = calls("a", 4)
    waiting = pending(of_a, calls("b"))
    for call in of_a[:3]:
        call.answer.cancel()

    waiting.drop_ended()

    assert (len(waiting), waiting.of("a"), waiting.of("b"), waiting.of("c")) == (2, 1, 1, 0)
    of_a[3].answer.cancel()
    assert taken(waiting, 4, times=2) == [[], ["b0"]]


async def test_calls_of_a_message_that_came_back_are_next() -> None:
    waiting = pending(calls("a", 4), calls("b"))
    returned = waiting.take(2)
    returned[0].answer.cancel()

    waiting.put_back(returned)

    assert len(waiting) == 4
    assert [call.request_id for call in waiting] == ["a1", "a2", "a3", "b0"]


# Tasks and queues of deliveries

DELAYS = [timedelta(minutes=minutes) for minutes in (1, 5, 30, 120)]


def test_long_lists_are_cut_into_messages() -> None:
    tasks = [a_task(number) for number in range(2 * MAX_BATCH_SIZE + 1)]

    messages = [DeliveryTasks.model_validate_json(body) for body in encode_tasks(tasks)]

    assert [len(message.tasks) for message in messages] == [MAX_BATCH_SIZE, MAX_BATCH_SIZE, 1]
    assert [task for message in messages for task in message.tasks] == tasks
    assert not any(message.more for message in messages)
    assert list(encode_tasks([])) == []


def test_a_message_states_that_more_deliveries_wait() -> None:
    [message] = encode_tasks([a_task()], more=True)

    assert DeliveryTasks.model_validate_json(message).more


def test_each_delay_has_a_queue_with_its_milliseconds_in_its_name() -> None:
    milliseconds = (60_000, 300_000, 1_800_000, 7_200_000)

    assert [delay_queue(delay) for delay in DELAYS] == [
        f"deliveries.retry.{each}ms" for each in milliseconds
    ]


def test_a_delay_queue_forwards_due_messages_and_loses_none() -> None:
    assert delay_arguments(DELAYS[0]) == {
        "x-queue-type": "quorum",
        "x-message-ttl": 60_000,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": RETRIES_QUEUE,
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }


def test_every_queue_that_is_worked_off_sends_poison_to_the_dead_letters() -> None:
    queues = delivery_topology(DELAYS).queues

    worked_off = {queue.name for queue in queues if queue.arguments == WORK_ARGUMENTS}
    assert worked_off == {"dispatcher.events", "deliveries", "deliveries.retries"}
    assert WORK_ARGUMENTS["x-dead-letter-routing-key"] == DEAD_LETTERS_QUEUE
    assert DEAD_LETTERS_QUEUE in {queue.name for queue in queues}


def test_the_same_delay_twice_is_one_queue() -> None:
    names = [queue.name for queue in delivery_topology([DELAYS[0], DELAYS[0]]).queues]

    assert len(names) == len(set(names))


# Errors of the libraries


async def call(begun: asyncio.Event) -> None:
    """A call of the broker whose cancellation the library replaces by a lost connection."""
    with broker_calls():
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionClosed(320, "CONNECTION_FORCED") from None


@pytest.mark.parametrize(
    "error, text",
    [
        (ConnectionClosed(404, "NOT_FOUND - no queue 'inner'"), "the broker cannot be reached"),
        (OSError("inner"), "the broker cannot be reached"),
        (Exception("inner"), "the connection was closed"),
    ],
)
async def test_every_library_error_is_broker_unavailable_without_its_text(
    error: Exception, text: str
) -> None:
    with pytest.raises(BrokerUnavailable) as caught, broker_calls():
        raise error

    assert str(caught.value) == text
    assert caught.value.__cause__ is error


async def test_a_cancellation_is_raised_even_if_the_library_replaces_it() -> None:
    begun = asyncio.Event()
    calling = asyncio.create_task(call(begun))
    await begun.wait()

    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_call_that_takes_too_long_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await call(asyncio.Event())


class FakeQueue:
    """A queue that is consumed or not."""

    def __init__(self) -> None:
        self.consumers = 0

    async def consume(
        self, _callback: Callable[[AbstractIncomingMessage], Awaitable[None]], **_limit: float
    ) -> str:
        self.consumers += 1
        return "tag"

    async def cancel(self, _tag: str, **_limit: float) -> None:
        self.consumers -= 1


class UnansweredMessage:
    """A message whose acknowledgement is never written, as after the end of aiormq's writer."""

    body = b"done"
    headers: Mapping[str, Any] | None = None

    async def ack(self) -> None:
        await asyncio.Event().wait()


async def test_an_acknowledgement_that_is_never_written_does_not_keep_a_consumer_from_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def handle(_body: bytes) -> None:
        pass

    connection = cast(SupervisedConnection, None)
    ended = Consumer(
        connection, "work", handle, topology=Topology(queues=()), prefetch=1, random=Random(1)
    )
    monkeypatch.setattr(consumer, "CONNECT_TIMEOUT", 0.01)
    await ended._take(cast(AbstractIncomingMessage, UnansweredMessage()))

    async with asyncio.timeout(SOON):
        await ended.drain(grace=10 * SOON)


async def test_a_connection_restored_during_drain_delivers_no_messages() -> None:
    async def work(_message: AbstractIncomingMessage) -> None:
        pass

    consumption, first, again = Consumption(), FakeQueue(), FakeQueue()
    await consumption.begin(cast(AbstractQueue, first), work)
    await consumption.stop()
    consumption.forget()

    await consumption.begin(cast(AbstractQueue, again), work)

    assert (first.consumers, again.consumers) == (0, 0)


async def test_a_consumption_that_is_stopped_while_it_begins_ends() -> None:
    async def work(_message: AbstractIncomingMessage) -> None:
        pass

    class SlowQueue(FakeQueue):
        async def consume(self, *arguments: Any, **named: Any) -> str:
            tag = await super().consume(*arguments, **named)
            await consumption.stop()
            return tag

    consumption, queue = Consumption(), SlowQueue()

    began = await consumption.begin(cast(AbstractQueue, queue), work)

    assert (began, queue.consumers) == (False, 0)
