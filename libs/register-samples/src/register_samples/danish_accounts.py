"""Annual accounts that Danish companies have filed: the index's documents, and their XBRL.

Each tenth company has one of the faults that the real ones have.
"""

import gzip
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from yarl import URL

from register_samples.chance import Draw, Topic
from register_samples.companies import company
from register_samples.registers import DENMARK, Document, Variables
from register_samples.showcase import SIZE
from register_samples.xbrl import GROUP, LEI, Fact, instance

#: The years of accounts that companies have filed, the last of them in the year of the registers.
YEARS: Final = (2023, 2024, 2025)
#: The companies of the showcase whose accounts are those of a group, one of them by ESEF.
_ESEF, _GROUP = 4, 1
_FILING: Final = ("A/S", "APS")
_XML: Final = "application/xml"
#: The host in the addresses of documents; a server puts its own in its place.
HOST: Final = "regnskaber.example.com"


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as the register serves it."""

    content: bytes
    #: `Content-Encoding`; None also for a gzip file that does not say so.
    encoding: str | None = None
    #: The address that it redirects to.
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Filing:
    """A hit of the index, and its documents by the path of their address."""

    hit: Document
    documents: Mapping[str, Stored] = field(default_factory=dict)


def filings(index: int) -> Iterator[Filing]:
    """Yields the filings of the company at a position, the oldest first."""
    found = company(DENMARK, index)
    if found["form"]["short"] not in _FILING or found["standing"] == "ENDED":
        return
    for year in YEARS:
        if found["founded"].year < year:
            yield from _of_year(found, year)


def _of_year(found: Variables, year: int) -> Iterator[Filing]:
    index = found["index"]
    fault = index % 10 if index >= SIZE else None
    facts = [*_texts(year, found), *_figures(found, year)]
    content = instance(found["number"], facts)
    plain = Stored(content)
    match fault:
        case 0:
            plain = Stored(instance(found["number"], _conflicting(facts)))
        case 1:
            plain = Stored(instance(found["number"], _in_kroner(facts)))
        case 2:
            plain = Stored(instance(found["number"], facts, encoding="UTF-16"))
        case 3 if year == YEARS[-1]:
            plain = Stored(bomb())
        case 4 if year == YEARS[-1]:
            plain = Stored(b"", location="http://filer.example.com/accounts.xml")
        case 5:
            yield _filing(found, year, {})
            return
        case 6:
            # The second filing of a day corrects the first.
            yield _filing(found, year, {"AARSRAPPORT": plain})
            corrected = [replace(f, value="1") if f.name == "fsa:TaxExpense" else f for f in facts]
            plain = Stored(instance(found["number"], corrected))
            yield _filing(found, year, {"AARSRAPPORT": plain}, corrects=True)
            return
        case _:
            # A gzip file, whether the header says so or not.
            plain = Stored(gzip.compress(content, mtime=0), "gzip" if year % 2 else None)
    if index == _ESEF:
        yield _filing(
            found, year, {"AARSRAPPORT": _stub(found, year), "AARSRAPPORT_ESEF": _esef(found, year)}
        )
    else:
        yield _filing(found, year, {"AARSRAPPORT": plain})


def _filing(
    found: Variables, year: int, documents: Mapping[str, Stored], *, corrects: bool = False
) -> Filing:
    """Returns a filing; one without XBRL is on paper."""
    number, kinds = found["number"], list(documents) or ["AARSRAPPORT"]
    place = f"http://{HOST}/{number}/"
    at = f"{year + 1}-05-{_draw(found, year).between(2, 28):02}T{'10:31' if corrects else '10:30'}"
    paths = {kind: place + _token(f"{number}-{year}-{kind}-{corrects}") for kind in kinds}
    listed = [(kind, _XML, f"{paths[kind]}.xml") for kind in documents]
    listed.append(("AARSRAPPORT", "application/pdf" if documents else "image/tiff", ""))
    listed[-1] = (*listed[-1][:2], paths["AARSRAPPORT"] + (".pdf" if documents else ".tif"))
    source = {
        "cvrNummer": int(number),
        "regNummer": None,
        "indlaesningsId": None,
        "sagsNummer": None,
        "offentliggoerelsestype": "regnskab",
        "omgoerelse": corrects,
        "offentliggoerelsesTidspunkt": f"{at}:00.000Z",
        "indlaesningsTidspunkt": f"{at}:05.000Z",
        "sidstOpdateret": f"{at}:05.000Z",
        "regnskab": {
            "regnskabsperiode": {"startDato": f"{year}-01-01", "slutDato": f"{year}-12-31"},
            "godkendelse": None,
        },
        "dokumenter": [
            {"dokumentType": kind, "dokumentMimeType": mime, "dokumentUrl": path}
            for kind, mime, path in listed
        ],
    }
    identity = f"urn:ofk:oid:{found['index'] * 100 + (year - 2000) * 2 + corrects + 10_000}"
    hit = {"_index": "indberetninger", "_type": "_doc", "_id": identity, "_source": source}
    return Filing(hit, {URL(f"{paths[kind]}.xml").path: each for kind, each in documents.items()})


def _token(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _draw(found: Variables, year: int) -> Draw:
    return Draw(DENMARK.ordinal, Topic.ACCOUNTS, found["index"] * 100 + year % 100)


def _texts(year: int, found: Variables) -> list[Fact]:
    whole, before = _period(year), year - 1
    has_audit = found["form"]["short"] == "A/S"
    return [
        Fact("gsd:InformationOnTypeOfSubmittedReport", "Årsrapport", whole),
        Fact("gsd:ReportingPeriodStartDate", f"{year}-01-01", whole),
        Fact("gsd:ReportingPeriodEndDate", f"{year}-12-31", whole),
        Fact("gsd:PrecedingReportingPeriodStartDate", f"{before}-01-01", whole),
        Fact("gsd:PredingReportingPeriodEndDate", f"{before}-12-31", whole),
        Fact("fsa:ClassOfReportingEntity", "Regnskabsklasse B", whole),
        Fact(
            "cmn:TypeOfAuditorAssistance",
            "Den uafhængige revisors erklæring" if has_audit else "Ingen bistand",
            whole,
        ),
    ]


def _period(year: int) -> str:
    return f"{year}-01-01/{year}-12-31"


@dataclass(frozen=True, slots=True)
class _Year:
    profit_before_tax: int
    staff: int
    assets: int
    equity: int

    @property
    def tax(self) -> int:
        return max(self.profit_before_tax, 0) * 22 // 100


def _numbers(found: Variables, year: int) -> _Year:
    draw = _draw(found, year)
    staff = found["employees"] * draw.between(380, 520) * 1000
    assets = 200_000 + staff + draw.below(5_000_000)
    profit = draw.between(-300_000, 900_000) * (1 + found["employees"] // 10)
    return _Year(profit, staff, assets, assets * draw.between(10, 80) // 100)


def _figures(found: Variables, year: int) -> list[Fact]:
    """Returns the figures of the year and of the one before."""
    facts = [each for one in (year, year - 1) for each in _company(found, one)]
    if found["index"] != _GROUP:
        return facts
    group = [
        replace(f, dimensions=(GROUP,), value=_more(f.value)) for f in facts if f.unit == "DKK"
    ]
    return facts + group


def _more(value: str) -> str:
    return str(int(value) * 3)


def _company(found: Variables, year: int) -> list[Fact]:
    one, whole, end = _numbers(found, year), _period(year), f"{year}-12-31"
    flows = {
        "GrossProfitLoss": one.profit_before_tax + one.staff,
        "EmployeeBenefitsExpense": one.staff,
        "ProfitLossFromOrdinaryOperatingActivities": one.profit_before_tax,
        "ProfitLossFromOrdinaryActivitiesBeforeTax": one.profit_before_tax,
        "TaxExpense": one.tax,
        "ProfitLoss": one.profit_before_tax - one.tax,
    }
    stocks = {
        "NoncurrentAssets": one.assets // 3,
        "CurrentAssets": one.assets - one.assets // 3,
        "CashAndCashEquivalents": one.assets // 5,
        "Assets": one.assets,
        "Equity": one.equity,
        "Provisions": 0,
        "ShorttermLiabilitiesOtherThanProvisions": one.assets - one.equity,
        "LiabilitiesOtherThanProvisions": one.assets - one.equity,
        "LiabilitiesAndEquity": one.assets,
    }
    people = Fact("fsa:AverageNumberOfEmployees", str(found["employees"]), whole, "pure")
    return [
        *(Fact(f"fsa:{name}", str(value), whole, "DKK") for name, value in flows.items()),
        *(Fact(f"fsa:{name}", str(value), end, "DKK") for name, value in stocks.items()),
        people,
    ]


def _stub(found: Variables, year: int) -> Stored:
    return Stored(instance(found["number"], _texts(year, found)))


def _esef(found: Variables, year: int) -> Stored:
    one, whole, end = _numbers(found, year), _period(year), f"{year}-12-31"
    flows = {
        "Revenue": one.staff * 3 + one.profit_before_tax,
        "ProfitLossFromOperatingActivities": one.profit_before_tax,
        "ProfitLossBeforeTax": one.profit_before_tax,
        "IncomeTaxExpenseContinuingOperations": one.tax,
        "ProfitLoss": one.profit_before_tax - one.tax,
        "ProfitLossAttributableToOwnersOfParent": one.profit_before_tax - one.tax,
    }
    stocks = {
        "Assets": one.assets,
        "Equity": one.equity,
        "Liabilities": one.assets - one.equity,
        "EquityAndLiabilities": one.assets,
    }
    facts = [
        *(Fact(f"ifrs-full:{name}", str(value), whole, "DKK") for name, value in flows.items()),
        *(Fact(f"ifrs-full:{name}", str(value), end, "DKK") for name, value in stocks.items()),
    ]
    return Stored(instance("529900T8BM49AURSDO55", facts, scheme=LEI))


def _conflicting(facts: list[Fact]) -> list[Fact]:
    """Returns the facts with a second, contrary profit of each year."""
    profits = [fact for fact in facts if fact.name == "fsa:ProfitLoss"]
    return [*facts, *(replace(fact, value=str(-int(fact.value) - 1)) for fact in profits)]


def _in_kroner(facts: list[Fact]) -> list[Fact]:
    """Returns the facts with the number of employees as an amount in thousands."""
    return [
        replace(fact, value=f"{fact.value}000", unit="DKK", decimals="-3")
        if fact.unit == "pure"
        else fact
        for fact in facts
    ]


@cache
def bomb() -> bytes:
    """Returns 30 kB that unpack to 30 MB."""
    packing = zlib.compressobj(wbits=31)
    return packing.compress(bytes(30 << 20)) + packing.flush()
