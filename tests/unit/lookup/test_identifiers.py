"""Numbers of companies, units, phones and e-invoicing participants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from lookup.domain.identifiers import (
    SCHEMES,
    InvalidParticipant,
    Participant,
    PersonalIdentifier,
    cvr_number_checks,
    gln_checks,
    holder_on_card,
    national_phones,
    organisation_number_checks,
    p_number_checks,
    participant,
    phone_number,
)

CHECKS = (
    (cvr_number_checks, "12345674"),
    (organisation_number_checks, "310345679"),
    (p_number_checks, "1012345670"),
    (p_number_checks, "1003388394"),
    (gln_checks, "5790000000005"),
)


def digits(count: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=count, max_size=count)


@pytest.mark.parametrize("check,number", CHECKS)
def test_a_number_with_a_right_check_digit_checks(check: object, number: str) -> None:
    assert callable(check)
    assert check(number)


@pytest.mark.parametrize("check,number", CHECKS)
def test_one_wrong_digit_is_noticed(check: object, number: str) -> None:
    assert callable(check)
    for wrong in set("0123456789") - {number[-1]}:
        assert not check(number[:-1] + wrong)


@pytest.mark.parametrize("check", [check for check, _ in CHECKS])
@given(text=st.text(max_size=15))
def test_whatever_is_not_digits_does_not_check(check: object, text: str) -> None:
    assert callable(check)
    assert not check(text) or (text.isascii() and text.isdigit())


@pytest.mark.parametrize(
    "text,country,phone",
    [
        ("51 99 00 00", Country.NO, "51990000"),
        ("+47 51 99 00 00", Country.NO, "51990000"),
        ("0047 51990000", Country.NO, "51990000"),
        ("4751990000", Country.NO, "51990000"),
        ("(+45) 33-36-96-96", Country.DK, "33369696"),
        ("+46 8 123 456", Country.DK, "+468123456"),
        ("02000", Country.NO, "02000"),
        ("ikke oppgitt", Country.NO, None),
        ("+", Country.NO, None),
    ],
)
def test_a_phone_number_is_brought_to_digits(text: str, country: Country, phone: str) -> None:
    assert phone_number(text, country) == phone


@given(digits(8), st.sampled_from(Country))
def test_a_national_number_is_the_same_with_and_without_its_prefix(
    number: str, country: Country
) -> None:
    prefix = {Country.DK: "45", Country.NO: "47"}[country]

    spellings = {
        phone_number(text, country)
        for text in (f"+{prefix}{number}", f"00{prefix} {number}", f"{prefix}{number}")
    }

    assert spellings == {number}


def test_foreign_phone_numbers_cannot_be_asked_for() -> None:
    assert national_phones(["51990000", "+468123456"]) == ("51990000",)


@pytest.mark.parametrize(
    "text,identifier,holder",
    [
        ("iso6523-actorid-upis::0192:310345679", "0192:310345679", "no:310345679"),
        ("0184:DK12345674", "0184:12345674", "dk:12345674"),
        ("0184:dk12345674", "0184:12345674", "dk:12345674"),
        ("0096:1012345670", "0096:1012345670", "dk:1012345670"),
        ("0198:DK12345674", "0198:12345674", None),
        ("0088:5790000000005", "0088:5790000000005", None),
        ("9908:310345679", "9908:310345679", "no:310345679"),
        ("ISO6523-ACTORID-UPIS::9930:DE123", "9930:de123", None),
    ],
)
def test_a_participant_identifier_has_one_spelling(
    text: str, identifier: str, holder: str | None
) -> None:
    read = participant(text)

    assert str(read) == identifier
    assert read.holder == holder


@pytest.mark.parametrize("text", ["", "0192", "0192:", "0192:12345", "0088:579000000000", "x:1"])
def test_what_is_no_participant_identifier_is_refused(text: str) -> None:
    with pytest.raises(InvalidParticipant):
        participant(text)


@pytest.mark.parametrize("scheme", ["0237", "9901"])
def test_a_personal_number_is_refused_and_not_repeated(scheme: str) -> None:
    with pytest.raises(PersonalIdentifier) as refusal:
        participant(f"iso6523-actorid-upis::{scheme}:0101700000")

    assert "0101700000" not in str(refusal.value)


@given(st.sampled_from(sorted(SCHEMES)), st.data())
def test_reading_an_identifier_again_changes_nothing(scheme: str, data: st.DataObject) -> None:
    once = participant(f"{scheme}:{data.draw(digits(SCHEMES[scheme].digits))}")

    assert participant(str(once)) == once


def test_the_country_of_a_scheme_is_that_of_its_register() -> None:
    assert Participant("0184", "12345674").country is Country.DK
    assert Participant("0088", "5790000000005").country is None
    assert Participant("9930", "de123").country is None


@pytest.mark.parametrize(
    "scheme,value,holder",
    [
        ("DK:CVR", "DK12345674", "dk:12345674"),
        ("0184", "12345674", "dk:12345674"),
        ("NO:ORGNR", "310 345 679", "no:310345679"),
        ("0192", "0192:310345679", "no:310345679"),
        ("iso6523-actorid-upis", "0096:1012345670", "dk:1012345670"),
        ("VAT", "NO310345679MVA", "no:310345679"),
        ("VAT", "DK12345674", "dk:12345674"),
        ("VAT", "SE123", None),
        ("GLN", "5790000000005", None),
        ("0237", "0101700000", None),
        ("", "", None),
    ],
)
def test_an_identifier_on_a_card_names_a_holder_in_many_spellings(
    scheme: str, value: str, holder: str | None
) -> None:
    assert holder_on_card(scheme, value) == holder
