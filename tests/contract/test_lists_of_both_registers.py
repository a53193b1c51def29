"""Lists of both registers: the gateway's merge of the pages of two indexes, in every order."""

from random import Random

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.find import FindReply, FindRequest, FindSort, FoundCompany
from gateway.lookups.find import document, parse_find
from lookup.search.find.columns import Segment, Segments, joined
from lookup.search.find.pages import find
from lookup.search.indexed_company import Facts
from tests.builders.facts import some_facts, value_of

LISTED = [sort for sort in FindSort if sort is not FindSort.RELEVANCE]
#: The least numbers; a Norwegian one may equal a Danish one here.
REGISTERS = {Country.DK: 1, Country.NO: 20}


def replied(segments: Segments, request: FindRequest) -> FindReply:
    """The reply of a lookup service."""
    page = find(segments, request)
    companies = (
        FoundCompany(position=each, body=orjson.dumps([request.country, each.number]))
        for each in page.positions
    )
    return FindReply(companies=tuple(companies), total=page.total, has_more=page.has_more)


def paged(indexes: dict[Country, Segments], sort: FindSort, limit: int) -> list[tuple[str, int]]:
    """Every page, from cursor to cursor: country and number of each company."""
    listed: list[tuple[str, int]] = []
    after: dict[str, tuple[str, ...]] = {}
    while True:
        query = {"sort": (sort.value,), "limit": (str(limit),), "status": ("any",), **after}
        requests, _ = parse_find(query, {})
        page = orjson.loads(
            document(requests, [replied(indexes[each.country], each) for each in requests])
        )
        listed += [(country, number) for country, number in page["companies"]]
        if page["cursor"] is None:
            return listed
        after = {"after": (page["cursor"],)}


def ordered(companies: dict[Country, list[Facts]], sort: FindSort) -> list[tuple[str, int]]:
    """Those without a value last, and equal ones by country and number, in either direction."""
    every = sorted(
        ((country, one) for country, some in companies.items() for one in some),
        key=lambda each: (each[0], each[1].number),
    )
    having = [each for each in every if value_of(each[1], sort) is not None]
    without = [each for each in every if value_of(each[1], sort) is None]
    having.sort(key=lambda each: value_of(each[1], sort), reverse=sort.is_descending)  # type: ignore[arg-type,return-value]
    return [(country.value, one.number) for country, one in having + without]


@pytest.mark.parametrize("sort", LISTED)
@pytest.mark.parametrize("seed", range(4))
def test_pages_of_both_registers_are_one_list_in_each_direction(sort: FindSort, seed: int) -> None:
    random = Random(f"{sort} {seed}")
    companies = {
        country: [some_facts(random, number) for number in range(first, first + count)]
        for country, first in REGISTERS.items()
        for count in [random.choice([0, 1, 40, 400])]
    }
    indexes = {country: joined([Segment.of(some)]) for country, some in companies.items()}

    assert paged(indexes, sort, random.choice([3, 7, 100])) == ordered(companies, sort)


@pytest.mark.parametrize("first, second", [("name", "-name"), ("founded", "-founded")])
def test_the_directions_differ(first: str, second: str) -> None:
    """The test above would pass if both orders were the same and its model, too."""
    random = Random(1)
    companies = [some_facts(random, number) for number in range(1, 60)]
    indexes = {country: joined([Segment.of(companies)]) for country in Country}

    rising, falling = (paged(indexes, FindSort(each), 50) for each in (first, second))

    assert rising[0] != falling[0]
    assert sorted(rising) == sorted(falling)
