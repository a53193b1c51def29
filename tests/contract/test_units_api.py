"""Pages of production units as clients see them: status, headers, body; over a fake `Units`."""

import pytest

from common.contracts.company import Country
from common.contracts.lookup import UnitsReply, UnitsRequest
from tests.fakes.gateway import Gateway, problem_of

UNITS = "/api/companies/dk/12345674/production_units"


async def test_the_page_is_passed_on_byte_by_byte(gateway: Gateway) -> None:
    gateway.units.answer = UnitsReply(body=b'{"production_units" : []}')

    answer = await gateway.get(UNITS)

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "private, max-age=60"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert await answer.read() == b'{"production_units" : []}'


async def test_the_lookup_service_receives_the_company_and_the_page(gateway: Gateway) -> None:
    await gateway.get(UNITS)
    await gateway.get("/api/companies/no/974%20760%20673/production_units?limit=5&after=01")

    assert gateway.units.asked == [
        UnitsRequest(country=Country.DK, vat="12345674", limit=100),
        UnitsRequest(country=Country.NO, vat="974760673", limit=5, after="01"),
    ]


@pytest.mark.parametrize(
    "path, parameters",
    [
        ("/api/companies/se/12345674/production_units", ["country"]),
        ("/api/companies/dk/1234567/production_units", ["vat"]),
        (UNITS + "?limit=101", ["limit"]),
        (UNITS + "?limit=0&after=", ["limit", "after"]),
        (UNITS + "?after=1&after=2", ["after"]),
        (UNITS + "?vat=12345674", ["vat"]),
    ],
)
async def test_an_invalid_parameter_is_named(
    gateway: Gateway, path: str, parameters: list[str]
) -> None:
    answer = await gateway.get(path)

    assert answer.status == 400
    assert [error["parameter"] for error in (await problem_of(answer))["errors"]] == parameters
    assert gateway.units.asked == []


async def test_a_request_takes_the_turn_of_its_key_or_of_its_address(gateway: Gateway) -> None:
    first, second = gateway.issue(), gateway.issue()

    for headers in (first, second, {}, {"X-API-Key": "wrong"}, first):
        await gateway.get(UNITS, headers=headers)

    one, two, address, again = gateway.units.clients
    assert {one, two} == gateway.keys.keys.keys()
    assert address == "127.0.0.1"
    assert again == one
