"""The ledger of CVR: each member of its documents and each code, read as or left out because.

Collected from documents, public clients and code lists. Texts that are folded before they are read
(statuses, bodies, functions) have their lists in `codes`, and tell an unknown word as odd.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from ingest.records.fields import Document
from ingest.records.ledger import Ledger, Members, Values
from ingest.registers.cvr.codes import (
    BOARD_AND_DIRECTION,
    BOARD_FUNCTIONS,
    BOARDS,
    BODIES,
    FUNCTIONS,
    HOLDER_TYPES,
    NOTICES,
    OTHER_REGISTERS,
    PARTNERS,
    PROCEDURES,
    REGISTER_OF_OWNERS,
    RELATIONS,
    STATUSES,
    Kind,
)
from ingest.registers.cvr.companies import CompanyRelation, CvrUnit, UnitMetadata
from ingest.registers.cvr.company_documents import (
    CompanyForm,
    CompanyMetadata,
    CvrCompany,
    ListedUnit,
    StatusWord,
)
from ingest.registers.cvr.dated_values import Dated, Period
from ingest.registers.cvr.decrees import CourtNotice
from ingest.registers.cvr.documents import (
    Contact,
    CvrAddress,
    Employment,
    Industry,
    Municipality,
    Name,
    unwrapped,
)
from ingest.registers.cvr.memberships import (
    Attribute,
    AttributeValue,
    Member,
    Organisation,
    Participant,
    Relation,
    Residence,
)
from ingest.registers.cvr.reorganisations import GivenReorganisation

_INTERNAL: Final = "a key of the register's own database"
_ADMINISTRATION: Final = "how the register keeps the document, not the company"
_REPEATED: Final = "the register's summary of a history that is read"

_DATED: Final = {
    "periode": "the days of a value",
    "sidstOpdateret": "which of two values of one day is newer",
}
#: The paths of a company and of a unit.
_DOCUMENT: Final = {
    "navne": "name, former_names",
    "beliggenhedsadresse": "address",
    "postadresse": "postal_address",
    "telefonNummer": "phone, phones",
    "sekundaertTelefonNummer": "phones",
    "elektroniskPost": "email",
    **dict.fromkeys(("telefaxNummer", "sekundaertTelefaxNummer"), "fax"),
    "livsforloeb": "founded, ended; started of a unit",
    "hovedbranche": "industry",
    **dict.fromkeys(("bibranche1", "bibranche2", "bibranche3"), "secondary_industries"),
    **dict.fromkeys(
        (
            "aarsbeskaeftigelse", "erstAarsbeskaeftigelse", "kvartalsbeskaeftigelse",
            "maanedsbeskaeftigelse", "erstMaanedsbeskaeftigelse",
        ),
        "employees, by the newest count",
    ),
    "reklamebeskyttet": "advertising_protected",
    "fejlRegistreret": "a document that the register has withdrawn",
    "sidstOpdateret": "source.updated_at",
    "sidstIndlaest": "the version of the document",
}  # fmt: skip
_DOCUMENT_LEFT_OUT: Final = {
    **dict.fromkeys(("enhedsNummer", "enhedstype", "samtId", "dataAdgang"), _INTERNAL),
    **dict.fromkeys(
        (
            "naermesteFremtidigeDato", "harFremtidigAendring", "virkningsAktoer",
            "brancheAnsvarskode", "fortroligBeriget",
        ),
        _ADMINISTRATION,
    ),
    "erstKvartalsbeskaeftigelse": "the counts by month and year of the same source are read",
    "obligatoriskEmail": "for authorities only, not for the public",
}  # fmt: skip
_METADATA: Final = {
    "nyesteNavn": "name, where the history is empty",
    "nyesteBeliggenhedsadresse": "address, where the history is empty",
    "nyesteHovedbranche": "industry, where the history is empty",
    **dict.fromkeys(
        (
            "nyesteErstMaanedsbeskaeftigelse", "nyesteMaanedsbeskaeftigelse",
            "nyesteKvartalsbeskaeftigelse", "nyesteErstAarsbeskaeftigelse",
            "nyesteAarsbeskaeftigelse",
        ),
        "employees, where the history is empty",
    ),
    "nyesteStatus": "status, where there are no notices of courts",
    "sammensatStatus": "status, status_text",
}  # fmt: skip
_METADATA_LEFT_OUT: Final = {
    **dict.fromkeys(
        (
            "nyesteBibranche1", "nyesteBibranche2", "nyesteBibranche3", "nyesteKontaktoplysninger",
            "antalPenheder", "virkningsDato", "nyestePostadresse",
        ),
        _REPEATED,
    ),
    "nyesteFadCprnumre": "personal numbers, which are never read (docs/privacy.md)",
}  # fmt: skip

MEMBERS: Final[Mapping[type[Document], Members]] = {
    CvrCompany: Members(
        {
            **_DOCUMENT,
            "cvrNummer": "vat",
            "binavne": "trade_names",
            "hjemmeside": "website",
            "fejlVedIndlaesning": "remarks",
            "fejlBeskrivelse": "remarks",
            "status": "status, by the notices of courts",
            "virksomhedsstatus": "status, status_text, status_since",
            "virksomhedsform": "form",
            "attributter": "capital, purpose and others, by type",
            "penheder": "production_units",
            "deltagerRelation": "owners, roles, founders, parent",
            "fusioner": "merged_into, merged_from",
            "spaltninger": "merged_into, merged_from",
            "virksomhedMetadata": "what the history does not have",
        },
        {
            **_DOCUMENT_LEFT_OUT,
            "regNummer": "numbers of before 1999, which nobody asks for",
            **dict.fromkeys(("stiftelsesDato", "virkningsDato"), "the summary has it"),
        },
    ),
    CvrUnit: Members(
        {
            **_DOCUMENT,
            "pNummer": "number",
            "virksomhedsrelation": "the company of the unit",
            "produktionsEnhedMetadata": "what the history does not have",
        },
        {
            **_DOCUMENT_LEFT_OUT,
            "attributter": "a unit's only tell of its role in the company, as its status does",
            **dict.fromkeys(
                ("hjemmeside", "binavne"),
                "a unit of the answer has no such field",
            ),
            "deltagerRelation": "the company's has the participants",
            **dict.fromkeys(("fejlVedIndlaesning", "fejlBeskrivelse"), _ADMINISTRATION),
        },
    ),
    CompanyMetadata: Members(
        {
            **_METADATA,
            "nyesteVirksomhedsform": "form, where the history is empty",
            "nyesteBinavne": "trade_names, where the history is empty",
            "stiftelsesDato": "founded, where the history is empty",
        },
        _METADATA_LEFT_OUT,
    ),
    UnitMetadata: Members(
        {**_METADATA, "nyesteCvrNummerRelation": "the company, where the history is empty"},
        _METADATA_LEFT_OUT,
    ),
    Period: Members({"gyldigFra": "first days", "gyldigTil": "last days"}),
    Dated: Members(_DATED),
    Name: Members({**_DATED, "navn": "name"}),
    Contact: Members(
        {
            **_DATED,
            "kontaktoplysning": "phone, fax, email, website",
            "hemmelig": "whether it is left out as secret",
        }
    ),
    CvrAddress: Members(
        {
            **_DATED,
            "landekode": "country",
            "fritekst": "street, postal_code, city of an address abroad",
            **dict.fromkeys(
                (
                    "vejnavn",
                    "husnummerFra",
                    "husnummerTil",
                    "bogstavFra",
                    "bogstavTil",
                    "etage",
                    "sidedoer",
                    "postboks",
                ),
                "street",
            ),
            "conavn": "co",
            "bynavn": "district",
            "postnummer": "postal_code",
            "postdistrikt": "city",
            "adresseId": "id",
            "kommune": "municipality",
        },
        {
            "vejkode": "the register of roads' key; id is that of the whole address",
            "sidstValideret": _ADMINISTRATION,
        },
    ),
    Municipality: Members(
        {"kommuneKode": "municipality_code", "kommuneNavn": "municipality"},
        {
            "periode": "the municipality's days, not the address's",
            "sidstOpdateret": _ADMINISTRATION,
        },
    ),
    Industry: Members(
        {**_DATED, "branchekode": "industry.code", "branchetekst": "industry.description"}
    ),
    Employment: Members(
        {
            **dict.fromkeys(("aar", "kvartal", "maaned"), "employees.as_of"),
            "antalAnsatte": "employees.exact",
            "intervalKodeAntalAnsatte": "employees.min, employees.max",
            "antalAarsvaerk": "employees.full_time_equivalents.exact",
            "intervalKodeAntalAarsvaerk": "employees.full_time_equivalents",
            "antalInklusivEjere": "employees.including_owners",
            "intervalKodeAntalInklusivEjere": "employees.including_owners",
        },
        {
            "sidstOpdateret": "counts are ordered by what they count",
            "periode": "counts have a year and a month",
        },
    ),
    CourtNotice: Members(
        {
            **_DATED,
            "statuskode": "status, by the effect of the notice",
            "statustekst": "status, by the effect of the notice",
            "kreditoplysningkode": "status",
            "kreditoplysningtekst": "status_text",
        }
    ),
    StatusWord: Members({**_DATED, "status": "status, status_text"}),
    CompanyForm: Members(
        {
            **_DATED,
            "virksomhedsformkode": "form.code",
            "kortBeskrivelse": "form.short",
            "langBeskrivelse": "form.description",
        },
        {"ansvarligDataleverandoer": "the authority behind the code"},
    ),
    Attribute: Members(
        {"type": "which field it is", "vaerdier": "its values"},
        {"sekvensnr": _INTERNAL, "vaerditype": "each type of attributes has one type of values"},
    ),
    AttributeValue: Members({**_DATED, "vaerdi": "the value"}, {"sidstIndlaest": _ADMINISTRATION}),
    ListedUnit: Members({**_DATED, "pNummer": "production_units"}),
    CompanyRelation: Members({**_DATED, "cvrNummer": "the company of the unit"}),
    Relation: Members(
        {"deltager": "holder", "organisationer": "owners, roles, founders, parent"},
        {"kontorsteder": "the offices of auditors"},
    ),
    Participant: Members(
        {
            "enhedsNummer": "two holders of one name; goes no further",
            "enhedstype": "type",
            "forretningsnoegle": "vat, of a company",
            "beliggenhedsadresse": "country, and nothing else",
            "navne": "name",
        },
        {
            **dict.fromkeys(
                (
                    "postadresse",
                    "adresseHemmelig",
                    "adresseHemmeligUndtagelse",
                    "adresseOpdateringOphoert",
                ),
                "addresses of holders are never read (docs/privacy.md)",
            ),
            "organisationstype": "empty in every document that was seen",
            **dict.fromkeys(
                ("sidstIndlaest", "sidstOpdateret", "fortroligBeriget"), _ADMINISTRATION
            ),
        },
    ),
    Residence: Members(
        {**_DATED, "landekode": "country of an owner"},
        dict.fromkeys(
            (
                "fritekst",
                "vejkode",
                "vejnavn",
                "husnummerFra",
                "husnummerTil",
                "bogstavFra",
                "bogstavTil",
                "etage",
                "sidedoer",
                "conavn",
                "postboks",
                "bynavn",
                "postnummer",
                "postdistrikt",
                "adresseId",
                "kommune",
                "sidstValideret",
            ),
            "addresses of holders are never read (docs/privacy.md)",
        ),
    ),
    Organisation: Members(
        {
            "hovedtype": "which list it belongs to",
            "organisationsNavn": "role, role_text",
            "medlemsData": "owners, roles",
        },
        {
            "enhedsNummerOrganisation": _INTERNAL,
            "attributter": "of the body itself; those of its members are read",
        },
    ),
    Member: Members({"attributter": "role, share, votes, since"}),
    GivenReorganisation: Members(
        {
            "enhedsNummerOrganisation": "the number that all parties share",
            "organisationsNavn": "the day, without other days",
            "indgaaende": "the side of the company",
            "udgaaende": "the side of the company",
        }
    ),
}

#: Types of attributes, of a company and of a member; other objects have the same shape.
_ATTRIBUTES: Final = {
    "KAPITAL": "capital.amount",
    "KAPITALVALUTA": "capital.currency",
    "FORMÅL": "purpose",
    "TEGNINGSREGEL": "signing_rule",
    "REGNSKABSÅR_START": "financial_year.start",
    "REGNSKABSÅR_SLUT": "financial_year.end",
    "REVISION_FRAVALGT": "audit_waived",
    "VEDTÆGT_SENESTE": "articles_dated",
    "BØRSNOTERET": "listed",
    "FUNKTION": "role, role_text",
    "EJERANDEL_PROCENT": "share",
    "EJERANDEL_STEMMERET_PROCENT": "votes",
    "EJERANDEL_MEDDELELSE_DATO": "reported_on",
    "EJERANDEL_KAPITALKLASSE": "share_class",
    "SÆRLIGE_EJERFORHOLD": "conditions",
    "VALGFORM": "elected_by, elected_by_text",
    **dict.fromkeys(
        ("KOMPLEMENTAR_INDSKUDSKAPITAL", "KOMPLEMENTAR_INDSKUDSVALUTA"), "contribution"
    ),
    **dict.fromkeys(
        ("FØRSTE_REGNSKABSPERIODE_START", "FØRSTE_REGNSKABSPERIODE_SLUT"), "financial_year.first"
    ),
    **dict.fromkeys(
        ("OMLÆGNINGSPERIODE_START", "OMLÆGNINGSPERIODE_SLUT"), "financial_year.adjusted"
    ),
    "KAPITAL_DELVIST": "capital.paid_in, capital.fully_paid",
    "KAPITALKLASSER": "capital.has_classes",
    "EJERREGISTRERING_UNDER_5_PROCENT": "minor_owners",
    "STATSLIG_VIRK": "state_owned",
    "OMFATTET_AF_LOV_OM_HVIDVASK_OG_TERRORFINANSIERING": "aml_obliged",
    "SOCIAL_ØKONOMISK_VIRKSOMHED": "social_enterprise",
    "OPLØSNINGSTRUSSEL_SENESTE": "dissolution.warned",
    "GENOPTAGELSE_TVANGSOPLØSNING": "dissolution.resumed",
}
_ATTRIBUTES_LEFT_OUT: Final = {
    **dict.fromkeys(
        (
            "BYGNINGSNUMMER", "FINANSIELT_FORMÅL", "FINANSIEL_DELTYPE", "STADFÆSTET_AF",
            "STADFÆSTELSESDATO", "OFFENTLIG_EJERBOG", "TILSYN_KATEGORI", "MYNDIGHED_ANDEN",
            "SØV_IEF_TILSYN", "SØV_IEF_TILSYN_TEKST", "TILLADELSESDATO_FONDSMYNDIGHED",
            "OVERTAGET_AF_FINANSIEL_STABILITET", "KONCESSIONSDATO", "REGNSKABSÅR_FRITEKST",
            "HJEMLANDS_VIRKSOMHEDSBETEGNELSE", "HJEMLANDS_REGISTRERINGSNØGLE",
            "EJERANDEL_SOM_PANT_STEMMERET_PROCENT", "SÆRLIGE_EJERFORHOLD_BESKRIVELSE",
            "UDNÆVNT_AF", "SUPPLEANT_FOR_DELTAGER_NR",
        ),
        "the answer has no such field",
    ),
    **dict.fromkeys(
        (
            "PSEUDOCVRNR", "ARKIV_REGISTRERINGSNUMMER", "NAVN_IDENTITET", "REGISTRERINGSNUMMER",
            "EJERANDEL_DOKUMENT_ID",
        ),
        _INTERNAL,
    ),
    **dict.fromkeys(
        ("BINAVNE", "VIRKSOMHEDSSTATUS", "REGISTRERING_LIKVIDATION", "STIFTET_FØR_1900"),
        "the document's own histories have it",
    ),
    **dict.fromkeys(
        (
            "BETYDELIG_INDFLYDELSE_VIA_ROLLE", "KAN_IKKE_IDENTIFICERE_REELLE_EJERE",
            "BEGUNSTIGET_GRUPPE", "BEGUNSTIGET_RETSKRAV",
        ),
        "beneficial owners are not read",
    ),
    **dict.fromkeys(
        (
            "HVIDVASK_VEKSELKONTOR_FRANCHISE_FOR", "HVIDVASK_VALUTAHANDEL_FRANCHISE_FOR",
            "REVISOR_REGISTRERING_STEMMEANDEL_INDEHAVERTYPE",
            "REVISOR_REGISTRERING_STEMMEANDEL_PROCENT",
            "REVISOR_REGISTRERING_STEMMEANDEL_INDEHAVERUNDTAGELSE",
            "REVISOR_REGISTRERING_GODKENDT8DIREKTIV",
        ),
        "of the registers of auditors and of money laundering",
    ),
    "STIFTELSESINFORMATION": "what a founder paid in",
    "FORRETNINGSADRESSE": "addresses of holders are never read (docs/privacy.md)",
}  # fmt: skip

_FORMS: Final = (
    "10", "15", "20", "30", "40", "45", "50", "60", "70", "80", "81", "90", "95", "100", "110",
    "115", "130", "140", "150", "151", "152", "160", "170", "180", "190", "195", "196", "200",
    "210", "220", "230", "235", "240", "245", "250", "260", "270", "280", "285", "290", "291",
    "520", "990",
)  # fmt: skip

#: Classes of the number of employees; the last one is written in two ways.
_CLASSES: Final = tuple(
    f"ANTAL_{bounds}"
    for bounds in (
        "0_0", "1_1", "2_4", "5_9", "10_19", "20_49", "50_99", "100_199", "200_499", "500_999",
        "1000_", "1000_999999",
    )
)  # fmt: skip

VALUES: Final = (
    Values(Attribute, "type", _ATTRIBUTES, _ATTRIBUTES_LEFT_OUT),
    Values(
        Organisation,
        "hovedtype",
        {word: kind.value for word, kind in RELATIONS.items() if kind is not Kind.LEFT_OUT},
        {word: kind.value for word, kind in RELATIONS.items() if kind is Kind.LEFT_OUT},
        is_told=True,
    ),
    Values(
        Organisation,
        "organisationsNavn",
        {
            **dict.fromkeys([*sorted(BOARDS), BOARD_AND_DIRECTION], "role, by the function"),
            **{word: code.value for word, code in BODIES.items()},
            REGISTER_OF_OWNERS: "owners",
        },
        dict.fromkeys(
            ("STIFTERE", "INTERESSENTER", "REVISION", "HOVEDSELSKAB", "HVIDVASK"),
            "the type of the relation says which list it is",
        )
        | dict.fromkeys(OTHER_REGISTERS, "registers of which nothing is read")
        | dict.fromkeys(
            ("EJERREGISTERX", "REELLE EJEREX"),
            "nothing public says what they are; told as odd",
        ),
        is_told=True,
    ),
    Values(
        Member,
        "attributter",
        {word: code.value for word, code in (BOARD_FUNCTIONS | FUNCTIONS).items()}
        | {word: role.value for word, role in PARTNERS.items()},
        is_told=True,
    ),
    Values(
        StatusWord,
        "status",
        {word: status.value for word, status in STATUSES.items()},
        is_told=True,
    ),
    Values(CompanyForm, "virksomhedsformkode", dict.fromkeys(_FORMS, "form")),
    Values(
        Participant,
        "enhedstype",
        {word.replace(" ", "_"): f"type {one}" for word, one in HOLDER_TYPES.items()},
        {"PRODUKTIONSENHED": "type other"},
    ),
    Values(
        Attribute,
        "vaerditype",
        {},
        dict.fromkeys(
            ("string", "date", "decimal", "boolean", "gMonthDay", "integer"),
            "each type of attributes has one type of values",
        ),
    ),
    *(
        Values(Employment, f"intervalKodeAntal{counted}", dict.fromkeys(_CLASSES, "employees"))
        for counted in ("Ansatte", "Aarsvaerk", "InklusivEjere")
    ),
    Values(CourtNotice, "statuskode", {code: one.effect.value for code, one in NOTICES.items()}),
    Values(
        CourtNotice,
        "kreditoplysningkode",
        {code: status.value for code, (_, status) in PROCEDURES.items()},
    ),
)

COMPANIES: Final = Ledger.of(
    CvrCompany, MEMBERS, VALUES, partial(unwrapped, document="Vrvirksomhed", number="cvrNummer")
)
UNITS: Final = Ledger.of(
    CvrUnit, MEMBERS, VALUES, partial(unwrapped, document="VrproduktionsEnhed", number="pNummer")
)
