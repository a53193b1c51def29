"""Tasks and queues of deliveries."""

from datetime import timedelta

from common.contracts.deliveries import MAX_BATCH_SIZE, DeliveryTasks, encode_tasks
from common.contracts.topology import (
    DEAD_LETTERS_QUEUE,
    RETRIES_QUEUE,
    WORK_ARGUMENTS,
    delay_arguments,
    delay_queue,
)
from dispatcher.queues import delivery_topology
from tests.builders.deliveries import a_task

DELAYS = [timedelta(minutes=minutes) for minutes in (1, 5, 30, 120)]


def test_long_lists_are_cut_into_messages() -> None:
    tasks = [a_task(number) for number in range(2 * MAX_BATCH_SIZE + 1)]

    messages = [DeliveryTasks.model_validate_json(body) for body in encode_tasks(tasks)]

    assert [len(message.tasks) for message in messages] == [MAX_BATCH_SIZE, MAX_BATCH_SIZE, 1]
    assert [task for message in messages for task in message.tasks] == tasks
    assert not any(message.more for message in messages)


def test_a_message_can_say_that_there_is_more_than_it_carries() -> None:
    [message] = encode_tasks([a_task()], more=True)

    assert DeliveryTasks.model_validate_json(message).more


def test_nothing_to_wake_is_no_message() -> None:
    assert list(encode_tasks([])) == []


def test_each_delay_has_a_queue_with_its_milliseconds_in_its_name() -> None:
    names = [delay_queue(delay) for delay in DELAYS]

    assert names == [
        "deliveries.retry.60000ms",
        "deliveries.retry.300000ms",
        "deliveries.retry.1800000ms",
        "deliveries.retry.7200000ms",
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
    topology = delivery_topology(DELAYS)

    worked_off = [queue for queue in topology.queues if queue.arguments == WORK_ARGUMENTS]
    assert {queue.name for queue in worked_off} == {
        "dispatcher.events",
        "deliveries",
        "deliveries.retries",
    }
    assert WORK_ARGUMENTS["x-dead-letter-routing-key"] == DEAD_LETTERS_QUEUE
    assert DEAD_LETTERS_QUEUE in {queue.name for queue in topology.queues}


def test_the_same_delay_twice_is_one_queue() -> None:
    names = [queue.name for queue in delivery_topology([DELAYS[0], DELAYS[0]]).queues]

    assert len(names) == len(set(names))
