"""The cost of one search, for any query."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from common.contracts.company import Country
from lookup.search.folding import MAX_FOLDED, fold_text
from lookup.search.index import SearchIndex
from lookup.search.scheduling import Budget
from tests.builders.indexed import an_indexed_company, filled, search_address, search_name
from tests.unit.lookup.conftest import searching

#: Asks an index every text in each way, in a process of its own, and prints the megabytes it took.
_ASK_EVERYTHING = """
import resource, sys
from pathlib import Path
from random import Random
from common.contracts.company import Country
from lookup.search.index import SearchIndex
from tests.builders.indexed import an_indexed_company, search_address, search_name

def letters(first, last, count):
    return "".join(chr(chance.randint(first, last)) for _ in range(count))

def words(first, last):
    return " ".join(letters(first, last, 8) for _ in range(22))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

chance = Random(1)
scripts = {"latin": (0x61, 0x7A), "greek": (0x3B1, 0x3C9), "cjk": (0x4E00, 0x9FA5),
           "gothic": (0x10330, 0x1034A), "emoji": (0x1F600, 0x1F64F), "nordic": (0xE5, 0xE6)}
texts = ["".join(letters(0x4E00, 0x9FA5, 1) + "\\ufdfa" for _ in range(100)), "\\ufb03" * 200]
texts += [letters(*script, 200) for script in scripts.values()]
texts += [words(*script) for script in scripts.values()]
index = SearchIndex.open(Path(sys.argv[1]), Country.DK)
index.apply([an_indexed_company("Nordlys ApS"), an_indexed_company(texts[4], number=2)])
index.commit(b"here")
search_name(index, "nordlys")
before = peak()
for text in texts:
    for ask in (search_name, search_address, lambda index, text: index.suggest(text, 10)):
        try:
            ask(index, text)
        except TimeoutError:
            pass
print(peak() - before)
"""


def test_a_text_of_any_script_takes_little_memory(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _ASK_EVERYTHING, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert int(run.stdout) < 150


def test_a_text_that_unfolds_is_cut() -> None:
    assert len(fold_text("\ufdfa" * 200).words) <= MAX_FOLDED


@pytest.mark.parametrize("text", ["\ufdfa" * 290, "\ufdfa " * 145, "\ufb03" * 290])
def test_a_query_that_unfolds_is_cut_before_it_is_read(index: SearchIndex, text: str) -> None:
    filled(index, an_indexed_company("Nordlys ApS"))
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        search_address(index, text)
        search_name(index, text)
    finally:
        sys.setprofile(None)

    # 4,700; uncut, 87,000 and 10,000 of the first two texts.
    assert calls < 8000


def test_the_budget_of_a_search_begins_before_its_text_is_read() -> None:
    budget = Budget(seconds=-1)

    budget.begin()
    budget.note()

    assert budget.used >= 0
    with pytest.raises(TimeoutError):
        budget.check()


def abandoned() -> Budget:
    budget = Budget()
    budget.abandon()
    return budget


@pytest.mark.parametrize("budget", [Budget(seconds=-1), abandoned()], ids=["spent", "abandoned"])
def test_a_search_ends_with_its_budget(index: SearchIndex, budget: Budget) -> None:
    filled(index, an_indexed_company("Nordlys ApS"))

    with pytest.raises(TimeoutError):
        search_name(index, "nordlys", budget)
    with pytest.raises(TimeoutError):
        search_address(index, "Nordvej 1, 1000", budget)
    with pytest.raises(TimeoutError):
        index.suggest("nord", 10, budget)


class SlowIndex:
    """An index whose searches end with their budget alone."""

    def __init__(self) -> None:
        self.searching, self.ended = threading.Event(), threading.Event()
        self._pause = threading.Event()

    def view(self, budget: Budget) -> Any:
        self.searching.set()
        try:
            while True:
                budget.check()
                self._pause.wait(0.005)  # so that little of its processor time is used up
        finally:
            self.ended.set()

    def suggest(self, _: str, __: int, budget: Budget, **___: object) -> Any:
        return self.view(budget)


@pytest.mark.parametrize("what", ["name", "suggest"])
async def test_a_search_that_its_caller_abandons_ends(what: str) -> None:
    slow = SlowIndex()
    with searching(slow) as searches:
        asking: asyncio.Task[object] = asyncio.create_task(
            searches.by_name(Country.DK, "nordlys")
            if what == "name"
            else searches.suggest(Country.DK, "nord", 10)
        )
        await asyncio.to_thread(slow.searching.wait, 5)

        asking.cancel()

        assert await asyncio.to_thread(slow.ended.wait, 5)
