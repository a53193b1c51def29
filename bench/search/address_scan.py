"""The best that any index of addresses can do: each question compared with every address there is.

Left out are only addresses at other house numbers and in other towns, which score nothing.
"""

import mmap
from array import array
from collections import defaultdict
from pathlib import Path

from common.contracts.company import CompanyKey, Country
from lookup.search.addresses import Place, places_of, read_address
from lookup.search.index.documents import pack_address, read_address_record
from lookup.search.indexed import IndexedAddress, IndexedCompany, order_of, rank_order
from lookup.search.matching import Hit, Standing
from lookup.search.matching_addresses import ACCEPTED_ADDRESS, address_score, address_standing

#: What an address without a house number, or abroad, is kept under.
_NO_NUMBER = "-"
_HOME = Country.NO
_PART = "\x1f"


def line_of(company: IndexedCompany, address: IndexedAddress) -> str:
    """An address as the scan reads it, a line for each of its places."""
    return "".join(_line_of(company, address, place) for place in places_of(address, _HOME))


def _line_of(company: IndexedCompany, address: IndexedAddress, place: Place) -> str:
    numbers = " ".join(map(str, _numbers(place)))
    area = _PART.join((place.postal_code, *place.towns))
    order = order_of(address.kind, rank_order(company.rank))
    record = pack_address(address.kind, place)
    return f"{numbers}\t{area}\t{order}\t{company.key}\t{record}\n"


class AddressScan:
    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.addresses = 0
        #: Where the lines begin, by house number and area.
        self._places: defaultdict[str, defaultdict[str, array[int]]] = defaultdict(
            lambda: defaultdict(lambda: array("Q"))
        )
        start = 0
        while (end := self._lines.find(b"\n", start)) >= 0:
            numbers, area, _ = self._lines[start:end].decode().split("\t", 2)
            for number in numbers.split(" "):
                self._places[number][area].append(start)
            start = end + 1
            self.addresses += 1

    def search_address(self, term: str) -> Hit | None:
        found = [best for asked in read_address(term) if (best := self._best(asked)) is not None]
        standing, key = max(found, default=(None, None))
        if standing is None or key is None or standing.score < ACCEPTED_ADDRESS:
            return None
        return Hit(key, score=standing.score, exact=standing.exact)

    def _best(self, asked: Place) -> tuple[Standing, CompanyKey] | None:
        places = {
            start
            for number in {*map(str, _numbers(asked)), _NO_NUMBER}
            for area, starts in self._places.get(number, {}).items()
            if _reaches(asked, area)
            for start in starts
        }
        return max((self._standing(asked, start) for start in places), default=None)

    def _standing(self, asked: Place, start: int) -> tuple[Standing, CompanyKey]:
        line = self._lines[start : self._lines.find(b"\n", start)].decode()
        _, _, order, company, record = line.split("\t")
        kind, place = read_address_record(record)
        standing = address_standing(asked, place, kind=kind, order=int(order))
        return standing, CompanyKey(company)


def _reaches(asked: Place, area: str) -> bool:
    """Whether the very street in this area would be worth anything."""
    postal_code, *towns = area.split(_PART)
    if not postal_code and not towns:
        return True  # abroad, where the whole text is compared
    street = Place(asked.street, postal_code=postal_code, towns=tuple(towns))
    return address_score(asked._replace(house=None, floor="", door="", co=""), street) > 0


def _numbers(place: Place) -> list[int | str]:
    return list(place.house.numbers()) if place.house else [_NO_NUMBER]
