"""Annual accounts of Norwegian companies, as Regnskapsregisteret's open interface answers.

Up to three years, of the company and of its group, in any order. Each tenth company has one of the
faults that the real ones have.
"""

from collections.abc import Iterator
from typing import Any, Final

from register_samples.chance import Draw, Topic
from register_samples.companies import company
from register_samples.registers import NORWAY, Document, Variables
from register_samples.showcase import SIZE

YEARS: Final = (2023, 2024, 2025)
_FILING: Final = ("AS", "ASA")
#: The company of the showcase with the accounts of a group.
_GROUP: Final = 0
#: The layout of banks, which the interface does not give; the second is the text of 2026.
ERRORS: Final = (
    "Regnskapet inneholder en oppstillingsplan som ikke er stottet (BANK)",
    "An error occurred while processing the request.",
)


def accounts(index: int) -> list[Document]:
    """Returns the accounts of the company at a position; none if it files none."""
    found = company(NORWAY, index)
    if found["form"]["short"] not in _FILING or found["standing"] == "ENDED":
        return []
    listed = [each for year in YEARS if found["founded"].year < year for each in _of(found, year)]
    # The interface promises no order.
    return listed[::-1] if index % 2 else listed


def error(index: int) -> str | None:
    """Returns the text of the answer with 500 about a company; None if it is not a bank."""
    return ERRORS[index % 2] if index >= SIZE and index % 10 in (7, 8) else None


def corrected(found: Document) -> Document:
    """Returns a refiling of accounts: another `id` of the same year, with another profit."""
    result = found["resultatregnskapResultat"]
    changed = {**result, "aarsresultat": result["aarsresultat"] - 1000.0}
    return {**found, "id": found["id"] + 1_000_000, "resultatregnskapResultat": changed}


def _of(found: Variables, year: int) -> Iterator[Document]:
    if found["index"] == _GROUP:
        yield _accounts(found, year, "KONSERN")
    yield _accounts(found, year, "SELSKAP")


def _accounts(found: Variables, year: int, kind: str) -> Document:
    index, times = found["index"], 3 if kind == "KONSERN" else 1
    draw = Draw(NORWAY.ordinal, Topic.ACCOUNTS, index * 100 + year % 100)
    income = (500_000 + draw.below(20_000_000)) * times
    costs = income * draw.between(80, 104) // 100
    assets = income * draw.between(40, 120) // 100
    equity = assets * draw.between(-10, 70) // 100
    before_tax = income - costs
    tax = max(before_tax, 0) * 22 // 100
    return {
        "id": 6_000_000 + index * 100 + (year - 2000) * 4 + 2 * (kind == "KONSERN"),
        "journalnr": f"{year + 1}{index:06}",
        "regnskapstype": kind,
        "virksomhet": {
            "organisasjonsnummer": found["number"],
            "organisasjonsform": found["form"]["short"],
            "morselskap": index == _GROUP,
        },
        "regnskapsperiode": {"fraDato": f"{year}-01-01", "tilDato": f"{year}-12-31"},
        "valuta": "NOK",
        "avviklingsregnskap": False,
        "oppstillingsplan": "store",
        "revisjon": {"ikkeRevidertAarsregnskap": False, "fravalgRevisjon": index % 3 == 0},
        "regnkapsprinsipper": {
            "smaaForetak": True,
            "regnskapsregler": "regnskapslovenAlminneligRegler",
        },
        "eiendeler": {
            "sumEiendeler": float(assets),
            "omloepsmidler": {"sumOmloepsmidler": float(assets // 2)},
            "anleggsmidler": {"sumAnleggsmidler": float(assets - assets // 2)},
            "sumBankinnskuddOgKontanter": float(assets // 4),
        },
        "egenkapitalGjeld": {
            "sumEgenkapitalGjeld": float(assets),
            "egenkapital": {"sumEgenkapital": float(equity)},
            "gjeldOversikt": {
                "sumGjeld": float(assets - equity),
                "kortsiktigGjeld": {"sumKortsiktigGjeld": float(assets - equity)},
                "langsiktigGjeld": {},
            },
        },
        "resultatregnskapResultat": _result(income, costs, before_tax, tax),
    }


def _result(income: int, costs: int, before_tax: int, tax: int) -> dict[str, Any]:
    return {
        "ordinaertResultatFoerSkattekostnad": float(before_tax),
        "ordinaertResultatSkattekostnad": float(tax),
        "aarsresultat": float(before_tax - tax),
        "finansresultat": {"finansinntekt": {}, "finanskostnad": {}},
        "driftsresultat": {
            "driftsresultat": float(before_tax),
            "driftsinntekter": {"sumDriftsinntekter": float(income)},
            "driftskostnad": {"sumDriftskostnad": float(costs)},
        },
    }
