"""Filters may name every value of the sample registers, whose words are those of the real ones."""

import pytest

from common.contracts.company import Country
from common.domain.known_values import forms_named, is_known, municipality_key, sharing
from register_samples.registers import REGISTERS


@pytest.mark.parametrize("country", Country)
def test_the_values_of_a_register_are_known(country: Country) -> None:
    register = REGISTERS[country]
    values = [
        *(("municipalities", place["municipality"]) for place in register.places),
        *(("municipalities", place["municipality_code"]) for place in register.places),
        *(("forms", form["code"]) for form in register.forms),
        *(("industries", industry["code"]) for industry in register.industries),
    ]

    assert values
    assert [value for value in values if not is_known(*value, (country,))] == []


@pytest.mark.parametrize(
    "name,code",
    [
        ("A.M.B.A.", "140"),
        ("amba", "140"),
        ("ABA", "140"),
        ("smba", "151"),
        ("F.M.B.A.", "152"),
        ("KAS", "70"),
        ("P/S", "70"),
        ("E/S", "290"),
        ("SE", "290"),
    ],
)
def test_a_danish_form_has_each_of_its_short_names(name: str, code: str) -> None:
    assert forms_named(name, (Country.DK,)) == (code,)


def test_a_name_that_municipalities_share_is_one_of_norways() -> None:
    shared = [name for name in ("Herøy", "VÅLER", "Oslo", "Bø") if sharing(name)]

    assert shared == ["Herøy", "VÅLER"]
    assert all(is_known("municipalities", name, (Country.NO,)) for name in shared)
    assert {municipality_key(code) for code in ("0301", "301")} == {"301"}
    assert municipality_key("HERØY") == "herøy"
