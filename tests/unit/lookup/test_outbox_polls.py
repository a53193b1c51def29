"""When the outbox is polled again."""

import pytest

from lookup.events.worker import Polls


@pytest.mark.parametrize(
    "found, pause",
    [(0, 0.2), (1, 0.198), (50, 0.1), (89, 0.022), (99, 0.02), (100, 0), (500, 0)],
)
def test_the_more_a_poll_found_the_sooner_follows_the_next(found: int, pause: float) -> None:
    assert Polls().pause(found=found, now=1000) == pytest.approx(pause)


def test_a_poll_that_finds_nothing_does_not_slow_a_steady_stream() -> None:
    polls = Polls()
    polls.pause(found=500, now=1000)

    assert polls.pause(found=0, now=1000.02) == 0.02
    assert polls.pause(found=10, now=1000.04) == 0.02


def test_a_stream_that_ended_is_forgotten() -> None:
    polls = Polls()
    polls.pause(found=500, now=1000)

    assert polls.pause(found=0, now=1000.2) == 0.2
