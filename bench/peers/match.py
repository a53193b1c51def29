"""Peers of the matching, in an environment of their own: `python match.py PEER FILE`.

FILE has companies and records; the last line of the output has the best company and its score for
each record, and the seconds of the processor. Each peer is used as its documentation shows, with
the data of one country at a time. For a library without blocking, candidates are the companies that
share most trigrams of the name.
"""

import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

One = dict[str, Any]
#: The best company of each record, and its score.
Answers = dict[str, tuple[str, float]]

#: Candidates of a record by shared trigrams.
_CANDIDATES = 50
_COUNTRIES = ("dk", "no")


def trigrams(name: str) -> set[str]:
    """Returns the trigrams of a name's words, with their ends."""
    text = "  ".join(re.findall(r"\w+", name.lower()))
    padded = f"  {text} "
    return {padded[place : place + 3] for place in range(len(padded) - 2)}


class Blocking:
    """The companies that share most trigrams with a name."""

    def __init__(self, companies: Sequence[One]) -> None:
        self.companies = companies
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        for place, company in enumerate(companies):
            for gram in trigrams(company["name"]):
                self.places[gram].append(place)

    def candidates(self, name: str) -> list[One]:
        """Returns the companies with the most trigrams of a name, rare ones counting more."""
        counts: Counter[int] = Counter()
        for gram in trigrams(name):
            found = self.places.get(gram, ())
            for place in found:
                counts[place] += 1_000_000 // (1 + len(found))
        return [self.companies[place] for place, _ in counts.most_common(_CANDIDATES)]


def by_pairs(
    companies: Sequence[One], records: Sequence[One], score: Callable[[One, One], float]
) -> Answers:
    """Returns the best candidate of each record by a score; of equal ones, one in its place."""
    blocking = Blocking(companies)
    answers: Answers = {}
    for record in records:
        best = max(
            (
                (score(record, each), each["postal_code"] == record["postal_code"], each["id"])
                for each in blocking.candidates(record["name"])
            ),
            default=None,
        )
        if best is not None:
            answers[record["id"]] = (best[2], best[0])
    return answers


def wratio(companies: Sequence[One], records: Sequence[One]) -> Answers:
    """Returns the answers of rapidfuzz's WRatio over the name, and the place if both have one."""
    from rapidfuzz import fuzz, utils

    def text(one: One, *, with_place: bool) -> str:
        place = f" {one['postal_code']} {one['city']}" if with_place else ""
        processed: str = utils.default_process(one["name"] + place)
        return processed

    def score(record: One, company: One) -> float:
        with_place = bool(record["postal_code"])
        return fuzz.WRatio(
            text(record, with_place=with_place), text(company, with_place=with_place)
        )

    return by_pairs(companies, records, score)


def nomenklatura(companies: Sequence[One], records: Sequence[One]) -> Answers:
    """Returns the answers of nomenklatura's `logic-v2` over companies with their addresses."""
    from followthemoney import model  # type: ignore[import-not-found]
    from nomenklatura.matching import LogicV2  # type: ignore[import-not-found]

    config = LogicV2.default_config()

    def entity(one: One) -> Any:
        entity = model.make_entity("Company")
        entity.id = one["id"]
        entity.add("name", one["name"])
        entity.add("jurisdiction", one["country"])
        address = ", ".join(filter(None, (one["street"], one["postal_code"], one["city"])))
        if address:
            entity.add("address", address)
        return entity

    made = {each["id"]: entity(each) for each in companies}

    def score(record: One, company: One) -> float:
        score: float = LogicV2.compare(entity(record), made[company["id"]], config).score
        return score

    return by_pairs(companies, records, score)


def name_matching(companies: Sequence[One], records: Sequence[One]) -> Answers:
    """Returns the answers of name-matching's NameMatcher with its own choice of candidates."""
    import pandas as pd  # type: ignore[import-untyped]
    from name_matching.name_matcher import NameMatcher  # type: ignore[import-not-found]

    matcher = NameMatcher(
        number_of_matches=1, legal_suffixes=True, common_words=False, top_n=_CANDIDATES,
        verbose=False,
    )  # fmt: skip
    matcher.set_distance_metrics(["bag", "typo", "refined_soundex"])
    master = pd.DataFrame(companies)
    matcher.load_and_process_master_data("name", master[["name"]])
    asked = pd.DataFrame(records)
    found = matcher.match_names(to_be_matched=asked[["name"]], column_matching="name")
    answers: Answers = {}
    for place, row in zip(range(len(records)), found.itertuples(), strict=True):
        index = getattr(row, "match_index_0", getattr(row, "match_index", None))
        score = getattr(row, "match_score_0", getattr(row, "score", 0))
        if index is not None and index == index:
            answers[records[place]["id"]] = (companies[int(index)]["id"], float(score))
    return answers


def splink(companies: Sequence[One], records: Sequence[One]) -> Answers:
    """Returns the answers of Splink in DuckDB: Fellegi and Sunter with levels of similar names."""
    import pandas as pd
    import splink.comparison_library as cl  # type: ignore[import-not-found]
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    def frame(rows: Sequence[One]) -> Any:
        found = pd.DataFrame(rows).rename(columns={"id": "unique_id"})
        found["name"] = [" ".join(re.findall(r"\w+", name.lower())) for name in found["name"]]
        words = found["name"].str.split()
        found["first"], found["start"] = words.str[0], found["name"].str[:4]
        found["last"] = [
            next((one for one in reversed(each) if len(one) > 3), "") for each in words
        ]
        found = found.replace({"": None})
        return found[["unique_id", "name", "first", "start", "last", "postal_code", "city"]]

    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[
            cl.JaroWinklerAtThresholds("name", [0.97, 0.93, 0.88, 0.8]),
            cl.ExactMatch("postal_code"),
            cl.JaroWinklerAtThresholds("city", [0.9]),
        ],
        blocking_rules_to_generate_predictions=[
            block_on("start"), block_on("last"), block_on("postal_code"),
        ],
    )  # fmt: skip
    database = DuckDBAPI()
    tables = [database.register(frame(each)) for each in (companies, records)]
    linker = Linker(tables, settings, log_level=None)
    linker.training.estimate_probability_two_random_records_match([block_on("name")], recall=0.6)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("start"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("postal_code"))
    found = linker.inference.predict(threshold_match_probability=0.001).as_pandas_dataframe()
    companies_ids = {each["id"] for each in companies}
    answers: Answers = {}
    for one, other, weight in zip(
        found["unique_id_l"], found["unique_id_r"], found["match_weight"], strict=True
    ):
        company, record = (one, other) if one in companies_ids else (other, one)
        if record not in answers or answers[record][1] < weight:
            answers[record] = (company, float(weight))
    return answers


PEERS = {
    "wratio": wratio, "nomenklatura": nomenklatura, "name-matching": name_matching,
    "splink": splink,
}  # fmt: skip


def main() -> None:
    """Matches with one peer and prints its answers."""
    with open(sys.argv[2]) as file:
        document = json.load(file)
    began = time.process_time()
    answers: Answers = {}
    for country in _COUNTRIES:
        companies, records = (
            [each for each in document[name] if each["country"] == country]
            for name in ("companies", "records")
        )
        if records:
            answers.update(PEERS[sys.argv[1]](companies, records))
    seconds = time.process_time() - began
    print()
    print(json.dumps({"answers": answers, "seconds": seconds}))


if __name__ == "__main__":
    main()
