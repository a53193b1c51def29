"""Slots of posts that timed out are freed over time."""

from collections import Counter

from dispatcher.slots import TICK, Pace

NOW = 1000.1
STEP = 0.1


def test_slots_of_posts_that_time_out_together_are_released_apart() -> None:
    pace = Pace(STEP)

    freed = [NOW + pace.wait("owner", NOW) for _ in range(100)]

    assert max(Counter(round(at / TICK) for at in freed).values()) == 3
    assert max(freed) <= NOW + 100 * STEP + TICK


def test_slots_of_several_owners_are_released_at_the_same_ticks() -> None:
    pace = Pace(STEP)

    # 50 ms apart.
    freed = {round(at + pace.wait(owner, at), 3) for owner, at in (("a", NOW), ("b", NOW + 0.05))}

    assert len(freed) == 1


def test_owners_do_not_delay_each_other() -> None:
    pace = Pace(STEP)
    for _ in range(100):
        pace.wait("hanging", NOW)

    assert pace.wait("other", NOW) <= TICK


def test_posts_that_time_out_one_by_one_are_hardly_delayed() -> None:
    pace = Pace(STEP)

    assert all(pace.wait("owner", NOW + number * STEP) <= TICK + STEP for number in range(100))
