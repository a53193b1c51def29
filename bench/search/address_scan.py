"""The upper bound for an index of addresses: every query is compared with every address.

Only addresses at other house numbers and in other towns are skipped; their score is 0.
"""

import mmap
from array import array
from collections import defaultdict
from pathlib import Path

from common.contracts.company import CompanyKey, Country
from lookup.search.addresses import ParsedAddress, parsed_addresses, read_address
from lookup.search.hits import SearchHit
from lookup.search.index.documents import pack_address, read_address_record
from lookup.search.indexed import IndexedAddress, IndexedCompany, order_of, rank_order
from lookup.search.matching import AddressMatch
from lookup.search.matching_addresses import ACCEPTED_ADDRESS, address_score, match_address

#: The key of addresses without a house number, and of those abroad.
_NO_NUMBER = "-"
_HOME = Country.NO
_PART = "\x1f"


def line_of(company: IndexedCompany, address: IndexedAddress) -> str:
    """The lines of an address in the scan's file, one for each parsed address."""
    return "".join(
        _line_of(company, address, parsed) for parsed in parsed_addresses(address, _HOME)
    )


def _line_of(company: IndexedCompany, address: IndexedAddress, parsed: ParsedAddress) -> str:
    numbers = " ".join(map(str, _numbers(parsed)))
    area = _PART.join((parsed.postal_code, *parsed.towns))
    order = order_of(address.kind, rank_order(company.rank))
    record = pack_address(address.kind, parsed)
    return f"{numbers}\t{area}\t{order}\t{company.key}\t{record}\n"


class AddressScan:
    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.addresses = 0
        #: Offsets of the lines, by house number and area.
        self._starts: defaultdict[str, defaultdict[str, array[int]]] = defaultdict(
            lambda: defaultdict(lambda: array("Q"))
        )
        start = 0
        while (end := self._lines.find(b"\n", start)) >= 0:
            numbers, area, _ = self._lines[start:end].decode().split("\t", 2)
            for number in numbers.split(" "):
                self._starts[number][area].append(start)
            start = end + 1
            self.addresses += 1

    def search_address(self, term: str) -> SearchHit | None:
        found = [best for query in read_address(term) if (best := self._best(query)) is not None]
        match, key = max(found, default=(None, None))
        if match is None or key is None or match.score < ACCEPTED_ADDRESS:
            return None
        return SearchHit(key, match.score)

    def _best(self, query: ParsedAddress) -> tuple[AddressMatch, CompanyKey] | None:
        starts_near = {
            start
            for number in {*map(str, _numbers(query)), _NO_NUMBER}
            for area, starts in self._starts.get(number, {}).items()
            if _reaches(query, area)
            for start in starts
        }
        return max((self._match(query, start) for start in starts_near), default=None)

    def _match(self, query: ParsedAddress, start: int) -> tuple[AddressMatch, CompanyKey]:
        line = self._lines[start : self._lines.find(b"\n", start)].decode()
        _, _, order, company, record = line.split("\t")
        kind, address = read_address_record(record)
        match = match_address(query, address, kind=kind, order=int(order))
        return match, CompanyKey.parse(company)


def _reaches(query: ParsedAddress, area: str) -> bool:
    """True if an equal street in this area would score above 0."""
    postal_code, *towns = area.split(_PART)
    if not postal_code and not towns:
        return True  # abroad, where the whole text is compared
    street = ParsedAddress(query.street, postal_code=postal_code, towns=tuple(towns))
    return address_score(query._replace(house=None, floor="", door="", co=""), street) > 0


def _numbers(address: ParsedAddress) -> list[int | str]:
    return list(address.house.numbers()) if address.house else [_NO_NUMBER]
