"""`python -m bench [--quick] [--only WORD]`: every measurement, printed and written to results."""

import argparse
import os
import sys
import tempfile
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_bytes

from bench import accuracy, asked_names, figures, footprint, imports, lookups
from bench.deliveries import measured as deliveries
from bench.feeds import measured as feeds
from bench.figures import Figure, at_least
from bench.load import ensure_wrk
from bench.search import measured as search
from bench.search.questions import SEED
from bench.servers import servers
from local_stack.system import System
from register_samples import companies_no, write_registers


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a run: complete, or just enough to exercise every measurement."""

    entities: int
    seconds: int
    connections: tuple[int, ...]
    search: search.Size
    accuracy_names: int
    accuracy_questions: int
    deliveries: deliveries.Size
    feeds: feeds.Size
    idle_seconds: int
    lasting_seconds: int


FULL = Scale(
    entities=200_000,
    seconds=5,
    connections=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    search=search.FULL,
    accuracy_names=20_000,
    accuracy_questions=150,
    deliveries=deliveries.FULL,
    feeds=feeds.FULL,
    idle_seconds=60,
    lasting_seconds=600,
)
QUICK = Scale(
    entities=3_000,
    seconds=1,
    connections=(1, 64),
    search=search.QUICK,
    accuracy_names=1_000,
    accuracy_questions=20,
    deliveries=deliveries.QUICK,
    feeds=feeds.QUICK,
    idle_seconds=3,
    lasting_seconds=6,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--quick", action="store_true", help="small, to see that all of it runs")
    parser.add_argument("--only", metavar="WORD", help="the measurements whose name has the word")
    chosen = parser.parse_args()
    scale = QUICK if chosen.quick else FULL
    for name, measurement in MEASUREMENTS.items():
        if chosen.only is None or chosen.only in name:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            measured = measurement(scale)
            print(figures.table(measured), flush=True)
            if not chosen.quick:  # whose figures say little
                figures.write(name, measured, on=datetime.now(UTC).date())


def _accuracy(scale: Scale) -> list[Figure]:
    made = [document["navn"] for document in companies_no(scale.accuracy_names, SEED)]
    found = []
    with tempfile.TemporaryDirectory(prefix="bench-accuracy-") as folder:
        for one in accuracy.measure(
            made, questions=scale.accuracy_questions, seed=SEED, folder=Path(folder)
        ):
            label = f"top answer right, {one.disturbance}, {len(made):,} names, share of the scan's"
            found.append(at_least(label, one.of_the_scan, "", accuracy.GOAL))
    return found + _asked_names(made, scale.accuracy_questions)


def _asked_names(made: list[str], questions: int) -> list[Figure]:
    """Over the real names where they are at hand, else over invented ones."""
    shared = os.environ.get("SHARED_DATA")
    names = accuracy.real_names(Path(shared)) if shared else made
    found = []
    with tempfile.TemporaryDirectory(prefix="bench-asked-names-") as folder:
        for row in asked_names.measure(names, questions=questions, seed=SEED, folder=Path(folder)):
            label = f"asked name answered right, {row.label}, {len(names):,} names"
            most = max(row.questions, 1)
            found += [
                at_least(label, row.ours / most, "", max(row.wratio, row.word_similarity) / most),
                at_least(f"{label}, share of the scan's", row.ours / max(row.scan, 1), "", 0.99),
                Figure(f"{label}, PostgreSQL word_similarity", row.word_similarity / most, ""),
                Figure(f"{label}, rapidfuzz WRatio", row.wratio / most, ""),
            ]
    return found


def _search(scale: Scale) -> list[Figure]:
    return search.measure(scale.search, _system, _key)


def _imports(scale: Scale) -> list[Figure]:
    with _system() as system:
        file = _entities(system, scale.entities)
        return imports.measure(system, file, entities=scale.entities)


def _lookups(scale: Scale) -> list[Figure]:
    with _loaded(scale.entities) as loaded:
        figures = lookups.measure(*loaded, seconds=scale.seconds)
        figures += lookups.grown(*loaded, connections=scale.connections, seconds=scale.seconds)
        return figures + lookups.doubled(*loaded, seconds=scale.seconds)


def _lasting_load(scale: Scale) -> list[Figure]:
    with _loaded(scale.entities) as loaded:
        return footprint.memory_under_load(*loaded, seconds=scale.lasting_seconds)


def _footprint(scale: Scale) -> list[Figure]:
    with _system() as system:
        return footprint.started(system) + footprint.idle(system, seconds=scale.idle_seconds)


def _deliveries(scale: Scale) -> list[Figure]:
    return deliveries.measure(scale.deliveries)


def _feeds(scale: Scale) -> list[Figure]:
    return feeds.measure(scale.feeds, _system, _key)


#: The first companies of a register are made by hand; some of them are deleted ones.
_SHOWCASE = 10
#: Companies that lookups request.
_ASKED = 5_000


@contextmanager
def _loaded(entities: int) -> Iterator[tuple[System, str, list[str]]]:
    """A system with so many companies that serves lookups, a key, and numbers to look up."""
    with _system() as system:
        _ran(system, "lookup", "import", "no-enheter", str(_entities(system, entities)))
        key = _key(system)
        for module in ("lookup", "gateway"):
            system.start(module).wait_until_ready()
        step = max(entities // _ASKED, 1)
        numbers = [
            document["organisasjonsnummer"]
            for index, document in enumerate(companies_no(entities, SEED))
            if index % step == 0 and index >= _SHOWCASE
        ]
        yield system, key, numbers


def _entities(system: System, count: int) -> Path:
    """A file of so many Norwegian entities."""
    written = write_registers(system.folder / "registers", count, SEED, countries=("no",))
    return next(path for kind, path in written.items() if kind == "no-enheter")


@contextmanager
def _system() -> Iterator[System]:
    """Servers of our own with room to work, and a system on them."""
    ensure_wrk()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        own = stack.enter_context(servers(folder))
        mark = uuid.uuid4().hex[:8]
        system = System(
            folder,
            own.broker.amqp_url + "/",
            own.mongo.url,
            {
                "REGISTER_DB": f"register-{mark}",
                "ACCESS_DB": f"access-{mark}",
                "WEBHOOKS_DB": f"webhooks-{mark}",
                "WEBHOOK_SECRET_KEYS": f"bench:{b64encode(token_bytes(32)).decode()}",
                "KEY_RATE": "100000000/second",
                "HTTP_PORT_SHARED": "true",
            },
        )
        stack.callback(system.close)
        for module in ("gateway", "lookup", "webhook_registry"):
            _ran(system, module, "indexes")
        yield system


def _key(system: System) -> str:
    scopes = ("--scope", "lookup", "--scope", "webhooks")
    return _ran(system, "gateway", "keys", "issue", "--owner", "bench", "--name", "b", *scopes)


def _ran(system: System, module: str, *arguments: str) -> str:
    status, out, err = system.run(module, *arguments)
    if status != 0:
        raise SystemExit(f"{module} {' '.join(arguments)} ended with {status}:\n{err}")
    return out.strip()


MEASUREMENTS: dict[str, Callable[[Scale], list[Figure]]] = {
    "start and idle": _footprint,
    "accuracy of name search": _accuracy,
    "name and address search": _search,
    "imports": _imports,
    "lookups": _lookups,
    "lasting load": _lasting_load,
    "deliveries": _deliveries,
    "feeds": _feeds,
    "event feed": lambda scale: feeds.measure_events(scale.feeds),
}

if __name__ == "__main__":
    main()
