"""The change of the Danish classification of industries, DB07 to DB25."""

from typing import Final

#: Divisions and classes of DB07 (NACE Rev. 2) that DB25 (NACE Rev. 2.1) no longer has.
_RETIRED: Final = (
    *("4110", "4120", "4329", "4339", "4399", "45", "4719", "4729", "4741", "4742", "4743"),
    *("4789", "4799", "5229", "5610", "5629", "6130", "6201", "6202", "6203", "6209", "6311"),
    *("6312", "6420", "6430", "6810", "7021", "7022", "7211", "7219", "7410", "7490", "8211"),
    *("8219", "8560", "8690", "9001", "9002", "9003", "9004", "9101", "9102", "9103", "9104"),
    *("9511", "9512", "9601", "9602", "9603", "9604", "9609"),
)


def is_retired(code: str | None) -> bool:
    """Returns True for a code of DB07 that is not one of DB25."""
    return code is None or code.startswith(_RETIRED)
