"""Matching of records beside peers: `python -m bench.match --python PEERS`.

Needs the folder SHARED_DATA, and PEERS, an interpreter with `bench/peers/match.txt`. All match the
same records with the same registers, in one run. A peer has no decision of its own: it gets the
threshold with the best F1 on the records of one half of the companies, and all are measured on the
other half. Times are processor times, because this compares libraries and no service.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from math import exp
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bench.figures import Figure, at_least, table
from bench.learn_match import Register, register
from bench.match_records import SEED, Labelled, World, records, world
from common.contracts.company import Country
from gateway.lookups.match import MATCHED
from lookup.search.match.evidence import log_odds

PEERS: Final = ("wratio", "name-matching", "nomenklatura", "splink")
_KINDS: Final = ("name", "name, postal code", "name, address")
_TIMEOUT: Final = 1_200


class Answer(NamedTuple):
    """The best company of a record, by its key, and its score."""

    key: str
    score: float


class Scored(NamedTuple):
    """Precision, recall and F1 of decisions."""

    precision: float
    recall: float
    f1: float


def scored(labelled: Sequence[Labelled], answers: Mapping[str, Answer], least: float) -> Scored:
    """Returns the figures of deciding for the companies with at least this score."""
    matched = right = inside = 0
    for one in labelled:
        inside += one.right is not None
        answer = answers.get(one.record.id)
        if answer is not None and answer.score >= least:
            matched += 1
            right += one.right is not None and answer.key == str(one.right)
    precision, recall = right / max(matched, 1), right / max(inside, 1)
    return Scored(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


def best_threshold(labelled: Sequence[Labelled], answers: Mapping[str, Answer]) -> float:
    """Returns the score from which decisions have the best F1."""
    levels = sorted({round(each.score, 4) for each in answers.values()})
    step = max(1, len(levels) // 200)
    return max(levels[::step], key=lambda least: scored(labelled, answers, least).f1)


def ours(
    labelled: Sequence[Labelled], registers: Mapping[Country, Register]
) -> tuple[dict[str, Answer], float]:
    """Returns this service's answers, and the seconds of the processor."""
    found: dict[str, Answer] = {}
    began = time.process_time()
    for one in labelled:
        assert one.record.country is not None
        odds = [
            (exp(log_odds(each.features)), each.key)
            for each in registers[one.record.country].candidates(one)
        ]
        if odds:
            best, key = max(odds)
            found[one.record.id] = Answer(str(key), best / (1 + sum(each for each, _ in odds)))
    return found, time.process_time() - began


def _document(made: World, labelled: Sequence[Labelled]) -> dict[str, Any]:
    companies = [
        {
            "id": str(key),
            "country": key.country,
            "name": each.name,
            "postal_code": (each.address and each.address.postal_code) or "",
            "city": (each.address and each.address.city) or "",
            "street": (each.address and each.address.street) or "",
        }
        for key, each in made.companies.items()
    ]
    asked = [
        {
            "id": one.record.id,
            "country": one.record.country,
            "name": one.record.name or "",
            "postal_code": one.record.postal_code or "",
            "city": one.record.city or "",
            "street": one.record.address or "",
        }
        for one in labelled
    ]
    return {"companies": companies, "records": asked}


def peer(python: str, name: str, file: Path) -> tuple[dict[str, Answer], float]:
    """Returns a peer's answers, and its seconds; raises CalledProcessError or TimeoutExpired."""
    script = Path(__file__).parent / "peers" / "match.py"
    done = subprocess.run(
        [python, str(script), name, str(file)],
        check=True, capture_output=True, text=True, timeout=_TIMEOUT,
    )  # fmt: skip
    answer = json.loads(done.stdout.splitlines()[-1])
    return {key: Answer(*each) for key, each in answer["answers"].items()}, answer["seconds"]


def measured(
    name: str,
    labelled: Sequence[Labelled],
    answers: Mapping[str, Answer],
    seconds: float,
    threshold: float | None = None,
) -> Iterator[Figure]:
    """Yields the figures of one matcher."""
    learning = [one for one in labelled if not one.is_test]
    test = [one for one in labelled if one.is_test]
    least = best_threshold(learning, answers) if threshold is None else threshold
    found = scored(test, answers, least)
    yield Figure(f"F1, {name}", found.f1, "")
    yield Figure(f"precision, {name}", found.precision, "")
    yield Figure(f"recall, {name}", found.recall, "")
    yield Figure(f"processor time of a record, {name}", 1000 * seconds / len(labelled), "ms")


def main() -> None:
    """Measures this service and each peer, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.match")
    parser.add_argument("--python", help="the interpreter of the peers")
    parser.add_argument("--invented", type=int, default=15_000)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--peers", nargs="*", default=PEERS)
    arguments = parser.parse_args()
    made = world(Path(os.environ["SHARED_DATA"]), arguments.invented)
    some = [one for one in records(made) if one.kind in _KINDS]
    labelled = Random(SEED).sample(some, min(arguments.records, len(some)))
    figures: list[Figure] = []
    with TemporaryDirectory(prefix="bench-match-") as folder, ExitStack() as stack:
        registers = {each: register(each, made.cores(each), Path(folder)) for each in Country}
        for each in registers.values():
            stack.enter_context(closing(each.index))
        answers, seconds = ours(labelled, registers)
        figures += measured("this service", labelled, answers, seconds, MATCHED)
        print(table(figures), flush=True)
        file = Path(folder, "match.json")
        file.write_text(json.dumps(_document(made, labelled)))
        for name in arguments.peers if arguments.python else ():
            try:
                answers, seconds = peer(arguments.python, name, file)
            except subprocess.SubprocessError as error:
                output = getattr(error, "stderr", None) or ""
                print(f"{name}: {type(error).__name__} {output[-2000:]}", flush=True)
                continue
            figures += measured(name, labelled, answers, seconds)
            print(table(figures[-4:]), flush=True)
    f1 = {each.name.removeprefix("F1, "): each.value for each in figures if "F1" in each.name}
    own = f1.pop("this service")
    if f1:
        print(table([at_least("F1 ahead of the best peer by", own - max(f1.values()), "", 0.0)]))


if __name__ == "__main__":
    main()
