"""The best that any index can do: each question compared with every name there is.

Same folding, score and tie-break as the index. The names that cannot come near are left out by a
bound that misses none (`bench/peers/exhaustive_scan.py`), or a question would take a minute.
"""

import json
import mmap
import subprocess
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.environments import programs
from common.contracts.company import CompanyKey
from lookup.domain.folding import fold_name, refolded
from lookup.domain.indexed import IndexedCompany, NameKind, order_of, rank_order
from lookup.domain.matching import ACCEPTED_NAME, Hit, Standing, name_standing

_PROGRAM = Path(__file__).parent.parent / "peers" / "exhaustive_scan.py"


def line_of(company: IndexedCompany, text: str, kind: NameKind) -> str:
    """A name as the scan reads it."""
    name = fold_name(text)
    order = order_of(kind, rank_order(company.rank))
    return f"{kind:d}\t{order}\t{company.key}\t{name.key}\t{name.spelled}\n"


class Scan:
    def __init__(self, names: Path, process: "subprocess.Popen[str]") -> None:
        self._process = process
        with names.open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._starts = array("Q", [0])
        while (end := self._lines.find(b"\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)
        self.names = int(self._answer())

    def search_name(self, term: str, *, least: float = ACCEPTED_NAME) -> Hit | None:
        """The best of all names; `least` is a score that some name is known to have, if any."""
        asked = fold_name(term)
        near = self._ask(what="near", key=asked.key, least=max(least, ACCEPTED_NAME))
        found = [self._standing(asked, number) for number in near]
        standing, key = max(found, default=(None, None))
        if standing is None or key is None or standing.score < ACCEPTED_NAME:
            return None
        return Hit(key, score=standing.score, exact=standing.exact)

    def plain(self, term: str) -> float:
        """Milliseconds that rapidfuzz alone takes to find the best of all names."""
        return float(self._ask(what="plain", key=fold_name(term).key)["milliseconds"])

    def _standing(self, asked: Any, number: int) -> tuple[Standing, CompanyKey]:
        line = self._lines[self._starts[number] : self._starts[number + 1] - 1].decode()
        kind, order, company, _, spelled = line.split("\t")
        standing = name_standing(
            asked, refolded(spelled), kind=NameKind(int(kind)), order=int(order)
        )
        return standing, CompanyKey(company)

    def _ask(self, **question: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the exhaustive scan has ended before its time")
        return json.loads(line)


@contextmanager
def scanning(names: Path) -> Iterator[Scan]:
    """A scan over a file of `line_of`s, for the body's time."""
    python = programs("scan") / "python"
    process = subprocess.Popen(
        [str(python), str(_PROGRAM), str(names)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Scan(names, process)
    finally:
        process.kill()
        process.communicate()
