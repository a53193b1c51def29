"""Learns how evidence weighs when a record is matched: `python -m bench.learn_match`.

Needs the folder SHARED_DATA. The weights are those of a conditional logit: of a record's candidates
in both registers, or none, one is right. They are learnt from half of the companies, printed, and
measured on the other half; `lookup/search/match.py` has a copy.
"""

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from bench.figures import Figure, at_least, at_most, table
from bench.match_records import Labelled, contradictions, of_country, records, world
from common.contracts.company import CompanyKey, Country
from gateway.lookups.match import MATCHED, contradict
from lookup.search.index import SearchIndex
from lookup.search.index.candidates import match_candidates
from lookup.search.index.documents import batch_of
from lookup.search.indexed_company import indexed_core
from lookup.search.match import (
    WEIGHTS,
    Comparison,
    Features,
    NumberMatches,
    claimed,
    compare,
    read_record,
)

Array = npt.NDArray[Any]

#: Steps of the descent, its rate, and the penalty of a weight's square.
_STEPS, _RATE, _PENALTY = 3_000, 0.05, 1e-5
#: Weights that are given, because few records have the feature.
_GIVEN: Final = frozenset({"other_figures"})
#: Decisions from these probabilities are compared on the training half.
_THRESHOLDS: Final = (0.6, 0.7, 0.75, 0.8, 0.9)


class Candidate(NamedTuple):
    """A company that a record may be, compared with it."""

    key: CompanyKey
    compared: Comparison

    @property
    def features(self) -> Features:
        """The features that are weighed."""
        return self.compared.features


@dataclass
class Register:
    """One country's companies in an index, with their phone numbers."""

    country: Country
    index: SearchIndex
    cores: dict[CompanyKey, bytes]
    phones: dict[str, list[CompanyKey]]

    def candidates(self, labelled: Labelled) -> Iterator[Candidate]:
        """Yields the candidates that the lookup service compares, without its database."""
        record = read_record(labelled.record, self.country)
        of_phone = [key for phone in record.phones for key in self.phones.get(phone, ())]
        keys = [*of_phone, *match_candidates(self.index.view(), record)]
        if record.number:
            keys.append(CompanyKey(self.country, record.number))
        weigh = self.index.view().weigh
        for key in dict.fromkeys(keys):
            if (core := self.cores.get(key)) is not None:
                known = NumberMatches(has_phone=key in of_phone)
                yield Candidate(key, compare(record, orjson.loads(core), weigh, known))


def register(country: Country, cores: dict[CompanyKey, bytes], folder: Path) -> Register:
    """Returns an index over a country's companies."""
    index = SearchIndex.open(folder, country)
    index.rebuild([batch_of(map(indexed_core, cores.values()), country)], b"")
    phones: defaultdict[str, list[CompanyKey]] = defaultdict(list)
    for key, core in cores.items():
        if phone := orjson.loads(core).get("phone"):
            phones[phone].append(key)
    return Register(country, index, cores, phones)


class Sample(NamedTuple):
    """A record with the features of its candidates, a row for each."""

    labelled: Labelled
    keys: Sequence[CompanyKey]
    rows: Array
    #: True if its number and its name name two companies.
    has_conflict: bool


class Fit:
    """Samples as one matrix, in which a record's candidates are neighbours."""

    def __init__(self, samples: Sequence[Sample], size: int) -> None:
        self.rows = np.concatenate([*(one.rows for one in samples), np.empty((0, size))])
        self.owner = np.repeat(np.arange(len(samples)), [len(one.keys) for one in samples])
        self.right = np.array(
            [key == one.labelled.right for one in samples for key in one.keys], float
        )
        self.count = len(samples)

    def probabilities(self, weights: Array) -> Array:
        """Returns the probability of each row."""
        odds = np.exp(np.clip(self.rows @ weights, -40, 40))
        shares: Array = odds / (1 + np.bincount(self.owner, odds, self.count))[self.owner]
        return shares

    def learnt(self, weights: Array) -> Array:
        """Returns the weights of the greatest likelihood, from these on (Adam)."""
        mean, square = np.zeros_like(weights), np.zeros_like(weights)
        for step in range(1, _STEPS + 1):
            error = self.probabilities(weights) - self.right
            slope = self.rows.T @ error / self.count + 2 * _PENALTY * weights
            mean = 0.9 * mean + 0.1 * slope
            square = 0.999 * square + 0.001 * slope**2
            rate = _RATE / (1 + step / 500)
            corrected = mean / (1 - 0.9**step), square / (1 - 0.999**step)
            weights = weights - rate * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        return weights


class Outcome(NamedTuple):
    """The decision about a record: whether it is matched, and correctly."""

    labelled: Labelled
    best: float
    is_right: bool
    has_conflict: bool

    def is_matched(self, threshold: float) -> bool:
        """Returns True if the record is decided `match`."""
        return self.best >= threshold and not self.has_conflict


def outcomes(samples: Sequence[Sample], weights: Array) -> list[Outcome]:
    """Returns the decisions about records."""
    found = []
    for one in samples:
        odds = np.exp(np.clip(one.rows @ weights, -40, 40))
        best = int(np.argmax(odds)) if len(odds) else -1
        probability = float(odds[best] / (1 + odds.sum())) if best >= 0 else 0.0
        is_right = best >= 0 and one.keys[best] == one.labelled.right
        found.append(Outcome(one.labelled, probability, is_right, one.has_conflict))
    return found


def figures(found: Sequence[Outcome], threshold: float) -> Iterator[Figure]:
    """Yields the goals, and the figures of each type of record."""
    matched = [one for one in found if one.is_matched(threshold)]
    outside = [one for one in found if one.labelled.right is None]
    right = sum(one.is_right for one in matched) / max(len(matched), 1)
    yield at_least("right, of records decided match", right, "", 0.99)
    wrong = sum(one.is_matched(threshold) for one in outside) / max(len(outside), 1)
    yield at_most("decided match, of records of no register", wrong, "", 0.02)
    goals = {"name": 0.85, "name, postal code": 0.95}
    for kind in sorted({one.labelled.kind for one in found}):
        of_kind = [one for one in found if one.labelled.kind == kind and one.labelled.right]
        share = sum(one.is_matched(threshold) for one in of_kind) / max(len(of_kind), 1)
        yield at_least(f"decided match: {kind}", share, "", goals.get(kind))
    yield from _calibration(found)


_BANDS: Final = ((0.05, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 0.98), (0.98, 1.01))


def _calibration(found: Sequence[Outcome]) -> Iterator[Figure]:
    for low, high in _BANDS:
        band = [one for one in found if low <= one.best < high]
        if band:
            said = sum(one.best for one in band) / len(band)
            true = sum(one.is_right for one in band) / len(band)
            yield Figure(f"right at scores of {said:.3f} (n = {len(band)})", true, "")


def contradicted(found: Sequence[Outcome], threshold: float) -> Iterator[Figure]:
    """Yields how records are decided that have the number of one company and the name of another.

    Without the rule they would be a match of one of the two, of either with equal confidence.
    """
    for kind in sorted({one.labelled.kind for one in found}):
        of_kind = [one for one in found if one.labelled.kind == kind]
        accepted = sum(one.is_matched(threshold) for one in of_kind) / len(of_kind)
        yield at_most(f"decided match: {kind} (n = {len(of_kind)})", accepted, "", 0.05)
        before = sum(one.best >= threshold for one in of_kind) / len(of_kind)
        yield Figure(f"by the weights alone: {kind}", before, "")


def candidates_of(
    labelled: Sequence[Labelled], registers: Sequence[Register]
) -> list[list[Candidate]]:
    """Returns the candidates of each record in the registers that it may be in."""
    found: list[list[Candidate]] = [[] for _ in labelled]
    for each in registers:
        for place in of_country(labelled, each.country):
            found[place] += each.candidates(labelled[place])
    return found


def main() -> None:
    """Learns and prints the weights, and their results on the other half."""
    parser = argparse.ArgumentParser(prog="python -m bench.learn_match")
    parser.add_argument("--invented", type=int, default=15_000, help="companies among the real")
    parser.add_argument("--only-measure", action="store_true", help="the weights that there are")
    arguments = parser.parse_args()
    made = world(Path(os.environ["SHARED_DATA"]), arguments.invented)
    labelled = records(made)
    with TemporaryDirectory(prefix="bench-match-") as folder, ExitStack() as stack:
        registers = [register(each, made.cores(each), Path(folder)) for each in Country]
        for each in registers:
            stack.enter_context(closing(each.index))
        candidates = candidates_of(labelled, registers)
        two = contradictions(made)
        of_two = candidates_of(two, registers)
    names = sorted({name for each in candidates for one in each for name in one.features})
    samples = _samples(labelled, candidates, names)
    learning = [one for one in samples if not one.labelled.is_test]
    weights = np.array([WEIGHTS.get(name, 0.0) for name in names])
    if not arguments.only_measure:
        weights = Fit(learning, len(names)).learnt(np.zeros(len(names)))
        for name in _GIVEN.intersection(names):
            weights[names.index(name)] = WEIGHTS[name]
        for name, weight in zip(names, weights, strict=True):
            print(f'    "{name}": {weight:.2f},')
        # The rounded weights of the code are measured.
        weights = np.round(weights, 2)
        for threshold in _THRESHOLDS:
            print(f"match from {threshold}, on what was learnt from:")
            print(table(list(figures(outcomes(learning, weights), threshold))))
    measured = [one for one in samples if one.labelled.is_test]
    found = sum(one.labelled.right in one.keys for one in measured if one.labelled.right)
    inside = sum(one.labelled.right is not None for one in measured)
    print(f"{len(learning)} records learnt from, {len(measured)} measured; candidate found: "
          f"{found / inside:.4f}")  # fmt: skip
    print(table(list(figures(outcomes(measured, weights), MATCHED))))
    contradicting = outcomes(_samples(two, of_two, names), weights)
    print(table(list(contradicted(contradicting, MATCHED))))


def _samples(
    labelled: Sequence[Labelled], candidates: Sequence[Sequence[Candidate]], names: Sequence[str]
) -> list[Sample]:
    return [
        Sample(one, [each.key for each in found], _rows(found, names), _has_conflict(found))
        for one, found in zip(labelled, candidates, strict=True)
    ]


def _has_conflict(found: Sequence[Candidate]) -> bool:
    compared = [one.compared for one in found]
    numbered, named = claimed(compared)
    if numbered is None or named is None:
        return False
    return contradict(compared[numbered].evidence, compared[named].evidence)


def _rows(found: Sequence[Candidate], names: Sequence[str]) -> Array:
    rows = [[one.features.get(name, 0.0) for name in names] for one in found]
    return np.array(rows, float).reshape(len(found), len(names))


if __name__ == "__main__":
    main()
