"""The registers' own interfaces over invented data, for tests and trials; never for production.

`Registers` holds their content, which a test can change; `serving` puts them on a port.
"""

from register_samples.server.serving import (
    BrokenOff,
    Failure,
    Faults,
    Registers,
    Served,
    ShardFailed,
    Slow,
    TooManyRequests,
    serving,
)

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
