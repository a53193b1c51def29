"""Sample registers as files, named and written like the registers' own."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from register_samples import containers, documents, peppol
from register_samples.facts import AS_OF, Document
from register_samples.norway import table
from register_samples.norway.shape import Shape
from register_samples.registers import DENMARK
from register_samples.units import unit_count

COUNTRIES = ("dk", "no")

#: There are no more numbers than these.
MAX_COMPANIES = min(register.capacity for register in documents.REGISTERS.values())


class Format(StrEnum):
    """Formats other than the usual ones; each says which of the files it changes."""

    #: Norwegian records as in the bulk files of 2022.
    NO_2022 = "no-2022"
    #: Norwegian records with `_links`, as the API answers.
    NO_LINKS = "no-links"
    #: Norwegian entities as CSV.
    NO_CSV = "no-csv"
    #: Danish documents as one Elasticsearch answer.
    DK_ANSWER = "dk-answer"
    #: Danish documents as pages of a scrolled search, one page a line.
    DK_SCROLL = "dk-scroll"
    #: Business cards as CSV.
    PEPPOL_CSV = "peppol-csv"


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be written."""

    companies: int
    seed: int
    countries: tuple[str, ...]
    formats: frozenset[Format]

    @property
    def shape(self) -> Shape:
        return Shape(old=Format.NO_2022 in self.formats, supervised=Format.NO_LINKS in self.formats)


def write_registers(
    out: Path,
    companies: int,
    seed: int = 1,
    *,
    countries: Collection[str] = COUNTRIES,
    formats: Collection[Format] = (),
) -> dict[str, Path]:
    """Write the registers of these countries; returns the file of each kind.

    The kinds are those that the lookup service imports: `no-enheter`, `no-underenheter`,
    `no-roller`, `dk-virksomhed`, `dk-produktionsenhed`, `peppol`. A file appears under its name
    when it is whole; one of the same name is replaced.

    Args:
        out: The folder, made when it is missing.
        companies: How many companies each register has; the first ten are the showcase.
        seed: Another seed gives other companies under the same numbers.
        countries: `dk`, `no` or both; the business cards are of their companies.
        formats: Formats to use instead of the usual ones.

    Raises:
        ValueError: the number of companies is not from 1 to `MAX_COMPANIES`.
    """
    if not 1 <= companies <= MAX_COMPANIES:
        raise ValueError(f"a register has 1 to {MAX_COMPANIES} companies, not {companies}")
    order = _Order(companies, seed, tuple(countries), frozenset(formats))
    out.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    for kind, (of, write) in _WRITERS.items():
        if of & set(countries):
            partial = out / f"{kind}.part"
            suffix = write(order, partial)
            written[kind] = partial.replace(out / f"{kind}{suffix}")
    return written


def _entities(order: _Order, path: Path) -> str:
    entities = documents.companies_no(order.companies, order.seed, shape=order.shape)
    if Format.NO_CSV in order.formats:
        containers.write_table(path, table.COLUMNS, map(table.row, entities))
        return ".csv"
    containers.write_gzipped_array(path, entities)
    return ".json.gz"


def _norwegian_units(order: _Order, path: Path) -> str:
    units = documents.units_no(order.companies, order.seed, shape=order.shape)
    containers.write_gzipped_array(path, units)
    return ".json.gz"


def _roles(order: _Order, path: Path) -> str:
    roles = documents.roles_no(order.companies, order.seed, shape=order.shape)
    containers.write_gzipped_array(path, roles)
    return ".json.gz"


def _danish_companies(order: _Order, path: Path) -> str:
    companies = documents.companies_dk(order.companies, order.seed)
    return _write_danish(order, path, companies, total=order.companies)


def _danish_units(order: _Order, path: Path) -> str:
    units = documents.units_dk(order.companies, order.seed)
    return _write_danish(order, path, units, total=unit_count(DENMARK, order.companies))


def _write_danish(order: _Order, path: Path, found: Iterator[Document], *, total: int) -> str:
    if Format.DK_ANSWER in order.formats:
        containers.write_answer(path, found, total)
        return ".json"
    if Format.DK_SCROLL in order.formats:
        containers.write_pages(path, found, total)
        return ".pages.jsonl"
    containers.write_lines(path, found)
    return ".jsonl"


def _cards(order: _Order, path: Path) -> str:
    cards = documents.participants(order.companies, order.seed, countries=order.countries)
    if Format.PEPPOL_CSV in order.formats:
        rows = (row for card in cards for row in peppol.rows(card))
        containers.write_table(path, peppol.COLUMNS, rows, latin=True)
        return ".csv"
    containers.write_cards(path, cards, created=f"{AS_OF}T02:00:00.000Z")
    return ".json"


#: Writes a file and returns what its name ends with.
_Writer = Callable[[_Order, Path], str]

#: Each kind with the countries it is of and how it is written.
_WRITERS: dict[str, tuple[set[str], _Writer]] = {
    "no-enheter": ({"no"}, _entities),
    "no-underenheter": ({"no"}, _norwegian_units),
    "no-roller": ({"no"}, _roles),
    "dk-virksomhed": ({"dk"}, _danish_companies),
    "dk-produktionsenhed": ({"dk"}, _danish_units),
    "peppol": ({"dk", "no"}, _cards),
}
