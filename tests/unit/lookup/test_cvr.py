"""Parsing of documents of the Danish register."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from common.contracts.company import (
    Address,
    Capital,
    CodedText,
    Company,
    Employees,
    Owner,
    OwnerRole,
    ProductionUnit,
    Role,
    RoleCode,
    Share,
    Status,
)
from lookup.records.records import (
    CompanyRecord,
    RecordRejected,
    RegisteredInError,
    SourceVersion,
    UnitRecord,
)
from lookup.records.source import RegisterSource, parse
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from tests.builders.companies import company_in, owners_in, unit_in
from tests.builders.registers import (
    a_contact,
    a_cvr_address,
    a_cvr_company,
    a_cvr_unit,
    a_relation,
    an_attribute,
    an_organisation,
    held,
    legal_ownership,
)

#: A life that is over, and a period that lasted to its end.
OVER = [held("1999-11-15", "2012-06-30")]


def company_record(**fields: Any) -> CompanyRecord:
    record = parse(DK_COMPANIES.parse, {"Vrvirksomhed": a_cvr_company(**fields)})
    assert isinstance(record, CompanyRecord)
    return record


def company(**fields: Any) -> Company:
    return company_in(company_record(**fields))


def address(**fields: Any) -> Address:
    read = company(beliggenhedsadresse=[a_cvr_address(**fields)]).address
    assert read is not None
    return read


def owners(*relations: Any) -> tuple[Owner, ...] | None:
    return owners_in(company_record(deltagerRelation=list(relations)))


def roles_in(record: CompanyRecord) -> list[Role]:
    return [Role.model_validate(role) for role in orjson.loads(record.role_list or b"[]")]


def unit_record(**fields: Any) -> UnitRecord:
    record = parse(DK_UNITS.parse, {"VrproduktionsEnhed": a_cvr_unit(**fields)})
    assert isinstance(record, UnitRecord)
    return record


def refusal(kind: RegisterSource, raw: Any) -> str:
    with pytest.raises(RecordRejected) as refused:
        parse(kind.parse, raw)
    return str(refused.value)


def test_a_company_has_its_number_name_status_and_version() -> None:
    record = company_record()
    company = company_in(record)

    assert record.key == "dk:12345674"
    assert company.name == "Prøvefabrikken ApS"
    assert (company.status, company.status_text) == (Status.ACTIVE, "NORMAL")
    assert (company.founded, company.ended) == ("1999-11-15", None)
    assert record.version == SourceVersion(datetime(2017, 2, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    "wrapped",
    [
        {"_index": "cvr", "_source": {"Vrvirksomhed": a_cvr_company()}},
        {"_source": a_cvr_company()},
        a_cvr_company(),
    ],
)
def test_the_document_is_found_in_each_of_its_wrappings(wrapped: Any) -> None:
    assert parse(DK_COMPANIES.parse, wrapped) == company_record()


@pytest.mark.parametrize(
    "raw,reason",
    [
        ({"VrproduktionsEnhed": a_cvr_unit()}, "Vrvirksomhed.cvrNummer: missing"),
        ({"Vrvirksomhed": []}, "Vrvirksomhed: not an object"),
        ({"_source": None}, "_source: not an object"),
        (a_cvr_company(cvrNummer=123456789), "cvrNummer: not a number of 8 digits"),
        (a_cvr_company(navne=[]), "navne: missing"),
        (a_cvr_company(navne=[held("1999", navn="A")]), "navne[0].periode.gyldigFra: not a"),
        (a_cvr_company(sidstOpdateret="i går"), "sidstOpdateret: not a time"),
        (a_cvr_company(sidstOpdateret=17), "sidstOpdateret: not a time"),
        (a_cvr_company(deltagerRelation=[7]), "deltagerRelation[0]: "),
        (
            a_cvr_company(attributter=[an_attribute("KAPITAL", held(None, vaerdi="meget"))]),
            "attributter KAPITAL: not an amount of money",
        ),
        (
            a_cvr_company(deltagerRelation=[a_relation(legal_ownership("halvdelen"))]),
            "deltagerRelation: a share is not a number",
        ),
        (
            a_cvr_company(deltagerRelation=[a_relation(legal_ownership("Infinity"))]),
            "deltagerRelation: a share is not a number",
        ),
    ],
)
def test_a_refusal_names_the_invalid_field(raw: Any, reason: str) -> None:
    assert refusal(DK_COMPANIES, raw).startswith(reason)


def test_leading_zeros_of_numbers_are_restored() -> None:
    read = company(
        cvrNummer=1234567,
        beliggenhedsadresse=[a_cvr_address(postnummer=800, postdistrikt="Høje Taastrup")],
        hovedbranche=[held(None, branchekode=11100, branchetekst="Dyrkning af korn")],
    )

    assert read.vat == "01234567"
    assert read.address
    assert read.address.postal_code == "0800"
    assert read.industry == CodedText(code="011100", description="Dyrkning af korn")


def test_of_a_company_registered_in_error_only_key_and_version_are_read() -> None:
    record = parse(DK_COMPANIES.parse, a_cvr_company(fejlRegistreret=True))

    assert isinstance(record, RegisteredInError)
    assert record.key == "dk:12345674"


def test_a_time_without_an_offset_is_utc_and_none_is_no_version() -> None:
    at_noon = SourceVersion(datetime(2017, 2, 5, 12, tzinfo=UTC))

    assert company_record(sidstOpdateret="2017-02-05T12:00:00").version == at_noon
    assert company_record(sidstOpdateret=None).version is None


def test_the_current_value_has_no_end_and_older_names_are_former_ones_newest_first() -> None:
    read = company(
        navne=[
            held("1999-11-15", "2000-02-20", navn="ApS PRØVE 17"),
            held("2010-01-01", navn="Prøvefabrikken ApS"),
            held("2005-01-01", "2009-12-31", navn="Testfabrikken ApS"),
            held("2000-02-21", "2004-12-31", navn="ApS PRØVE 17"),
            held("1998-01-01", "1999-11-14", navn="Prøvefabrikken ApS"),
        ]
    )

    assert read.name == "Prøvefabrikken ApS"
    assert read.former_names == ("Testfabrikken ApS", "ApS PRØVE 17")


def test_of_several_current_values_the_newest_counts() -> None:
    names = [held("2010-01-01", navn="Ny ApS"), held("1999-11-15", navn="Gammel ApS")]

    assert company(navne=names).name == "Ny ApS"


def test_a_value_may_have_no_period() -> None:
    assert company(navne=[{"navn": "Tidløs ApS", "periode": None}]).name == "Tidløs ApS"


def test_trade_names_are_those_in_use() -> None:
    given = [
        held("2001-01-01", navn="Prøven"),
        held("2001-01-01", "2002-01-01", navn="Glemt"),
        held("2001-01-01", navn="Prøvefabrikken ApS"),
    ]

    assert company(binavne=given).trade_names == ("Prøven",)


def test_an_ended_company_has_its_last_values() -> None:
    read = company(
        livsforloeb=OVER,
        virksomhedsstatus=[held("1999-11-15", "2012-06-30", status="OPLØST EFTER KONKURS")],
        navne=[
            held("1999-11-15", "2005-01-01", navn="Først ApS"),
            held("2005-01-02", "2012-06-30", navn="Sidst ApS"),
        ],
        beliggenhedsadresse=[
            a_cvr_address("1999-11-15", "2005-01-01", vejnavn="Førstevej"),
            a_cvr_address("2005-01-02", "2012-06-30", vejnavn="Sidstevej"),
        ],
        binavne=[
            held("1999-11-15", "2012-06-30", navn="Prøven"),
            held("1999-11-15", "2001-01-01", navn="Glemt"),
        ],
        telefonNummer=[
            a_contact("11111111", "1999-11-15", "2005-01-01"),
            a_contact("22222222", "2005-01-02", "2012-06-30"),
        ],
    )

    assert (read.status, read.status_text) == (Status.ENDED, "OPLØST EFTER KONKURS")
    assert (read.ended, read.name, read.former_names) == ("2012-06-30", "Sidst ApS", ("Først ApS",))
    assert read.address
    assert read.address.street == "Sidstevej 43"
    assert (read.trade_names, read.phone) == (("Prøven",), "22222222")


def test_an_active_company_has_no_ended_contacts() -> None:
    record = company_record(
        telefonNummer=[a_contact("11111111", "1999-11-15", "2005-01-01")],
        elektroniskPost=[a_contact("gammel@proeven.example", "1999-11-15", "2005-01-01")],
        postadresse=[a_cvr_address("1999-11-15", "2005-01-01")],
        bibranche1=[held("1999-11-15", "2005-01-01", branchekode="620100")],
    )

    company = company_in(record)
    assert (company.phone, company.email, record.phones) == (None, None, ())
    assert (company.postal_address, company.secondary_industries) == (None, ())


def test_a_resumed_company_is_active() -> None:
    read = company(livsforloeb=[*OVER, held("2013-01-01")])

    assert (read.founded, read.ended, read.status) == ("1999-11-15", None, Status.ACTIVE)


def test_an_empty_history_is_replaced_by_cvrs_summary() -> None:
    newest = {
        "nyesteNavn": held("1999-11-15", navn="Prøvefabrikken ApS"),
        "nyesteBinavne": ["Prøven"],
        "nyesteVirksomhedsform": held(None, virksomhedsformkode=80, langBeskrivelse="Anpart"),
        "nyesteBeliggenhedsadresse": a_cvr_address(),
        "nyesteHovedbranche": held(None, branchekode="620100", branchetekst="Programmering"),
        "nyesteMaanedsbeskaeftigelse": {
            "aar": 2016,
            "maaned": 12,
            "intervalKodeAntalAnsatte": "ANTAL_2_4",
        },
        "sammensatStatus": "UNDER KONKURS",
        "stiftelsesDato": "1999-11-15",
        "nyesteKontaktoplysninger": ["33333333", "hemmelig@proeven.example"],
    }
    nothing: dict[str, Any] = {
        "navne": None,
        "beliggenhedsadresse": [],
        "livsforloeb": [],
        "virksomhedsstatus": [],
    }

    read = company(**nothing, virksomhedMetadata=newest)

    assert (read.name, read.trade_names) == ("Prøvefabrikken ApS", ("Prøven",))
    assert read.form == CodedText(code="80", description="Anpart")
    assert read.address == address()
    assert read.industry == CodedText(code="620100", description="Programmering")
    assert read.employees == Employees(min=2, max=4)
    assert (read.status, read.status_text) == (Status.BANKRUPT, "UNDER KONKURS")
    assert read.founded == "1999-11-15"
    assert (read.phone, read.email) == (None, None)


@pytest.mark.parametrize(
    "word,status",
    [
        ("NORMAL", Status.ACTIVE),
        ("Aktiv", Status.ACTIVE),
        ("UNDER REASSUMERING", Status.ACTIVE),
        ("FREMTID", Status.ACTIVE),
        ("UNDER KONKURS", Status.BANKRUPT),
        ("UNDER_TVANGSOPLØSNING", Status.UNDER_LIQUIDATION),
        ("UNDER TVANGSOPLOESNING", Status.UNDER_LIQUIDATION),
        ("TVANGSOPLØSNING", Status.UNDER_LIQUIDATION),
        ("UNDER FRIVILLIG LIKVIDATION", Status.UNDER_LIQUIDATION),
        ("UNDER REKONSTRUKTION", Status.UNDER_RECONSTRUCTION),
        ("TVANGSOPLØST", Status.ENDED),
        ("OPLØST EFTER ERKLÆRING", Status.ENDED),
        ("OPLOEST_EFTER_GRAENSEOVERSKRIDENDE_FUSION", Status.ENDED),
        ("SLETTET", Status.ENDED),
        ("Ophørt", Status.ENDED),
        ("LUKKET", Status.ENDED),
        ("UDEN RETSVIRKNING", Status.ENDED),
        ("NOGET NYT", Status.ACTIVE),
    ],
)
def test_each_word_for_the_status_has_its_meaning(word: str, status: Status) -> None:
    read = company(virksomhedsstatus=[held("1999-11-15", status=word)])

    assert (read.status, read.status_text) == (status, word)


def test_an_outdated_status_does_not_keep_a_company_active() -> None:
    outdated = [held("1999-11-15", "2012-06-30", status="NORMAL")]
    summary = {"sammensatStatus": "Ophørt"}

    told = company(livsforloeb=OVER, virksomhedsstatus=outdated, virksomhedMetadata=summary)
    untold = company(livsforloeb=OVER, virksomhedsstatus=outdated)

    assert (told.status, told.status_text) == (Status.ENDED, "Ophørt")
    assert (untold.status, untold.status_text) == (Status.ENDED, None)


def test_a_company_without_a_status_is_active() -> None:
    read = company(virksomhedsstatus=[])

    assert (read.status, read.status_text) == (Status.ACTIVE, None)


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

    assert read.street == street
    assert read.text == f"{street}, 1112 København K"


def test_an_address_has_district_and_care_of() -> None:
    read = address(bynavn="Testby", conavn="c/o Anna Testesen")

    assert read == Address(
        street="Prøvevej 43",
        co="Anna Testesen",
        postal_code="1112",
        city="København K",
        district="Testby",
        municipality="KØBENHAVN",
        country="DK",
        text="c/o Anna Testesen, Prøvevej 43, Testby, 1112 København K",
    )
    assert address(conavn="Anna Testesen").co == "Anna Testesen"


def test_an_address_abroad_is_free_text_on_one_line() -> None:
    nowhere = dict.fromkeys(
        ("vejnavn", "husnummerFra", "postnummer", "postdistrikt", "kommune"), None
    )

    read = address(**nowhere, landekode="se", fritekst="Testgatan 1,\r\n111 24 Stockholm\n")

    assert read == Address(
        street="Testgatan 1",
        postal_code="111 24",
        city="Stockholm",
        country="SE",
        text="Testgatan 1, 111 24 Stockholm, Sverige",
    )
    unsplit = address(**nowhere, landekode="GB", fritekst="1 Test Street\nTesttown\nStorbritannien")
    assert unsplit == Address(
        street="1 Test Street, Testtown",
        country="GB",
        text="1 Test Street, Testtown, Storbritannien",
    )
    assert company(beliggenhedsadresse=[held("1999-11-15")]).address is None
    assert company(beliggenhedsadresse=[]).address is None


def test_contacts_are_shown_and_all_phones_are_found() -> None:
    record = company_record(
        telefonNummer=[a_contact("33 33 33 33")],
        sekundaertTelefonNummer=[a_contact("+45 44444444"), a_contact("33333333")],
        telefaxNummer=[a_contact("55555555")],
        elektroniskPost=[a_contact("post@proeven.example")],
        hjemmeside=[a_contact("www.proeven.example")],
        reklamebeskyttet=True,
    )

    read = company_in(record)
    assert (read.phone, read.fax) == ("33333333", "55555555")
    assert (read.email, read.website) == ("post@proeven.example", "www.proeven.example")
    assert read.advertising_protected
    assert record.phones == ("33333333", "44444444")


def test_a_secret_contact_is_dropped_and_no_older_one_takes_its_place() -> None:
    record = company_record(
        telefonNummer=[
            a_contact("33333333", "1999-11-15", "2005-01-01"),
            a_contact("44444444", "2005-01-02", hemmelig=True),
        ],
        elektroniskPost=[a_contact("hemmelig@proeven.example", hemmelig=True)],
    )

    assert (company_in(record).phone, company_in(record).email, record.phones) == (None, None, ())


def test_the_mandatory_email_is_for_authorities_only() -> None:
    assert company(obligatoriskEmail=[a_contact("pligt@proeven.example")]).email is None


@pytest.mark.parametrize(
    "counts,employees",
    [
        (
            {"aarsbeskaeftigelse": [{"aar": 2015, "intervalKodeAntalAnsatte": "ANTAL_1_1"}]},
            Employees(min=1, max=1),
        ),
        (
            {
                "aarsbeskaeftigelse": [{"aar": 2014, "intervalKodeAntalAnsatte": "ANTAL_1_1"}],
                "kvartalsbeskaeftigelse": [
                    {"aar": 2016, "kvartal": 4, "intervalKodeAntalAnsatte": "ANTAL_2_4"}
                ],
                "maanedsbeskaeftigelse": [
                    {"aar": 2016, "maaned": 12, "intervalKodeAntalAnsatte": "ANTAL_5_9"}
                ],
            },
            Employees(min=5, max=9),
        ),
        (
            {
                "erstMaanedsbeskaeftigelse": [
                    {
                        "aar": 2024,
                        "maaned": 3,
                        "antalAnsatte": 23,
                        "intervalKodeAntalAnsatte": "ANTAL_20_49",
                    },
                    {"aar": 2024, "maaned": 4},
                ],
            },
            Employees(min=20, max=49, exact=23),
        ),
        (
            {"aarsbeskaeftigelse": [{"aar": 2015, "intervalKodeAntalAnsatte": "ANTAL_1000_"}]},
            Employees(min=1000),
        ),
        (
            {
                "aarsbeskaeftigelse": [
                    {"aar": 2015, "intervalKodeAntalAnsatte": "ANTAL_1000_999999"}
                ]
            },
            Employees(min=1000),
        ),
        (
            {"aarsbeskaeftigelse": [{"aar": 2015, "antalAnsatte": 3}]},
            Employees(min=3, max=3, exact=3),
        ),
        ({"aarsbeskaeftigelse": [{"aar": None}]}, None),
        ({}, None),
    ],
)
def test_the_newest_count_of_employees_counts(
    counts: dict[str, Any], employees: Employees | None
) -> None:
    assert company(**counts).employees == employees


def test_capital_and_purpose_are_the_current_ones() -> None:
    read = company(
        attributter=[
            an_attribute(
                "KAPITAL",
                held("1999-11-15", "2005-01-01", vaerdi="125000.00"),
                held("2005-01-02", vaerdi="500000"),
            ),
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
    current = [held("2014-01-01", branchekode="620100", branchetekst="Programmering")]

    read = company(bibranche1=current, bibranche2=current, bibranche3=None)

    assert read.secondary_industries == (CodedText(code="620100", description="Programmering"),)


def test_legal_owners_have_shares_by_class_the_largest_first() -> None:
    read = owners(
        a_relation(legal_ownership("0.05", votes="0.1686")),
        a_relation(
            legal_ownership("0.6667", votes="1.0"),
            enhedstype="VIRKSOMHED",
            forretningsnoegle=1234567,
            navne=[held(None, "2005-01-01", navn="Før ApS"), held(None, navn="Holding ApS")],
        ),
    )

    assert read == (
        Owner(
            name="Holding ApS",
            type="company",
            vat="01234567",
            role=OwnerRole.OWNER,
            role_text="EJERREGISTER",
            share=Share(min="66.67", max="90"),
            votes=Share(min="100", max="100"),
            since="2014-05-01",
        ),
        Owner(
            name="Anna Testesen",
            type="person",
            role=OwnerRole.OWNER,
            role_text="EJERREGISTER",
            share=Share(min="5", max="10"),
            votes=Share(min="16.86", max="16.86"),
            since="2014-05-01",
        ),
    )


@pytest.mark.parametrize("kind", ["FULDT_ANSVARLIG_DELTAGERE", "INDEHAVER"])
@pytest.mark.parametrize(
    "word,role",
    [
        ("INTERESSENT", "partner"),
        ("Indehaver", "sole_proprietor"),
        ("KOMPLEMENTARER", "general_partner"),
        ("REDER", "partner"),
    ],
)
def test_partners_and_sole_proprietors_are_owners_without_shares(
    kind: str, word: str, role: str
) -> None:
    function = an_attribute("FUNKTION", held("2001-01-01", vaerdi=word))

    read = owners(a_relation(an_organisation(kind, "Interessenter", function)))

    assert read == (
        Owner(
            name="Anna Testesen",
            type="person",
            role=OwnerRole(role),
            role_text=word,
            since="2001-01-01",
        ),
    )


def an_officer(
    body: str, name: str, function: str, until: str | None = None, **participant: Any
) -> Any:
    function_held = an_attribute("FUNKTION", held("2001-01-01", until, vaerdi=function))
    return a_relation(an_organisation(body, name, function_held), **participant)


@pytest.mark.parametrize(
    "body,name,function,role",
    [
        ("LEDELSESORGAN", "Direktion", "DIREKTION", "director"),
        ("LEDELSESORGAN", "Direktion", "adm. dir", "director"),
        ("LEDELSESORGAN", "Bestyrelse", "formand", "board_chair"),
        ("LEDELSESORGAN", "Bestyrelse", "Næstformand", "board_deputy_chair"),
        ("LEDELSESORGAN", "Bestyrelse", "BESTYRELSE", "board_member"),
        ("LEDELSESORGAN", "Bestyrelse", "SUPPLEANT", "board_deputy_member"),
        ("LEDELSESORGAN", "Bestyrelse", "OBSERVATØR", "board_observer"),
        ("REVISION", "Revision", "REVISION", "auditor"),
    ],
)
def test_the_direction_the_board_and_the_auditor_are_roles(
    body: str, name: str, function: str, role: str
) -> None:
    record = company_record(deltagerRelation=[an_officer(body, name, function)])

    assert roles_in(record) == [
        Role(
            role=RoleCode(role),
            role_text=function,
            name="Anna Testesen",
            type="person",
            since="2001-01-01",
        )
    ]


@pytest.mark.parametrize(
    "relation",
    [
        an_officer("LEDELSESORGAN", "Direktion", "DIREKTION", until="2016-01-01"),
        an_officer("LEDELSESORGAN", "Direktion", "DIREKTION", navne=[]),
        an_officer("LEDELSESORGAN", "Direktion", "KOMPLEMENTARER"),
        an_officer("LEDELSESORGAN", "Likvidator", "LIKVIDATOR"),
        an_officer("STIFTERE", "Stiftere", "STIFTERE"),
        a_relation(legal_ownership("0.5")),
        {"deltager": None, "organisationer": []},
    ],
)
def test_former_officers_founders_and_owners_have_no_role(relation: Any) -> None:
    assert roles_in(company_record(deltagerRelation=[relation])) == []


def test_roles_that_were_not_requested_are_unknown() -> None:
    assert company_record(deltagerRelation=None).role_list is None


def test_home_addresses_and_personal_keys_are_not_stored() -> None:
    officer = an_officer("REVISION", "Revision", "REVISION", forretningsnoegle=4000123456)
    owner = a_relation(legal_ownership("0.5"), forretningsnoegle=4000123456)

    record = company_record(deltagerRelation=[officer, owner])

    assert roles_in(record)
    assert owners_in(record)
    assert "Hjemmevej" not in repr(record)
    assert "4000123456" not in repr(record)


@pytest.mark.parametrize(
    "relation",
    [
        a_relation(legal_ownership("0.5", until="2016-01-01")),
        a_relation(legal_ownership("0.5"), navne=[]),
        {"deltager": None, "organisationer": [legal_ownership("0.5")]},
        a_relation(
            an_organisation(
                "REGISTER",
                "Reelle ejere",
                an_attribute("EJERANDEL_PROCENT", held(None, vaerdi="1")),
            )
        ),
        a_relation(
            an_organisation(
                "LEDELSESORGAN",
                "Direktion",
                an_attribute("FUNKTION", held(None, vaerdi="DIREKTØR")),
            )
        ),
        a_relation(
            an_organisation(
                "INDEHAVER",
                "Indehaver",
                an_attribute("FUNKTION", held(None, "2001-01-01", vaerdi="X")),
            )
        ),
        a_relation({"hovedtype": None, "organisationsNavn": None, "medlemsData": [{}]}),
    ],
)
def test_past_owners_and_other_participants_are_left_out(relation: Any) -> None:
    assert owners(relation) == ()


@pytest.mark.parametrize(
    "fields,kind",
    [
        ({"forretningsnoegle": 12345674}, "person"),
        ({"enhedstype": "ANDEN_DELTAGER", "forretningsnoegle": "4000123456"}, "other"),
        ({"enhedstype": "VIRKSOMHED", "forretningsnoegle": "SE5560000000"}, "company"),
    ],
)
def test_only_a_danish_company_among_the_owners_has_a_number(
    fields: dict[str, Any], kind: str
) -> None:
    (owner,) = owners(a_relation(legal_ownership("0.5"), **fields)) or ()

    assert (owner.type, owner.vat) == (kind, None)


def test_the_order_of_owners_does_not_depend_on_the_document() -> None:
    relations = [
        a_relation(legal_ownership("0.25"), navne=[held(None, navn=name)]) for name in "BAC"
    ]

    assert owners(*relations) == owners(*reversed(relations))


def test_owners_that_were_not_requested_are_unknown() -> None:
    assert owners_in(company_record(deltagerRelation=None)) is None
    assert owners() == ()


def test_a_unit_belongs_to_the_company_it_has_now() -> None:
    record = unit_record(
        virksomhedsrelation=[
            held("1999-11-15", "2009-12-31", cvrNummer=87654321),
            held("2010-01-01", cvrNummer=12345674),
        ],
        telefonNummer=[a_contact("33333333")],
        elektroniskPost=[a_contact("nord@proeven.example")],
        hovedbranche=[held(None, branchekode="620100", branchetekst="Programmering")],
        kvartalsbeskaeftigelse=[
            {"aar": 2016, "kvartal": 3, "intervalKodeAntalAnsatte": "ANTAL_2_4"}
        ],
    )

    assert (record.key, record.company) == ("dk:1012345670", "dk:12345674")
    assert record.phones == ("33333333",)
    assert record.version == SourceVersion(datetime(2017, 2, 5, tzinfo=UTC))
    assert unit_in(record) == ProductionUnit(
        number="1012345670",
        name="Prøvefabrikken Nord",
        status=Status.ACTIVE,
        address=address(),
        phone="33333333",
        email="nord@proeven.example",
        industry=CodedText(code="620100", description="Programmering"),
        employees=Employees(min=2, max=4),
        started="1999-11-15",
    )


def test_an_ended_unit_keeps_its_last_company_and_name() -> None:
    record = unit_record(
        livsforloeb=OVER,
        virksomhedsrelation=[held("1999-11-15", "2012-06-30", cvrNummer=12345674)],
        navne=[held("1999-11-15", "2012-06-30", navn="Prøvefabrikken Nord")],
        produktionsEnhedMetadata={"sammensatStatus": "Ophørt"},
    )

    assert record.company == "dk:12345674"
    assert (unit_in(record).status, unit_in(record).ended) == (Status.ENDED, "2012-06-30")


def test_an_empty_history_of_a_unit_is_replaced_by_cvrs_summary() -> None:
    newest = {
        "nyesteCvrNummerRelation": 12345674,
        "nyesteNavn": held(None, navn="Prøvefabrikken Nord"),
        "nyesteAarsbeskaeftigelse": {"aar": 2016, "intervalKodeAntalAnsatte": "ANTAL_1_1"},
        "sammensatStatus": "Aktiv",
    }

    record = unit_record(
        virksomhedsrelation=[], navne=[], beliggenhedsadresse=[], produktionsEnhedMetadata=newest
    )

    assert record.company == "dk:12345674"
    assert unit_in(record).name == "Prøvefabrikken Nord"
    assert unit_in(record).employees == Employees(min=1, max=1)


def test_a_unit_may_have_neither_company_nor_summary() -> None:
    record = unit_record(virksomhedsrelation=[], produktionsEnhedMetadata=None)

    assert (record.company, unit_in(record).status) == (None, Status.ACTIVE)


def test_of_a_unit_registered_in_error_only_key_and_version_are_read() -> None:
    record = parse(DK_UNITS.parse, a_cvr_unit(fejlRegistreret=True))

    assert isinstance(record, RegisteredInError)
    assert record.key == "dk:1012345670"


def test_a_company_is_refused_as_a_unit() -> None:
    reason = refusal(DK_UNITS, {"Vrvirksomhed": a_cvr_company()})

    assert reason == "VrproduktionsEnhed.pNummer: missing"


def test_the_units_that_a_company_lists_as_its_own_are_those_it_has_now() -> None:
    record = company_record(
        penheder=[
            held("2014-08-07", pNummer=1012345689),
            held("1999-11-15", pNummer=1012345670),
            held("2006-01-01", "2013-06-30", pNummer=1012345697),
        ]
    )

    assert record.units == ("dk:1012345670", "dk:1012345689")
