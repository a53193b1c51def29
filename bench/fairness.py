"""The effect of one client's most expensive requests on the lookups of another.

One client sends them over several connections for as long as another's lookups by number and by
name are measured; each has its own key.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from statistics import median
from typing import Any
from urllib.parse import quote

from pymongo import MongoClient

from bench.figures import Figure, at_most, in_turns, ratio
from bench.scale import SEED, Scale
from bench.setup import Beside, loaded_system, sample_companies
from common.contracts.company import ProductionUnit, Status
from local_stack.system import System
from register_store.documents import UNITS, dump
from register_store.lists import order_fields

#: Connections of the client that sends expensive requests without a pause. With more, the gateway's
#: own work on so many requests would be measured, whatever they request.
_CONNECTIONS = 4
#: Companies with many units, and the units of each.
_LARGE, _UNITS = 10, 8_000
#: Names, and expensive texts of each type.
_TEXTS = 200
_LETTERS = "abcdefghijklmnoprstuvyæøå"
#: A ligature that normalisation unfolds to 18 letters.
_LIGATURE = "\ufdfa"


def measure(scale: Scale) -> Iterator[Figure]:
    with loaded_system(scale.companies) as loaded:
        vats = [one["organisasjonsnummer"] for one in sample_companies(scale.companies, _LARGE)]
        _add_units(loaded.system, vats)
        victims = {"lookups by number": loaded.paths, "lookups by name": _names(scale.companies)}
        flooder = loaded.system.issue_key("flooder")
        seconds = scale.load_seconds
        floods: dict[str, Beside | None] = {"": None}
        for flood, paths in _floods(vats).items():
            floods[flood] = Beside(paths, flooder, 2 if "units" in flood else _CONNECTIONS)
        candidates = {
            (flood, victim): partial(
                loaded.load, asked, connections=1, seconds=seconds, beside=beside
            )
            for flood, beside in floods.items()
            for victim, asked in victims.items()
        }
        rounds = in_turns(scale.rounds, candidates)
    for (flood, victim), loads in rounds.items():
        name = f"{victim} during {flood}" if flood else f"{victim} alone"
        yield Figure(f"{name}, p50", median(one.p50_ms for one in loads), "ms")
        p99 = median(one.p99_ms for one in loads)
        yield at_most(f"{name}, p99", p99, "ms", 15 if flood and "number" in victim else None)
        if flood:
            times = ratio([one.p50_ms for one in loads], [one.p50_ms for one in rounds["", victim]])
            goal = 3 if "name" in victim else None
            yield at_most(f"{name}, p50 over alone", times, "×", goal)
            yield at_most(f"{name}, failed", max(one.errors for one in loads), "", 0)


def _floods(vats: Sequence[str]) -> dict[str, list[str]]:
    random = Random(SEED)

    def words(count: int, length: int) -> str:
        made = ("".join(random.choices(_LETTERS, k=length)) for _ in range(count))
        return " ".join(made)

    include = "include=production_units,einvoicing"
    return {
        "another's addresses of ligatures": [
            f"/api/address?country=no&q={quote(_LIGATURE * 290 + str(number))}"
            for number in range(10)
        ],
        "another's addresses without a match": [
            f"/api/address?country=no&q={quote(f'{words(9, 20)} {number}, 0150 Oslo')}"
            for number in range(1, _TEXTS)
        ],
        "another's names without a match": [
            f"/api/name?country=no&include=alternatives&q={quote(words(16, 10))}"
            for _ in range(_TEXTS)
        ],
        "another's suggestions": [
            f"/api/suggest?country=no&limit=20&q={quote(words(12, 12))}" for _ in range(_TEXTS)
        ],
        "another's companies with 8,000 units": [
            f"/api/vat?country=no&q={vat}&{include}" for vat in vats
        ],
    }


def _names(companies: int) -> list[str]:
    return [
        f"/api/name?country=no&q={quote(one['navn'])}"
        for one in sample_companies(companies, _TEXTS)
    ]


def _add_units(system: System, vats: Sequence[str]) -> None:
    units = (
        _unit(vat, 900_000_000 + n) for n, vat in enumerate(v for v in vats for _ in range(_UNITS))
    )
    with MongoClient[dict[str, Any]](system.mongo_url) as client:
        client["register"][UNITS].insert_many(units)


def _unit(vat: str, number: int) -> dict[str, Any]:
    core = dump(
        ProductionUnit(number=str(number), name=f"PRØVEENHET {number}", status=Status.ACTIVE)
    )
    return {"_id": f"no:{number}", "company": f"no:{vat}", "core": core, **order_fields(core)}
