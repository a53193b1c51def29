"""The words of the Danish register for status, roles, addresses and identifiers."""

from typing import Any

import pytest

from common.contracts.company import Founder, OwnerRole, RoleCode, Status
from ingest.records.records import CompanyRecord
from ingest.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from tests.builders.companies import contents, parsed
from tests.builders.registers import (
    a_contact,
    a_cvr_address,
    a_cvr_company,
    a_cvr_unit,
    a_function,
    a_relation,
    held,
    industry,
    legal_ownership,
)

LIVING, OVER = ("1999-11-15", None), ("1999-11-15", "2012-06-30")


def company(**fields: Any) -> Any:
    return contents(parsed(DK_COMPANIES, a_cvr_company(**fields)))


STATUS_WORDS = {
    Status.ACTIVE: "NORMAL, Aktiv, UNDER REASSUMERING, UNDERREASUMMERING, FREMTID",
    Status.BANKRUPT: "UNDER KONKURS, UNDERKONKURS, UNDER_KONKURS",
    Status.UNDER_LIQUIDATION: (
        "UNDER_TVANGSOPLØSNING, UNDER TVANGSOPLOESNING, UNDERTVANGSOPLØSNING, TVANGSOPLØSNING, "
        "UNDER FRIVILLIG LIKVIDATION, UNDERFRIVILLIGLIKVIDATION, UNDERLIKVIDATION"
    ),
    Status.UNDER_RECONSTRUCTION: "UNDER REKONSTRUKTION, UNDERREKONSTRUKTION",
    Status.ENDED: (
        "TVANGSOPLØST, OPLØST EFTER ERKLÆRING, OPLØSTEFTERKONKURS, SLETTET, Ophørt, LUKKET, "
        "OPLOEST_EFTER_GRAENSEOVERSKRIDENDE_FUSION, UDEN RETSVIRKNING, UDENRETSVIRKNING"
    ),
}


@pytest.mark.parametrize(
    "word,status",
    [(word, status) for status, words in STATUS_WORDS.items() for word in words.split(", ")],
)
def test_each_word_for_the_status_has_its_meaning_in_either_field(
    word: str, status: Status
) -> None:
    read = company(virksomhedsstatus=[held("2001-02-03", status=word)])
    summed_up = company(virksomhedsstatus=[], virksomhedMetadata={"sammensatStatus": word})

    assert (read.status, read.status_text, read.status_since) == (status, word, "2001-02-03")
    assert (summed_up.status, summed_up.status_text, summed_up.odd) == (status, word, ())


@pytest.mark.parametrize("life,status", [(LIVING, Status.ACTIVE), (OVER, Status.ENDED)])
@pytest.mark.parametrize(
    "where,field",
    [
        (
            {"virksomhedsstatus": [held("2001-02-03", status="NOGET NYT")]},
            "virksomhedsstatus.status",
        ),
        (
            {"virksomhedsstatus": [], "virksomhedMetadata": {"sammensatStatus": "NOGET NYT"}},
            "sammensatStatus",
        ),
    ],
)
def test_an_unknown_word_is_shown_with_the_status_of_the_life_and_told(
    life: Any, status: Status, where: dict[str, Any], field: str
) -> None:
    read = company(livsforloeb=[held(*life)], **where)

    assert (read.status, read.status_text, read.odd) == (status, "NOGET NYT", (field,))


def decree(code: int, text: str, since: str, *, lifted: bool = False, **fields: Any) -> Any:
    decree = {"statuskode": 2 if lifted else 1, "kreditoplysningkode": code}
    return held(since, fields.pop("until", None), **decree, kreditoplysningtekst=text)


BANKRUPTCY = decree(1, "Konkurs", "2026-02-01")


@pytest.mark.parametrize(
    "decrees,status,text,since",
    [
        ([BANKRUPTCY], Status.BANKRUPT, "Konkurs", "2026-02-01"),
        (
            [decree(3, "Tvangsakkord", "2026-02-01")],
            Status.UNDER_RECONSTRUCTION,
            "Tvangsakkord",
            "2026-02-01",
        ),
        (
            [BANKRUPTCY, decree(1, "Konkurs", "2026-03-01", lifted=True)],
            Status.ACTIVE,
            "Aktiv",
            "1999-11-15",
        ),
        (
            [decree(1, "Konkurs", "2020-02-01", until="2020-12-31")],
            Status.ACTIVE,
            "Aktiv",
            "1999-11-15",
        ),
        ([decree(7, "Noget nyt", "2026-02-01")], Status.ACTIVE, "Noget nyt", "2026-02-01"),
        ([], Status.ACTIVE, "Aktiv", "1999-11-15"),
    ],
)
def test_a_sole_proprietor_has_the_status_of_the_decrees_of_courts(
    decrees: Any, status: Status, text: str, since: str
) -> None:
    summary = {"sammensatStatus": "Aktiv"}
    read = company(virksomhedsstatus=[], status=decrees, virksomhedMetadata=summary)
    of_summary = company(
        virksomhedsstatus=[],
        status=[],
        virksomhedMetadata={**summary, "nyesteStatus": decrees[-1] if decrees else None},
    )

    assert (read.status, read.status_text, read.status_since) == (status, text, since)
    assert (of_summary.status, of_summary.status_text) == (status, text)
    assert read.odd == (("status.kreditoplysningkode",) if text == "Noget nyt" else ())


def test_a_decree_does_not_outdo_another_status_or_the_end() -> None:
    liquidated = company(
        virksomhedsstatus=[held("2001-01-01", status="UNDER TVANGSOPLØSNING")], status=[BANKRUPTCY]
    )
    ended = company(livsforloeb=[held(*OVER)], status=[BANKRUPTCY])

    assert (liquidated.status, ended.status) == (Status.UNDER_LIQUIDATION, Status.ENDED)
    assert ended.status_since == "2012-06-30"


ROLES = [
    ("LEDELSESORGAN/Direktion", "DIREKTION", RoleCode.DIRECTOR),
    ("LEDELSESORGAN/Direktion", "adm. dir", RoleCode.DIRECTOR),
    ("LEDELSESORGAN/Daglig ledelse", "DAGLIG LEDELSE", RoleCode.DIRECTOR),
    ("LEDELSESORGAN/Bestyrelse", "formand", RoleCode.BOARD_CHAIR),
    ("LEDELSESORGAN/Bestyrelse", "Næstformand", RoleCode.BOARD_DEPUTY_CHAIR),
    ("LEDELSESORGAN/Bestyrelse", "BESTYRELSE", RoleCode.BOARD_MEMBER),
    ("LEDELSESORGAN/Bestyrelse", "BESTYRELSESMEDLEM", RoleCode.BOARD_MEMBER),
    ("LEDELSESORGAN/Hovedbestyrelse", "MEDLEM", RoleCode.BOARD_MEMBER),
    ("LEDELSESORGAN/Bestyrelse", "SUPPLEANT", RoleCode.BOARD_DEPUTY_MEMBER),
    ("LEDELSESORGAN/Bestyrelse", "OBSERVATØR", RoleCode.BOARD_OBSERVER),
    ("LEDELSESORGAN/Forretningsudvalg", "FORRETNINGSUDVALG", RoleCode.BOARD_MEMBER),
    ("LEDELSESORGAN/Filialbestyrere", "FILIALBESTYRERE", RoleCode.BRANCH_MANAGER),
    ("LEDELSESORGAN/Tilsynsråd", "TILSYNSRÅD", RoleCode.SUPERVISORY_BOARD_MEMBER),
    ("LEDELSESORGAN/Likvidator", "LIKVIDATOR", RoleCode.OTHER),
    ("REVISION/Revision", "REVISION", RoleCode.AUDITOR),
    (
        "REVISION/Bæredygtighedsrevision",
        "BÆREDYGTIGHEDSREVISION",
        RoleCode.SUSTAINABILITY_AUDITOR,
    ),
    ("REVISION/Revision", "Bæredygtighedsrevisor", RoleCode.SUSTAINABILITY_AUDITOR),
    ("TEGNINGSBERETTIGEDE/Tegningsberettigede", "PROKURA", RoleCode.SIGNATORY),
    ("SÆRLIGE_FINANSIELLE_DELTAGERE/Særlige", "DELTAGER", RoleCode.OTHER),
]


@pytest.mark.parametrize("body,word,role", ROLES)
def test_each_body_has_its_roles(body: str, word: str, role: RoleCode) -> None:
    read = company(deltagerRelation=[a_function(body, word)])

    [found] = read.roles
    assert (found.role, found.role_text, found.since) == (role, word, "2001-01-01")
    assert (found.name, found.type) == ("Anna Testesen", "person")
    assert (read.owners, read.odd) == ((), ())


@pytest.mark.parametrize(
    "body,field",
    [
        ("LEDELSESORGAN/Ældreråd", "deltagerRelation.organisationer.organisationsNavn"),
        ("NYT_ORGAN/Nyt organ", "deltagerRelation.organisationer.hovedtype"),
    ],
)
def test_an_unknown_role_has_its_own_text_and_is_told(body: str, field: str) -> None:
    read = company(deltagerRelation=[a_function(body, "ÆLDSTE")])

    [found] = read.roles
    assert (found.role, found.role_text, read.odd) == (RoleCode.OTHER, "ÆLDSTE", (field,))


@pytest.mark.parametrize(
    "form,body,word,role",
    [
        (30, "FULDT_ANSVARLIG_DELTAGERE/Interessenter", "INTERESSENTER", OwnerRole.PARTNER),
        (40, "FULDT_ANSVARLIG_DELTAGERE/Interessenter", "INTERESSENTER", OwnerRole.GENERAL_PARTNER),
        (70, "FULDT_ANSVARLIG_DELTAGERE/Interessenter", "INTERESSENTER", OwnerRole.GENERAL_PARTNER),
        (40, "FULDT_ANSVARLIG_DELTAGERE/K", "KOMPLEMENTARER", OwnerRole.GENERAL_PARTNER),
        (60, "LEDELSESORGAN/Direktion", "KOMPLEMENTARER", OwnerRole.GENERAL_PARTNER),
        (10, "FULDT_ANSVARLIG_DELTAGERE/Indehaver", "Indehaver", OwnerRole.SOLE_PROPRIETOR),
        (10, "INDEHAVER/Indehaver", "INDEHAVER", OwnerRole.SOLE_PROPRIETOR),
        (50, "FULDT_ANSVARLIG_DELTAGERE/Redere", "REDER", OwnerRole.PARTNER),
    ],
)
def test_each_partner_is_an_owner_without_a_share(
    form: int, body: str, word: str, role: OwnerRole
) -> None:
    forms = [held("1999-11-15", virksomhedsformkode=form)]
    read = company(virksomhedsform=forms, deltagerRelation=[a_function(body, word)])

    [owner] = read.owners
    assert (owner.role, owner.role_text, owner.share) == (role, word, None)
    assert (read.roles, read.odd) == ((), ())


FIRM: Any = {
    "enhedstype": "VIRKSOMHED",
    "forretningsnoegle": 1234567,
    "navne": [held(None, navn="HQ")],
}
PERSON: Any = {}
FOREIGN: Any = {"enhedstype": "ANDEN_DELTAGER", "navne": [held(None, navn="HQ Ltd")]}


def test_the_main_company_of_a_branch_is_its_parent_and_is_a_role_without_a_number() -> None:
    danish = company(deltagerRelation=[a_function("HOVEDSELSKAB/Hovedselskab", "H", **FIRM)])
    foreign = company(deltagerRelation=[a_function("HOVEDSELSKAB/Hovedselskab", "H", **FOREIGN)])
    former = company(
        deltagerRelation=[a_function("HOVEDSELSKAB/Hovedselskab", "H", "2016-01-01", **FIRM)]
    )

    assert (danish.parent, danish.roles) == ("01234567", ())
    [role] = foreign.roles
    assert (foreign.parent, role.role, role.name) == (None, RoleCode.OTHER, "HQ Ltd")
    assert (former.parent, former.roles, danish.odd, foreign.odd) == (None, (), (), ())


def test_only_companies_are_shown_as_founders() -> None:
    founders = [
        a_function("STIFTERE/Stiftere", "STIFTERE", **each) for each in (FIRM, FOREIGN, PERSON)
    ]

    assert company(deltagerRelation=founders).founders == (Founder(name="HQ", vat="01234567"),)
    assert company(deltagerRelation=[]).founders == ()
    assert company(deltagerRelation=None).founders is None


@pytest.mark.parametrize(
    "written,shown",
    [
        ("APS", "ApS"),
        ("A/S", "A/S"),
        ("I/S", "I/S"),
        ("K/S", "K/S"),
        ("KAS", "P/S"),
        ("IVS", "IVS"),
    ],
)
def test_a_form_has_the_abbreviation_that_companies_write(written: str, shown: str) -> None:
    forms = [held("1999-11-15", virksomhedsformkode=80, kortBeskrivelse=written)]

    assert company(virksomhedsform=forms).form.short == shown


ABROAD: Any = dict.fromkeys(("vejnavn", "husnummerFra", "postnummer", "postdistrikt", "kommune"))


@pytest.mark.parametrize(
    "country,text,street,postal_code,city,line",
    [
        ("SE", "Testgatan 1, 211 20 Malmö", "Testgatan 1", "211 20", "Malmö", "Sverige"),
        ("SE", "Testgatan 1\nSE-211 20 MALMÖ\nSweden", "Testgatan 1", "211 20", "MALMÖ", "Sverige"),
        ("DE", "Teststrasse 5\nD-20095 Hamburg", "Teststrasse 5", "20095", "Hamburg", "Tyskland"),
        ("DE", "Teststrasse 5, 20095, Hamburg", "Teststrasse 5", "20095", "Hamburg", "Tyskland"),
        (
            "GB",
            "1 Test Street\nLondon SW1Y 4JU\nUK",
            "1 Test Street",
            "SW1Y 4JU",
            "London",
            "Storbritannien",
        ),
        ("FI", "Testikatu 1\nFIN-00100 Helsinki", "Testikatu 1", "00100", "Helsinki", "Finland"),
        (
            "US",
            "1 Test Ave, New York, NY 10001, USA",
            "1 Test Ave",
            "10001",
            "New York, NY",
            "USA",
        ),
    ],
)
def test_an_address_abroad_is_read_from_its_text(
    country: str, text: str, street: str, postal_code: str, city: str, line: str
) -> None:
    given = a_cvr_address(**ABROAD, landekode=country, fritekst=text)

    read = company(beliggenhedsadresse=[given]).address

    assert (read.street, read.postal_code, read.city) == (street, postal_code, city)
    assert (read.country, read.text.count(line)) == (country, 1)
    assert read.text.endswith(f", {line}")


@pytest.mark.parametrize(
    "texts,phones",
    [
        (["22334455/22334456"], ("22334455", "22334456")),
        (["22334455 / 91919191"], ("22334455", "91919191")),
        (["22334455, 22334456", "22334455"], ("22334455", "22334456")),
        (["22 33 44 55 og +45 22334456"], ("22334455", "22334456")),
        (["22/33.44.55"], ("22334455",)),
        (["+46 8/123 456 78"], ("+46812345678",)),
        (["22334455, lokal 12"], ("22334455",)),
    ],
)
def test_a_field_may_have_two_phone_numbers(texts: list[str], phones: tuple[str, ...]) -> None:
    contacts = [a_contact(text) for text in texts]
    read = company(telefonNummer=contacts, telefaxNummer=contacts[:1])
    unit = contents(parsed(DK_UNITS, a_cvr_unit(telefonNummer=contacts)))

    assert (read.phone, read.phones, read.fax) == (phones[0], phones, phones[0])
    assert (unit.phone, unit.phones) == (phones[0], phones)
    record = parsed(DK_COMPANIES, a_cvr_company(telefonNummer=contacts))
    assert isinstance(record, CompanyRecord)
    assert record.phones == tuple(phone for phone in phones if phone.isdecimal())


@pytest.mark.parametrize("codes", [["620100", "621000"], ["621000", "620100"]])
def test_of_codes_that_begin_on_one_day_the_current_list_wins(codes: list[str]) -> None:
    industries = [industry(code, "Programmering", "2025-01-01") for code in codes]
    read = company(hovedbranche=industries, bibranche1=industries)
    newest = {"nyesteHovedbranche": industry("011100")}
    by_summary = company(
        hovedbranche=[industry("015000", "A", "2025-01-01"), industry("011100", "B", "2025-01-01")],
        virksomhedMetadata=newest,
    )

    assert (read.industry.code, read.secondary_industries[0].code) == ("621000", "621000")
    assert by_summary.industry.code == "011100"


@pytest.mark.parametrize("given", [True, False, None])
def test_unknown_protection_is_neither_protected_nor_unprotected(given: Any) -> None:
    unit = contents(parsed(DK_UNITS, a_cvr_unit(reklamebeskyttet=given)))

    assert company(reklamebeskyttet=given).advertising_protected is given
    assert unit.advertising_protected is given


def test_an_owner_has_the_number_of_a_danish_company_and_no_other_identifier() -> None:
    vats = [
        company(deltagerRelation=[a_relation(legal_ownership("0.5"), **each)]).owners[0].vat
        for each in (FIRM, FOREIGN, {"forretningsnoegle": 4000123456})
    ]

    assert vats == ["01234567", None, None]
