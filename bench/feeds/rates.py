"""Entries of a feed per second, from the register to the outbox."""

from itertools import islice

from bench.feeds.syncing import OFTEN, norwegian_pass
from bench.figures import Figure, at_least
from local_stack.system import System
from register_samples.server import Registers, serving

_GOAL = 2_000
#: Of so many entities some have ended, and nothing more happens to them.
_SPARE = 1.2


async def measure(system: System, *, entries: int) -> list[Figure]:
    """Each entry names another company, which is fetched, compared, stored and published."""
    registers = Registers(companies=int(entries * _SPARE))
    async with serving(registers, downloads_a_day=OFTEN) as served:
        await norwegian_pass(system, served.brreg)
        entities = registers.no.entities
        standing = (found["organisasjonsnummer"] for found in list(entities.standing()))
        for number in islice(standing, entries):
            entities.change(number, {"epostadresse": f"post@{number}.example"})
        brought = await norwegian_pass(system, served.brreg)
    assert brought.results("changed") == entries, brought.line
    return [
        at_least("feed entries to the outbox", entries / brought.seconds, "/s", _GOAL),
        Figure(
            "feed entries to the outbox, processor time of the sync each",
            brought.processor_seconds / entries * 1000,
            "ms",
        ),
        Figure("following a feed, peak memory", brought.peak_megabytes, "MB"),
    ]
