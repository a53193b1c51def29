"""The ledger of the Norwegian register: each member of its documents, read as or left out because.

Collected from the register's files, interface and tables, and public clients. A role's code is
compared with the list in `roles`, which tells an unknown one as odd.
"""

from collections.abc import Mapping
from typing import Final

from common.contracts.company import ElectedBy
from ingest.records.fields import Document
from ingest.records.ledger import Ledger, Members, Values
from ingest.registers.brreg.documents import UNIT_FORMS, BrregAddress, Coded, FormerName, Unit
from ingest.registers.brreg.entities import (
    LANGUAGES,
    Annotation,
    Entity,
    FormAbroad,
    ShareCapital,
)
from ingest.registers.brreg.roles import (
    ELECTED_BY,
    OTHER_CODES,
    OWNER_CODES,
    ROLE_CODES,
    GivenRole,
    Link,
    Links,
    Person,
    PersonName,
    RoleGroup,
    RoleHolder,
    Roles,
    Trustee,
)

_LINKS: Final = dict.fromkeys(("_links", "links"), "addresses of the register's interface")
_COUNTED: Final = "employees.as_of"

#: The paths of an entity and of a unit.
_DOCUMENT: Final = {
    "organisasjonsnummer": "vat; number of a unit",
    "navn": "name",
    "historiskeNavn": "former_names",
    "organisasjonsform": "form",
    "postadresse": "postal_address",
    "naeringskode1": "industry",
    **dict.fromkeys(("naeringskode2", "naeringskode3", "hjelpeenhetskode"), "secondary_industries"),
    "antallAnsatte": "employees",
    "harRegistrertAntallAnsatte": "employees: withheld is not none",
    "registreringsdatoAntallAnsatteNAVAaregisteret": _COUNTED,
    "registreringsdatoantallansatteNAVAaregisteret": _COUNTED,
    "registreringsdatoAntallAnsatteNavAaregisteret": _COUNTED,
    **dict.fromkeys(("telefon", "mobil"), "phone, phones"),
    "epostadresse": "email",
    "hjemmeside": "website",
    "slettedato": "ended",
    "overordnetEnhet": "parent; the company of a unit",
    **dict.fromkeys(
        (
            "registreringsdatoEnhetsregisteret",
            "registreringsdatoenhetsregisteret",
            "registreringsdatoIEnhetsregisteret",
        ),
        "registered",
    ),
    **dict.fromkeys(("registrertIMvaregisteret", "registrertIMvaRegisteret"), "vat_registered"),
    "frivilligMvaRegistrertBeskrivelser": "voluntary_vat.activities",
    "registreringsdatoFrivilligMerverdiavgiftsregisteret": "voluntary_vat.since",
    **dict.fromkeys(
        (
            "registreringsdatoMerverdiavgiftsregisteret",
            "registreringsdatoMerverdiavgiftsregisteretEnhetsregisteret",
        ),
        "vat_registered_since, registrations",
    ),
}
_DOCUMENT_LEFT_OUT: Final = {
    **_LINKS,
    "respons_klasse": "which kind of document it is; the source says that",
    **dict.fromkeys(
        (
            "registreringsdatoAntallAnsatteEnhetsregisteret",
            "registreringsdatoantallansatteEnhetsregisteret",
        ),
        "when the count was copied; when it was counted is read",
    ),
}
_DISTRESS: Final = "status, status_since"
#: Paths of one kind of documents only; a table of units has some columns of entities.
_OF_ENTITIES: Final = {
    "forretningsadresse": "address",
    "kapital": "capital, shares",
    "vedtektsfestetFormaal": "purpose",
    "aktivitet": "activity",
    "vedtektsdato": "articles_dated",
    **dict.fromkeys(("fravalgRevisjonDato", "fravalgRevisjonBeslutningsDato"), "audit_waived"),
    "institusjonellSektorkode": "sector",
    "erIKonsern": "in_group",
    "maalform": "language",
    "paategninger": "remarks",
    "stiftelsesdato": "founded",
    **dict.fromkeys(
        (
            "registrertIForetaksregisteret", "registreringsdatoForetaksregisteret",
            "registrertIFrivillighetsregisteret", "registreringsdatoFrivillighetsregisteret",
            "registrertIStiftelsesregisteret", "registrertIPartiregisteret",
            "registreringsdatoPartiregisteret",
        ),
        "registrations",
    ),
    "sisteInnsendteAarsregnskap": "accounts",
    **dict.fromkeys(
        (
            "utenlandskRegisterNavn", "utenlandskRegisterAdresse", "registreringsnummerIHjemlandet",
            "underlagtLovgivningLandKode", "foretaksformIHjemlandet",
        ),
        "home_register",
    ),
    **dict.fromkeys(
        (
            "konkurs", "konkursdato", "underAvvikling", "underAvviklingDato",
            "underTvangsavviklingEllerTvangsopplosning", "tvangsavvikletPgaManglendeSlettingDato",
            "tvangsopplostPgaManglendeDagligLederDato", "tvangsopplostPgaManglendeRevisorDato",
            "tvangsopplostPgaManglendeRegnskapDato", "tvangsopplostPgaMangelfulltStyreDato",
            "underRekonstruksjonsforhandlingDato", "underUtenlandskInsolvensbehandlingDato",
        ),
        _DISTRESS,
    ),
}  # fmt: skip
_CODE: Final = {"kode": "code", "beskrivelse": "description"}

MEMBERS: Final[Mapping[type[Document], Members]] = {
    Entity: Members(
        {**_DOCUMENT, **_OF_ENTITIES},
        {
            **_DOCUMENT_LEFT_OUT,
            "underlagtLovgivningLand": "the name of a country whose code is read",
            "underlagtLovgivningLandkode": "the name of a country in older tables",
        },
    ),
    Unit: Members(
        {
            **_DOCUMENT,
            "beliggenhetsadresse": "address",
            "oppstartsdato": "started",
            "nedleggelsesdato": "ended",
            "datoEierskifte": "owner_changed",
        },
        {
            **_DOCUMENT_LEFT_OUT,
            **dict.fromkeys(
                (
                    "stiftelsesdato", "vedtektsdato",
                    "institusjonellSektorkode", "maalform", "paategninger",
                ),
                "a unit of the answer has no such field",
            ),
        },
    ),
    FormerName: Members(
        {"navn": "former_names", "fraDato": "first days", "tilDato": "last days"}
    ),
    Coded: Members(
        _CODE,
        {
            **_LINKS,
            "utgaatt": "the day on which a code was retired; companies keep it",
            "hjelpeenhetskode": "older files repeat it inside an industry",
        },
    ),
    BrregAddress: Members(
        {
            "adresse": "street, co",
            "postnummer": "postal_code",
            "poststed": "city",
            "kommune": "municipality",
            "kommunenummer": "municipality_code",
            "land": "country, where it has no code",
            "landkode": "country",
        }
    ),
    ShareCapital: Members(
        {
            "belop": "capital.amount",
            "innbetalt": "capital.amount, where only that is registered",
            "valuta": "capital.currency",
            "antallAksjer": "shares",
            "type": "capital.type",
            "innfortDato": "capital.since",
            "fulltInnbetalt": "capital.fully_paid",
        },
        {
            "bundet": "the answer has no such field",
        },
    ),
    Annotation: Members(
        {"infotype": "remarks.type", "tekst": "remarks.text", "innfoertDato": "remarks.since"}
    ),
    FormAbroad: Members({**_CODE, "beskrivelseBokmaal": "home_register.form"}, _LINKS),
    Roles: Members(
        {
            "organisasjonsnummer": "the company of the roles",
            "rollegrupper": "owners, roles",
            "_links": "the company of the roles, in a single response",
        },
        {"links": _LINKS["links"], "respons_klasse": "which kind of document it is"},
    ),
    Links: Members({"self": "the company of the roles"}, {"enhet": "the same"}),
    Link: Members({"href": "the company of the roles"}, {"templated": "of the interface"}),
    RoleGroup: Members(
        {"type": "which group it is", "roller": "owners, roles", "sistEndret": "group_changed"},
        _LINKS,
    ),
    GivenRole: Members(
        {
            "type": "role, role_text",
            **dict.fromkeys(("person", "enhet", "bostyrer"), "name, vat"),
            "ansvarsandel": "share",
            "valgtAv": "elected_by, elected_by_text",
            **dict.fromkeys(("fratraadt", "avregistrert"), "whether the role has ended"),
        },
        {
            **_LINKS,
            "rekkefolge": "roles are ordered by code and name",
            "fullmektige": "who acts for the holder, with an address",
        },
    ),
    Person: Members(
        {
            "navn": "name",
            "fodselsdato": "two persons of one name; goes no further",
            "erDoed": "whether the role has ended",
        },
        {"verge": "the guardian of a person is private (docs/privacy.md)"},
    ),
    PersonName: Members(dict.fromkeys(("fornavn", "mellomnavn", "etternavn"), "name")),
    Trustee: Members(
        {"navn": "name", "erDoed": "whether the role has ended"},
        {"postadresse": "addresses of persons are never read (docs/privacy.md)"},
    ),
    RoleHolder: Members(
        {
            "organisasjonsnummer": "vat",
            "navn": "name",
            "erSlettet": "whether the role has ended",
            "godkjenningsstatus": "approval",
        },
        {
            **_LINKS,
            "organisasjonsform": "the holder's own document has it",
        },
    ),
}  # fmt: skip

_FORMS: Final = dict.fromkeys(
    (
        "AS", "ASA", "ENK", "NUF", "ANS", "DA", "KS", "SA", "BA", "STI", "FLI", "BRL", "BBL",
        "ESEK", "SAM", "SF", "IKS", "KF", "FKF", "KOMM", "FYLK", "STAT", "ORGL", "ADOS", "KBO",
        "BO", "PK", "SPA", "GFS", "SE", "PRE", "ANNA", "UTLA", "PERS", "KIRK", "OPMV", "KTRF",
        "VPFO", "IKJP", "TVAM", "UTBG", "SÆR", "EOFG", "EØFG", "EOEFG", "SER",
    ),
    "form",
)  # fmt: skip

#: Groups of roles; most have the code of the roles in them.
_GROUPS: Final = {
    "STYR": "the board: the code of a role says which",
    **dict.fromkeys(
        (
            "DELT", "EIKM", "INNH", "KOMP", "DTPR", "DTSO", "SAM", "DAGL", "REVI", "REGN", "BOBE",
            "SIGN", "PROK", *OTHER_CODES,
        ),
        "role, by the code of a role",
    ),
}  # fmt: skip
#: Roles that public lists of the register have, and its open interface has not shown.
_OF_SUBSCRIBERS: Final = dict.fromkeys(
    (
        "AAFY", "AVKL", "BEDR", "ESGR", "ETDL", "FEMV", "FGRP", "FISJ", "FUSJ", "HLED", "HMDL",
        "HNST", "HVAR", "KDAT", "KEMN", "KGRL", "KMOR", "KNUF", "KOMK", "MVAG", "MVAU", "READ",
        "RFAD", "SREVA", "STFT", "UTBG", "VIFE",
    ),
    "not in the open interface; would be other, and told as odd",
)  # fmt: skip
_REMARKS: Final = ("NAVN", "FADR", "KONT", "DAGL", "FFØR", "REPR", "SAM")

VALUES: Final = (
    Values(Entity, "maalform", LANGUAGES),
    Values(Entity, "organisasjonsform", _FORMS, key="kode"),
    Values(Unit, "organisasjonsform", dict.fromkeys(UNIT_FORMS, "form"), key="kode"),
    Values(Annotation, "infotype", dict.fromkeys(_REMARKS, "remarks.type")),
    Values(RoleGroup, "type", _GROUPS, key="kode"),
    Values(
        GivenRole,
        "type",
        {code: role.value for code, role in ROLE_CODES.items()}
        | {code: role.value for code, role in OWNER_CODES.items()},
        _OF_SUBSCRIBERS,
        key="kode",
        is_told=True,
    ),
    Values(
        GivenRole,
        "valgtAv",
        {code: by.value for code, by in ELECTED_BY.items()} | {"A-AK": ElectedBy.OTHER.value},
        key="kode",
    ),
)

ENTITIES: Final = Ledger.of(Entity, MEMBERS, VALUES)
UNITS: Final = Ledger.of(Unit, MEMBERS, VALUES)
ROLES: Final = Ledger.of(Roles, MEMBERS, VALUES)
