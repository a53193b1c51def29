"""A client asks for a company: HTTP, RabbitMQ, the lookup service, MongoDB and back."""

from typing import Any
from xml.etree import ElementTree

import aiohttp
import pytest

pytestmark = pytest.mark.e2e

#: A query of each search type, and its company: the showcase of the sample registers.
QUESTIONS = [
    ("dk", "vat", "12345674", "12345674"),
    ("dk", "vat", "DK 12 34 56 74", "12345674"),
    ("dk", "name", "prøvefabrikken", "12345674"),
    ("dk", "name", "PROEVEFABRIKKEN APS", "12345674"),
    ("dk", "name", "Prøvefabriken", "12345674"),
    ("dk", "produ", "1012345670", "12345674"),
    ("dk", "phone", "+45 12 34 56 78", "12345674"),
    ("dk", "ean", "5790000000005", "12345674"),
    ("dk", "ean", "0184:DK12345674", "12345674"),
    ("dk", "ean", "0096:1012345719", "12345690"),
    ("dk", "address", "Prøvevej 43, 3., 1112 København K", "12345674"),
    ("dk", "address", "proevevej 43, koebenhavn k", "12345674"),
    ("no", "vat", "310345679", "310345679"),
    ("no", "name", "Prøvefabrikken Norge", "310345679"),
    ("no", "produ", "310345687", "310345679"),
    ("no", "phone", "22 33 44 55", "310345679"),
    ("no", "ean", "0192:310345679", "310345679"),
    ("no", "address", "Prøveveien 12, 0159 Oslo", "310345679"),
]


async def found(client: aiohttp.ClientSession, path: str, **query: str) -> dict[str, Any]:
    async with client.get(path, params=query) as answer:
        body: dict[str, Any] = await answer.json()
        assert answer.status == 200, body
        return body


@pytest.mark.parametrize("country, kind, term, vat", QUESTIONS)
async def test_every_search_type_finds_its_company(
    client: aiohttp.ClientSession, country: str, kind: str, term: str, vat: str
) -> None:
    named = await found(client, "/api", country=country, **{kind: term})
    typed = await found(client, f"/api/{kind}", country=country, q=term)

    assert named["vat"] == typed["vat"] == vat
    assert named["match"]["type"] == kind
    assert named == typed


@pytest.mark.parametrize(
    "country, term, kind, vat",
    [
        ("dk", "12345674", "vat", "12345674"),
        ("dk", "12345678", "phone", "12345674"),
        ("dk", "1012345670", "produ", "12345674"),
        ("dk", "Prøvefabrikken", "name", "12345674"),
        ("no", "310345679", "vat", "310345679"),
        ("no", "310345687", "produ", "310345679"),
        ("no", "22334455", "phone", "310345679"),
    ],
)
async def test_search_infers_the_type_of_its_term(
    client: aiohttp.ClientSession, country: str, term: str, kind: str, vat: str
) -> None:
    body = await found(client, "/api", country=country, search=term)

    assert (body["match"]["type"], body["vat"]) == (kind, vat)


async def test_includes_add_parts_of_the_company(client: aiohttp.ClientSession) -> None:
    body = await found(
        client,
        "/api",
        country="dk",
        vat="12345674",
        include="owners,production_units,einvoicing,roles",
    )

    assert {owner["type"] for owner in body["owners"]} == {"company", "person"}
    assert {owner["role"] for owner in body["owners"]} == {"owner"}
    assert "director" in {role["role"] for role in body["roles"]}
    assert body["production_units"][0]["main"] is True
    assert [unit["status"] for unit in body["production_units"]][-1] == "ended"
    assert "0088:5790000000005" in {entry["identifier"] for entry in body["einvoicing"]}


async def test_the_same_company_comes_as_xml(client: aiohttp.ClientSession) -> None:
    query = {"country": "dk", "vat": "12345674", "include": "owners,roles", "format": "xml"}
    async with client.get("/api", params=query) as answer:
        root = ElementTree.fromstring(await answer.read())  # noqa: S314 (our own answer)

    assert answer.content_type == "application/xml"
    assert root.tag == "company"
    assert root.findtext("vat") == "12345674"
    assert len(root.findall("owners/owner")) == 2
    assert "director" in [role.text for role in root.findall("roles/role/role")]


async def test_a_company_that_no_register_has_is_not_found(client: aiohttp.ClientSession) -> None:
    for kind, term in (("vat", "99999999"), ("name", "qzxwvq jkhgfq"), ("phone", "99999999")):
        async with client.get("/api", params={"country": "dk", kind: term}) as answer:
            body = await answer.json()

        assert answer.status == 404
        assert body["code"] == "company_not_found"


async def test_secrets_of_the_register_are_nowhere_in_an_answer(
    client: aiohttp.ClientSession,
) -> None:
    body = await found(
        client, "/api/vat", country="dk", q="12345690", include="owners,production_units,roles"
    )

    assert body["phone"] is None
    assert body["owners"]
    assert all(set(owner) == OWNER_FIELDS for owner in body["owners"])
    assert all(set(role) == ROLE_FIELDS for role in body["roles"])


ROLE_FIELDS = {"role", "role_text", "name", "type", "vat", "since"}
OWNER_FIELDS = {*ROLE_FIELDS, "share", "votes"}
