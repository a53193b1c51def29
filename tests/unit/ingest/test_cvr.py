"""Parsing of documents of the Danish register."""

from datetime import UTC, datetime
from typing import Any

import pytest

from common.contracts.company import (
    Address,
    Capital,
    CodedText,
    CompanyKey,
    Employees,
    FullTimeEquivalents,
    LegalForm,
    Owner,
    OwnerRole,
    ProductionUnit,
    Share,
    Status,
    UnitKey,
)
from ingest.records.records import (
    CompanyRecord,
    RecordRejected,
    RegisteredInError,
    SourceVersion,
    UnitRecord,
)
from ingest.records.source import RegisterSource
from ingest.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from tests.builders.companies import contents, parsed, unit_in
from tests.builders.registers import (
    a_contact,
    a_cvr_address,
    a_cvr_company,
    a_cvr_unit,
    a_function,
    a_relation,
    an_attribute,
    an_organisation,
    employed,
    held,
    industry,
    legal_ownership,
    named,
)

#: The period of a life that is over, and one in its middle.
OVER = ("1999-11-15", "2012-06-30")
FORMERLY = ("1999-11-15", "2005-01-01")
PROGRAMMING = CodedText(code="620100", description="Programmering")
PROVEVEJ = Address(
    street="Prøvevej 43",
    postal_code="1112",
    city="København K",
    municipality="KØBENHAVN",
    municipality_code="101",
    country="DK",
    text="Prøvevej 43, 1112 København K",
)


def company(**fields: Any) -> Any:
    return contents(parsed(DK_COMPANIES, a_cvr_company(**fields)))


def unit(**fields: Any) -> Any:
    return contents(parsed(DK_UNITS, a_cvr_unit(**fields)))


def address(**fields: Any) -> Any:
    return company(beliggenhedsadresse=[a_cvr_address(**fields)]).address


def owners(*relations: Any) -> Any:
    return company(deltagerRelation=relations).owners


def roles(*relations: Any) -> Any:
    return company(deltagerRelation=relations).roles


def refusal(source: RegisterSource, raw: Any) -> str:
    with pytest.raises(RecordRejected) as refused:
        parsed(source, raw)
    return str(refused.value)


def test_a_company_has_its_number_name_status_and_version() -> None:
    read = company()

    assert (read.key, read.name) == ("dk:12345674", "Prøvefabrikken ApS")
    assert (read.status, read.status_text) == (Status.ACTIVE, "NORMAL")
    assert (read.founded, read.ended) == ("1999-11-15", None)
    assert read.version == SourceVersion(datetime(2017, 2, 5, tzinfo=UTC))


def test_the_document_is_found_in_each_of_its_wrappings() -> None:
    bare = a_cvr_company()

    for wrapped in ({"_index": "cvr", "_source": {"Vrvirksomhed": bare}}, {"_source": bare}):
        assert parsed(DK_COMPANIES, wrapped) == parsed(DK_COMPANIES, bare)


@pytest.mark.parametrize(
    "source,raw,reason",
    [
        (DK_COMPANIES, {"VrproduktionsEnhed": a_cvr_unit()}, "Vrvirksomhed.cvrNummer: missing"),
        (DK_UNITS, {"Vrvirksomhed": a_cvr_company()}, "VrproduktionsEnhed.pNummer: missing"),
        (DK_COMPANIES, {"Vrvirksomhed": []}, "Vrvirksomhed: not an object"),
        (DK_COMPANIES, {"_source": None}, "_source: not an object"),
    ],
)
def test_a_document_of_another_shape_is_refused(
    source: RegisterSource, raw: Any, reason: str
) -> None:
    assert refusal(source, raw) == reason


@pytest.mark.parametrize(
    "field,value,reason",
    [
        ("cvrNummer", 123456789, "cvrNummer: not a number of 8 digits"),
        ("navne", [], "navne: missing"),
        ("navne", [{"navn": []}], "navne: missing"),
    ],
)
def test_a_refusal_names_the_invalid_field(field: str, value: Any, reason: str) -> None:
    assert refusal(DK_COMPANIES, a_cvr_company(**{field: value})).startswith(reason)


CAPITAL = an_attribute("KAPITAL", held(None, vaerdi="meget"))
MEMBERS = "deltagerRelation.organisationer.medlemsData.attributter"


@pytest.mark.parametrize(
    "field,value,kept,odd",
    [
        ("sidstOpdateret", "i går", None, "sidstOpdateret"),
        ("sidstOpdateret", 17, None, "sidstOpdateret"),
        ("deltagerRelation", [7], [], "deltagerRelation"),
        ("attributter", [CAPITAL], [], "attributter.KAPITAL"),
        ("livsforloeb", [held("1999")], [held(None)], "livsforloeb.periode.gyldigFra"),
        # A value whose end is unreadable may have ended.
        (
            "binavne",
            [named("Prøven", "1999-01-01", "snart"), named("Testen")],
            [named("Testen")],
            "binavne.periode.gyldigTil",
        ),
        (
            "virksomhedMetadata",
            {"stiftelsesDato": "1999-02-30", "sammensatStatus": "NORMAL"},
            {"sammensatStatus": "NORMAL"},
            "virksomhedMetadata.stiftelsesDato",
        ),
        (
            "maanedsbeskaeftigelse",
            [employed(2016, "2_4", maaned=-1)],
            [employed(2016, "2_4")],
            "maanedsbeskaeftigelse.maaned",
        ),
    ],
)
def test_an_odd_value_is_left_out_and_told(field: str, value: Any, kept: Any, odd: str) -> None:
    read = parsed(DK_COMPANIES, a_cvr_company(**{field: value}))

    assert isinstance(read, CompanyRecord)
    assert read == parsed(DK_COMPANIES, a_cvr_company(**{field: kept}))
    assert read.odd == (odd,)


@pytest.mark.parametrize(
    "share,least,odd",
    [
        ("0,25", "25", ()),
        ("25", "25", ()),
        ("12,5 %", "12.5", ()),
        ("1", "100", ()),
        ("1.0", "100", ()),
        ("0", "0", ()),
        ("halvdelen", None, (f"{MEMBERS}.EJERANDEL_PROCENT",)),
        ("Infinity", None, (f"{MEMBERS}.EJERANDEL_PROCENT",)),
        ("101", None, (f"{MEMBERS}.EJERANDEL_PROCENT",)),
    ],
)
def test_a_share_is_a_fraction_or_a_percentage(
    share: str, least: str | None, odd: tuple[str, ...]
) -> None:
    raw = a_cvr_company(deltagerRelation=[a_relation(legal_ownership(share))])
    record = parsed(DK_COMPANIES, raw)
    assert isinstance(record, CompanyRecord)
    (owner,) = contents(record).owners

    assert (owner.share and owner.share.min) == least
    assert record.odd == odd


def test_a_number_is_a_text_and_an_unclear_secret_is_a_secret() -> None:
    capital = an_attribute("KAPITAL", held(None, vaerdi="1.250.000,00"))
    read = company(
        attributter=[capital],
        beliggenhedsadresse=[a_cvr_address(bogstavFra=7)],
        telefonNummer=[a_contact("33333333", hemmelig="måske")],
    )

    assert (read.capital.amount, read.address.street) == ("1250000.00", "Prøvevej 437")
    assert read.phone is None


def test_leading_zeros_of_numbers_are_restored() -> None:
    assert company(cvrNummer=1234567).vat == "01234567"
    assert address(postnummer=800).postal_code == "0800"
    assert company(hovedbranche=[industry(11100)]).industry.code == "011100"


def test_of_a_record_registered_in_error_only_key_and_version_are_read() -> None:
    withdrawn = parsed(DK_COMPANIES, a_cvr_company(fejlRegistreret=True))
    withdrawn_unit = parsed(DK_UNITS, a_cvr_unit(fejlRegistreret=True))

    version = SourceVersion(datetime(2017, 2, 5, tzinfo=UTC))
    assert withdrawn == RegisteredInError(CompanyKey.parse("dk:12345674"), version)
    assert withdrawn_unit == RegisteredInError(UnitKey.parse("dk:1012345670"), version)


def test_a_time_without_an_offset_is_utc_and_none_is_no_version() -> None:
    at_noon = SourceVersion(datetime(2017, 2, 5, 12, tzinfo=UTC))

    assert company(sidstOpdateret="2017-02-05T12:00:00").version == at_noon
    assert company(sidstOpdateret=None).version is None


def test_the_current_value_has_no_end_and_older_names_are_former_ones_newest_first() -> None:
    read = company(
        navne=[
            named("ApS PRØVE 17", "1999-11-15", "2000-02-20"),
            named("Prøvefabrikken ApS", "2010-01-01"),
            named("Testfabrikken ApS", "2005-01-01", "2009-12-31"),
            named("ApS PRØVE 17", "2000-02-21", "2004-12-31"),
            named("Prøvefabrikken ApS", "1998-01-01", "1999-11-14"),
        ]
    )

    assert read.name == "Prøvefabrikken ApS"
    assert read.former_names == ("Testfabrikken ApS", "ApS PRØVE 17")


def test_the_newest_of_several_current_values_counts_and_it_may_have_no_period() -> None:
    both = company(navne=[named("Ny ApS", "2010-01-01"), named("Gammel ApS", "1999-11-15")])
    timeless = company(navne=[{"navn": "Tidløs ApS", "periode": None}])

    assert (both.name, timeless.name) == ("Ny ApS", "Tidløs ApS")


def test_trade_names_are_those_in_use() -> None:
    current, own_name = named("Prøven", "2001-01-01"), named("Prøvefabrikken ApS", "2001-01-01")

    read = company(binavne=[current, named("Glemt", "2001-01-01", "2002-01-01"), own_name])

    assert read.trade_names == ("Prøven",)


def test_an_ended_company_has_its_last_values() -> None:
    last = ("2005-01-02", "2012-06-30")

    read = company(
        livsforloeb=[held(*OVER)],
        virksomhedsstatus=[held(*OVER, status="OPLØST EFTER KONKURS")],
        navne=[named("Først ApS", *FORMERLY), named("Sidst ApS", *last)],
        beliggenhedsadresse=[
            a_cvr_address(*FORMERLY, vejnavn="Førstevej"),
            a_cvr_address(*last, vejnavn="Sidstevej"),
        ],
        binavne=[named("Prøven", *OVER), named("Glemt", *FORMERLY)],
        telefonNummer=[a_contact("11111111", *FORMERLY), a_contact("22222222", *last)],
    )

    assert (read.status, read.status_text) == (Status.ENDED, "OPLØST EFTER KONKURS")
    assert (read.ended, read.name, read.former_names) == ("2012-06-30", "Sidst ApS", ("Først ApS",))
    assert read.address.street == "Sidstevej 43"
    assert (read.trade_names, read.phone) == (("Prøven",), "22222222")


def test_an_active_company_has_no_ended_contacts() -> None:
    read = company(
        telefonNummer=[a_contact("11111111", *FORMERLY)],
        elektroniskPost=[a_contact("gammel@proeven.example", *FORMERLY)],
        postadresse=[a_cvr_address(*FORMERLY)],
        bibranche1=[industry("620100", "Programmering", *FORMERLY)],
    )

    assert (read.phone, read.email, read.phones) == (None, None, ())
    assert (read.postal_address, read.secondary_industries) == (None, ())


def test_a_resumed_company_is_active() -> None:
    read = company(livsforloeb=[held(*OVER), held("2013-01-01")])

    assert (read.founded, read.ended, read.status) == ("1999-11-15", None, Status.ACTIVE)


def test_an_empty_history_is_replaced_by_cvrs_summary() -> None:
    read = company(
        navne=None,
        beliggenhedsadresse=[],
        livsforloeb=[],
        virksomhedsstatus=[],
        virksomhedMetadata={
            "nyesteNavn": named("Prøvefabrikken ApS", "1999-11-15"),
            "nyesteBinavne": ["Prøven"],
            "nyesteVirksomhedsform": held(None, virksomhedsformkode=80, langBeskrivelse="Anpart"),
            "nyesteBeliggenhedsadresse": a_cvr_address(),
            "nyesteHovedbranche": industry("620100", "Programmering"),
            "nyesteMaanedsbeskaeftigelse": employed(2016, "2_4", maaned=12),
            "sammensatStatus": "UNDER KONKURS",
            "stiftelsesDato": "1999-11-15",
            "nyesteKontaktoplysninger": ["33333333", "hemmelig@proeven.example"],
        },
    )

    assert (read.name, read.trade_names) == ("Prøvefabrikken ApS", ("Prøven",))
    assert read.form == LegalForm(code="80", description="Anpart", short=None)
    assert (read.address, read.industry) == (PROVEVEJ, PROGRAMMING)
    assert read.employees == Employees(min=2, max=4, as_of="2016-12-31")
    assert (read.status, read.status_text) == (Status.BANKRUPT, "UNDER KONKURS")
    assert read.founded == "1999-11-15"
    assert (read.phone, read.email) == (None, None)


def test_an_outdated_or_missing_status_does_not_count() -> None:
    ended: dict[str, Any] = {
        "livsforloeb": [held(*OVER)],
        "virksomhedsstatus": [held(*OVER, status="NORMAL")],
    }

    told = company(**ended, virksomhedMetadata={"sammensatStatus": "Ophørt"})
    untold, without = company(**ended), company(virksomhedsstatus=[])

    assert (told.status, told.status_text) == (Status.ENDED, "Ophørt")
    assert (untold.status, untold.status_text) == (Status.ENDED, None)
    assert (without.status, without.status_text) == (Status.ACTIVE, None)


@pytest.mark.parametrize(
    "fields,street",
    [
        ({}, "Prøvevej 43"),
        ({"etage": "2", "sidedoer": "th"}, "Prøvevej 43, 2. th"),
        ({"etage": "3"}, "Prøvevej 43, 3."),
        ({"etage": "st", "sidedoer": "tv"}, "Prøvevej 43, st. tv"),
        ({"etage": "04"}, "Prøvevej 43, 4."),
        ({"sidedoer": 12}, "Prøvevej 43, 12"),
        ({"bogstavFra": "B", "husnummerTil": 45, "bogstavTil": "C"}, "Prøvevej 43B-45C"),
        ({"husnummerFra": None}, "Prøvevej"),
        ({"postboks": "17"}, "Prøvevej 43, Postboks 17"),
        ({"vejnavn": None, "husnummerFra": None, "postboks": 17}, "Postboks 17"),
    ],
)
def test_an_address_is_written_in_danish_format(fields: dict[str, Any], street: str) -> None:
    read = address(**fields)

    assert (read.street, read.text) == (street, f"{street}, 1112 København K")


def test_an_address_has_district_and_care_of() -> None:
    read = address(bynavn="Testby", conavn="c/o Anna Testesen")

    text = "c/o Anna Testesen, Prøvevej 43, Testby, 1112 København K"
    parts = {"co": "Anna Testesen", "district": "Testby", "text": text}
    assert read == PROVEVEJ.model_copy(update=parts)
    assert address(conavn="Anna Testesen").co == "Anna Testesen"
    assert address(conavn="v/Hans Testesen").text.startswith("v/Hans Testesen, Prøvevej 43, ")
    assert address(conavn="Att.: Anna").text.startswith("Att.: Anna, Prøvevej 43, ")


def test_an_address_abroad_is_free_text_on_one_line() -> None:
    nowhere = dict.fromkeys(
        ("vejnavn", "husnummerFra", "postnummer", "postdistrikt", "kommune"), None
    )

    split = address(**nowhere, landekode="se", fritekst="Testgatan 1,\r\n111 24 Stockholm\n")
    unsplit = address(**nowhere, landekode="GB", fritekst="1 Test Street\nTesttown\nStorbritannien")

    assert split == Address(
        street="Testgatan 1",
        postal_code="111 24",
        city="Stockholm",
        country="SE",
        text="Testgatan 1, 111 24 Stockholm, Sverige",
    )
    assert unsplit == Address(country="GB", text="1 Test Street, Testtown, Storbritannien")


def test_an_empty_address_is_none() -> None:
    assert company(beliggenhedsadresse=[held("1999-11-15")]).address is None
    assert company(beliggenhedsadresse=[]).address is None


def test_contacts_are_shown_and_all_phones_are_found() -> None:
    read = company(
        telefonNummer=[a_contact("33 33 33 33")],
        sekundaertTelefonNummer=[a_contact("+45 44444444"), a_contact("33333333")],
        telefaxNummer=[a_contact("55555555")],
        elektroniskPost=[a_contact("post@proeven.example")],
        hjemmeside=[a_contact("www.proeven.example")],
        reklamebeskyttet=True,
    )

    assert (read.phone, read.fax) == ("33333333", "55555555")
    assert (read.email, read.website) == ("post@proeven.example", "www.proeven.example")
    assert read.advertising_protected
    assert read.phones == ("33333333", "44444444")


def test_a_secret_contact_is_dropped_and_no_older_one_takes_its_place() -> None:
    secret = a_contact("44444444", "2005-01-02", hemmelig=True)

    read = company(
        telefonNummer=[a_contact("33333333", *FORMERLY), secret],
        elektroniskPost=[a_contact("hemmelig@proeven.example", hemmelig=True)],
    )

    assert (read.phone, read.email, read.phones) == (None, None, ())


def test_the_mandatory_email_is_for_authorities_only() -> None:
    assert company(obligatoriskEmail=[a_contact("pligt@proeven.example")]).email is None


@pytest.mark.parametrize(
    "counts,employees",
    [
        ({"aars": [employed(2015, "1_1")]}, Employees(min=1, max=1, as_of="2015-12-31")),
        (
            {
                "aars": [employed(2014, "1_1")],
                "kvartals": [employed(2016, "2_4", kvartal=4)],
                "maaneds": [employed(2016, "5_9", maaned=12)],
            },
            Employees(min=5, max=9, as_of="2016-12-31"),
        ),
        (
            {"aars": [employed(2024, "1_1")], "kvartals": [employed(2024, "2_4", kvartal=1)]},
            Employees(min=1, max=1, as_of="2024-12-31"),
        ),
        (
            {"erstAars": [employed(2023, "5_9", antalAarsvaerk=6.7)]},
            Employees(
                min=5,
                max=9,
                full_time_equivalents=FullTimeEquivalents(min=7, max=7, exact=7),
                as_of="2023-12-31",
            ),
        ),
        (
            {
                "erstMaaneds": [
                    employed(2024, "5_9", maaned=2, intervalKodeAntalAarsvaerk="ANTAL_2_4")
                ]
            },
            Employees(
                min=5,
                max=9,
                full_time_equivalents=FullTimeEquivalents(min=2, max=4),
                as_of="2024-02-29",
            ),
        ),
        (
            {"erstMaaneds": [employed(2024, "20_49", maaned=3, antalAnsatte=23), {"aar": 2024}]},
            Employees(min=20, max=49, exact=23, as_of="2024-03-31"),
        ),
        ({"aars": [employed(2015, "1000_")]}, Employees(min=1000, as_of="2015-12-31")),
        ({"aars": [employed(2015, "1000_999999")]}, Employees(min=1000, as_of="2015-12-31")),
        (
            {"aars": [employed(2015, antalAnsatte=3)]},
            Employees(min=3, max=3, exact=3, as_of="2015-12-31"),
        ),
        ({"aars": [{"aar": None}]}, None),
        ({}, None),
    ],
)
def test_the_newest_count_of_employees_counts(
    counts: dict[str, Any], employees: Employees | None
) -> None:
    fields = {f"{span}beskaeftigelse": values for span, values in counts.items()}

    assert company(**fields).employees == employees


def test_capital_and_purpose_are_the_current_ones() -> None:
    former, current = held(*FORMERLY, vaerdi="125000.00"), held("2005-01-02", vaerdi="500000")

    read = company(
        attributter=[
            an_attribute("KAPITAL", former, current),
            an_attribute("KAPITALVALUTA", held("1999-11-15", vaerdi="EUR")),
            an_attribute("FORMÅL", held("1999-11-15", vaerdi="Salg af\r\nprøver.")),
        ]
    )

    assert read.capital == Capital(amount="500000.00", currency="EUR")
    assert read.purpose == "Salg af\nprøver."


def test_capital_without_a_currency_is_in_kroner() -> None:
    read = company(attributter=[an_attribute("KAPITAL", held(None, vaerdi="80000.00"))])

    assert read.capital == Capital(amount="80000.00", currency="DKK")


def test_secondary_industries_are_the_current_ones_each_once() -> None:
    current = [industry("620100", "Programmering", "2014-01-01")]

    read = company(bibranche1=current, bibranche2=current, bibranche3=None)

    assert read.secondary_industries == (PROGRAMMING,)


def test_the_units_that_a_company_lists_as_its_own_are_those_it_has_now() -> None:
    read = company(
        penheder=[
            held("2014-08-07", pNummer=1012345689),
            held("1999-11-15", pNummer=1012345670),
            held("2006-01-01", "2013-06-30", pNummer=1012345697),
        ]
    )

    assert read.units == ("dk:1012345670", "dk:1012345689")


def test_legal_owners_have_shares_by_class_the_largest_first() -> None:
    read = owners(
        a_relation(legal_ownership("0.05", votes="0.1686")),
        a_relation(
            legal_ownership("0.6667", votes="1.0"),
            enhedstype="VIRKSOMHED",
            forretningsnoegle=1234567,
            navne=[named("Før ApS", None, "2005-01-01"), named("Holding ApS")],
        ),
    )

    alike: Any = {"role": OwnerRole.OWNER, "role_text": "EJERREGISTER", "since": "2014-05-01"}
    large = {"share": Share(min="66.67", max="90"), "votes": Share(min="100", max="100")}
    small = {"share": Share(min="5", max="10"), "votes": Share(min="16.86", max="16.86")}
    assert read == (
        Owner(name="Holding ApS", type="company", vat="01234567", **large, **alike),
        Owner(name="Anna Testesen", type="person", **small, **alike),
    )


def test_former_officers_founders_and_owners_have_no_role() -> None:
    others = [
        a_function("LEDELSESORGAN/Direktion", "DIREKTION", until="2016-01-01"),
        a_function("LEDELSESORGAN/Direktion", "DIREKTION", navne=[]),
        a_function("LEDELSESORGAN/Direktion", "KOMPLEMENTARER"),
        a_function("HVIDVASK/Registret til bekæmpelse af hvidvask", "Leder"),
        a_function("STIFTERE/Stiftere", "STIFTERE"),
        a_relation(legal_ownership("0.5")),
        {"deltager": None, "organisationer": []},
    ]

    assert [roles(relation) for relation in others] == [()] * len(others)


def test_past_owners_and_other_participants_are_left_out() -> None:
    share = an_attribute("EJERANDEL_PROCENT", held(None, vaerdi="1"))
    others = [
        a_relation(legal_ownership("0.5", until="2016-01-01")),
        a_relation(legal_ownership("0.5"), navne=[]),
        {"deltager": None, "organisationer": [legal_ownership("0.5")]},
        a_relation(an_organisation("REGISTER", "Reelle ejere", share)),
        a_function("LEDELSESORGAN/Direktion", "DIREKTØR"),
        a_function("INDEHAVER/Indehaver", "X", until="2001-01-01"),
        a_relation({"hovedtype": None, "organisationsNavn": None, "medlemsData": [{}]}),
    ]

    assert [owners(relation) for relation in others] == [()] * len(others)


def test_owners_and_roles_that_were_not_requested_are_unknown() -> None:
    unknown = company(deltagerRelation=None)

    assert (unknown.owners, unknown.roles) == (None, None)
    assert (owners(), roles()) == ((), ())


def test_home_addresses_and_personal_keys_are_not_stored() -> None:
    auditor = a_function("REVISION/Revision", "REVISION", forretningsnoegle=4000123456)
    owner = a_relation(legal_ownership("0.5"), forretningsnoegle=4000123456)

    read = company(deltagerRelation=[auditor, owner])

    assert len(read.owners) == len(read.roles) == 1
    assert "Hjemmevej" not in repr(read)
    assert "4000123456" not in repr(read)


@pytest.mark.parametrize(
    "fields,holder_type",
    [
        ({"forretningsnoegle": 12345674}, "person"),
        ({"enhedstype": "ANDEN_DELTAGER", "forretningsnoegle": "4000123456"}, "other"),
        ({"enhedstype": "VIRKSOMHED", "forretningsnoegle": "SE5560000000"}, "company"),
    ],
)
def test_only_a_danish_company_among_the_owners_has_a_number(
    fields: dict[str, Any], holder_type: str
) -> None:
    (owner,) = owners(a_relation(legal_ownership("0.5"), **fields))

    assert (owner.type, owner.vat) == (holder_type, None)


def test_the_order_of_owners_does_not_depend_on_the_document() -> None:
    relations = [a_relation(legal_ownership("0.25"), navne=[named(name)]) for name in "BAC"]

    assert owners(*relations) == owners(*reversed(relations))


def test_a_unit_belongs_to_the_company_it_has_now() -> None:
    raw = a_cvr_unit(
        virksomhedsrelation=[
            held("1999-11-15", "2009-12-31", cvrNummer=87654321),
            held("2010-01-01", cvrNummer=12345674),
        ],
        telefonNummer=[a_contact("33333333")],
        elektroniskPost=[a_contact("nord@proeven.example")],
        hovedbranche=[industry("620100", "Programmering")],
        kvartalsbeskaeftigelse=[employed(2016, "2_4", kvartal=3)],
        reklamebeskyttet=True,
    )

    record = parsed(DK_UNITS, raw)

    assert isinstance(record, UnitRecord)
    assert (record.key, record.company) == ("dk:1012345670", "dk:12345674")
    assert record.phones == ("33333333",)
    assert record.version == SourceVersion(datetime(2017, 2, 5, tzinfo=UTC))
    assert unit_in(record) == ProductionUnit(
        number="1012345670",
        name="Prøvefabrikken Nord",
        status=Status.ACTIVE,
        address=PROVEVEJ,
        phone="33333333",
        phones=("33333333",),
        email="nord@proeven.example",
        industry=PROGRAMMING,
        employees=Employees(min=2, max=4, as_of="2016-09-30"),
        started="1999-11-15",
        advertising_protected=True,
    )


def test_an_ended_unit_keeps_its_last_company_and_name() -> None:
    read = unit(
        livsforloeb=[held(*OVER)],
        virksomhedsrelation=[held(*OVER, cvrNummer=12345674)],
        navne=[named("Prøvefabrikken Syd", *OVER)],
        produktionsEnhedMetadata={"sammensatStatus": "Ophørt"},
    )

    assert (read.company, read.name) == ("dk:12345674", "Prøvefabrikken Syd")
    assert (read.status, read.ended) == (Status.ENDED, "2012-06-30")


def test_an_empty_history_of_a_unit_is_replaced_by_cvrs_summary() -> None:
    newest = {
        "nyesteCvrNummerRelation": 12345674,
        "nyesteNavn": named("Prøvefabrikken Syd"),
        "nyesteAarsbeskaeftigelse": employed(2016, "1_1"),
        "sammensatStatus": "Aktiv",
    }
    empty: dict[str, Any] = {"virksomhedsrelation": [], "navne": [], "beliggenhedsadresse": []}

    read = unit(**empty, produktionsEnhedMetadata=newest)
    without = unit(virksomhedsrelation=[], produktionsEnhedMetadata=None)

    assert (read.company, read.name) == ("dk:12345674", "Prøvefabrikken Syd")
    assert read.employees == Employees(min=1, max=1, as_of="2016-12-31")
    assert (without.company, without.status) == (None, Status.ACTIVE)
