"""The registers' own interfaces over invented data, for tests and trials; never for production.

`Registers` holds their content, which a test can change; `serving` puts them on a port.
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
from register_samples.server.serving import Served, serving

__all__ = [
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
