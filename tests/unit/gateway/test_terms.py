"""The form of each search term, and the type inferred for a bare one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from common.contracts.lookup import SearchType
from gateway.lookups.terms import InvalidTerm, infer, normalise

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


def types_of(term: str, country: Country) -> list[str]:
    return [question.type.value for question in infer(term, country)]


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
        (DK, "12.34.56.74", [("name", "12.34.56.74")]),
        (DK, "  Prøvefabrikken  ", [("name", "Prøvefabrikken")]),
        (DK, "١٢٣٤٥٦٧٨", [("name", "١٢٣٤٥٦٧٨")]),
    ],
)
def test_plain_digits_follow_the_rules_of_the_specification(
    country: Country, term: str, questions: list[tuple[str, str]]
) -> None:
    inferred = infer(term, country)

    assert [(question.type.value, question.term) for question in inferred] == questions


@pytest.mark.parametrize(
    "country,term,question",
    [
        (DK, "DK12345674", ("vat", "12345674")),
        (DK, "dk 12 34 56 74", ("vat", "12345674")),
        (NO, "NO 310 345 679 MVA", ("vat", "310345679")),
        (NO, "310345679 mva", ("vat", "310345679")),
        (DK, "+45 33 36 96 96", ("phone", "33369696")),
        (DK, "004533369696", ("phone", "33369696")),
        (NO, "(+47) 51 99 00 00", ("phone", "51990000")),
        (DK, "5790000000005", ("ean", "0088:5790000000005")),
        (NO, "579 0000 0000 05", ("ean", "0088:5790000000005")),
        (DK, "0184:DK12345674", ("ean", "0184:12345674")),
        (NO, "iso6523-actorid-upis::9908:310345679", ("ean", "9908:310345679")),
        (DK, "0060:123456789", ("ean", "0060:123456789")),
    ],
)
def test_a_pasted_identifier_is_recognised_by_its_form(
    country: Country, term: str, question: tuple[str, str]
) -> None:
    [inferred] = infer(term, country)

    assert (inferred.type.value, inferred.term) == question


@pytest.mark.parametrize(
    "country,term",
    [
        (DK, "NO310345679"),
        (NO, "DK12345674"),
        (DK, "12345674 MVA"),
        (NO, "+45 33 36 96 96"),
        (DK, "5790000000006"),
        (DK, "0192:310345679"),
        (DK, "2024: En rejse"),
        (DK, "3F"),
        (DK, "AB 12345674 ApS"),
        (DK, "E/F Prøvevej 10, 5000 Odense C"),
        (NO, "Sameiet Storgata 12, 0155 Oslo"),
        (DK, "Ejendomsselskabet Prøvevej 10, 5000 Odense C ApS"),
    ],
)
def test_a_text_of_no_other_form_is_a_name(country: Country, term: str) -> None:
    assert types_of(term, country) == ["name"]


@pytest.mark.parametrize(
    "country,term",
    [
        (DK, "Prøvevej 43B, 2. th., 1112 København K"),
        (DK, "Vestergade 10 5000 Odense"),
        (DK, "Vestergade 10-12\n5000 Odense C\nDanmark"),
        (DK, "5000 Odense C, Vestergade 10"),
        (DK, "Christian 4. Vej 5, DK-6000 Kolding"),
        (DK, "Postboks 39, 3700 Rønne"),
        (NO, "Storgata 12, 0155 Oslo"),
        (NO, "Rallarvegen 1234, N-5719 Finse"),
        (NO, "Postboks 1234 Sentrum, 0101 Oslo"),
    ],
)
def test_an_address_with_a_postal_code_is_searched_as_an_address_then_a_name(
    country: Country, term: str
) -> None:
    assert types_of(term, country) == ["address", "name"]


@pytest.mark.parametrize(
    "country,term",
    [
        (NO, "Torggate 16, Oslo"),
        (NO, "Storgata 12B"),
        (DK, "Vestergade 10"),
        (DK, "Prøvevej 43, 3. tv., København"),
        (NO, "Sommerfesten 2025 Oslo"),
    ],
)
def test_a_house_number_without_a_postal_code_is_searched_as_a_name_then_an_address(
    country: Country, term: str
) -> None:
    assert types_of(term, country) == ["name", "address"]


def test_an_address_that_is_too_long_for_a_name_is_only_an_address() -> None:
    assert types_of(f"Storgata 12, {'bakgården, ' * 20}0155 Oslo", NO) == ["address"]
    assert types_of(f"Storgata 12, {'bakgården, ' * 20}Oslo", NO) == ["address"]


@pytest.mark.parametrize("text", ["aa 1 ", "aa 1234 ", "a ", "DK ", "1 ", "0184:", "+45 "])
def test_a_huge_text_is_rejected_without_matching(text: str) -> None:
    with pytest.raises(InvalidTerm):
        infer(text * (65_536 // len(text)), DK)


def test_a_bare_term_that_is_too_short_for_a_name_is_refused() -> None:
    with pytest.raises(InvalidTerm):
        infer("x", DK)
