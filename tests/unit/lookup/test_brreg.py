"""Parsing of documents of the Norwegian register."""

from typing import Any

import pytest

from common.contracts.company import (
    Address,
    Capital,
    CodedText,
    Employees,
    Owner,
    OwnerRole,
    ProductionUnit,
    Role,
    RoleCode,
    Status,
)
from lookup.records.records import CompanyRecord, RecordRejected, UnitRecord
from lookup.records.source import RegisterSource
from lookup.registers.brreg.documents import from_row
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
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
    assert read.form == CodedText(code="AS", description="Aksjeselskap")
    assert (read.registered, read.advertising_protected) == ("2003-04-14", None)


def test_the_format_of_2022_gives_the_same_record() -> None:
    form = {"kode": "AS", "beskrivelse": "Aksjeselskap", "links": []}
    older = an_entity(organisasjonsform=form, links=[])
    del older["_links"]

    assert contents(parsed(NO_ENTITIES, older)) == company()


def test_a_csv_row_gives_the_same_record() -> None:
    row = {
        "organisasjonsnummer": "310345679",
        "navn": "PRØVEFABRIKKEN NORGE AS",
        "organisasjonsform.kode": "AS",
        "organisasjonsform.beskrivelse": "Aksjeselskap",
        "antallAnsatte": "12",
        "forretningsadresse.adresse": "c/o Testesen, Prøveveien 12",
        "forretningsadresse.postnummer": "0159",
        "forretningsadresse.poststed": "OSLO",
        "forretningsadresse.kommune": "OSLO",
        "forretningsadresse.land": "Norge",
        "forretningsadresse.landkode": "NO",
        "registreringsdatoenhetsregisteret": "2003-04-14",
        "registrertIMvaRegisteret": "true",
        "konkurs": "false",
        "underAvvikling": "J",
    }

    assert contents(parsed(NO_ENTITIES, from_row(row))) == company(
        antallAnsatte=12,
        registrertIMvaregisteret=True,
        forretningsadresse=a_norwegian_address("c/o Testesen", "Prøveveien 12"),
        underAvvikling=True,
    )


def test_columns_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(RecordRejected, match=r"form\.kode"):
        from_row({"form": "AS", "form.kode": "AS"})


@pytest.mark.parametrize(
    "fields,status,word",
    [
        ({}, "active", None),
        ({"konkurs": True, "underAvvikling": True}, "bankrupt", "Konkurs"),
        ({"konkurs": None, "konkursdato": "2026-01-01"}, "bankrupt", "Konkurs"),
        ({"konkurs": False, "konkursdato": "2026-01-01"}, "active", None),
        ({"underAvvikling": True}, "under_liquidation", "Under avvikling"),
        (
            {"underTvangsavviklingEllerTvangsopplosning": True},
            "under_liquidation",
            "Under tvangsavvikling eller tvangsoppløsning",
        ),
        (
            {"underRekonstruksjonsforhandlingDato": "2026-01-01"},
            "under_reconstruction",
            "Under rekonstruksjonsforhandling",
        ),
        (
            {"underUtenlandskInsolvensbehandlingDato": "2026-01-01"},
            "bankrupt",
            "Under utenlandsk insolvensbehandling",
        ),
        ({"slettedato": "2026-01-01", "konkurs": True}, "ended", "Slettet"),
    ],
)
def test_the_status_follows_from_flags_and_dates(
    fields: dict[str, Any], status: str, word: str | None
) -> None:
    read = company(**fields)

    assert (read.status, read.status_text) == (status, word)
    assert read.ended == fields.get("slettedato")


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


def test_a_foreign_number_is_shown_but_not_searched() -> None:
    read = company(mobil="+46 8 123 456")

    assert (read.phone, read.phones) == ("+468123456", ())


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

    assert read.capital == Capital(amount=text, currency="NOK")


def test_purpose_website_and_email_are_kept() -> None:
    read = company(
        vedtektsfestetFormaal=["Salg av", "prøver."],
        hjemmeside=" www.proeven.example ",
        epostadresse="post@proeven.example",
    )

    assert read.purpose == "Salg av prøver."
    assert (read.website, read.email) == ("www.proeven.example", "post@proeven.example")


def test_control_characters_are_removed_and_empty_texts_are_none() -> None:
    read = company(navn="  PRØVE\x00N\ud800 \r\n\tAS\ufffe ", hjemmeside=" \x07 ")

    assert (read.name, read.website) == ("PRØVEN  AS", None)


def test_a_number_may_be_formatted_and_have_a_wrong_check_digit() -> None:
    assert company(organisasjonsnummer=310345679).vat == "310345679"
    assert company(organisasjonsnummer="310 345 679").vat == "310345679"
    assert company(organisasjonsnummer="310345670").vat == "310345670"


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
        email="a@b.example",
        employees=Employees(min=7, max=7, exact=7),
        started="2010-01-01",
    )


@pytest.mark.parametrize("field", ["nedleggelsesdato", "slettedato"])
def test_a_closed_unit_has_ended(field: str) -> None:
    read = unit(**{field: "2026-01-01"})

    assert (read.status, read.ended) == (Status.ENDED, "2026-01-01")


def test_a_unit_without_a_parent_has_no_company() -> None:
    assert unit(overordnetEnhet=None).company is None


@pytest.mark.parametrize(
    "code,role",
    [
        ("INNH", OwnerRole.SOLE_PROPRIETOR),
        ("DTPR", OwnerRole.PARTNER),
        ("DTSO", OwnerRole.PARTNER),
        ("KOMP", OwnerRole.GENERAL_PARTNER),
        ("SAM", OwnerRole.CO_OWNER),
        ("EIKM", OwnerRole.OWNER),
    ],
)
def test_an_owner_is_a_person_by_name_alone_or_an_entity_with_its_number(
    code: str, role: OwnerRole
) -> None:
    read = people(
        a_role(code, "Ord", person=a_person("Kari", "Prøve", "Testesen")),
        a_role(code, "Ord", enhet=PROVEN),
        a_role(code, "Ord", enhet={"navn": "PRØVE, TEST KOMMUNE"}),
    )

    alike: Any = {"role": role, "role_text": "Ord"}
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

    assert [role.role for role in read.roles] == list(RoleCode)
    assert read.roles[-2] == Role(
        role=RoleCode.AUDITOR,
        role_text="Revisor",
        name="PRØVEN HOLDING AS",
        type="company",
        vat="310345687",
    )
    assert read.owners is None, "the register keeps no shareholders"


def test_members_of_other_bodies_and_former_members_have_no_role() -> None:
    groups = [
        {"type": {"kode": "KONT"}, "roller": [a_role("MEDL"), a_role("KONT")]},
        {"type": {"kode": "STYR"}, "roller": [a_role("MEDL", fratraadt=True)]},
        {"type": {"kode": "BOBE"}, "roller": [a_role("BOBE")]},
    ]

    assert people(rollegrupper=groups).roles == ()


def test_the_order_of_roles_does_not_depend_on_the_document() -> None:
    members = [a_role("DAGL", person=a_person(name, "Testesen")) for name in ("Bo", "Anna", "Bo")]

    read = people(*members)

    assert [role.name for role in read.roles] == ["Anna Testesen", "Bo Testesen"]
    assert people(*reversed(members)).roles == read.roles


def test_birth_dates_are_not_stored() -> None:
    read = people(a_role(), a_role("LEDE"), a_role("DAGL"), a_role("REVI"))

    assert len(read.owners) == 1
    assert "1970" not in repr(read)
