"""The two registers, as far as they differ before a format is chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from register_samples.chance import urn
from register_samples.contacts import ContactHabits
from register_samples.facts import Form, Ownership, Standing
from register_samples.lexicon import DANISH, NORWEGIAN, Lexicon
from register_samples.numbers import CVR, ORGNR, P_NUMBER


@dataclass(frozen=True, slots=True)
class UnitPattern:
    """Numbers of units of the companies: a repeating pattern.

    So the position of a company's first unit among all units follows from its own position,
    and unit numbers are dense without a look at the companies before.
    """

    counts: tuple[int, ...]

    def count(self, index: int) -> int:
        return self.counts[index % len(self.counts)]

    def first(self, index: int) -> int:
        """The position of the first unit of the company among the units of all."""
        rounds, place = divmod(index, len(self.counts))
        return rounds * sum(self.counts) + sum(self.counts[:place])


@dataclass(frozen=True, slots=True)
class Register:
    """A country's register: its numbers, words and habits."""

    code: str
    #: Keeps the draws of the countries apart.
    ordinal: int
    lexicon: Lexicon
    #: It can have this many companies: there are no more numbers.
    capacity: int
    company_number: Callable[[int], str]
    unit_number: Callable[[int], str]
    unit_pattern: UnitPattern
    gln_prefix: str
    #: The legal forms of companies whose name is shared.
    shared_forms: tuple[Form, ...]
    #: Standings with the register's word for them, each as often as it is met.
    states: tuple[tuple[Standing, str | None], ...]
    contacts: ContactHabits
    #: No company is registered before.
    opened: date
    #: Shares of companies: name in capitals, c/o line, postal address of its own, no address.
    upper_case: float
    care_of: float
    postal: float
    nowhere: float
    #: True if addresses have floors and doors.
    flats: bool
    #: Usual capitals, in the country's currency, by legal form.
    capitals: Mapping[str, tuple[int, ...]]
    #: By legal form; the register has no owners of the others.
    ownership: Mapping[str, Ownership]
    #: The scheme of its company numbers among electronic addresses (ISO 6523), and of its units'.
    company_scheme: str
    unit_scheme: str | None


def _forms(lexicon: Lexicon, weights: Mapping[str, int]) -> tuple[Form, ...]:
    by_short = {form.short: form for form in lexicon.forms}
    return urn({by_short[short]: weight for short, weight in weights.items()})


def _norwegian_unit_number(position: int) -> str:
    return ORGNR.number(2 * position + 1)


def _norwegian_company_number(position: int) -> str:
    return ORGNR.number(2 * position)


#: Norwegian companies and units share a series of numbers: its even positions and its odd ones.
NORWAY = Register(
    code="no",
    ordinal=1,
    lexicon=NORWEGIAN,
    capacity=ORGNR.capacity // 2,
    company_number=_norwegian_company_number,
    unit_number=_norwegian_unit_number,
    unit_pattern=UnitPattern((1, 0, 1, 1, 0, 1, 2, 0, 1, 1, 0, 1, 1, 0, 1, 2, 0, 1, 1, 0, 1, 4)),
    gln_prefix="7080",
    shared_forms=_forms(NORWEGIAN, {"AS": 7, "ENK": 3}),
    states=urn(
        {
            (Standing.ACTIVE, None): 910,
            (Standing.BANKRUPT, None): 20,
            (Standing.LIQUIDATION, None): 20,
            (Standing.COMPULSORY, None): 8,
            (Standing.RECONSTRUCTION, None): 2,
            (Standing.ENDED, None): 40,
        }
    ),
    contacts=ContactHabits(
        phone_prefix="+47",
        phone=0.2,
        mobile=0.25,
        fax=0.0,
        email=0.3,
        website=0.1,
        secret=0.0,
        spaced=0.7,
    ),
    opened=date(1995, 2, 19),
    upper_case=0.992,
    care_of=0.13,
    postal=0.2,
    nowhere=0.01,
    flats=False,
    capitals={
        "AS": (30_000, 30_000, 60_000, 100_000, 150_000, 1_000_000),
        "ASA": (1_000_000, 25_000_000, 6_392_018_780),
        "KS": (1_000_000, 20_000_000),
    },
    ownership={
        "ENK": Ownership.SOLE,
        "ANS": Ownership.PARTNERS,
        "DA": Ownership.PARTNERS,
        "KS": Ownership.GENERAL_PARTNER,
        "SAM": Ownership.CO_OWNERS,
        "IKS": Ownership.BODIES,
    },
    company_scheme="0192",
    unit_scheme=None,
)

DENMARK = Register(
    code="dk",
    ordinal=2,
    lexicon=DANISH,
    capacity=CVR.capacity,
    company_number=CVR.number,
    unit_number=P_NUMBER.number,
    unit_pattern=UnitPattern((1, 1, 1, 2, 1, 0, 1, 1, 3, 1, 1, 1, 1, 2, 1, 1, 1, 1, 5, 1, 1, 0)),
    gln_prefix="5790",
    shared_forms=_forms(DANISH, {"APS": 6, "ENK": 4}),
    states=urn(
        {
            (Standing.ACTIVE, "NORMAL"): 695,
            (Standing.ACTIVE, "AKTIV"): 5,
            (Standing.ACTIVE, "UNDER REASSUMERING"): 2,
            (Standing.ACTIVE, "FREMTID"): 2,
            (Standing.BANKRUPT, "UNDER KONKURS"): 15,
            (Standing.BANKRUPT, "UNDER_KONKURS"): 1,
            (Standing.COMPULSORY, "UNDER TVANGSOPLØSNING"): 9,
            (Standing.COMPULSORY, "UNDER TVANGSOPLOESNING"): 1,
            (Standing.LIQUIDATION, "UNDER FRIVILLIG LIKVIDATION"): 9,
            (Standing.RECONSTRUCTION, "UNDER REKONSTRUKTION"): 3,
            (Standing.ENDED, "OPHØRT"): 90,
            (Standing.ENDED, "TVANGSOPLØST"): 50,
            (Standing.ENDED, "OPLØST EFTER KONKURS"): 45,
            (Standing.ENDED, "OPLØST EFTER ERKLÆRING"): 30,
            (Standing.ENDED, "OPLØST EFTER FRIVILLIG LIKVIDATION"): 20,
            (Standing.ENDED, "OPLØST EFTER FUSION"): 10,
            (Standing.ENDED, "OPLØST_EFTER_FUSION"): 1,
            (Standing.ENDED, "OPLØST EFTER SPALTNING"): 2,
            (Standing.ENDED, "SLETTET"): 6,
            (Standing.ENDED, "LUKKET"): 2,
            (Standing.ENDED, "UDEN RETSVIRKNING"): 2,
        }
    ),
    contacts=ContactHabits(
        phone_prefix="+45",
        phone=0.5,
        mobile=0.05,
        fax=0.05,
        email=0.45,
        website=0.2,
        secret=0.12,
        spaced=0.1,
    ),
    opened=date(1960, 1, 1),
    upper_case=0.3,
    care_of=0.08,
    postal=0.05,
    nowhere=0.002,
    flats=True,
    capitals={
        "APS": (40_000, 40_000, 50_000, 80_000, 125_000, 200_000),
        "A/S": (400_000, 500_000, 500_000, 1_000_000, 50_000_000),
        "IVS": (1, 1_000, 10_000),
        "P/S": (500_000,),
    },
    ownership={
        "ENK": Ownership.SOLE,
        "PMV": Ownership.SOLE,
        "I/S": Ownership.PARTNERS,
        "APS": Ownership.SHAREHOLDERS,
        "A/S": Ownership.SHAREHOLDERS,
        "IVS": Ownership.SHAREHOLDERS,
        "P/S": Ownership.SHAREHOLDERS,
        "K/S": Ownership.GENERAL_PARTNER,
    },
    company_scheme="0184",
    unit_scheme="0096",
)
