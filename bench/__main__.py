"""`python -m bench [--quick] [--only WORD]`: the benchmarks, printed and written to results."""

import argparse
import sys
from collections.abc import Callable, Iterable

from bench import (
    accounts,
    accuracy,
    agents,
    deliveries,
    events,
    export,
    find,
    footprint,
    groups,
    ingestion,
    lookups,
    search,
)
from bench.figures import Figure, table, write
from bench.load import ensure_wrk
from bench.scale import FULL, QUICK, Scale
from local_stack import SetupError

BENCHMARKS: dict[str, Callable[[Scale], Iterable[Figure]]] = {
    "start and idle": footprint.measure,
    "accuracy of name search": accuracy.measure,
    "name and address search": search.measure,
    "find companies": find.measure,
    "imports": ingestion.measure_imports,
    "lookups": lookups.measure,
    "lasting load": lookups.measure_lasting_load,
    "deliveries": deliveries.measure,
    "publishing": events.measure_publishing,
    "feeds": ingestion.measure_feeds,
    "groups": groups.measure,
    "event feed": events.measure_feed,
    "export": export.measure,
    "agents": agents.measure,
    "annual accounts": accounts.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--quick", action="store_true", help="small, to see that all of it runs")
    parser.add_argument("--only", metavar="WORD", default="", help="benchmarks with it in the name")
    arguments = parser.parse_args()
    ensure_wrk()
    for name, measure in BENCHMARKS.items():
        if arguments.only in name:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            try:
                figures = list(measure(QUICK if arguments.quick else FULL))
            except SetupError as error:
                sys.exit(f"bench: {error}")
            print(table(figures), flush=True)
            if not arguments.quick:  # a quick run's figures mean little
                write(name, figures)


if __name__ == "__main__":
    main()
