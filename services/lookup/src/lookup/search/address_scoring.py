"""The score of an address for a query: the similarity of the street, less penalties.

The house number is strong evidence: a company at another number is not at the address, however
similar the rest. So are postcode and town, unless one of the two agrees. Floor and door are weak
evidence, which only orders the companies of one house.
"""

from rapidfuzz.distance import OSA

from lookup.search.addresses import House, ParsedAddress, without_quarter
from lookup.search.folding import FoldedText
from lookup.search.indexed_company import AddressType
from lookup.search.similarity import EXACT, AddressMatch, similarity
from lookup.search.streets import abbreviates

#: The minimum score of a match. A street whose proper name differs in one letter stays above it
#: (`Kægvej`, `Kærvej`), one that differs in two of three falls below (`Kægvej`, `Engvej`).
ACCEPTED_ADDRESS = 75.0

TYPE_WEIGHT = {AddressType.BUSINESS: 1.0, AddressType.POSTAL: 0.97}

# Penalties on the street's 100 points.
_NO_HOUSE_IN_QUERY = 20.0
_LETTER_NOT_IN_ADDRESS = 8.0
_LETTER_NOT_IN_QUERY = 4.0
_WITHIN_RANGE = 3.0
_NO_AREA_IN_QUERY = 6.0
_OTHER_POSTCODE = 12.0
_OTHER_TOWN = 3.0
_PER_POINT_OF_TOWN = 0.2
_FLOOR_DIFFERS, _DOOR_DIFFERS = 5.0, 3.0
_NOT_IN_ADDRESS = 2.0
_NOT_IN_QUERY = 1.0
_OTHER_CARE_OF = 2.0

#: A street whose first names are initials on one side.
_ABBREVIATED = 97.0

#: Minimum similarity of two spellings of one town.
_SAME_TOWN = 75.0
_SAME_CARE_OF = 75.0
_OTHER_QUARTER = 90.0


def match_address(
    query: ParsedAddress, address: ParsedAddress, *, address_type: AddressType, order: int
) -> AddressMatch:
    """Returns the rank of a company's address for a query; the caller rejects a low score."""
    score = address_score(query, address)
    if score == EXACT:
        return AddressMatch(exact=True, score=EXACT, order=order)
    return AddressMatch(exact=False, score=round(score * TYPE_WEIGHT[address_type], 1), order=order)


def address_score(query: ParsedAddress, address: ParsedAddress) -> float:
    """Returns the similarity, 0 to 100: 100 if both are the same, 0 for another house or town."""
    if address.whole is not None:
        return similarity(query.whole, address.whole) if query.whole else 0.0
    house = _house_penalty(query.house, address.house)
    area = _area_penalty(query, address)
    if house is None or area is None:
        return 0.0
    street = similarity(query.street, address.street)
    if street < _ABBREVIATED and abbreviates(query.street.words, address.street.words):
        street = _ABBREVIATED
    floor = _part_penalty(query.floor, address.floor, _FLOOR_DIFFERS)
    door = _part_penalty(query.door, address.door, _DOOR_DIFFERS)
    care_of = _care_of_penalty(query.co, address.co)
    return max(0.0, street - (house + area + (floor + door) + care_of))


def _house_penalty(query: House | None, address: House | None) -> float | None:
    """Returns the penalty; None for another house."""
    if query is None:
        return _NO_HOUSE_IN_QUERY if address else 0.0
    if address is None or not set(query.numbers()).intersection(address.numbers()):
        return None
    penalty = 0.0 if query.numbers() == address.numbers() else _WITHIN_RANGE
    if query.letter == address.letter:
        return penalty
    if query.letter and address.letter:
        return None
    return penalty + (_LETTER_NOT_IN_ADDRESS if query.letter else _LETTER_NOT_IN_QUERY)


def _area_penalty(query: ParsedAddress, address: ParsedAddress) -> float | None:
    """Returns the penalty; None for another town."""
    if not query.postal_code and not query.towns:
        return _NO_AREA_IN_QUERY
    town = town_similarity(query.towns, address.towns)
    if query.postal_code and query.postal_code == address.postal_code:
        return _town_penalty(town) if query.towns else 0.0
    if town < _SAME_TOWN:
        return None
    return _town_penalty(town) + (_OTHER_POSTCODE if query.postal_code else 0.0)


def _town_penalty(score: float) -> float:
    return min(_OTHER_TOWN, (EXACT - score) * _PER_POINT_OF_TOWN)


def town_similarity(query: tuple[str, ...], address: tuple[str, ...]) -> float:
    """Returns the similarity of the two most similar names; 0 if one side has none."""
    return max((_name_similarity(one, other) for one in query for other in address), default=0.0)


def _name_similarity(query: str, address: str) -> float:
    if query == address:
        return EXACT
    if without_quarter(query) == without_quarter(address):
        return _OTHER_QUARTER
    return EXACT * OSA.normalized_similarity(query, address)


def _part_penalty(query: str, address: str, differs: float) -> float:
    if query == address:
        return 0.0
    if query and address:
        return differs
    return _NOT_IN_ADDRESS if query else _NOT_IN_QUERY


def _care_of_penalty(query: str, address: str) -> float:
    if not query:
        return 0.0
    same = similarity(FoldedText(query, query), FoldedText(address, address)) >= _SAME_CARE_OF
    return 0.0 if same else _OTHER_CARE_OF
