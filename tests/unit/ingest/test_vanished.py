"""Keys of a whole file, to find those that it lacks."""

import tracemalloc
from collections.abc import Iterator

from ingest.records.records import RawDocument
from ingest.registers.peppol.sync import SeenIdentifiers


def documents(keys: range) -> Iterator[RawDocument]:
    return (RawDocument(1, "byte 0", b"", f"0088:{key:013}") for key in keys)


def test_exactly_the_keys_of_the_file_are_found() -> None:
    seen = SeenIdentifiers()

    list(seen.recorded(documents(range(2000))))
    found = [f"0088:{key:013}" in seen.present for key in range(4000)]
    list(seen.recorded(documents(range(3000, 3001))))

    assert found == [True] * 2000 + [False] * 2000
    assert {f"0088:{key:013}" in seen.present for key in (1999, 3000)} == {True}


def test_a_key_takes_a_few_bytes() -> None:
    seen, count = SeenIdentifiers(), 10_000
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()

    for _ in seen.recorded(documents(range(count))):
        pass
    after, _ = tracemalloc.get_traced_memory()
    assert f"0088:{7:013}" in seen.present
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert after - before < 12 * count
    assert most - before < 24 * count
