"""Numbers of things in sentences."""

import pytest

from common.domain.quantities import counted


@pytest.mark.parametrize(
    "count,noun,wanted",
    [
        (0, "record", "0 records"),
        (1, "record", "1 record"),
        (2000, "record", "2,000 records"),
        (1, "company", "1 company"),
        (2, "company", "2 companies"),
    ],
)
def test_a_noun_agrees_with_its_number(count: int, noun: str, wanted: str) -> None:
    assert counted(count, noun) == wanted
