"""Lanes take more at a time while that is worked off soon, and fewer while it is not."""

from datetime import timedelta

from dispatcher.domain.portion import FIRST, LEAST, MOST, next_portion

AT_ONCE = timedelta(milliseconds=50)
A_SECOND = timedelta(seconds=1)
LONG = timedelta(seconds=10)


def test_what_is_worked_off_at_once_doubles_the_next_portion() -> None:
    assert next_portion(FIRST, AT_ONCE) == 2 * FIRST


def test_what_takes_long_halves_it() -> None:
    assert next_portion(32, LONG) == 16


def test_in_between_it_stays() -> None:
    assert next_portion(32, A_SECOND) == 32


def test_it_is_never_more_than_the_most_nor_less_than_the_least() -> None:
    assert next_portion(MOST, AT_ONCE) == MOST
    assert next_portion(LEAST, LONG) == LEAST
