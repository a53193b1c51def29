"""Request rates, such as `60/minute`."""

import re
from dataclasses import dataclass

SECONDS = {"second": 1, "minute": 60, "hour": 3600}

_RATE = re.compile(rf"(?P<count>[1-9][0-9]{{0,8}})/(?P<unit>{'|'.join(SECONDS)})")


@dataclass(frozen=True, slots=True)
class Rate:
    count: int
    #: Length of the window in seconds.
    window: int

    def __str__(self) -> str:
        return f"{self.count} in {self.window} s"


def parse_rate(text: str) -> Rate:
    """Reads `<count>/<second|minute|hour>`; raises ValueError for anything else."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("write a rate as <count>/<second|minute|hour>, such as 60/minute")
    return Rate(int(match["count"]), SECONDS[match["unit"]])
