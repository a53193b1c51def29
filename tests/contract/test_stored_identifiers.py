"""Importers and gateway read identifiers alike: a stored identifier is found as printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from common.contracts.lookup import SearchType
from common.domain.numbers import SCHEMES
from gateway.lookups.terms import InvalidTerm, normalise
from ingest.records.records import CompanyRecord, ParticipantRecord, RecordRejected, UnitRecord
from ingest.registers.brreg.sync import NO_ENTITIES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from tests.builders.companies import company_in, parsed, unit_in
from tests.builders.registers import (
    a_business_card,
    a_contact,
    a_cvr_company,
    a_cvr_unit,
    a_norwegian_unit,
    an_entity,
)

DK, NO = Country.DK, Country.NO

DIGITS = st.integers(5, 14).flatmap(lambda n: st.text("0123456789", min_size=n, max_size=n))
NUMBERS = st.tuples(
    st.sampled_from(["", " ", "DK", "no ", "+", "+45", "0047", "(+47) "]),
    DIGITS,
    st.sampled_from(["", "MVA", " mva", " ", "."]),
).map("".join)
# A card's text is stripped of characters that do not print before anything reads it.
PRINTED = st.text(min_size=1, max_size=150).filter(str.isprintable)
VALUES = NUMBERS | PRINTED | st.text("aB1-_.", min_size=1, max_size=150)
SCHEME_CODES = st.sampled_from([*SCHEMES, "0237", "0060", "9930"])


@given(
    scheme=SCHEME_CODES,
    value=VALUES,
    prefix=st.sampled_from(["", "iso6523-actorid-upis::", "ISO6523-ACTORID-UPIS::"]),
)
def test_a_stored_participant_is_looked_up_as_its_card_prints_it(
    scheme: str, value: str, prefix: str
) -> None:
    printed = f"{prefix}{scheme}:{value}"
    country = SCHEMES[scheme].country or NO if scheme in SCHEMES else NO
    try:
        record = parsed(PEPPOL, a_business_card(printed))
    except RecordRejected:
        with pytest.raises(InvalidTerm):
            normalise(SearchType.EAN, printed, country)
        return

    assert isinstance(record, ParticipantRecord)
    assert normalise(SearchType.EAN, printed, country) == record.key
    assert normalise(SearchType.EAN, record.key, country) == record.key


@given(number=st.integers(0, 99_999_999) | DIGITS, phone=NUMBERS)
def test_a_stored_danish_company_is_looked_up_by_its_numbers(number: int | str, phone: str) -> None:
    try:
        record = parsed(
            DK_COMPANIES,
            a_cvr_company(cvrNummer=number, telefonNummer=[a_contact(phone)]),
        )
    except RecordRejected:
        return

    assert isinstance(record, CompanyRecord)
    assert normalise(SearchType.VAT, company_in(record).vat, DK) == company_in(record).vat
    assert [normalise(SearchType.PHONE, phone, DK) for phone in record.phones] == [*record.phones]


@given(number=DIGITS, phone=NUMBERS)
def test_a_stored_norwegian_company_is_looked_up_by_its_numbers(number: str, phone: str) -> None:
    try:
        record = parsed(NO_ENTITIES, an_entity(organisasjonsnummer=number, telefon=phone))
    except RecordRejected:
        return

    assert isinstance(record, CompanyRecord)
    assert normalise(SearchType.VAT, company_in(record).vat, NO) == company_in(record).vat
    assert [normalise(SearchType.PHONE, phone, NO) for phone in record.phones] == [*record.phones]


@pytest.mark.parametrize("country", Country)
@given(number=DIGITS, phone=NUMBERS)
def test_a_stored_unit_is_looked_up_by_its_numbers(
    country: Country, number: str, phone: str
) -> None:
    kind, document = {
        DK: (DK_UNITS, a_cvr_unit(pNummer=number, telefonNummer=[a_contact(phone)])),
        NO: (NO_UNITS, a_norwegian_unit(organisasjonsnummer=number, telefon=phone)),
    }[country]
    try:
        record = parsed(kind, document)
    except RecordRejected:
        return

    assert isinstance(record, UnitRecord)
    assert normalise(SearchType.PRODU, unit_in(record).number, country) == unit_in(record).number
    phones = [normalise(SearchType.PHONE, phone, country) for phone in record.phones]
    assert phones == [*record.phones]
