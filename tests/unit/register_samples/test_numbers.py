from collections.abc import Callable
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from register_samples.numbers import CVR, ORGNR, P_NUMBER, STRIDE, NumberSeries, gln
from tests.unit.register_samples.checks import is_cvr, is_gln, is_orgnr, is_p_number

SERIES = [(CVR, is_cvr), (ORGNR, is_orgnr), (P_NUMBER, is_p_number)]


@pytest.mark.parametrize("series,is_valid", SERIES)
@given(share=st.floats(0, 1, exclude_max=True))
def test_every_number_of_a_series_has_a_right_check_digit(
    series: NumberSeries, is_valid: Callable[[str], bool], share: float
) -> None:
    assert is_valid(series.number(int(share * series.capacity)))


def test_no_two_positions_have_the_same_number() -> None:
    series = NumberSeries(10, 60, (5, 4, 2, 1))

    numbers = {series.number(index) for index in range(series.capacity)}

    assert len(numbers) == series.capacity == 450


@pytest.mark.parametrize("series", [CVR, ORGNR, P_NUMBER])
def test_the_stride_reaches_every_position_of_a_series(series: NumberSeries) -> None:
    assert gcd(STRIDE, series.capacity) == 1


@pytest.mark.parametrize(
    "series,unissued",
    [(CVR, ("0",)), (ORGNR, ("1", "2")), (P_NUMBER, ("15", "16", "17", "18", "19"))],
)
@given(share=st.floats(0, 1, exclude_max=True))
def test_no_number_of_a_series_is_issued_by_the_register(
    series: NumberSeries, unissued: tuple[str, ...], share: float
) -> None:
    assert series.number(int(share * series.capacity)).startswith(unissued)


@pytest.mark.parametrize("index", [-1, CVR.capacity])
def test_a_position_outside_the_series_is_an_error(index: int) -> None:
    with pytest.raises(ValueError, match="none at"):
        CVR.number(index)


@given(index=st.integers(0, 99_999_999))
def test_every_gln_has_a_right_check_digit(index: int) -> None:
    assert is_gln(gln("5790", index))
