"""How well an address answers an asked one: the street's likeness, less what speaks against it.

The house number is strong evidence: a company at another number is not at the asked address, and
no likeness elsewhere makes up for it. So are postcode and town, unless one of the two agrees. Floor
and door are weak evidence, which orders the companies of one house.
"""

from rapidfuzz.distance import OSA

from lookup.search.addresses import House, Place, without_quarter
from lookup.search.folding import Folded
from lookup.search.indexed import AddressKind
from lookup.search.matching import EXACT, Standing, similarity
from lookup.search.streets import abbreviates

#: Below this an address is not found. A street that differs in one letter of its own name stays
#: above it (`Kægvej`, `Kærvej`), one that differs in two of three falls below (`Kægvej`, `Engvej`).
ACCEPTED_ADDRESS = 75.0

KIND_WEIGHT = {AddressKind.BUSINESS: 1.0, AddressKind.POSTAL: 0.97}

# What is taken off the street's 100 points.
_NO_HOUSE_ASKED = 20.0
_LETTER_NOT_THERE = 8.0
_LETTER_NOT_ASKED = 4.0
_WITHIN_RANGE = 3.0
_NO_AREA_ASKED = 6.0
_OTHER_POSTCODE = 12.0
_OTHER_TOWN = 3.0
_PER_POINT_OF_TOWN = 0.2
_FLOOR_DIFFERS, _DOOR_DIFFERS = 5.0, 3.0
_NOT_THERE = 2.0
_NOT_ASKED = 1.0
_OTHER_CARE_OF = 2.0

#: A street whose first names are initials on one side.
_ABBREVIATED = 97.0

#: From here on two town names are one, misspelt or shortened.
_SAME_TOWN = 75.0
_SAME_CARE_OF = 75.0
_OTHER_QUARTER = 90.0


def address_standing(asked: Place, there: Place, *, kind: AddressKind, order: int) -> Standing:
    """How a company's address stands against the asked one; the caller refuses a low score."""
    score = address_score(asked, there)
    if score == EXACT:
        return Standing(exact=True, score=EXACT, order=order)
    return Standing(exact=False, score=round(score * KIND_WEIGHT[kind], 1), order=order)


def address_score(asked: Place, there: Place) -> float:
    """0 to 100: 100 when the two say the same, 0 for another house or town."""
    if there.whole is not None:
        return similarity(asked.whole, there.whole) if asked.whole else 0.0
    house = _house_off(asked.house, there.house)
    area = _area_off(asked, there)
    if house is None or area is None:
        return 0.0
    off = house + area + _dwelling_off(asked, there) + _care_of_off(asked.co, there.co)
    return max(0.0, _street_likeness(asked.street, there.street) - off)


def _street_likeness(asked: Folded, there: Folded) -> float:
    likeness = similarity(asked, there)
    if likeness < _ABBREVIATED and abbreviates(asked.words, there.words):
        return _ABBREVIATED
    return likeness


def _house_off(asked: House | None, there: House | None) -> float | None:
    """None for another house."""
    if asked is None:
        return _NO_HOUSE_ASKED if there else 0.0
    if there is None or not set(asked.numbers()).intersection(there.numbers()):
        return None
    off = 0.0 if asked.numbers() == there.numbers() else _WITHIN_RANGE
    if asked.letter == there.letter:
        return off
    if asked.letter and there.letter:
        return None
    return off + (_LETTER_NOT_THERE if asked.letter else _LETTER_NOT_ASKED)


def _area_off(asked: Place, there: Place) -> float | None:
    """None for another town."""
    if not asked.postal_code and not asked.towns:
        return _NO_AREA_ASKED
    town = _town_likeness(asked.towns, there.towns)
    if asked.postal_code and asked.postal_code == there.postal_code:
        return _town_off(town) if asked.towns else 0.0
    if town < _SAME_TOWN:
        return None
    return _town_off(town) + (_OTHER_POSTCODE if asked.postal_code else 0.0)


def _town_off(likeness: float) -> float:
    return min(_OTHER_TOWN, (EXACT - likeness) * _PER_POINT_OF_TOWN)


def _town_likeness(asked: tuple[str, ...], there: tuple[str, ...]) -> float:
    """That of the two names that are most alike; 0 where one side has none."""
    return max((_name_likeness(one, other) for one in asked for other in there), default=0.0)


def _name_likeness(asked: str, there: str) -> float:
    if asked == there:
        return EXACT
    if without_quarter(asked) == without_quarter(there):
        return _OTHER_QUARTER
    return EXACT * OSA.normalized_similarity(asked, there)


def _dwelling_off(asked: Place, there: Place) -> float:
    floor = _part_off(asked.floor, there.floor, _FLOOR_DIFFERS)
    return floor + _part_off(asked.door, there.door, _DOOR_DIFFERS)


def _part_off(asked: str, there: str, differs: float) -> float:
    if asked == there:
        return 0.0
    if asked and there:
        return differs
    return _NOT_THERE if asked else _NOT_ASKED


def _care_of_off(asked: str, there: str) -> float:
    if not asked:
        return 0.0
    same = similarity(Folded(asked, asked), Folded(there, there)) >= _SAME_CARE_OF
    return 0.0 if same else _OTHER_CARE_OF
