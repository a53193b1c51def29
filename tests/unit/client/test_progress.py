"""Progress tells the truth while a rate limit holds it, over the whole run."""

import pytest

from company_registry.cli.spreadsheets import rest_of
from company_registry.progress import Progress, duration, limit
from company_registry.streams import Pace, Rate

KEY = Rate("key", 1200, 60)


class Clock:
    """A clock that is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def progress(*, done: int, after: float, share: float = 1) -> tuple[Progress, Clock]:
    """A job of 5,000 rows, of which some are done."""
    clock = Clock()
    made = Progress(5000, clock, share=share)
    for _ in range(done):
        made.advance()
    clock.now += after
    return made, clock


def test_a_job_says_for_what_it_waits_and_how_long_until_it_goes_on() -> None:
    made, clock = progress(done=1200, after=19)

    made.take(Pace(wait=41, rate=KEY, reset=41))
    clock.now += 0.5

    # 41 s, and three windows of 1,200 rows that are waited for.
    assert rest_of(made) == (
        "62/s, 4 min left, waiting 41 s for the key's rate (1,200 rows a minute)"
    )
    clock.now += 40.5
    made.take(Pace(rate=KEY, available=1100, reset=60))
    assert rest_of(made) == "20/s, 3 min left"


@pytest.mark.parametrize(
    "done, after, pace, left",
    [
        # The window lets requests through as fast as so far.
        (4500, 100, Pace(rate=KEY, available=500, reset=20), 500 / 45),
        (4500, 100, Pace(rate=KEY, available=499, reset=200), 200),
        # A service that is slower than the rate.
        (100, 100, Pace(rate=KEY, available=1100, reset=20), 4900),
        (0, 0, Pace(rate=KEY, available=1100, reset=60), 60 + 3 * 60),
    ],
)
def test_the_time_that_is_left_is_that_of_the_windows_or_of_the_service(
    done: int, after: float, pace: Pace, left: float
) -> None:
    made, _ = progress(done=done, after=after)

    made.take(pace)

    assert made.left == left


def test_a_job_that_leaves_a_part_of_the_rate_says_which_it_uses() -> None:
    made, _ = progress(done=900, after=10, share=0.75)

    made.take(Pace(wait=50, rate=KEY, reset=50))

    assert made.waiting == "waiting 50 s for the key's rate (900 of 1,200 rows a minute)"
    assert made.left == 50 + 4 * 60


def test_an_outage_is_no_rate_and_does_not_forget_it() -> None:
    made, _ = progress(done=500, after=10)
    made.take(Pace(rate=KEY, available=5000))

    made.take(Pace(wait=7.5, is_outage=True))

    assert made.waiting == "waiting 8 s for the service"
    assert made.pace.rate == KEY


def test_nothing_is_said_that_is_not_known() -> None:
    assert rest_of(progress(done=1, after=1)[0]) == ""


@pytest.mark.parametrize("rows", [0, 100])
def test_the_rows_of_an_earlier_run_are_no_speed_of_this_one(rows: int) -> None:
    clock = Clock()
    made = Progress(5000, clock, earlier=4000)
    for _ in range(rows):
        made.advance()

    clock.now += 10

    assert (made.speed, made.left) == (rows / 10, 900 / 10 if rows else None)


@pytest.mark.parametrize(
    "rate, words",
    [
        (Rate("anonymous", 30, 1), "the rate (30 rows a second)"),
        (Rate("key", 100_000, 86_400), "the key's rate (100,000 rows a day)"),
        (Rate("key", 10, 30), "the key's rate (10 rows in 30 s)"),
    ],
)
def test_a_rate_is_said_in_words(rate: Rate, words: str) -> None:
    assert limit(rate) == words


@pytest.mark.parametrize(
    "seconds, words",
    [(0.2, "1 s"), (99, "99 s"), (101, "2 min"), (3600, "1 h 0 min"), (7801, "2 h 11 min")],
)
def test_a_time_is_rounded_up(seconds: float, words: str) -> None:
    assert duration(seconds) == words
