"""Which calls may be asked of a second server: few, and only unusually slow ones."""

from common.messaging.rpc_links import HEDGED_PART, RecentMessages


def recent(*, answered: int, calls: int) -> RecentMessages:
    messages = RecentMessages(max_batch_size=128)
    for number in range(answered):
        messages.add(0.001 * (number % 10 + 1))
    for _ in range(calls):
        messages.called()
    return messages


def test_a_call_is_hedged_once_it_is_slower_than_the_slowest_of_the_last_hundred() -> None:
    messages = recent(answered=100, calls=100)

    assert not messages.may_hedge(1, 0.010)
    assert messages.may_hedge(1, 0.011)


def test_nothing_is_hedged_before_a_hundred_messages() -> None:
    assert not recent(answered=99, calls=1000).may_hedge(1, 9.0)


def test_a_small_part_of_the_calls_is_hedged() -> None:
    messages = recent(answered=100, calls=1000)

    hedged = 0
    while messages.may_hedge(1, 1.0):
        messages.hedged(1)
        hedged += 1

    assert HEDGED_PART * 1000 - 1 <= hedged <= HEDGED_PART * 1000
