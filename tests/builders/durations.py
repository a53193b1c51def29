"""Durations as settings have them: of ISO 8601 with a fixed length, or a number of seconds."""

from typing import Final

#: Seconds by text.
SECONDS: Final = {
    "PT5S": 5,
    "pt0.5s": 0.5,
    "PT1,5H": 5400,
    "P1DT12H": 129_600,
    "P1D": 86_400,
    "P2W": 1_209_600,
    "P1W2DT3H": 788_400,
    "PT36H": 129_600,
    "PT1M30S": 90,
    "PT1H0M5S": 3605,
    " PT5S ": 5,
    "90": 90,
    "0.25": 0.25,
}
#: Months and years have no fixed length, and a number without a unit is one of seconds.
REFUSED: Final = (
    *("", "P", "PT", "P1Y", "P1M", "P1DT", "5s", "1:30", "PT5", "P1H", "PT1D", "PT1S1M", "1e3"),
    *("1 5", "PT 5S", "P-1D"),
)
