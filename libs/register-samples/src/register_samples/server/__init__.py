"""The registers' own interfaces over invented data, for tests and trials; never for production.

`Registers` is what they know and how a test changes it; `serving` puts them on a port.
"""

from register_samples.server.faults import (
    BrokenOff,
    Failure,
    Faults,
    ShardFailed,
    Slow,
    TooManyRequests,
)
from register_samples.server.registers import Registers
from register_samples.server.serving import Access, Served, serving

__all__ = [
    "Access",
    "BrokenOff",
    "Failure",
    "Faults",
    "Registers",
    "Served",
    "ShardFailed",
    "Slow",
    "TooManyRequests",
    "serving",
]
