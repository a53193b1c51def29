"""The candidates of a record, compared and weighed.

`WEIGHTS` maps a feature to the change of the logarithm of the odds that a candidate, and not no
company, is the company of the record. A feature without a weight counts nothing: no record of the
samples told trade names apart. `python -m bench.learn_match` learnt the weights from the records of
half of 3,440 real Norwegian and 599 real Danish companies among 15,000 invented ones. The results
for the other half are in `bench/results/match.md`. `other_figures` is not learnt, as the records
have few: with it the same name at the same address is for review, and without the address nothing.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import orjson

from common.contracts.match import WeighedCompany
from lookup.search.match.evidence import NO_MORE, Features, Known, compared
from lookup.search.match.record import ReadRecord
from lookup.search.scoring import Weigh

_DIGITS = 4

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({
    "bias": -9.23,
    "no_name": 5.64,
    "name": 3.71,
    "name_high": -1.52,
    "letters": 7.01,
    "letters_high": 3.45,
    "exact": -0.07,
    "rarity": 1.84,
    "exact_and_rare": 2.46,
    "other_numbers": -1.55,
    "other_figures": -9.0,
    "same_form": -0.01,
    "other_form": -2.91,
    "former_name": -3.75,
    "number_same": 11.62,
    "number_near": 2.25,
    "number_other": -3.09,
    "address_same": 0.66,
    "address_other": -0.88,
    "postal_code_same": 2.23,
    "postal_code_near": -1.98,
    "postal_code_other": -1.23,
    "city_same": 1.29,
    "city_other": -1.54,
    "phone_same": 9.96,
    "phone_other": -1.78,
    "email_same": 9.59,
    "email_near": 10.87,
    "email_other": -2.64,
    "website_same": 9.75,
    "website_other": -1.48,
    "ended": -5.48,
    "winding_up": -3.64,
    "foreign": -5.85,
})  # fmt: skip


def log_odds(features: Features) -> float:
    """Returns the logarithm of the odds that a candidate, and not no company, is meant."""
    return sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())


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
