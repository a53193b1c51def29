"""Lists of companies as clients see them: parameters, merged pages, counts; over a fake `Finds`."""

from typing import Any

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.find import FindPosition, FindReply, FindSort, FoundCompany
from gateway.lookups.find import CURSOR, cursor_of, read_cursor
from tests.fakes.gateway import Gateway, problem_of

PATH = "/api/companies"
POSTAL = "&postal_code=1000-1499"


def found(key: int | str, country: Country, number: int) -> FoundCompany:
    position = FindPosition(key=key, country=country, number=number)
    return FoundCompany(position=position, body=b'{"vat":"%d"}' % number)


def a_reply(*companies: FoundCompany, has_more: bool = False, **fields: Any) -> FindReply:
    return FindReply(companies=companies, total=len(companies), has_more=has_more, **fields)


async def shown(gateway: Gateway, query: str) -> dict[str, Any]:
    answer = await gateway.get(PATH + query)
    assert answer.status == 200, await answer.text()
    body: dict[str, Any] = orjson.loads(await answer.read())
    return body


async def test_both_registers_are_asked_with_the_same_filters(gateway: Gateway) -> None:
    await shown(gateway, "?industry=62.01,70&municipality=oslo&has=phone,email" + POSTAL)

    danish, norwegian = gateway.finds.asked
    assert danish.model_copy(update={"country": Country.NO}) == norwegian
    assert (danish.industries, danish.municipalities) == (("6201", "70"), ("oslo",))
    assert [str(status) for status in danish.statuses] == ["active"]
    assert (danish.sort, danish.limit) == (FindSort.NAME, 20)
    [between] = danish.postal_codes
    assert (between.first, between.last) == ("1000", "1499")


async def test_the_lists_of_both_registers_are_merged_by_what_they_are_sorted_by(
    gateway: Gateway,
) -> None:
    gateway.finds.of = {
        Country.DK: a_reply(found("a", Country.DK, 10000001), found("c", Country.DK, 10000003)),
        Country.NO: a_reply(found("b", Country.NO, 800000001), found("c", Country.NO, 800000002)),
    }

    body = await shown(gateway, "?limit=3")

    assert [one["vat"] for one in body["companies"]] == ["10000001", "800000001", "10000003"]
    assert body["total"] == 4
    assert read_cursor(body["cursor"], FindSort.NAME) == FindPosition(
        key="c", country=Country.DK, number=10000003
    )


async def test_the_last_page_has_no_cursor(gateway: Gateway) -> None:
    gateway.finds.of = {Country.DK: a_reply(found("a", Country.DK, 10000001))}

    assert (await shown(gateway, "?limit=1"))["cursor"] is None


async def test_a_company_that_was_removed_meanwhile_does_not_end_the_list(
    gateway: Gateway,
) -> None:
    position = FindPosition(key="a", country=Country.DK, number=10000001)
    removed = FoundCompany(position=position, body=b"")
    gateway.finds.of = {Country.DK: a_reply(removed, has_more=True)}

    body = await shown(gateway, "?country=dk&limit=1")

    assert (body["companies"], body["cursor"]) == ([], cursor_of(position, FindSort.NAME))


async def test_counts_are_sums_with_the_most_frequent_first(gateway: Gateway) -> None:
    gateway.finds.of = {
        Country.DK: a_reply(facets={"status": {"active": 2, "ended": 3}}),
        Country.NO: a_reply(facets={"status": {"active": 2}}),
    }

    body = await shown(gateway, "?facets=status")

    assert body["facets"] == {
        "status": [
            {"value": "active", "count": 4, "text": "Aktiv", "text_en": "Active"},
            {"value": "ended", "count": 3, "text": "Ophørt", "text_en": "Ended"},
        ]
    }


async def test_a_cursor_leads_on_in_both_registers(gateway: Gateway) -> None:
    position = FindPosition(key=-19990102, country=Country.NO, number=923609016)
    cursor = cursor_of(position, FindSort.FOUNDED)

    await shown(gateway, f"?sort=-founded&after={cursor}")

    assert [request.after for request in gateway.finds.asked] == [position, position]


async def test_an_owner_chooses_its_register(gateway: Gateway) -> None:
    await shown(gateway, "?owned_by=no:923609016")

    [request] = gateway.finds.asked
    assert (request.country, request.owned_by) == (Country.NO, "923609016")


@pytest.mark.parametrize(
    "query, statuses",
    [
        ("", ["active"]),
        ("?status=any", []),
        ("?ended_from=2020-01-01", ["ended"]),
        ("?status=bankrupt,active", ["bankrupt", "active"]),
    ],
)
async def test_only_active_companies_are_found_by_default(
    gateway: Gateway, query: str, statuses: list[str]
) -> None:
    await shown(gateway, query)

    assert [str(status) for status in gateway.finds.asked[0].statuses] == statuses


@pytest.mark.parametrize(
    "query, codes",
    [
        ("?country=no&postal_code=159,10.0", [("0159", "0159"), ("0010", "0010")]),
        ("?postal_code=10", [("0010", "0010")]),
        ("?country=dk&postal_code=800-999", [("0800", "0999")]),
    ],
)
async def test_postal_codes_have_the_zeros_that_spreadsheets_drop(
    gateway: Gateway, query: str, codes: list[tuple[str, str]]
) -> None:
    await shown(gateway, query)

    asked = gateway.finds.asked[0].postal_codes
    assert [(each.first, each.last) for each in asked] == codes


async def test_a_name_of_several_municipalities_is_said_to_be_one(gateway: Gateway) -> None:
    gateway.finds.answer = a_reply(facets={"municipality": {"VÅLER": 2, "OSLO": 3}})

    named = await shown(gateway, "?country=no&municipality=herøy,oslo&facets=municipality")
    coded = await shown(gateway, "?country=no&municipality=1515,0301,101")

    assert named["ambiguous"] == [
        {"parameter": "municipality", "value": "herøy", "codes": ["1515", "1818"]},
        {"parameter": "facets", "value": "VÅLER", "codes": ["3114", "3419"]},
    ]
    assert gateway.finds.asked[-1].municipalities == ("1515", "0301", "101")
    assert "ambiguous" not in coded


async def test_words_are_sorted_by_relevance(gateway: Gateway) -> None:
    await shown(gateway, "?q=nordlys")
    await shown(gateway, "?q=nordlys&sort=name")

    assert [request.sort for request in gateway.finds.asked[::2]] == ["relevance", "name"]


@pytest.mark.parametrize(
    "query, parameter, part",
    [
        ("municipality=Olso", "municipality", "did you mean Oslo"),
        ("municipality=Oslo&country=dk", "municipality", "no company in dk has Oslo"),
        ("industry=04", "industry", "such as 62"),
        ("industry=x", "industry", "such as 62"),
        ("form=FLI&country=dk", "form", "no company in dk has FLI"),
        ("status=activ", "status", "did you mean active"),
        ("has=fone", "has", "did you mean phone"),
        ("facets=city", "facets", "must be of industry"),
        ("country=se", "country", "dk, no or both"),
        ("country=", "country", "must not be empty"),
        ("q=x", "q", "2 to 200"),
        ("postal_code=1499-1000", "postal_code", "1000-1499"),
        ("country=dk&postal_code=10", "postal_code", "four digits"),
        ("postal_code=12345", "postal_code", "four digits"),
        ("employees_min=9&employees_max=8", "employees_max", "less than employees_min"),
        ("employees_min=-1", "employees_min", "whole number"),
        ("founded_from=2020-02-30", "founded_from", "2026-01-31"),
        ("founded_from=20200101", "founded_from", "2026-01-31"),
        ("ended_from=2020-02-03&ended_to=2020-02-02", "ended_to", "before ended_from"),
        ("vat_registered=yes", "vat_registered", "true or false"),
        ("vat_registered=true&country=dk", "vat_registered", "only the Norwegian register"),
        ("advertising_protected=false&country=no", "advertising_protected", "only the Danish"),
        ("owned_by=12345674", "owned_by", "dk:12345678"),
        ("owned_by=dk:123", "owned_by", "8 digits"),
        ("owned_by=dk:12345674&country=no", "owned_by", "needs country=dk"),
        ("sort=size", "sort", "-employees"),
        ("sort=relevance", "sort", "needs q"),
        ("limit=101", "limit", "from 1 to 100"),
        ("limit=0", "limit", "from 1 to 100"),
        ("after=x", "after", "cursor"),
        ("after=WyJuYW1lIl0", "after", "cursor"),
        ("city=" + ",".join(map(str, range(51))), "city", "at most 50"),
        ("city=%ff", "city", "UTF-8"),
    ],
)
async def test_an_impossible_filter_is_named(
    gateway: Gateway, query: str, parameter: str, part: str
) -> None:
    answer = await gateway.get(f"{PATH}?{query}")

    problem = await problem_of(answer)
    assert (answer.status, problem["code"]) == (400, "invalid_parameter")
    errors = {error["parameter"]: error["message"] for error in problem["errors"]}
    assert part in errors[parameter]
    # Words are compared with the texts of codes, which are counted without a company.
    assert [one for one in gateway.finds.asked if one.limit] == []


async def test_a_cursor_of_another_sort_is_refused(gateway: Gateway) -> None:
    cursor = cursor_of(FindPosition(key="a", country=Country.DK, number=1), FindSort.NAME)

    answer = await gateway.get(f"{PATH}?sort=-founded&after={cursor}")

    assert answer.status == 400


@pytest.mark.parametrize("sort, key", [("name", "ÿ" * 60), ("relevance", (1 << 64) - 1)])
def test_the_longest_cursors_are_read_again(sort: str, key: int | str) -> None:
    position = FindPosition(key=key, country=Country.NO, number=999_999_999)

    cursor = cursor_of(position, FindSort(sort))

    assert read_cursor(cursor, FindSort(sort)) == position
    assert len(cursor) <= int(CURSOR.rpartition(",")[2].rstrip("}$"))
