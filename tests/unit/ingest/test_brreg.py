"""Parsing of documents of the Norwegian register."""

from typing import Any

import pytest

from common.contracts.company import (
    Address,
    Capital,
    CodedText,
    Employees,
    HomeRegister,
    LegalForm,
    Owner,
    OwnerRole,
    ProductionUnit,
    Remark,
    Role,
    RoleCode,
    Status,
)
from ingest.records.records import CompanyRecord, RecordRejected, UnitRecord
from ingest.records.source import RegisterSource
from ingest.registers.brreg.documents import from_row
from ingest.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from tests.builders.companies import company_in, contents, parsed, unit_in
from tests.builders.registers import (
    a_norwegian_address,
    a_norwegian_unit,
    a_person,
    a_role,
    an_entity,
    roles,
)

#: An entity in a role.
PROVEN = {"organisasjonsnummer": "310345687", "navn": ["PRØVEN", "HOLDING AS"]}


def company(**fields: Any) -> Any:
    return contents(parsed(NO_ENTITIES, an_entity(**fields)))


def unit(**fields: Any) -> Any:
    return contents(parsed(NO_UNITS, a_norwegian_unit(**fields)))


def people(*given: Any, **fields: Any) -> Any:
    """The contents that are read from the roles of an entity."""
    return contents(parsed(NO_ROLES, roles(*given, **fields)))


def refusal(source: RegisterSource, raw: Any) -> str:
    with pytest.raises(RecordRejected) as refused:
        parsed(source, raw)
    return str(refused.value)


def test_an_entity_is_a_company_without_owners_or_version() -> None:
    record = parsed(NO_ENTITIES, an_entity())

    assert isinstance(record, CompanyRecord)
    read = company_in(record)
    assert record == CompanyRecord.of(read, phones=(), units=(), owners=None, version=None)
    assert (record.key, read.name) == ("no:310345679", "PRØVEFABRIKKEN NORGE AS")
    assert read.form == LegalForm(code="AS", description="Aksjeselskap", short="AS")
    assert (read.registered, read.advertising_protected) == ("2003-04-14", None)


def test_columns_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(RecordRejected, match=r"form\.kode"):
        from_row({"form": "AS", "form.kode": "AS"})


def test_the_date_of_registration_is_not_the_date_of_foundation() -> None:
    founded, unknown = company(stiftelsesdato="1999-01-02"), company(stiftelsesdato=None)

    assert (founded.founded, founded.registered) == ("1999-01-02", "2003-04-14")
    assert (unknown.founded, unknown.registered) == (None, "2003-04-14")


def test_vat_registration_accounts_and_parent_are_read_and_else_unknown() -> None:
    given = company(
        registrertIMvaregisteret=False,
        sisteInnsendteAarsregnskap="2024",
        overordnetEnhet="310345687",
    )

    assert (given.vat_registered, given.accounts, given.parent) == (False, "2024", "310345687")
    assert (company().vat_registered, company().accounts, company().parent) == (None, None, None)


@pytest.mark.parametrize(
    "fields,employees",
    [
        ({"antallAnsatte": 21408}, Employees(min=21408, max=21408, exact=21408)),
        ({"antallAnsatte": 0}, Employees(min=0, max=0, exact=0)),
        ({"harRegistrertAntallAnsatte": True}, Employees(min=1, max=4)),
        ({"harRegistrertAntallAnsatte": False}, None),
        ({}, None),
    ],
)
def test_a_withheld_number_of_employees_is_one_to_four(
    fields: dict[str, Any], employees: Employees | None
) -> None:
    assert company(**fields).employees == employees


def test_an_address_has_a_text_and_parts() -> None:
    read = company(forretningsadresse=a_norwegian_address("Prøveveien 12", "Bygg B")).address

    assert read == Address(
        street="Prøveveien 12, Bygg B",
        postal_code="0159",
        city="OSLO",
        municipality="OSLO",
        municipality_code="0301",
        country="NO",
        text="Prøveveien 12, Bygg B, 0159 OSLO",
    )


@pytest.mark.parametrize(
    "lines,co,street",
    [
        (("c/o Kari Testesen", "Prøveveien 12"), "Kari Testesen", "Prøveveien 12"),
        (("C/OTestesen", "Prøveveien 12"), "Testesen", "Prøveveien 12"),
        (("c/ o Testesen,", "Prøveveien 12"), "Testesen", "Prøveveien 12"),
        (("v/ Prøven", "c/o Testen AS", "Postboks 1"), "Testen AS", "v/ Prøven, Postboks 1"),
        (("c/o", "Testen AS", "Prøveveien 12"), "Testen AS", "Prøveveien 12"),
        (("c/o Testen AS, Prøveveien 12",), "Testen AS", "Prøveveien 12"),
        (("c/o Kari Testesen",), "Kari Testesen", None),
        (("C/ Oro, 88 Bis",), None, "C/ Oro, 88 Bis"),
        (("Coveien 1",), None, "Coveien 1"),
    ],
)
def test_care_of_is_separated_from_the_street(
    lines: tuple[str, ...], co: str | None, street: str | None
) -> None:
    read = company(forretningsadresse=a_norwegian_address(*lines)).address

    assert (read.co, read.street) == (co, street)
    assert read.text == ", ".join(filter(None, (co and f"c/o {co}", street, "0159 OSLO")))


def test_an_address_abroad_names_its_country() -> None:
    abroad = {"land": "Sverige", "landkode": "SE", "adresse": ["Testgatan 1"]}

    read = company(forretningsadresse={**abroad, "poststed": "SE-111 24 STOCKHOLM"}).address

    assert read == Address(
        street="Testgatan 1",
        postal_code="111 24",
        city="STOCKHOLM",
        country="SE",
        text="Testgatan 1, SE-111 24 STOCKHOLM, Sverige",
    )


@pytest.mark.parametrize(
    "country,line,postal_code,city",
    [
        ("SE", "SE-135 55 TESTSTAD", "135 55", "TESTSTAD"),
        ("SE", "13555 Teststad", "13555", "Teststad"),
        ("DK", "1112 København K", "1112", "København K"),
        ("GB", "LONDON SW1Y 4JU", "SW1Y 4JU", "LONDON"),
        ("GB", "GLASGOW G51 3TR SCOTLAND", "G51 3TR", "GLASGOW SCOTLAND"),
        ("GB", "GB-M1 4EX MANCHESTER", "M1 4EX", "MANCHESTER"),
        ("GB", "SW1Y 5EA", "SW1Y 5EA", None),
        ("NL", "1016DV AMSTERDAM", "1016DV", "AMSTERDAM"),
        ("PL", "PL-05-091 ZABKI", "05-091", "ZABKI"),
        ("CA", "CA - CALGARY T3B 5L7", "T3B 5L7", "CALGARY"),
        ("US", "LA PORTE TX 77571", "77571", "LA PORTE TX"),
        ("ES", "ES- 08036 Barcelona", "08036", "Barcelona"),
        ("IE", "IE-DUBLIN 2 D02 F206", "D02 F206", "DUBLIN 2"),
        ("AE", "Dubai", None, "Dubai"),
        ("GB", "Testtown AB154 ZN", None, "Testtown AB154 ZN"),
        ("GB", "A " * 80, None, ("A " * 80).strip()),
    ],
)
def test_the_town_line_of_a_foreign_address_is_split(
    country: str, line: str, postal_code: str | None, city: str | None
) -> None:
    read = company(forretningsadresse={"landkode": country, "poststed": line}).address

    assert (read.postal_code, read.city, read.text) == (postal_code, city, line.strip())


def test_an_empty_address_is_none() -> None:
    assert company(forretningsadresse={"adresse": [], "landkode": "NO"}).address is None
    assert company(forretningsadresse=None).address is None


def test_the_landline_is_shown_and_both_numbers_are_found() -> None:
    read = company(telefon="22 33 44 55", mobil="+47 998 87 766")

    assert (read.phone, read.phones) == ("22334455", ("22334455", "99887766"))
    assert read.searched_phones == read.phones


def test_a_foreign_number_is_shown_but_not_searched() -> None:
    read = company(mobil="+46 8 123 456")

    assert (read.phones, read.searched_phones) == (("+468123456",), ())


def test_former_names_are_distinct_and_newest_first() -> None:
    former = [
        {"navn": "FJORDPRØVEN AS", "fraDato": "1990-01-01", "tilDato": "1995-01-01"},
        {"navn": "PRØVEFABRIKKEN NORGE AS", "fraDato": "1995-01-01", "tilDato": "1996-01-01"},
        {"navn": "NYPRØVEN AS", "fraDato": "1996-01-01", "tilDato": "2000-01-01"},
        {"navn": "FJORDPRØVEN AS", "fraDato": "2000-01-01", "tilDato": "2001-01-01"},
    ]

    assert company(historiskeNavn=former).former_names == ("FJORDPRØVEN AS", "NYPRØVEN AS")


def test_all_industries_are_kept_with_the_registers_code() -> None:
    read = company(
        naeringskode1={"kode": "06.100", "beskrivelse": "Utvinning av råolje"},
        naeringskode2={"kode": "70.100", "beskrivelse": "Hovedkontor", "hjelpeenhetskode": True},
        naeringskode3={"kode": "19.200", "beskrivelse": "Raffinering"},
        hjelpeenhetskode={"kode": "70.100", "beskrivelse": "Hovedkontor"},
    )

    assert read.industry == CodedText(code="06.100", description="Utvinning av råolje")
    assert [code.code for code in read.secondary_industries] == ["70.100", "19.200"]


@pytest.mark.parametrize(
    "amount,text",
    [(6392018780.0, "6392018780.00"), (30000, "30000.00"), (0.125, "0.125"), ("1e3", "1000.00")],
)
def test_capital_is_a_decimal_number(amount: object, text: str) -> None:
    read = company(kapital={"belop": amount, "valuta": "NOK", "antallAksjer": 2_556_807_512})

    assert (read.capital, read.shares) == (Capital(amount=text, currency="NOK"), 2_556_807_512)


def test_of_some_only_the_paid_in_capital_is_registered() -> None:
    read = company(kapital={"innbetalt": 900000.0, "type": "Selskapskapital", "valuta": "NOK"})

    assert (read.capital, read.shares) == (Capital(amount="900000.00", currency="NOK"), None)


def test_registrations_have_their_dates_and_are_else_unknown() -> None:
    given = company(
        registrertIForetaksregisteret=True,
        registreringsdatoForetaksregisteret="1988-04-28",
        registrertIMvaregisteret=True,
        registreringsdatoMerverdiavgiftsregisteret="1989-07-01",
        registreringsdatoFrivilligMerverdiavgiftsregisteret="2022-09-20",
        registrertIFrivillighetsregisteret=False,
        registrertIStiftelsesregisteret=True,
    )

    assert [(one.name, one.since) for one in given.registrations] == [
        ("business_enterprises", "1988-04-28"),
        ("vat", "1989-07-01"),
        ("foundations", None),
    ]
    assert given.vat_registered_since == "1989-07-01"
    assert company(registrertIMvaregisteret=False).registrations == ()
    assert (company().registrations, company().vat_registered_since) == (None, None)


@pytest.mark.parametrize(
    "form,fields,expected",
    [
        ("AS", {"fravalgRevisjonDato": "2024-05-01"}, True),
        ("AS", {"fravalgRevisjonBeslutningsDato": "2024-04-11"}, True),
        ("AS", {"fravalgRevisjonDato": "2026-12-31"}, False),
        ("AS", {}, False),
        ("ENK", {}, None),
    ],
)
def test_an_audit_is_waived_from_its_date(
    form: str, fields: dict[str, Any], expected: object
) -> None:
    assert company(organisasjonsform={"kode": form}, **fields).audit_waived is expected


def test_a_foreign_enterprise_has_a_register_at_home() -> None:
    read = company(
        utenlandskRegisterNavn="Companies House",
        registreringsnummerIHjemlandet="01698954",
        underlagtLovgivningLand="Storbritannia",
        underlagtLovgivningLandKode="GB",
        foretaksformIHjemlandet={"kode": "LTD", "beskrivelseBokmaal": "Aksjeselskap"},
        utenlandskRegisterAdresse={
            "adresse": ["Unit 4", "Mill Lane 12"],
            "poststed": "ABERDEEN AB11 6EQ",
            "land": "Storbritannia",
        },
    )

    assert read.home_register == HomeRegister(
        name="Companies House",
        number="01698954",
        country="GB",
        form=CodedText(code="LTD", description="Aksjeselskap"),
        address="Unit 4, Mill Lane 12, ABERDEEN AB11 6EQ, Storbritannia",
    )
    assert company().home_register is None


def test_remarks_sector_group_language_and_articles_are_read() -> None:
    remark = {"infotype": "FADR", "tekst": "Adressen er uriktig.", "innfoertDato": "2026-01-02"}

    read = company(
        paategninger=[remark, {"infotype": "NAVN"}],
        institusjonellSektorkode={"kode": "2100", "beskrivelse": "Private aksjeselskaper mv."},
        erIKonsern=True,
        maalform="Nynorsk",
        vedtektsdato="2025-05-14",
    )

    assert read.remarks == (Remark(type="FADR", text="Adressen er uriktig.", since="2026-01-02"),)
    assert read.sector == CodedText(code="2100", description="Private aksjeselskaper mv.")
    assert (read.in_group, read.language, read.articles_dated) == (True, "nn", "2025-05-14")


def test_purpose_activity_website_and_email_are_kept() -> None:
    read = company(
        vedtektsfestetFormaal=["Salg av", "prøver."],
        aktivitet=["Salg,", "leie", ""],
        hjemmeside=" www.proeven.example ",
        epostadresse="post@proeven.example",
    )

    assert (read.purpose, read.activity) == ("Salg av prøver.", "Salg, leie")
    assert (read.website, read.email) == ("www.proeven.example", "post@proeven.example")


def test_control_characters_are_removed_and_empty_texts_are_none() -> None:
    read = company(navn="  PRØVE\x00N\ud800 \r\n\tAS\ufffe ", hjemmeside=" \x07 ")

    assert (read.name, read.website) == ("PRØVEN  AS", None)


@pytest.mark.parametrize(
    "field,value,reason",
    [
        ("navn", None, "missing"),
        ("organisasjonsnummer", "12", "not a number of 9 digits"),
        ("organisasjonsnummer", True, "not a number of 9 digits"),
        ("organisasjonsnummer", None, "not a number of 9 digits"),
        ("organisasjonsform.kode", "BEDR", "BEDR is a unit's"),
    ],
)
def test_a_refusal_names_the_invalid_field(field: str, value: Any, reason: str) -> None:
    name, _, inner = field.partition(".")
    if inner:
        value = {inner.removesuffix("[0]"): [value] if inner.endswith("[0]") else value}

    assert refusal(NO_ENTITIES, an_entity(**{name: value})).startswith(f"{field}: {reason}")


@pytest.mark.parametrize(
    "field,value",
    [
        ("stiftelsesdato", "2024-02-30"),
        ("stiftelsesdato", 20240201),
        ("kapital.belop", "mye"),
        ("kapital.belop", "NaN"),
        ("forretningsadresse.adresse", [{}]),
        ("forretningsadresse", []),
        ("konkurs", "perhaps"),
    ],
)
def test_an_odd_value_is_left_out_and_told(field: str, value: Any) -> None:
    name, _, inner = field.partition(".")
    sound = {**an_entity(), name: None}

    record = parsed(NO_ENTITIES, {**sound, name: {inner: value} if inner else value})

    assert record == parsed(NO_ENTITIES, sound)
    assert isinstance(record, CompanyRecord)
    assert record.odd == (field,)


def test_a_document_of_another_shape_is_refused() -> None:
    assert refusal(NO_ENTITIES, {"navn": "A"}) == "organisasjonsnummer: missing"
    assert refusal(NO_ROLES, {"rollegrupper": []}) == "organisasjonsnummer: missing"
    assert refusal(NO_ROLES, an_entity()) == "rollegrupper: missing"
    not_a_unit = "organisasjonsform.kode: AS is an entity's, not a unit's"
    assert refusal(NO_UNITS, an_entity()) == not_a_unit


def test_a_unit_belongs_to_its_parent_entity() -> None:
    raw = a_norwegian_unit(
        telefon="55 66 77 88",
        oppstartsdato="2010-01-01",
        antallAnsatte=7,
        epostadresse="a@b.example",
        hjemmeside="www.b.example",
        historiskeNavn=[
            {
                "navn": "GAMLE BERGEN",
                "fraDato": "1995-02-19 16:52:00",
                "tilDato": "2024-02-15 12:54:30",
            }
        ],
        postadresse=a_norwegian_address("Postboks 1"),
        naeringskode2={"kode": "70.100", "beskrivelse": "Hovedkontor"},
        registreringsdatoAntallAnsatteNAVAaregisteret="2026-03-01",
    )

    record = parsed(NO_UNITS, raw)

    assert isinstance(record, UnitRecord)
    assert (record.key, record.company) == ("no:310345687", "no:310345679")
    assert (record.phones, record.version) == (("55667788",), None)
    assert unit_in(record) == ProductionUnit(
        number="310345687",
        name="PRØVEFABRIKKEN NORGE AS AVD BERGEN",
        status=Status.ACTIVE,
        address=company().address,
        phone="55667788",
        phones=("55667788",),
        email="a@b.example",
        website="www.b.example",
        former_names=("GAMLE BERGEN",),
        postal_address=company(forretningsadresse=a_norwegian_address("Postboks 1")).address,
        secondary_industries=(CodedText(code="70.100", description="Hovedkontor"),),
        employees=Employees(min=7, max=7, exact=7, as_of="2026-03-01"),
        started="2010-01-01",
    )


def test_a_unit_without_a_parent_has_no_company() -> None:
    assert unit(overordnetEnhet=None).company is None


def test_an_owner_is_a_person_by_name_alone_or_an_entity_with_its_number() -> None:
    read = people(
        a_role("SAM", "Ord", person=a_person("Kari", "Prøve", "Testesen")),
        a_role("SAM", "Ord", enhet=PROVEN),
        a_role("SAM", "Ord", enhet={"navn": "PRØVE, TEST KOMMUNE"}),
    )

    alike: Any = {"role": OwnerRole.CO_OWNER, "role_text": "Ord"}
    assert read.key == "no:310345679"
    assert set(read.owners) == {
        Owner(name="Kari Prøve Testesen", type="person", **alike),
        Owner(name="PRØVEN HOLDING AS", type="company", vat="310345687", **alike),
        Owner(name="PRØVE, TEST KOMMUNE", type="company", **alike),
    }


def test_other_or_past_roles_and_nameless_holders_make_no_owner() -> None:
    others = [
        a_role("DAGL", "Daglig leder"),
        a_role("LEDE", "Styrets leder"),
        a_role(fratraadt=True),
        a_role(avregistrert=True),
        a_role(person=a_person(erDoed=True)),
        a_role(person={"fodselsdato": "1970-01-01"}),
        a_role(person=a_person("", "")),
        a_role(enhet={"navn": ["PRØVEN AS"], "erSlettet": True}),
        a_role(enhet={"navn": []}),
        {"type": None},
    ]

    assert [people(role).owners for role in others] == [None] * len(others)


def test_a_role_without_a_type_has_that_of_its_group() -> None:
    twice = [{**a_role(), "type": None}, {**a_role(), "type": None}]
    group = {"type": {"kode": "INNH", "beskrivelse": "Innehaver"}, "roller": twice}

    read = people(rollegrupper=[group, {"type": None, "roller": None}])

    assert read.owners == people(a_role()).owners != ()


def test_the_number_of_a_single_response_is_read_from_its_link() -> None:
    answer = roles(a_role())
    del answer["organisasjonsnummer"]
    address = "https://register.example/enheter/310345679/roller"

    record = parsed(NO_ROLES, {**answer, "_links": {"self": {"href": address}}})

    assert contents(record).key == "no:310345679"


def test_directors_board_members_auditor_and_accountant_are_roles() -> None:
    board = [a_role("MEDL", "Styremedlem"), a_role("LEDE", "Styrets leder"), a_role("VARA", "V")]
    groups = [
        {"type": {"kode": "STYR"}, "roller": [*board, a_role("NEST", "N"), a_role("OBS", "O")]},
        {"type": {"kode": "REGN"}, "roller": [a_role("REGN", "Regnskapsfører", enhet=PROVEN)]},
        {"type": {"kode": "REVI"}, "roller": [a_role("REVI", "Revisor", enhet=PROVEN)]},
        {"type": {"kode": "DAGL"}, "roller": [a_role("DAGL", "Daglig leder")]},
    ]

    read = people(rollegrupper=groups)

    assert [role.role for role in read.roles] == list(RoleCode)[:8]
    assert read.roles[-2] == Role(
        role=RoleCode.AUDITOR,
        role_text="Revisor",
        name="PRØVEN HOLDING AS",
        type="company",
        vat="310345687",
    )
    assert read.owners is None, "the register keeps no shareholders"


def test_members_of_other_bodies_are_others_and_former_members_nothing() -> None:
    committee = {"type": {"kode": "KOKO", "beskrivelse": "Kontrollkomité"}}
    groups = [
        {**committee, "roller": [a_role("MEDL", "Medlem")]},
        {"type": {"kode": "STYR"}, "roller": [a_role("MEDL", fratraadt=True)]},
    ]

    [role] = people(rollegrupper=groups).roles
    assert (role.role, role.role_text) == (RoleCode.OTHER, "Kontrollkomité: Medlem")


def test_the_order_of_roles_does_not_depend_on_the_document() -> None:
    members = [a_role("DAGL", person=a_person(name, "Testesen")) for name in ("Bo", "Anna", "Bo")]

    read = people(*members)

    assert [role.name for role in read.roles] == ["Anna Testesen", "Bo Testesen"]
    assert people(*reversed(members)).roles == read.roles


def test_birth_dates_are_not_stored() -> None:
    read = people(a_role(), a_role("LEDE"), a_role("DAGL"), a_role("REVI"))

    assert len(read.owners) == 1
    assert "1970" not in repr(read)
