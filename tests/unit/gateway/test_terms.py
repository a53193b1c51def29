"""The form of each search term, and the type inferred for a bare one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from common.contracts.lookup import SearchType
from gateway.lookups.terms import InvalidTerm, infer, normalise

DK, NO = Country.DK, Country.NO
VAT, PRODU, PHONE = SearchType.VAT, SearchType.PRODU, SearchType.PHONE
EAN, NAME, ADDRESS = SearchType.EAN, SearchType.NAME, SearchType.ADDRESS
EMAIL, DOMAIN = SearchType.EMAIL, SearchType.DOMAIN


@pytest.mark.parametrize(
    "type_, country, term, normalised",
    [
        (VAT, DK, "01234567", "01234567"),
        (PRODU, DK, "1000 000 001", "1000000001"),
        (PRODU, NO, "987654321", "987654321"),
        (PHONE, DK, "+45 12345678", "12345678"),
        (PHONE, DK, "00451234", "00451234"),
        (EAN, NO, " 579 0000 0000 05 ", "0088:5790000000005"),
        (EAN, DK, "iso6523-actorid-upis::0184:DK12345674", "0184:12345674"),
        (NAME, DK, "  Prøvefabrikken ApS\n", "Prøvefabrikken ApS"),
        (NAME, DK, "12345674", "12345674"),
        (NAME, DK, "x" * 200, "x" * 200),
        (ADDRESS, NO, " Prøveveien 1 ", "Prøveveien 1"),
        (ADDRESS, DK, "x" * 300, "x" * 300),
        (EMAIL, DK, "Prøve Firma <Post@Mail.Proeven.example>", "post@proeven.example"),
        (EMAIL, NO, " mailto:post@proeven.example ", "post@proeven.example"),
        (DOMAIN, DK, "https://www.Proeven.example:443/om-os?x=1", "proeven.example"),
        (DOMAIN, DK, "shop.proeven.co.uk", "proeven.co.uk"),
        (DOMAIN, DK, "www.proeven.example:8080", "proeven.example"),
    ],
)
def test_a_term_is_normalised_to_the_registers_form(
    type_: SearchType, country: Country, term: str, normalised: str
) -> None:
    assert normalise(type_, term, country) == normalised


@pytest.mark.parametrize(
    "type_, country, invalid",
    [
        (VAT, DK, ["1234567", "987654321"]),
        (VAT, NO, ["12345674"]),
        (PRODU, NO, ["1000000001"]),
        (PHONE, DK, ["+4712345678", "4712345678", "1234567", "١٢٣٤٥٦٧٨"]),
        (PHONE, NO, ["+4512345678"]),
        (EAN, DK, ["5790000000006", "12345674", "0192:310345679"]),
        (EAN, NO, ["0184:12345674"]),
        (NAME, DK, [" x ", "x" * 201]),
        (ADDRESS, DK, ["xy", "x" * 301]),
        (EMAIL, DK, ["post@", "@proeven.example", "post@localhost", "a@b@c.example"]),
        (DOMAIN, DK, ["gmail.com", "localhost", "10.0.0.1", "a b.example", "B.I.K.S.", "1.000"]),
    ],
)
def test_an_invalid_term_is_rejected(
    type_: SearchType, country: Country, invalid: list[str]
) -> None:
    for term in invalid:
        with pytest.raises(InvalidTerm):
            normalise(type_, term, country)


@given(st.sampled_from(SearchType), st.text(max_size=400), st.sampled_from(Country))
def test_normalisation_is_idempotent(type_: SearchType, term: str, country: Country) -> None:
    try:
        normalised = normalise(type_, term, country)
    except InvalidTerm:
        return

    assert normalise(type_, normalised, country) == normalised


@pytest.mark.parametrize(
    "type_, message",
    [(NAME, "a name is 2 to 200 characters"), (ADDRESS, "an address is 3 to 300 characters")],
)
def test_a_message_has_the_right_article(type_: SearchType, message: str) -> None:
    with pytest.raises(InvalidTerm, match=f"^{message}$"):
        normalise(type_, "x", DK)


@pytest.mark.parametrize(
    "country, term, questions",
    [
        # Plain digits follow the rules of the specification.
        (DK, "12345674", ["vat:12345674", "phone:12345674"]),
        (DK, "12 34 56 74", ["vat:12345674", "phone:12345674"]),
        (DK, "1000000001", ["produ:1000000001"]),
        (DK, "987654321", ["name:987654321"]),
        (NO, "987 654 321", ["vat:987654321", "produ:987654321"]),
        (NO, "12345678", ["phone:12345678"]),
        (NO, "1000000001", ["name:1000000001"]),
        (DK, "12.34.56.74", ["vat:12345674", "phone:12345674"]),
        (DK, "  Prøvefabrikken  ", ["name:Prøvefabrikken"]),
        (DK, "١٢٣٤٥٦٧٨", ["name:١٢٣٤٥٦٧٨"]),
        # A pasted identifier is recognised by its form.
        (DK, "DK12345674", ["vat:12345674"]),
        (DK, "dk 12 34 56 74", ["vat:12345674"]),
        (NO, "NO 310 345 679 MVA", ["vat:310345679", "produ:310345679"]),
        (NO, "310345679 mva", ["vat:310345679", "produ:310345679"]),
        (NO, "Org.nr. 310345679", ["vat:310345679", "produ:310345679"]),
        (DK, "VAT 12345674", ["vat:12345674"]),
        (DK, "Org.nr. 1012345670", ["name:Org.nr. 1012345670"]),
        (DK, "+45 33 36 96 96", ["phone:33369696"]),
        (DK, "004533369696", ["phone:33369696"]),
        (NO, "(+47) 51 99 00 00", ["phone:51990000"]),
        (DK, "5790000000005", ["ean:0088:5790000000005"]),
        (NO, "579 0000 0000 05", ["ean:0088:5790000000005"]),
        (DK, "0184:DK12345674", ["ean:0184:12345674"]),
        (NO, "iso6523-actorid-upis::9908:310345679", ["ean:9908:310345679"]),
        (DK, "0060:123456789", ["ean:0060:123456789"]),
        # An address or a site of a company; a provider's domain may be a name.
        (DK, "Post@Proeven.example", ["email:post@proeven.example"]),
        (NO, "Ola <ola@gmail.com>", ["email:ola@gmail.com"]),
        (DK, "www.proeven.example", ["domain:proeven.example", "name:www.proeven.example"]),
        (DK, "Prøven.dk", ["domain:prøven.dk", "name:Prøven.dk"]),
        (DK, "gmail.com", ["name:gmail.com"]),
        (DK, "Prøven.dk ApS", ["name:Prøven.dk ApS"]),
        (DK, "A.P. Prøve", ["name:A.P. Prøve"]),
    ],
)
def test_a_number_is_of_the_types_of_its_form(
    country: Country, term: str, questions: list[str]
) -> None:
    assert [f"{each.type}:{each.term}" for each in infer(term, country)] == questions


LONG = "bakgården, " * 20


@pytest.mark.parametrize(
    "types, country, texts",
    [
        ("name", NO, ["Sameiet Storgata 12, 0155 Oslo"]),
        ("name", DK, ["12345674 MVA", "5790000000006", "P 7", "C++ 17", "10.12.2024"]),
        ("name", DK, ["2024: En rejse", "3F", "AB 12345674 ApS", "E/F Prøvevej 10, 5000 Odense C"]),
        ("name", DK, ["Ejendomsselskabet Prøvevej 10, 5000 Odense C ApS"]),
        # With a postal code it is an address first.
        ("address name", DK, ["Prøvevej 43B, 2. th., 1112 København K", "Postboks 39, 3700 Rønne"]),
        ("address name", DK, ["Vestergade 10 5000 Odense", "5000 Odense C, Vestergade 10"]),
        ("address name", DK, ["Vestergade 10-12\n5000 Odense C\nDanmark"]),
        ("address name", DK, ["Christian 4. Vej 5, DK-6000 Kolding"]),
        ("address name", DK, ["43 Prøvevej, 1118 København K", "43B Prøvevej 1118 København K"]),
        ("address name", NO, ["12 Storgata, N-0155 Oslo, Norwegen"]),
        ("name address", DK, ["43 Prøvevej", "12 Nørre Allé, København"]),
        ("name", DK, ["24 Timer", "7 Eleven Danmark", "3 Brødre Vejmarkering"]),
        ("address name", NO, ["Storgata 12, 0155 Oslo", "Rallarvegen 1234, N-5719 Finse"]),
        ("address name", NO, ["Postboks 1234 Sentrum, 0101 Oslo"]),
        # With a house number alone it may be one.
        ("name address", NO, ["Torggate 16, Oslo", "Storgata 12B", "Sommerfesten 2025 Oslo"]),
        ("name address", DK, ["Vestergade 10", "Prøvevej 43, 3. tv., København"]),
        # Too long for a name.
        ("address", NO, [f"Storgata 12, {LONG}0155 Oslo", f"Storgata 12, {LONG}Oslo"]),
    ],
)
def test_a_text_is_a_name_an_address_or_either(
    types: str, country: Country, texts: list[str]
) -> None:
    for text in texts:
        assert (text, [each.type for each in infer(text, country)]) == (text, types.split())


@pytest.mark.parametrize(
    "country, text, message",
    [
        (DK, "NO 310 345 679 MVA", "Norwegian one: give country=no"),
        (DK, "310345679", "Norwegian one: give country=no"),
        (NO, "DK12345674", "Danish one: give country=dk"),
        (NO, "CVR-nr. 12345674", "Danish one: give country=dk"),
        (NO, "+45 33 36 96 96", "Danish one: give country=dk"),
        (DK, "0192:310345679", "scheme 0192 is not used in dk"),
        (DK, "5501431.0", "dropped the first zero of 05501431"),
    ],
)
def test_a_number_that_is_certainly_another_one_is_no_name(
    country: Country, text: str, message: str
) -> None:
    with pytest.raises(InvalidTerm, match=message):
        infer(text, country)


@pytest.mark.parametrize("text", ["aa 1 ", "aa 1234 ", "a ", "DK ", "1 ", "0184:", "+45 "])
def test_a_huge_text_is_rejected_without_matching(text: str) -> None:
    with pytest.raises(InvalidTerm):
        infer(text * (65_536 // len(text)), DK)


def test_a_bare_term_that_is_too_short_for_a_name_is_refused() -> None:
    with pytest.raises(InvalidTerm):
        infer("x", DK)
