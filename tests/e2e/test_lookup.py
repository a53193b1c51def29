"""A client asks for a company: HTTP, RabbitMQ, the lookup service, MongoDB and back."""

from typing import Any

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


async def test_subsidiaries_are_those_that_the_list_with_their_owner_has(
    client: aiohttp.ClientSession,
) -> None:
    owner = {"country": "dk", "vat": "12345682", "include": "subsidiaries"}
    body = await found(client, "/api", **owner)
    listed = await found(client, "/api/companies", owned_by="dk:12345682", status="any")
    async with client.get("/api", params={**owner, "format": "xml"}) as answer:
        xml = await answer.text()
    async with client.get("/api", params=owner) as answer:
        tag = answer.headers["ETag"]
    async with client.get("/api", params=owner, headers={"If-None-Match": tag}) as again:
        status = again.status

    assert [one["vat"] for one in body["subsidiaries"]] == [
        one["vat"] for one in listed["companies"]
    ]
    assert body["subsidiaries_total"] == listed["total"] == 3
    assert xml.count("<subsidiary>") == 3
    assert status == 304


async def test_secrets_of_the_register_are_nowhere_in_an_answer(
    client: aiohttp.ClientSession,
) -> None:
    body = await found(
        client, "/api/vat", country="dk", q="12345690", include="owners,production_units,roles"
    )

    assert body["phone"] is None
    assert body["owners"]
    assert [
        set(owner) - OWNER_FIELDS for owner in body["owners"] if set(owner) - OWNER_FIELDS
    ] == []
    assert [set(role) - ROLE_FIELDS for role in body["roles"] if set(role) - ROLE_FIELDS] == []


#: None of a person's address, birth date or number.
HOLDER_FIELDS = {"role", "role_text", "name", "type", "vat", "since"}
ROLE_FIELDS = {*HOLDER_FIELDS, "elected_by", "elected_by_text", "approval", "group_changed"}
OWNER_FIELDS = {
    *(*HOLDER_FIELDS, "share", "votes", "reported_on", "share_class", "conditions"),
    *("contribution", "country", "source"),
}


async def batch(client: aiohttp.ClientSession, *lookups: dict[str, Any]) -> list[dict[str, Any]]:
    async with client.post("/api/batch", json={"lookups": lookups}) as answer:
        body: dict[str, Any] = await answer.json()
        assert answer.status == 200, body
        results: list[dict[str, Any]] = body["results"]
        return results


async def test_a_batch_has_the_companies_that_lookups_by_themselves_have(
    client: aiohttp.ClientSession,
) -> None:
    lookups = [{"country": country, kind: term} for country, kind, term, _ in QUESTIONS]
    singly = []
    for lookup in lookups:
        async with client.get("/api", params={**lookup, "include": "owners"}) as answer:
            singly.append(await answer.json())

    results = await batch(client, *({**lookup, "include": ["owners"]} for lookup in lookups))

    assert [result["company"] for result in results] == singly
    assert [result["company"]["vat"] for result in results] == [vat for *_, vat in QUESTIONS]


async def test_a_hundred_names_are_answered_or_late_each_for_itself(
    client: aiohttp.ClientSession,
) -> None:
    results = await batch(client, *[{"country": "dk", "name": "Prøvefabrikken"}] * 100)

    companies = [result["company"]["vat"] for result in results if "company" in result]
    problems = [result["problem"]["code"] for result in results if "problem" in result]
    assert len(results) == 100
    assert set(companies) == {"12345674"}
    assert set(problems) <= {"lookup_timeout"}


async def test_filters_list_the_companies_of_both_registers(client: aiohttp.ClientSession) -> None:
    words = await found(client, "/api/companies", q="prøvefabrikken", facets="form,status")
    first = await found(client, "/api/companies", status="any", limit="3")
    listed = [one["name"].casefold() for one in first["companies"]]
    rest = await found(client, "/api/companies", status="any", limit="3", after=first["cursor"])

    assert {"12345674", "310345679"} <= {one["vat"] for one in words["companies"]}
    assert sum(each["count"] for each in words["facets"]["status"]) == words["total"]
    assert len(listed) == len(rest["companies"]) == 3
    assert first["total"] == rest["total"] > 6
    assert not {one["vat"] for one in first["companies"]} & {
        one["vat"] for one in rest["companies"]
    }
    looked_up = await found(client, "/api/vat", country="dk", q="12345674")
    [same] = [one for one in words["companies"] if one["vat"] == "12345674"]
    assert same.keys() == looked_up.keys()
    assert {**same, "match": None} == {**looked_up, "match": None}


async def test_owned_companies_have_facts_that_filters_compare(
    client: aiohttp.ClientSession,
) -> None:
    body = await found(client, "/api", country="dk", vat="12345674", include="owners")
    [owner] = [each for each in body["owners"] if each["type"] == "company"]

    owned = await found(client, "/api/companies", owned_by=f"dk:{owner['vat']}", status="any")
    receivers = await found(client, "/api/companies", has="einvoicing", q="prøvefabrikken")

    assert "12345674" in {one["vat"] for one in owned["companies"]}
    assert "12345674" in {one["vat"] for one in receivers["companies"]}


async def test_codes_have_the_texts_of_stored_companies_and_filters_take_their_words(
    client: aiohttp.ClientSession,
) -> None:
    industries = (await found(client, "/api/codes/industries", country="dk"))["codes"]
    forms = (await found(client, "/api/codes/forms"))["codes"]
    [programming] = [one for one in industries if one["code"] == "620100"]
    by_words = await found(client, "/api/companies", industry="IT", status="any", facets="industry")
    by_code = await found(client, "/api/companies", industry="62", status="any")
    abbreviated = await found(client, "/api/companies", form="ApS", status="any")
    private = await found(client, "/api/companies", form="80", status="any")

    assert (programming["text"], programming["companies"] > 0) == ("Computerprogrammering", True)
    assert all(one["text"] for one in (*industries, *forms))
    assert {one["country"] for one in forms} == {"dk", "no"}
    assert by_words["total"] == by_code["total"] > 0
    assert all(one["text"] for one in by_words["facets"]["industry"])
    assert abbreviated["total"] == private["total"] > 0


async def test_a_company_has_a_url_and_is_found_by_its_contacts(
    client: aiohttp.ClientSession,
) -> None:
    async with client.get("/api", params={"country": "dk", "vat": "12345674"}) as answer:
        company, link = await answer.json(), answer.headers["Link"]
    same = await found(client, link.partition(">")[0].removeprefix("<"))
    mailbox = company["email"]
    domain = mailbox.partition("@")[2]
    by_mail = await found(client, "/api", country="dk", search=f"Kontor <{mailbox}>")
    by_site = await found(
        client, "/api", country="dk", search=f"https://www.{domain}/", include="alternatives"
    )

    assert same == company
    assert (by_mail["vat"], by_mail["match"]["type"]) == ("12345674", "email")
    assert by_site["match"]["type"] == "domain"
    assert "12345674" in {one["vat"] for one in (by_site, *by_site["alternatives"])}
