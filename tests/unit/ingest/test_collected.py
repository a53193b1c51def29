"""What public documents, clients and code lists show of the registers is in the ledgers.

`collected` has the lists, with where each entry is from, and how many are read and left out.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ingest.records.fields import Document
from ingest.records.ledger import Ledger, Values, members_of
from ingest.registers.brreg import ledger as brreg
from ingest.registers.cvr import ledger as cvr
from ingest.registers.cvr.dated_values import fold_word, meaning_of
from ingest.registers.peppol import ledger as peppol

COLLECTED: Final = Path(__file__).parent / "collected"
LEDGERS: Final = {
    "cvr-companies": cvr.COMPANIES,
    "cvr-units": cvr.UNITS,
    "brreg-entities": brreg.ENTITIES,
    "brreg-units": brreg.UNITS,
    "brreg-roles": brreg.ROLES,
    "peppol-cards": peppol.CARDS,
}
READ, LEFT_OUT, UNKNOWN = "read", "left out", "unknown"


def entries(name: str) -> Iterator[tuple[str, str]]:
    """Yields each path, or path with a code after `=`, with its sources."""
    for line in (COLLECTED / f"{name}.tsv").read_text().splitlines():
        entry, sources = line.split("\t")
        yield entry, sources


def of_code(values: Values, code: str) -> str:
    if values.is_told and values.model.__module__.startswith("ingest.registers.cvr"):
        if values.member == "status":
            return READ if meaning_of(code) else UNKNOWN
        code = fold_word(code)
    return READ if code in values.read else LEFT_OUT if code in values.left_out else UNKNOWN


def treatment(ledger: Ledger, entry: str) -> str:
    """Returns whether the reader uses a member or code; of a member that is left out, all is."""
    path, _, code = entry.partition("=")
    *steps, name = path.split(".")
    model: type[Document] | None = ledger.root
    for step in steps:
        table = ledger.members.get(model) if model else None
        if table is None or step not in table.read:
            return LEFT_OUT if table and step in table.left_out else UNKNOWN
        model = members_of(model)[step] if model else None
    table = ledger.members.get(model) if model else None
    if table is None or (not code and name not in {*table.read, *table.left_out}):
        return UNKNOWN
    if not code:
        return READ if name in table.read else LEFT_OUT
    lists = [one for one in ledger.values if one.model is model and one.member == name]
    # A shared object has the codes of each place where it is.
    found = {of_code(one, code) for one in lists}
    return next((one for one in (READ, LEFT_OUT) if one in found), UNKNOWN)


@pytest.mark.parametrize("name", LEDGERS)
def test_every_collected_path_and_code_is_in_the_ledger(name: str) -> None:
    ledger = LEDGERS[name]

    unknown = [entry for entry, _ in entries(name) if treatment(ledger, entry) == UNKNOWN]

    assert unknown == []


def counts() -> Iterator[str]:
    """Yields the rows of the table of counts."""
    for name, ledger in LEDGERS.items():
        for kind, is_code in (("paths", False), ("codes", True)):
            found = Counter(
                treatment(ledger, entry) for entry, _ in entries(name) if ("=" in entry) == is_code
            )
            if found:
                numbers = " | ".join(str(found[each]) for each in (READ, LEFT_OUT, UNKNOWN))
                yield f"| `{name}` | {kind} | {found.total()} | {numbers} |"


def test_the_table_of_counts_is_true() -> None:
    text = (COLLECTED / "README.md").read_text()

    table = [line for line in text.splitlines() if line.startswith("| `") and line.count("|") == 7]

    assert table == list(counts()), "replace the rows by:\n" + "\n".join(counts())


def test_every_collected_entry_is_from_a_source_that_is_named() -> None:
    text = (COLLECTED / "README.md").read_text()

    named = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}

    used = {one for name in LEDGERS for _, sources in entries(name) for one in sources.split(",")}
    assert used <= named
