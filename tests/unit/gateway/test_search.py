"""What each kind of term may look like, and what a bare one is taken for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from common.contracts.lookup import SearchType
from gateway.domain.numbers import Unfit
from gateway.domain.search import infer, normalise

DK, NO = Country.DK, Country.NO


@pytest.mark.parametrize(
    "kind,country,term,normalised",
    [
        (SearchType.VAT, DK, "12345674", "12345674"),
        (SearchType.VAT, DK, "01234567", "01234567"),
        (SearchType.VAT, DK, "DK12345674", "12345674"),
        (SearchType.VAT, DK, "dk-12 34 56 74", "12345674"),
        (SearchType.VAT, DK, " 12.34.56.74 ", "12345674"),
        (SearchType.VAT, NO, "NO 987 654 321", "987654321"),
        (SearchType.VAT, NO, "987\u00a0654\u2013321", "987654321"),
        (SearchType.PRODU, DK, "1000 000 001", "1000000001"),
        (SearchType.PRODU, NO, "987654321", "987654321"),
        (SearchType.PHONE, DK, "12 34 56 78", "12345678"),
        (SearchType.PHONE, DK, "+45 12345678", "12345678"),
        (SearchType.PHONE, DK, "004512345678", "12345678"),
        (SearchType.PHONE, DK, "00451234", "00451234"),
        (SearchType.PHONE, NO, "+4712345678", "12345678"),
        (SearchType.PHONE, NO, "0047 12 34 56 78", "12345678"),
        (SearchType.NAME, DK, "  Prøvefabrikken ApS\n", "Prøvefabrikken ApS"),
        (SearchType.NAME, DK, "12345674", "12345674"),
        (SearchType.NAME, DK, "x" * 200, "x" * 200),
        (SearchType.ADDRESS, NO, " Prøveveien 1 ", "Prøveveien 1"),
        (SearchType.ADDRESS, DK, "x" * 300, "x" * 300),
    ],
)
def test_a_term_is_brought_into_the_registers_form(
    kind: SearchType, country: Country, term: str, normalised: str
) -> None:
    assert normalise(kind, term, country) == normalised


@pytest.mark.parametrize(
    "kind,country,term",
    [
        (SearchType.VAT, DK, "1234567"),
        (SearchType.VAT, DK, "987654321"),
        (SearchType.VAT, DK, "NO12345674"),
        (SearchType.VAT, NO, "12345674"),
        (SearchType.VAT, NO, "DK987654321"),
        (SearchType.VAT, DK, "1234567x"),
        (SearchType.VAT, DK, "１２３４５６７４"),
        (SearchType.VAT, DK, "+12345674"),
        (SearchType.VAT, DK, "DKDK345674"),
        (SearchType.PRODU, DK, "987654321"),
        (SearchType.PRODU, NO, "1000000001"),
        (SearchType.PHONE, DK, "+4712345678"),
        (SearchType.PHONE, NO, "+4512345678"),
        (SearchType.PHONE, NO, "004512345678"),
        (SearchType.PHONE, DK, "4512345678"),
        (SearchType.PHONE, DK, "++4512345678"),
        (SearchType.PHONE, DK, "1234567"),
        (SearchType.NAME, DK, " x "),
        (SearchType.NAME, DK, "x" * 201),
        (SearchType.ADDRESS, DK, "xy"),
        (SearchType.ADDRESS, DK, "x" * 301),
    ],
)
def test_a_term_that_no_register_can_hold_is_refused(
    kind: SearchType, country: Country, term: str
) -> None:
    with pytest.raises(Unfit):
        normalise(kind, term, country)


@pytest.mark.parametrize(
    "country,term,questions",
    [
        (DK, "12345674", [("vat", "12345674"), ("phone", "12345674")]),
        (DK, "12 34 56 74", [("vat", "12345674"), ("phone", "12345674")]),
        (DK, "1000000001", [("produ", "1000000001")]),
        (DK, "987654321", [("name", "987654321")]),
        (NO, "987 654 321", [("vat", "987654321"), ("produ", "987654321")]),
        (NO, "12345678", [("phone", "12345678")]),
        (NO, "1000000001", [("name", "1000000001")]),
        (DK, "DK12345674", [("name", "DK12345674")]),
        (DK, "12.34.56.74", [("name", "12.34.56.74")]),
        (DK, "  Prøvefabrikken  ", [("name", "Prøvefabrikken")]),
        (DK, "١٢٣٤٥٦٧٨", [("name", "١٢٣٤٥٦٧٨")]),
    ],
)
def test_the_kind_of_a_bare_term_is_inferred_in_the_specified_order(
    country: Country, term: str, questions: list[tuple[str, str]]
) -> None:
    inferred = infer(term, country)

    assert [(question.type.value, question.term) for question in inferred] == questions


def test_a_bare_term_that_is_too_short_for_a_name_is_refused() -> None:
    with pytest.raises(Unfit):
        infer("x", DK)


@given(st.sampled_from(SearchType), st.text(max_size=400), st.sampled_from(Country))
def test_what_is_accepted_is_accepted_again_unchanged(
    kind: SearchType, term: str, country: Country
) -> None:
    try:
        normalised = normalise(kind, term, country)
    except Unfit:
        return

    assert normalise(kind, normalised, country) == normalised


@given(
    st.from_regex(r"[0-9]{8}", fullmatch=True), st.lists(st.sampled_from(" .-\u00a0"), max_size=6)
)
def test_separators_never_change_a_number(digits: str, separators: list[str]) -> None:
    written = digits[:4] + "".join(separators) + digits[4:]

    assert normalise(SearchType.VAT, written, DK) == digits


@given(st.text(max_size=60), st.sampled_from(Country))
def test_numbers_are_always_ascii_digits(term: str, country: Country) -> None:
    for kind in (SearchType.VAT, SearchType.PRODU, SearchType.PHONE):
        try:
            normalised = normalise(kind, term, country)
        except Unfit:
            continue
        assert normalised.isascii()
        assert normalised.isdecimal()
