"""E-invoicing identifiers in the forms that people send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from gateway.domain.einvoicing import (
    GLN_DIGITS,
    GLN_SCHEME,
    NATIONAL,
    PERSONAL_SCHEMES,
    normalise_identifier,
)
from gateway.domain.numbers import Unfit, has_gln_check_digit
from lookup.domain import identifiers
from lookup.domain.identifiers import SCHEMES, participant

DK, NO = Country.DK, Country.NO


@pytest.mark.parametrize(
    "country,text,identifier",
    [
        (DK, "5790000000005", "0088:5790000000005"),
        (NO, " 579 0000 0000 05 ", "0088:5790000000005"),
        (DK, "iso6523-actorid-upis::0088:5790000000000", "0088:5790000000000"),
        (DK, "ISO6523-ACTORID-UPIS::0184:DK12345674", "0184:12345674"),
        (DK, "0184:12345674", "0184:12345674"),
        (DK, "0184:dk12345674", "0184:12345674"),
        (DK, "0096:1000000001", "0096:1000000001"),
        (DK, "0198:DK12345674", "0198:12345674"),
        (NO, "0192:987654321", "0192:987654321"),
        (NO, "9908:987654321", "9908:987654321"),
        (NO, "0192:NO987654321MVA", "0192:987654321"),
        (NO, "0192: NO 987 654 321 MVA", "0192:987654321"),
        (DK, "0184:DK 12.34-56 74", "0184:12345674"),
        (DK, "0088:579 0000 0000 05", "0088:5790000000005"),
        (DK, "9902:DK12345674", "9902:12345674"),
        (DK, "0060:123456789", "0060:123456789"),
        (DK, "9918:DK5000400440116243", "9918:dk5000400440116243"),
    ],
)
def test_an_identifier_is_brought_into_the_form_it_is_stored_in(
    country: Country, text: str, identifier: str
) -> None:
    assert normalise_identifier(text, country) == identifier


@pytest.mark.parametrize(
    "country,text",
    [
        (DK, "5790000000006"),
        (DK, "579000000000"),
        (DK, "0088:579000000000"),
        (DK, "0088:x790000000005"),
        (DK, "0184:1234567"),
        (DK, "0184:NO12345674"),
        (DK, "0192:987654321"),
        (NO, "0184:12345674"),
        (NO, "0096:1000000001"),
        (DK, "0237:0101010101"),
        (DK, "9901:0101010101"),
        (DK, "iso6523-actorid-upis::0237:0101010101"),
        (DK, "184:12345674"),
        (DK, "0184:"),
        (DK, "0060:" + "1" * 51),
        (DK, "0060:12 34"),
        (DK, "12345674"),
        (DK, "iso6523-actorid-upis::"),
    ],
)
def test_what_is_no_identifier_or_one_of_the_other_country_is_refused(
    country: Country, text: str
) -> None:
    with pytest.raises(Unfit):
        normalise_identifier(text, country)


@given(st.integers(0, 10**12 - 1))
def test_exactly_one_check_digit_makes_a_gln(number: int) -> None:
    valid = [digit for digit in range(10) if has_gln_check_digit(f"{number:012}{digit}")]

    assert len(valid) == 1


@pytest.mark.parametrize("scheme", NATIONAL)
def test_a_national_number_is_written_as_it_is_stored(scheme: str) -> None:
    national = NATIONAL[scheme]
    digits = "123456789012"[: national.digits]
    written = f"{scheme}:{national.prefix.lower()}{digits}{national.suffix}"

    assert normalise_identifier(written, national.country) == str(participant(written))
    assert str(participant(written)) == f"{scheme}:{digits}"


def test_gateway_and_importers_know_the_same_schemes() -> None:
    theirs = {code: (each.country, each.digits) for code, each in SCHEMES.items()}
    ours = {code: (each.country, each.digits) for code, each in NATIONAL.items()}

    assert ours | {GLN_SCHEME: (None, GLN_DIGITS)} == theirs
    assert PERSONAL_SCHEMES == identifiers.PERSONAL_SCHEMES
