"""The candidates of a record, compared and weighed."""

from collections.abc import Iterable
from typing import NamedTuple

import orjson

from common.contracts.match import WeighedCompany
from lookup.search.match.evidence import NO_MORE, Known, compared
from lookup.search.match.record import ReadRecord
from lookup.search.match.weights import log_odds
from lookup.search.scoring import Weigh

_DIGITS = 4


class CandidateCompany(NamedTuple):
    """A company's stored JSON, and what is known of it beside that."""

    core: bytes
    known: Known = NO_MORE


def weighed(
    record: ReadRecord, companies: Iterable[CandidateCompany], weigh: Weigh
) -> list[WeighedCompany]:
    """Returns the companies with their evidence and its weight, the likeliest first."""
    found = [_weighed(record, company, weigh) for company in companies]
    return sorted(found, key=lambda one: (-one.log_odds, one.vat))


def _weighed(record: ReadRecord, candidate: CandidateCompany, weigh: Weigh) -> WeighedCompany:
    company = orjson.loads(candidate.core)
    evidence, features = compared(record, company, weigh, candidate.known)
    address = company.get("address") or {}
    return WeighedCompany(
        vat=company["vat"],
        name=company["name"],
        city=address.get("city"),
        status=company["status"],
        evidence=evidence,
        log_odds=round(log_odds(features), _DIGITS),
    )
