"""Values as people and spreadsheets write them.

The forms of docs/lookups.md are tested on every surface by `tests/contract/test_forms.py`.
"""

import re
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.countries import Country
from common.domain.numbers import (
    InvalidIdentifier,
    LostZero,
    OtherNumber,
    parse_participant,
    parse_phone_number,
    parse_phone_numbers,
    parse_registration_number,
    parse_unit_number,
    read_company,
)
from common.domain.written import (
    SHARED,
    NumberType,
    PageWithoutNumber,
    is_personal_number,
    is_placeholder,
    plain,
    plain_name,
    read_country,
    read_email,
    read_number,
    read_postal_code,
    read_site,
)

DK, NO = Country.DK, Country.NO


@pytest.mark.parametrize(
    "text",
    [
        *("4,10000E+07", "4.1E7", "1.2345674E+08", "12345674.5", "1234567.8", "12345.678"),
        *("1 234 567.50", "1.234.567.50", "12345674 12345682", "12345674, 12345682"),
        *("26-11-2024", "2024-11-26", "26.11.2024", "26/11/2024", "12345674%", "12345674 kr."),
        *("26–11–2024", "26\u201111\u20112024", "26. 11. 2024", "26 - 11 - 2024", "2024 - 11 - 26"),
        *("Prøven 12345674", "12345674 Prøven", "EAN 12345674", "P-nr 12345674", "tlf 12345674"),
        *(
            "CVR 12345674 MVA",
            "12345674x",
            "1234567O",
            "12345674²",
            "½12345674",
            "",
            "CVR",
            "#REF!",
        ),
        *("+12345674", "12:34:56:74", "1234567\u0660"),
    ],
)
def test_a_text_that_is_not_certainly_a_number_is_none(text: str) -> None:
    with pytest.raises(InvalidIdentifier):
        parse_registration_number(text, DK)


@pytest.mark.parametrize(
    "text, key",
    [
        ("0184:12345674", "dk:12345674"),
        ("0184:DK12345674", "dk:12345674"),
        ("iso6523-actorid-upis::9902:DK12345674", "dk:12345674"),
        ("urn:oasis:names:tc:ebcore:partyid-type:iso6523:0192:310345679", "no:310345679"),
        ("0192:NO310345679MVA", "no:310345679"),
        ("9909:NO310345679MVA", "no:310345679"),
        ("OID.2.5.4.97=NTRDK-12345674", "dk:12345674"),
        ("organizationIdentifier=NTRNO-310345679", "no:310345679"),
        ("no-brc-310 345 679", "no:310345679"),
        ("urn:dk:cvr:virksomhed:12345674", "dk:12345674"),
        ("https://datacvr.virk.dk/data/visenhed?enhedstype=virksomhed&id=12345674", "dk:12345674"),
        ("http://w2.brreg.no/enhet/sok/detalj.jsp?orgnr=310345679", "no:310345679"),
        ("data.brreg.no/enhetsregisteret/api/enheter/310345679/roller", "no:310345679"),
        ("https://cvrapi.dk/virksomhed/dk/proeven-aps/12345674", "dk:12345674"),
    ],
)
def test_a_number_of_another_space_is_that_of_its_register(text: str, key: str) -> None:
    country, _, number = key.partition(":")

    assert read_company(text) == key
    assert parse_registration_number(text, Country(country)) == number
    assert read_number(text).country == country
    assert read_company(f"{country}:{text}") == key


@pytest.mark.parametrize(
    "text",
    [
        "0096:1012345670",
        "DK:P:1012345670",
        "https://datacvr.virk.dk/enhed/produktionsenhed/1012345670?x=12345674",
    ],
)
def test_a_unit_of_another_space_is_no_company(text: str) -> None:
    assert parse_unit_number(text, DK) == "1012345670"
    with pytest.raises(InvalidIdentifier):
        parse_registration_number(text, DK)


@pytest.mark.parametrize(
    "text",
    [
        "https://datacvr.virk.dk/soegeresultater?fritekst=proeven",
        "virksomhet.brreg.no/nb/oppslag/enheter",
        "https://www.proff.no/selskap/proeven/oslo/bygg/IF3ABC",
        # Of two companies neither is the page's.
        "https://datacvr.virk.dk/enhed/virksomhed/12345674?next=12345682",
        "https://opencorporates.com/companies/no/12345674",
    ],
)
def test_the_address_of_a_page_without_a_number_says_so(text: str) -> None:
    with pytest.raises(PageWithoutNumber, match="has no number of a company in it"):
        read_number(text)


@pytest.mark.parametrize(
    "text",
    ["0198:12345674", "9904:DK12345674", "VATSE-556677889901", "https://example.com/dk/12345674",
     "https://www.brreg.no/", "brreg.no", "opencorporates.com/companies/se/12345674"],
)  # fmt: skip
def test_a_number_of_a_space_of_others_is_not_read(text: str) -> None:
    with pytest.raises(InvalidIdentifier) as refused:
        read_number(text)

    assert not isinstance(refused.value, PageWithoutNumber)


def test_two_phone_numbers_with_a_dash_are_two() -> None:
    assert parse_phone_numbers("33369696-33369697", DK) == ("33369696", "33369697")
    assert parse_phone_numbers("33 36 96 96 - 33 36 96 97", DK) == ("33369696", "33369697")
    assert parse_phone_numbers("+45 33369696-33369697", DK) == ("33369696", "33369697")


@pytest.mark.parametrize(
    "parse",
    [
        lambda text: parse_registration_number(text, DK),
        lambda text: parse_registration_number(text, NO),
        lambda text: parse_unit_number(text, DK),
        lambda text: parse_phone_number(text, DK),
        lambda text: parse_phone_number(text, NO),
        lambda text: read_company(text).vat,
    ],
)
@given(number=st.integers(0, 10**11), form=st.integers(0, 9), cents=st.integers(0, 99))
def test_no_rendering_of_a_number_is_read_as_another_one(
    parse: Callable[[str], str], number: int, form: int, cents: int
) -> None:
    grouped = f"{number:,}"
    rendered = [
        f"{number}.0",
        f"{number},0",
        f"{number}.00",
        f"{number}.{cents:02}",
        f"{number},{cents}",
        grouped,
        grouped.replace(",", "."),
        grouped.replace(",", ".") + f",{cents:02}",
        grouped.replace(",", " ") + f".{cents}",
        f"{number:.{form}E}".replace(".", ","),
    ][form]

    try:
        read = parse(rendered)
    except InvalidIdentifier:
        return

    # A phone number may lose its calling code, nothing else.
    assert read in (str(number), re.sub("^4[57]", "", str(number)))


@given(
    st.text("0123456789 .,-–/()+:eEDKNOMVAcvrPnrtlfSæ\u200b\u00a0", max_size=24),
    st.sampled_from(Country),
)
def test_the_digits_of_a_number_are_those_of_its_text(text: str, country: Country) -> None:
    written = "".join(filter(str.isdigit, plain(text)))
    for parse in (parse_registration_number, parse_unit_number):
        try:
            read = parse(text, country)
        except InvalidIdentifier:
            continue
        rest = written.removeprefix(read)
        assert written.startswith(read)
        # Decimals that are zeros, or the exponent that says how many digits there are.
        assert not rest.strip("0") or int(rest) == len(read) - 1


def test_the_zero_that_a_spreadsheet_dropped_is_proposed_where_the_check_digit_fits() -> None:
    for text in ("5501431", "5501431.0", "5.501.431", "CVR 5501431"):
        with pytest.raises(LostZero, match="first zero of 05501431") as refusal:
            parse_registration_number(text, DK)
        assert refusal.value.number == "05501431"
    for text, country in (("5501432", DK), ("5501431", NO), ("NO 5501431", DK), ("31034567", NO)):
        with pytest.raises(InvalidIdentifier) as other:
            parse_registration_number(text, country)
        assert not isinstance(other.value, OtherNumber)


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("33 36 96 96 / 40 11 22 33", ("33369696", "40112233")),
        ("33369696/40112233", ("33369696", "40112233")),
        ("33 36 96 96 40 11 22 33", ("33369696", "40112233")),
        ("33369696&40112233", ("33369696", "40112233")),
        ("33369696\n40112233", ("33369696", "40112233")),
        ("+45 33369696 +45 40112233", ("33369696", "40112233")),
        ("+4533369696+4540112233", ("33369696", "40112233")),
        ("(+45) 33369696 (+45) 40112233", ("33369696", "40112233")),
        ("tlf: 33369696 mobil: 40112233", ("33369696", "40112233")),
        ("Tel 33 36 96 96 Fax 40 11 22 33", ("33369696",)),
        ("Tlf. 33369696, fax 40112233", ("33369696",)),
        ("33369696 eller 33369696", ("33369696",)),
        ("33369696 lok. 12", ("33369696",)),
        ("33369696 lokal12", ("33369696",)),
        ("33369696 ext12", ("33369696",)),
        ("33369696 x12", ("33369696",)),
        ("T: +45 33369696 M: +45 40112233", ("33369696", "40112233")),
        ("+45 33369696 Fax +45 40112233", ("33369696",)),
        ("33369696; 40112233", ("33369696", "40112233")),
        ("tel:+45-3336-9696;ext=1", ("33369696",)),
        ("+47 22334455; 33369696", ("33369696",)),
    ],
)
def test_a_cell_may_have_several_phone_numbers(text: str, numbers: tuple[str, ...]) -> None:
    assert parse_phone_numbers(text, DK) == numbers


def test_letters_of_a_country_make_no_phone_number() -> None:
    for text, country in (("DK 12345674", DK), ("DK12345674", NO), ("+4512345674 DK", NO)):
        with pytest.raises(InvalidIdentifier):
            parse_phone_number(text, country)


def test_a_phone_number_of_the_other_country_is_said_to_be_one() -> None:
    for text in ("+47 22 33 44 55", "0047 22334455", "tel:+4722334455"):
        with pytest.raises(OtherNumber, match="Norwegian one: give country=no"):
            parse_phone_number(text, DK)


@pytest.mark.parametrize(
    "text, default, company",
    [
        ("dk:12345674", None, "dk:12345674"),
        ("DK12345674", NO, "dk:12345674"),
        ("no 310 345 679 mva", DK, "no:310345679"),
        ("Danmark:CVR 12345674", NO, "dk:12345674"),
        ("CVR: 12345674", None, "dk:12345674"),
        ("12345674", None, "dk:12345674"),
        ("310345679", None, "no:310345679"),
    ],
)
def test_a_company_is_of_the_country_that_it_names(
    text: str, default: Country | None, company: str
) -> None:
    assert read_company(text, default) == company


@pytest.mark.parametrize(
    "text, default, message",
    [
        ("Sverige:12345674", DK, "Sverige is neither Denmark nor Norway"),
        ("SE:12345674", DK, "SE is neither Denmark nor Norway"),
        ("dk:NO 310345679", None, "Norwegian one"),
        ("dk:4,10000E+07", None, "its last digits are lost"),
        ("310345679", DK, "Norwegian one"),
        ("5501431.0", None, "first zero of 05501431"),
        ("", DK, "no single number"),
        ("31034567", None, "name its country"),
        ("CVR-nr.: 1234567,8", None, "a number with decimals"),
        ("Org.nr.: 26-11-2024", None, "this is a date"),
    ],
)
def test_a_company_that_cannot_be_read_is_of_no_country(
    text: str, default: Country | None, message: str | None
) -> None:
    with pytest.raises(InvalidIdentifier, match=message):
        read_company(text, default)


def test_a_personal_number_is_told_from_those_of_companies_and_units() -> None:
    assert all(map(is_personal_number, ("010170-1234", "01017012345", "410170 12345")))
    assert not any(map(is_personal_number, ("1012345670", "0101701234", "320170-1234", "12345674")))
    assert parse_unit_number("1012345678", DK) == "1012345678"


@pytest.mark.parametrize(
    "text",
    [
        *("010170-1234", "'010170-1234", '="010170-1234"', "010170\u20111234", "010170–1234"),
        *("010170 - 1234", "DK 010170-1234", "P-nr 010170-1234", "010170-1234 (P-nr.)"),
    ],
)
def test_a_personal_number_is_refused_however_it_is_written(text: str) -> None:
    for parse in (lambda: parse_unit_number(text, DK), lambda: parse_participant(f"0096:{text}")):
        with pytest.raises(InvalidIdentifier, match="not looked up") as refusal:
            parse()
        assert "010170" not in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["?", "-", "N/A", "n.a.", "ukendt", "#N/A", "Ikke oppgitt", " ", "…"]
)
def test_a_placeholder_says_nothing(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize("text", ["3F", "Ingenting", "0", "A/S"])
def test_a_short_text_is_no_placeholder(text: str) -> None:
    assert not is_placeholder(text)


def test_a_country_outside_both_registers_is_none() -> None:
    assert [read_country(text) for text in ("DK", " danmark ", "Norge", "NOR", "no.")] == [
        DK, DK, NO, NO, NO,
    ]  # fmt: skip
    assert {read_country(text) for text in ("Sverige", "SE", "", "d k x", "DKK")} == {None}


def test_a_postal_code_of_fewer_digits_has_lost_its_zeros_where_such_codes_exist() -> None:
    assert [read_postal_code(text, NO) for text in ("159", "10", "159.0", "N-0159", "5")] == [
        "0159", "0010", "0159", "0159", None,
    ]  # fmt: skip
    assert [read_postal_code(text, DK) for text in ("800", "10", "159", "DK-8000", "8000,0")] == [
        "0800", None, None, "8000", "8000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text, email",
    [
        ("Anna Prøve <anna@example.com>", "anna@example.com"),
        ("mailto:anna@example.com", "anna@example.com"),
        ("anna@example.com; bo@example.com", "anna@example.com"),
        ("Anna <anna@example.com>; Bo <bo@example.com>", "anna@example.com"),
        ("anna@example.com.", "anna@example.com"),
        ("Prøven <DK> <anna@example.com>", "anna@example.com"),
        ("a b@example.com", None),
        ("ingen", None),
        ("<anna>", None),
    ],
)
def test_an_email_address_is_read_from_its_usual_surroundings(text: str, email: str | None) -> None:
    assert read_email(text) == email


def test_a_number_may_have_the_apostrophe_by_which_a_spreadsheet_keeps_it_as_text() -> None:
    assert read_number("'012345674").digits == "012345674"


def test_a_number_may_have_dashes_of_any_length() -> None:
    assert read_number("12–34 — 56\u201074").digits == "12345674"


@pytest.mark.parametrize(
    "text, country",
    [
        *(("VAT ID No. 1", None), ("Tax ID no: 1", None), ("Company ID no. 1", None)),
        *(("VAT ID No. DK1", DK), ("VAT No. 1", None), ("Org.nr. NO 1", NO), ("NO 1", NO)),
    ],
)
def test_no_before_a_number_is_norway_unless_it_says_number(
    text: str, country: Country | None
) -> None:
    assert read_number(text).country == country


def test_many_words_before_a_number_are_read_in_linear_time() -> None:
    assert read_number("m " * 128_000 + "1").type is NumberType.PHONE


def test_the_domain_of_a_provider_is_no_companys() -> None:
    assert {read_site(f"www.{domain}") for domain in SHARED} == {""}


def test_a_name_has_the_characters_that_html_describes() -> None:
    assert plain_name("\ufeffM&oslash;ller &amp; S&#248;n\u200b") == "Møller & Søn"
    assert plain_name("A&B; C &amp D") == "A&B; C &amp D"


@given(st.text(max_size=60))
def test_no_text_is_an_error_of_another_kind(text: str) -> None:
    plain_name(text), is_placeholder(text), read_country(text), read_email(text)
    for country in Country:
        read_postal_code(text, country)
        for parse in (parse_phone_numbers, parse_registration_number, read_company):
            try:
                parse(text, country)
            except InvalidIdentifier:
                continue
    with suppress(InvalidIdentifier):
        read_number(text)
