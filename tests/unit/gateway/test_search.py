"""The form of each search term."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from common.contracts.lookup import SearchType
from gateway.lookups.terms import InvalidTerm, normalise

DK, NO = Country.DK, Country.NO


@pytest.mark.parametrize(
    "kind,country,term,normalised",
    [
        (SearchType.VAT, DK, "01234567", "01234567"),
        (SearchType.PRODU, DK, "1000 000 001", "1000000001"),
        (SearchType.PRODU, NO, "987654321", "987654321"),
        (SearchType.PHONE, DK, "+45 12345678", "12345678"),
        (SearchType.PHONE, DK, "00451234", "00451234"),
        (SearchType.EAN, NO, " 579 0000 0000 05 ", "0088:5790000000005"),
        (SearchType.EAN, DK, "iso6523-actorid-upis::0184:DK12345674", "0184:12345674"),
        (SearchType.NAME, DK, "  Prøvefabrikken ApS\n", "Prøvefabrikken ApS"),
        (SearchType.NAME, DK, "12345674", "12345674"),
        (SearchType.NAME, DK, "x" * 200, "x" * 200),
        (SearchType.ADDRESS, NO, " Prøveveien 1 ", "Prøveveien 1"),
        (SearchType.ADDRESS, DK, "x" * 300, "x" * 300),
    ],
)
def test_a_term_is_normalised_to_the_registers_form(
    kind: SearchType, country: Country, term: str, normalised: str
) -> None:
    assert normalise(kind, term, country) == normalised


@pytest.mark.parametrize(
    "kind,country,term",
    [
        (SearchType.VAT, DK, "1234567"),
        (SearchType.VAT, DK, "987654321"),
        (SearchType.VAT, NO, "12345674"),
        (SearchType.PRODU, NO, "1000000001"),
        (SearchType.PHONE, DK, "+4712345678"),
        (SearchType.PHONE, NO, "+4512345678"),
        (SearchType.PHONE, DK, "4512345678"),
        (SearchType.PHONE, DK, "1234567"),
        (SearchType.PHONE, DK, "١٢٣٤٥٦٧٨"),
        (SearchType.EAN, DK, "5790000000006"),
        (SearchType.EAN, DK, "12345674"),
        (SearchType.EAN, DK, "0192:310345679"),
        (SearchType.EAN, NO, "0184:12345674"),
        (SearchType.NAME, DK, " x "),
        (SearchType.NAME, DK, "x" * 201),
        (SearchType.ADDRESS, DK, "xy"),
        (SearchType.ADDRESS, DK, "x" * 301),
    ],
)
def test_an_invalid_term_is_rejected(kind: SearchType, country: Country, term: str) -> None:
    with pytest.raises(InvalidTerm):
        normalise(kind, term, country)


@given(st.sampled_from(SearchType), st.text(max_size=400), st.sampled_from(Country))
def test_normalisation_is_idempotent(kind: SearchType, term: str, country: Country) -> None:
    try:
        normalised = normalise(kind, term, country)
    except InvalidTerm:
        return

    assert normalise(kind, normalised, country) == normalised


@pytest.mark.parametrize(
    "kind,wanted",
    [
        (SearchType.NAME, "a name is 2 to 200 characters"),
        (SearchType.ADDRESS, "an address is 3 to 300 characters"),
    ],
)
def test_a_message_has_the_right_article(kind: SearchType, wanted: str) -> None:
    with pytest.raises(InvalidTerm, match=f"^{wanted}$"):
        normalise(kind, "x", Country.DK)
