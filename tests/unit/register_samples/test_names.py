from collections import Counter

import pytest

from register_samples.companies import company
from register_samples.registers import DENMARK, NORWAY, Register

COUNT = 6000


@pytest.fixture(name="names", scope="module", params=[NORWAY, DENMARK], ids=["no", "dk"])
def _names(request: pytest.FixtureRequest) -> list[str]:
    register: Register = request.param
    return [company(register, index)["name"] for index in range(COUNT)]


def test_about_seven_percent_share_their_exact_name(names: list[str]) -> None:
    times = Counter(names)

    sharing = sum(count for count in times.values() if count > 1)

    assert 0.055 < sharing / COUNT < 0.085


def test_a_name_is_about_twenty_letters_long(names: list[str]) -> None:
    assert 19 < sum(map(len, names)) / COUNT < 24


def test_names_have_nordic_letters_as_often_as_in_the_registers(names: list[str]) -> None:
    assert 0.1 < sum(not name.isascii() for name in names) / COUNT < 0.35


def test_names_share_words_without_being_alike(names: list[str]) -> None:
    words = Counter(word for name in names for word in name.upper().split())

    assert words.most_common(100)[-1][1] > 15
    assert len(words) > 5000


def test_every_letter_can_be_written_in_the_encoding_of_the_csv_export(names: list[str]) -> None:
    assert "".join(names).encode("iso-8859-1")


def test_norwegian_names_are_in_capitals_but_for_a_few() -> None:
    names = [company(NORWAY, index)["name"] for index in range(2000)]

    assert 0.98 < sum(name.isupper() for name in names) / len(names) < 1
