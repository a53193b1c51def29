"""Numbers of companies, units, phones and participants, and of things in sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.countries import FORMATS, Country
from common.domain.numbers import (
    MAX_VALUE_LENGTH,
    SCHEMES,
    InvalidIdentifier,
    Participant,
    PersonalIdentifier,
    gln_checks,
    parse_gln,
    parse_participant,
    parse_phone_number,
    parse_registration_number,
    parse_unit_number,
    registered_phone,
    registered_phones,
    registration_number_checks,
    searchable_phones,
)
from common.domain.sentences import counted

DK, NO = Country.DK, Country.NO


def digits(count: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=count, max_size=count)


@pytest.mark.parametrize("country,number", [(DK, "12345674"), (NO, "310345679")])
def test_a_registration_number_has_one_right_check_digit(country: Country, number: str) -> None:
    right = [d for d in "0123456789" if registration_number_checks(number[:-1] + d, country)]

    assert right == [number[-1]]


@given(st.integers(0, 10**12 - 1))
def test_a_gln_has_one_right_check_digit(number: int) -> None:
    assert sum(gln_checks(f"{number:012}{digit}") for digit in range(10)) == 1


@given(text=st.text(max_size=15), country=st.sampled_from(Country))
def test_only_ascii_digits_have_a_right_check_digit(text: str, country: Country) -> None:
    if registration_number_checks(text, country) or gln_checks(text):
        assert text.isascii()
        assert text.isdecimal()


@pytest.mark.parametrize(
    "text,country",
    [
        ("12345674MVA", DK),
        ("NO12345674", DK),
        ("DK310345679", NO),
        ("MVA", NO),
        ("NOMVA", NO),
        ("310345679 MVA NO", NO),
        ("١٢٣٤٥٦٧٨", DK),
        ("", DK),
    ],
)
def test_letters_of_another_country_are_refused(text: str, country: Country) -> None:
    with pytest.raises(InvalidIdentifier):
        parse_registration_number(text, country)


def test_a_unit_number_has_the_length_of_its_country() -> None:
    assert parse_unit_number("1000 000 001", DK) == "1000000001"
    assert parse_unit_number("310 345 679", NO) == "310345679"
    with pytest.raises(InvalidIdentifier, match="10 digits"):
        parse_unit_number("310345679", DK)


@pytest.mark.parametrize("text", ["(+45) 33-36-96-96", "0045 33369696", "+45 3336/9696"])
def test_a_phone_number_may_be_punctuated(text: str) -> None:
    assert parse_phone_number(text, DK) == "33369696"


@pytest.mark.parametrize(
    "text,country,phone",
    [
        ("51 99 00 00", NO, "51990000"),
        ("+47 51 99 00 00", NO, "51990000"),
        ("0047 51990000", NO, "51990000"),
        ("4751990000", NO, "51990000"),
        ("(+45) 33-36-96-96", DK, "33369696"),
        ("+46 8 123 456", DK, "+468123456"),
        ("02000", NO, "02000"),
        ("ikke oppgitt", NO, None),
        ("+", NO, None),
    ],
)
def test_a_registers_phone_number_is_reduced_to_digits(
    text: str, country: Country, phone: str
) -> None:
    assert registered_phone(text, country) == phone


@pytest.mark.parametrize(
    "text,phones",
    [
        ("22334455/22334456", ("22334455", "22334456")),
        ("2233445522334456", ("22334455", "22334456")),
        ("2233/4455, 2233 4456", ("22334455", "22334456")),
        ("22334455;22334456", ("22334455", "22334456")),
        ("4533369696/401122", ("33369696", "401122")),
        ("33369696 lok. 12", ("33369696",)),
        ("33369696 lok. 12, 40112233", ("33369696", "40112233")),
        ("T: +45 33369696 M: +45 40112233", ("33369696", "40112233")),
        ("Tlf. nr. +45 33369696 / 40112233", ("33369696", "40112233")),
        ("33369696 (mobil: +4722334455)", ("33369696", "+4722334455")),
        ("-", ()),
        ("00000000", ()),
        ("+45 00 00 00 00", ()),
        ("00000000 / 22334455", ("22334455",)),
        ("22 33 44 55 - 56", ("22334455",)),
        ("+45 22334455-1234", ("22334455",)),
        ("22-33-44-55", ("22334455",)),
        ("22334455-22334456", ("22334455", "22334456")),
    ],
)
def test_a_registers_text_may_have_several_phone_numbers(
    text: str, phones: tuple[str, ...]
) -> None:
    assert registered_phones(text, DK) == phones


@given(digits(8).filter(lambda number: number.strip("0") != ""), st.sampled_from(Country))
def test_a_national_number_is_the_same_with_and_without_its_prefix(
    number: str, country: Country
) -> None:
    prefix = FORMATS[country].calling_code

    spellings = {
        registered_phone(text, country)
        for text in (f"+{prefix}{number}", f"00{prefix} {number}", f"{prefix}{number}")
    }

    assert spellings == {number}


def test_foreign_and_short_phone_numbers_are_not_searchable() -> None:
    assert searchable_phones(["51990000", "+468123456", "02000"], NO) == ("51990000",)


@pytest.mark.parametrize(
    "text,identifier,holder",
    [
        ("iso6523-actorid-upis::0192:310345679", "0192:310345679", "no:310345679"),
        ("0184:DK12345674", "0184:12345674", "dk:12345674"),
        ("0184:dk 12.34-56 74", "0184:12345674", "dk:12345674"),
        ("0096:1012345670", "0096:1012345670", "dk:1012345670"),
        ("0198:DK12345674", "0198:12345674", None),
        ("0088:5790000000005", "0088:5790000000005", None),
        ("0088:579 0000 0000 06", "0088:5790000000006", None),
        ("9902:DK12345674", "9902:12345674", "dk:12345674"),
        ("9908:NO310345679MVA", "9908:310345679", "no:310345679"),
        ("0192: NO 310 345 679 MVA", "0192:310345679", "no:310345679"),
        ("ISO6523-ACTORID-UPIS::9930:DE123", "9930:de123", None),
        ("0060:" + "X" * MAX_VALUE_LENGTH, "0060:" + "x" * MAX_VALUE_LENGTH, None),
    ],
)
def test_a_participant_identifier_has_one_spelling(
    text: str, identifier: str, holder: str | None
) -> None:
    read = parse_participant(text)

    assert str(read) == identifier
    assert read.holder == holder


@pytest.mark.parametrize(
    "text",
    [
        *("", "0192", "0192:", "0192:12345", "x:1", "184:12345674", "iso6523-actorid-upis::"),
        *("0088:579000000000", "0088:DK5790000000005", "0184:12345674MVA", "9908:DK310345679"),
        *("0060:12 34", "0060:æ", "0060:" + "1" * (MAX_VALUE_LENGTH + 1)),
    ],
)
def test_a_text_of_another_form_is_no_participant_identifier(text: str) -> None:
    with pytest.raises(InvalidIdentifier):
        parse_participant(text)


@pytest.mark.parametrize("scheme", ["0237", "9901"])
def test_a_personal_number_is_refused_and_not_repeated(scheme: str) -> None:
    with pytest.raises(PersonalIdentifier) as refusal:
        parse_participant(f"iso6523-actorid-upis::{scheme}:0101700000")

    assert "0101700000" not in str(refusal.value)


@given(st.sampled_from(sorted(SCHEMES)), st.data())
def test_parsing_an_identifier_again_changes_nothing(scheme: str, data: st.DataObject) -> None:
    once = parse_participant(f"{scheme}:{data.draw(digits(SCHEMES[scheme].digits))}")

    assert parse_participant(str(once)) == once


def test_a_gln_without_its_scheme_needs_its_check_digit() -> None:
    assert parse_gln(" 579 0000 0000 05 ") == Participant("0088", "5790000000005")
    with pytest.raises(InvalidIdentifier):
        parse_gln("5790000000006")


def test_the_country_of_a_scheme_is_that_of_its_register() -> None:
    assert Participant("0184", "12345674").country is DK
    assert Participant("0088", "5790000000005").country is None
    assert Participant("9930", "de123").country is None


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
