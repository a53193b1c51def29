"""The code lists of CVR, and what is read of each value.

Words are folded (`fold_word`): the register writes one word in many ways. Sources are the public
descriptions of the register's own lists, and the words that occur in it.
"""

from enum import Enum
from typing import Final, NamedTuple

from common.contracts.company import HolderType, OwnerRole, RoleCode, Status

#: Statuses, by folded word without spaces and without a leading UNDER; a word may begin with one.
STATUSES: Final = {
    "NORMAL": Status.ACTIVE,
    "AKTIV": Status.ACTIVE,
    "REASSUMERING": Status.ACTIVE,
    "REASUMMERING": Status.ACTIVE,
    "REASUMERING": Status.ACTIVE,
    "FREMTID": Status.ACTIVE,
    "TVANGSOPLOSNING": Status.UNDER_LIQUIDATION,
    "FRIVILLIGLIKVIDATION": Status.UNDER_LIQUIDATION,
    "LIKVIDATION": Status.UNDER_LIQUIDATION,
    "REKONSTRUKTION": Status.UNDER_RECONSTRUCTION,
    "TVANGSAKKORD": Status.UNDER_RECONSTRUCTION,
    "KONKURS": Status.BANKRUPT,
    "OPHORT": Status.ENDED,
    "OPLOST": Status.ENDED,
    "TVANGSOPLOST": Status.ENDED,
    "SLETTET": Status.ENDED,
    "LUKKET": Status.ENDED,
    "UDENRETSVIRKNING": Status.ENDED,
}

#: The procedures that notices of courts are about (`kreditoplysningkode`): folded text, status.
PROCEDURES: Final = {
    "1": ("KONKURS", Status.BANKRUPT),
    "3": ("TVANGSAKKORD", Status.UNDER_RECONSTRUCTION),
}


class Effect(Enum):
    """The effect of a court's notice on its procedure."""

    OPENS = "opens"
    ENDS = "ends"
    NONE = "none"


class Notice(NamedTuple):
    """A type of notices of courts (`statuskode`): its folded text and its effect."""

    text: str
    effect: Effect
    #: The procedure on which it has the effect; None for each.
    procedure: Status | None = None


NOTICES: Final = {
    "1": Notice("DEKRET", Effect.OPENS),
    "2": Notice("OPHAEVELSE AF DEKRET", Effect.ENDS),
    "3": Notice("REGNSKAB OG BOAFSLUTNING", Effect.ENDS),
    "4": Notice("ANDRE MEDDELELSER", Effect.NONE),
    "5": Notice("INDKALDELSE TIL FORDRINGSPROVELSE", Effect.NONE),
    "6": Notice("SKIFTESAMLING", Effect.NONE),
    "7": Notice("ANDRE MEDDELELSER", Effect.NONE),
    "8": Notice("AABNING AF FORHANDLING", Effect.OPENS),
    "9": Notice("STADFAESTELSE", Effect.ENDS, Status.UNDER_RECONSTRUCTION),
}

#: Types of participants (`enhedstype`). Others are shown as `other`.
HOLDER_TYPES: Final[dict[str, HolderType]] = {
    "PERSON": "person",
    "VIRKSOMHED": "company",
    "ANDEN DELTAGER": "other",
}

REGISTER_OF_OWNERS: Final = "EJERREGISTER"
#: Registers of which nothing is read: of beneficial owners, and of auditors.
OTHER_REGISTERS: Final = (
    "REELLE EJERE",
    "REELLE EJERER",
    "REVISIONSVIRKSOMHEDREGISTER",
    "REVISIONSVIRKSOMHEDSTEMMEBERETTIGEDE",
    "REVISIONSVIRKSOMHEDUDENLANDSKEMYNDIGHEDER",
)


class Kind(Enum):
    """The meaning of a participant's relation (`hovedtype`)."""

    BODY = "members of a body of the company"
    PARTNERS = "owners with full liability"
    REGISTER = "owners, of the register of owners"
    FOUNDERS = "founders"
    PARENT = "the parent of a branch"
    AUDIT = "auditors"
    SUSTAINABILITY_AUDIT = "sustainability auditors"
    SIGNATORIES = "signatories"
    OTHER = "roles without a code of their own"
    LEFT_OUT = "no role in the company"


RELATIONS: Final = {
    "LEDELSESORGAN": Kind.BODY,
    "FULDT ANSVARLIG DELTAGERE": Kind.PARTNERS,
    "INDEHAVER": Kind.PARTNERS,
    "REGISTER": Kind.REGISTER,
    "STIFTERE": Kind.FOUNDERS,
    "HOVEDSELSKAB": Kind.PARENT,
    "REVISION": Kind.AUDIT,
    "BAEREDYGTIGHEDSREVISION": Kind.SUSTAINABILITY_AUDIT,
    "TEGNINGSBERETTIGEDE": Kind.SIGNATORIES,
    "SAERLIGE FINANSIELLE DELTAGERE": Kind.OTHER,
    "REPRAESENTANTER": Kind.OTHER,
    "HVIDVASK": Kind.LEFT_OUT,
    "FORSIKRINGER": Kind.LEFT_OUT,
    "FUSION": Kind.LEFT_OUT,
    "SPALTNING": Kind.LEFT_OUT,
}

#: The role of a partner, by the beginning of the folded function; otherwise partner.
PARTNERS: Final = {
    "INDEHAVER": OwnerRole.SOLE_PROPRIETOR,
    "KOMPLEMENTAR": OwnerRole.GENERAL_PARTNER,
}

#: Boards, whose members have the functions of `BOARD_FUNCTIONS`.
BOARDS: Final = frozenset(
    {"BESTYRELSE", "HOVEDBESTYRELSE", "FORRETNINGSBESTYRELSE", "FORRETNINGSUDVALG", "STYRELSE"}
)
#: A body that is a board and a direction at once: the function says which.
BOARD_AND_DIRECTION: Final = "BESTYRELSE DIREKTION"

#: The function on a board, by a part of the folded word; otherwise member.
BOARD_FUNCTIONS: Final = {
    "NAESTFORMAND": RoleCode.BOARD_DEPUTY_CHAIR,
    "FORMAND": RoleCode.BOARD_CHAIR,
    "SUPPLEANT": RoleCode.BOARD_DEPUTY_MEMBER,
    "OBSERVAT": RoleCode.BOARD_OBSERVER,
}

#: The role of the members of other bodies, by the body's folded name.
BODIES: Final = {
    **dict.fromkeys(
        (
            "DIREKTION", "DIREKTIONX", "DAGLIG LEDELSE", "ANDEN DAGLIG LEDELSE",
            "DAGLIG LEDELSE OG ADM", "DAGLIG LEDER", "BESTYRER", "FORRETNINGSFORER",
        ),
        RoleCode.DIRECTOR,
    ),
    **dict.fromkeys(("FILIALBESTYRER", "FILIALBESTYRERE"), RoleCode.BRANCH_MANAGER),
    "TILSYNSRAAD": RoleCode.SUPERVISORY_BOARD_MEMBER,
    "PROKURIST": RoleCode.PROCURATION_HOLDER,
    "KURATOR": RoleCode.ESTATE_ADMINISTRATOR,
    **dict.fromkeys(
        (
            "LIKVIDATOR", "LIKVDATOR", "LIKVIDATOR E VEDTAEGT", "LIKVIDATOR IHT VEDTAEGT",
            "LIKVIDAOR IHT VEDTAEGT",
        ),
        RoleCode.LIQUIDATOR,
    ),
    **dict.fromkeys(
        (
            "REPRAESENTANTSKAB", "PRAESIDIET", "OVERSTE LEDELSESORGAN", "LEDELSE", "LEDELSESORGAN",
            "ANDET LEDELSESORGAN", "ANSVARLIG LEDELSE", "OVERORDNET LEDELSE", "KONTROLRAAD",
            "REKONSTRUKTORER", "REKONSTRUKTOR", "DIREKTIONSSEKRETAER", "DRIFTSLEDER", "LEDER",
            "ANSVARLIG LEDER", "ADMINISTRATIV LEDER", "CENTERLEDER", "SKOLELEDER", "STATIONSLEDER",
            "LEDER FOR JOINT VENTURE", "MANAGER", "UDDELER", "BUTIKSBESTYRER", "MEJERIBESTYRER",
            "CITYCHEF", "KAEDECHEF", "PROJEKTCHEF", "FORVALTNINGSCHEF", "TURIST OG ERHVERVSCHEF",
            "LEDELSESKOMITEE", "LEDELSESUDVALG", "UDVALG", "STYREGRUPPE", "KASSERER",
            "INTERESSENTSKABSLEDELSE", "ANSVARLIG DELTAGER", "KOMMANDITISTREPRAESENTANT",
            "GENERALAGENT", "KOMMITTERET", "ADMINISTRATOR", "ADMINISTRATION",
            "ADMINISTRATIONSORGAN", "ADMINISTRATIONSSELSKAB", "SELSKABSADMINISTRATION",
            "REVISIONSVIRKSOMHEDLEDELSE",
        ),
        RoleCode.OTHER,
    ),
}  # fmt: skip

#: The same bodies under longer names (`Koncernbestyrelsen`), by the end of the last word.
BODY_ENDINGS: Final = {
    **dict.fromkeys(("BESTYRELSE", "BESTYRELSEN"), "BESTYRELSE"),
    **dict.fromkeys(("DIREKTION", "DIREKTIONEN"), "DIREKTION"),
    "TILSYNSRAADET": "TILSYNSRAAD",
    "REPRAESENTANTSKABET": "REPRAESENTANTSKAB",
    "PRAESIDIUM": "PRAESIDIET",
}

#: Bodies whose name the codes of their members say; that of others stands before the function.
PLAIN_BODIES: Final = frozenset({"BESTYRELSE", "DIREKTION"})

#: Functions with a code of their own in whichever body, by the beginning of the folded word.
FUNCTIONS: Final = {
    "KURATOR": RoleCode.ESTATE_ADMINISTRATOR,
    "LIKVIDA": RoleCode.LIQUIDATOR,
    "LIKVDATOR": RoleCode.LIQUIDATOR,
    "PROKURIST": RoleCode.PROCURATION_HOLDER,
    "FILIALBESTYRER": RoleCode.BRANCH_MANAGER,
    "DIREKTIONSSEKRETAER": RoleCode.OTHER,
    "BAEREDYGTIGHEDSREVISOR": RoleCode.SUSTAINABILITY_AUDITOR,
    "REKONSTRUKTOR": RoleCode.OTHER,
}

#: Towns of the Faroe Islands, folded. Their codes have three digits, those of Denmark below 1000 a
#: leading zero.
# fmt: off
FAROESE_TOWNS: Final = frozenset(
    (
        "ARGIR", "ARNAFJORDUR", "EIDI", "FAMJIN", "FUGLAFJORDUR", "FUNNINGUR", "GLYVRAR",
        "GOTA", "HALDARSVIK", "HOSVIK", "HOV", "HOYVIK", "HUSAVIK", "HVALBA", "HVALVIK",
        "HVANNASUND", "HVITANES", "KALDBAK", "KIRKJUBOUR", "KLAKSVIK", "KOLLAFJORDUR",
        "KUNOY", "KVIVIK", "LEIRVIK", "MIDVAGUR", "NES", "NOLSOY", "NORDDEPIL",
        "NORDRAGOTA", "NORDSKALI", "OYNDARFJORDUR", "OYRI", "PORKERI", "RITUVIK",
        "RUNAVIK", "SALTANGARA", "SANDAVAGUR", "SANDUR", "SANDVIK", "SKALAFJORDUR",
        "SKALAVIK", "SKALI", "SKOPUN", "SOLDARFJORDUR", "SORVAGUR", "STRENDUR",
        "STREYMNES", "SUMBA", "SYDRUGOTA", "TOFTIR", "TORSHAVN", "TRONGISVAGUR",
        "TVOROYRI", "VAGUR", "VELBASTAD", "VESTMANNA", "VIDAREIDI",
    )
)
# fmt: on
