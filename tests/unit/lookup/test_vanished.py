"""What is noted of a whole file, to know afterwards who is in it."""

import tracemalloc
from collections.abc import Iterator

from lookup.ingest.records import RawDocument
from lookup.registers.peppol.vanished import Roll


def documents(keys: range) -> Iterator[RawDocument]:
    return (RawDocument(1, "byte 0", b"", f"0088:{key:013}") for key in keys)


def test_who_was_in_the_file_is_known_again_and_nobody_else() -> None:
    roll = Roll()

    for _ in roll.called(documents(range(2000))):
        pass
    found = [f"0088:{key:013}" in roll.present for key in range(4000)]
    for _ in roll.called(documents(range(3000, 3001))):
        pass

    assert found == [True] * 2000 + [False] * 2000
    assert f"0088:{3000:013}" in roll.present
    assert f"0088:{1999:013}" in roll.present


def test_a_whole_file_is_noted_in_a_few_bytes_for_each_who_is_in_it() -> None:
    roll, count = Roll(), 50_000
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()

    for _ in roll.called(documents(range(count))):
        pass
    after, _ = tracemalloc.get_traced_memory()
    assert f"0088:{7:013}" in roll.present
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert after - before < 12 * count
    assert most - before < 24 * count
