"""Imports of a register: rate and memory."""

from collections.abc import Iterator

from bench.figures import Figure, at_least, at_most
from bench.scale import Scale
from bench.setup import empty_system, entities_file, import_entities


def measure(scale: Scale) -> Iterator[Figure]:
    """The same file twice: into an empty register, and when nothing has changed."""
    with empty_system() as system:
        file = entities_file(system, scale.companies)
        first, second = import_entities(system, file), import_entities(system, file)
    rates = [scale.companies / usage.seconds for usage in (first, second)]
    yield at_least("import on an empty register", rates[0], "entities/s", 10_000)
    yield at_least("import of unchanged entities", rates[1], "entities/s", 25_000)
    peak = max(first.megabytes, second.megabytes)
    yield at_most("import, peak memory of a process", peak, "MB", 500)
