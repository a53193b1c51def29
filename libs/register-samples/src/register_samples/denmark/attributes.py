"""`attributter`: capital, purpose and accounting terms of a company."""

from collections.abc import Iterator
from datetime import date, timedelta

from register_samples.chance import Draw
from register_samples.denmark.periods import attribute, held
from register_samples.facts import AS_OF, Company, Document

_DAY = timedelta(days=1)


def attributes(company: Company, draw: Draw) -> list[Document]:
    """Companies with a capital have them all; the others have none."""
    if company.capital is None:
        return []
    since = company.founded
    single = {
        "FØRSTE_REGNSKABSPERIODE_START": ("date", since.isoformat()),
        "FØRSTE_REGNSKABSPERIODE_SLUT": ("date", date(since.year + 1, 12, 31).isoformat()),
        "KAPITALVALUTA": ("string", "EUR" if draw.happens(0.02) else "DKK"),
        "PSEUDOCVRNR": ("boolean", "false"),
        "REGNSKABSÅR_START": ("gMonthDay", "--01-01"),
        "REGNSKABSÅR_SLUT": ("gMonthDay", "--12-31"),
        "REVISION_FRAVALGT": ("boolean", "true" if draw.happens(0.5) else "false"),
        "TEGNINGSREGEL": ("string", "Selskabet tegnes af en direktør."),
        **({"FORMÅL": ("string", company.purpose)} if company.purpose else {}),
    }
    return [
        attribute("KAPITAL", "decimal", *_capital(company, company.capital, draw)),
        *(
            attribute(kind, type_, held({"vaerdi": value}, since, company.ended))
            for kind, (type_, value) in single.items()
        ),
    ]


def _capital(company: Company, amount: int, draw: Draw) -> Iterator[Document]:
    """The capital and, for some companies, the half as high one of before."""
    since, latest = company.founded, company.ended or AS_OF
    if draw.happens(0.15) and since < latest:
        raised = draw.day(since + _DAY, latest)
        yield held({"vaerdi": f"{amount // 2}.00"}, since, raised - _DAY)
        since = raised
    yield held({"vaerdi": f"{amount}.00"}, since, company.ended)
