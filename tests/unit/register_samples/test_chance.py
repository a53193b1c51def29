from datetime import date

import pytest

from register_samples.chance import Draw, Topic, urn


def drawn(*, country: int = 1, topic: Topic = Topic.COMPANY) -> list[int]:
    draw = Draw(country, topic, 7)
    return [draw.below(1000) for _ in range(5)]


def test_a_draw_is_the_same_on_every_machine() -> None:
    assert drawn() == [215, 565, 644, 942, 783]


@pytest.mark.parametrize("other", [drawn(country=2), drawn(topic=Topic.UNITS)])
def test_each_part_of_the_key_makes_another_sequence(other: list[int]) -> None:
    assert other != drawn()


def test_a_day_is_drawn_between_two_days() -> None:
    draw = Draw(1, Topic.COMPANY, 0)
    first, last = date(2020, 2, 28), date(2020, 3, 1)

    assert {draw.day(first, last) for _ in range(60)} == {first, date(2020, 2, 29), last}


def test_days_the_wrong_way_round_give_the_first() -> None:
    draw = Draw(1, Topic.COMPANY, 0)

    assert draw.day(date(2021, 1, 1), date(2020, 1, 1)) == date(2021, 1, 1)


def test_an_urn_holds_each_value_as_often_as_it_weighs() -> None:
    assert urn([("a", 2), ("b", 1)]) == ("a", "a", "b")
