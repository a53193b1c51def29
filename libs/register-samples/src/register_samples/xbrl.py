"""XBRL instances as the Danish register has them, of invented figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

#: Namespaces of the Danish taxonomies and of IFRS, by the prefix that most documents use.
NAMESPACES: Final[Mapping[str, str]] = {
    "xbrli": "http://www.xbrl.org/2003/instance",
    "xbrldi": "http://xbrl.org/2006/xbrldi",
    "link": "http://www.xbrl.org/2003/linkbase",
    "xlink": "http://www.w3.org/1999/xlink",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "iso4217": "http://www.xbrl.org/2003/iso4217",
    "fsa": "http://xbrl.dcca.dk/fsa",
    "gsd": "http://xbrl.dcca.dk/gsd",
    "cmn": "http://xbrl.dcca.dk/cmn",
    "arr": "http://xbrl.dcca.dk/arr",
    "mrv": "http://xbrl.dcca.dk/mrv",
    "ifrs-full": "https://xbrl.ifrs.org/taxonomy/2024-03-27/ifrs-full",
    "ifrs-dk": "http://xbrl.dcca.dk/ifrs-dk-cor_2022-12-20",
}
#: Its host answers 404: the address only names the taxonomy.
SCHEMA: Final = (
    "http://archprod.service.eogs.dk/taxonomy/20241001/entryDanishGAAPBalanceSheetAccountForm"
    "IncomeStatementByNatureIncludingManagementsReviewStatisticsAndTax20241001.xsd"
)
COMPANIES: Final = "http://www.dcca.dk/cvr"
LEI: Final = "http://standards.iso.org/iso/17442"
#: The dimension and member of a group's figures under Danish GAAP.
GROUP: Final = ("cmn:ConsolidatedSoloDimension", "cmn:ConsolidatedMember")
#: The dimensions of the company's own figures under IFRS.
SEPARATE: Final = (
    "ifrs-full:ConsolidatedAndSeparateFinancialStatementsAxis",
    "ifrs-full:SeparateMember",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about a day, or a period `first/last`."""

    name: str
    value: str
    period: str
    #: A currency or `pure`; None for a text.
    unit: str | None = None
    dimensions: tuple[tuple[str, str], ...] = ()
    decimals: str = "0"
    is_nil: bool = False


def instance(  # noqa: PLR0913 (what real documents differ in)
    number: str,
    facts: Sequence[Fact],
    *,
    scheme: str = COMPANIES,
    encoding: str = "UTF-8",
    prefixes: Mapping[str, str] = NAMESPACES,
    before_root: str = "",
) -> bytes:
    """Returns a document about a company; `before_root` may be a document type."""
    names = " ".join(f"xmlns:{prefix}={quoteattr(each)}" for prefix, each in prefixes.items())
    contexts = {(f.period, f.dimensions): f"c{n}" for n, f in enumerate(facts)}
    units = {fact.unit for fact in facts if fact.unit is not None}
    lines = [
        f'<?xml version="1.0" encoding="{encoding}"?>',
        before_root,
        f"<xbrli:xbrl {names}>",
        f'<link:schemaRef xlink:type="simple" xlink:href="{SCHEMA}"/>',
        *(_context(name, number, scheme, *key) for key, name in contexts.items()),
        *(_unit(unit) for unit in sorted(units)),
        *(_fact(fact, contexts[fact.period, fact.dimensions]) for fact in facts),
        "</xbrli:xbrl>",
    ]
    return "\n".join(filter(None, lines)).encode(encoding)


def _context(
    name: str, number: str, scheme: str, period: str, dimensions: Iterable[tuple[str, str]]
) -> str:
    first, _, last = period.partition("/")
    dates = (
        f"<xbrli:startDate>{first}</xbrli:startDate><xbrli:endDate>{last}</xbrli:endDate>"
        if last
        else f"<xbrli:instant>{first}</xbrli:instant>"
    )
    members = "".join(
        f'<xbrldi:explicitMember dimension="{dimension}">{member}</xbrldi:explicitMember>'
        for dimension, member in dimensions
    )
    scenario = f"<xbrli:scenario>{members}</xbrli:scenario>" if members else ""
    return (
        f'<xbrli:context id="{name}"><xbrli:entity>'
        f'<xbrli:identifier scheme="{scheme}">{number}</xbrli:identifier></xbrli:entity>'
        f"<xbrli:period>{dates}</xbrli:period>{scenario}</xbrli:context>"
    )


def _unit(unit: str) -> str:
    measure = f"xbrli:{unit}" if unit == "pure" else f"iso4217:{unit}"
    return f'<xbrli:unit id="{unit}"><xbrli:measure>{measure}</xbrli:measure></xbrli:unit>'


def _fact(fact: Fact, context: str) -> str:
    attributes = f'contextRef="{context}"'
    if fact.unit is not None:
        attributes += f' unitRef="{fact.unit}" decimals="{fact.decimals}"'
    if fact.is_nil:
        return f'<{fact.name} {attributes} xsi:nil="true"/>'
    return f"<{fact.name} {attributes}>{escape(fact.value)}</{fact.name}>"
