"""Filters may name every value of the sample registers, whose words are those of the real ones."""

import pytest

from common.contracts.company import Country
from common.domain.known_values import is_known
from register_samples.registers import REGISTERS


@pytest.mark.parametrize("country", Country)
def test_the_values_of_a_register_are_known(country: Country) -> None:
    register = REGISTERS[country]
    values = [
        *(("municipalities", place["municipality"]) for place in register.places),
        *(("forms", form["code"]) for form in register.forms),
        *(("industries", industry["code"]) for industry in register.industries),
    ]

    assert values
    assert [value for value in values if not is_known(*value, (country,))] == []
