"""Codes in words: lists, facets with texts, and filters that take words; over a fake `Finds`."""

from typing import Any

import orjson
import pytest
import pytest_asyncio

from common.contracts.company import Country, OwnerRole, RoleCode, Status
from common.contracts.find import CodeText, Facet, FindReply
from common.domain.code_texts import DIVISIONS, FORMS, ROLES, STATUSES
from common.domain.known_values import is_known
from gateway.problems import ServiceUnavailable
from tests.fakes.gateway import Gateway, code_of, problem_of

FIND = "/api/companies?limit=1"

INDUSTRIES = {
    Country.DK: {
        "620100": "Computerprogrammering",
        "582900": "Anden udgivelse af software",
        "561110": "Servering af mad i restauranter og på caféer",
        "471120": "Supermarkeder",
    },
    Country.NO: {
        "62010": "Programmeringstjenester",
        "58290": "Utgivelse av annen programvare",
        "56101": "Drift av restauranter og kafeer",
    },
}
FORM_TEXTS = {
    Country.DK: {"60": ("Aktieselskab", "A/S"), "80": ("Anpartsselskab", "APS")},
    Country.NO: {"AS": ("Aksjeselskap", "AS"), "FLI": ("Forening/lag/innretning", "FLI")},
}


def counted(country: Country) -> FindReply:
    """Three companies of each industry and form."""
    industries, forms = INDUSTRIES[country], FORM_TEXTS[country]
    return FindReply(
        total=9,
        has_more=False,
        facets={
            Facet.INDUSTRY: dict.fromkeys(industries, 3),
            Facet.FORM: dict.fromkeys(forms, 3),
            Facet.MUNICIPALITY: {"KØBENHAVN" if country is Country.DK else "OSLO": 9},
            Facet.STATUS: {"active": 8, "ended": 1},
        },
        texts={
            Facet.INDUSTRY: {code: CodeText(text=text) for code, text in industries.items()},
            Facet.FORM: {
                code: CodeText(text=text, short=short) for code, (text, short) in forms.items()
            },
        },
    )


@pytest_asyncio.fixture
async def stored(gateway: Gateway) -> Gateway:
    gateway.finds.of = {country: counted(country) for country in Country}
    return gateway


async def listed(gateway: Gateway, path: str) -> list[dict[str, Any]]:
    answer = await gateway.get(f"/api/codes/{path}")
    assert answer.status == 200
    codes: list[dict[str, Any]] = orjson.loads(await answer.read())["codes"]
    return codes


async def filters(gateway: Gateway, query: str) -> dict[str, list[tuple[str, ...]]]:
    """The filters that the lookup service receives, of each register."""
    answer = await gateway.get(f"{FIND}&{query}")
    assert answer.status == 200, await answer.text()
    asked = [one for one in gateway.finds.asked if one.limit]
    gateway.finds.asked.clear()
    return {name: [getattr(one, name) for one in asked] for name in ("industries", "forms")}


async def test_lists_have_the_texts_of_the_register_and_english_ones(stored: Gateway) -> None:
    forms = await listed(stored, "forms?country=dk,no")
    industries = await listed(stored, "industries?country=no")
    municipalities = await listed(stored, "municipalities")
    statuses = await listed(stored, "statuses?country=no")
    roles = await listed(stored, "roles?country=dk")

    assert [tuple(one.values()) for one in forms] == [
        ("dk", "60", "Aktieselskab", "Public limited company", "A/S", 3),
        ("dk", "80", "Anpartsselskab", "Private limited company", "APS", 3),
        ("no", "AS", "Aksjeselskap", "Private limited company", "AS", 3),
        ("no", "FLI", "Forening/lag/innretning", "Association", "FLI", 3),
    ]
    assert [(one["code"], one["text"], one["text_en"]) for one in industries] == [
        ("56101", "Drift av restauranter og kafeer", "Restaurants and catering"),
        ("58290", "Utgivelse av annen programvare", "Publishing"),
        ("62010", "Programmeringstjenester", "Computer programming and consultancy"),
    ]
    assert [(one["code"], one["text"]) for one in municipalities] == [
        ("KØBENHAVN", "KØBENHAVN"),
        ("OSLO", "OSLO"),
    ]
    assert [(one["code"], one["text"], one["companies"]) for one in statuses][::4] == [
        ("active", "Aktiv", 8),
        ("ended", "Opphørt", 1),
    ]
    assert {(one["text"], one["text_en"], one["companies"]) for one in roles} >= {
        ("Direktør", "Managing director", None)
    }


@pytest.mark.parametrize(
    "query, industries",
    [
        ("industry=IT", ("62",)),
        ("industry=software", ("582900", "62")),
        ("industry=Software&country=no", ("62",)),
        ("industry=programvare", ("58290",)),
        ("industry=restaurant", ("56",)),
        ("industry=CAFE", ("56",)),
        ("industry=kafeer", ("56101",)),
        ("industry=real estate", ("68",)),
        ("industry=62.01,supermarkeder", ("6201", "471120")),
        ("industry=70", ("70",)),
    ],
)
async def test_an_industry_may_be_words_of_its_texts(
    stored: Gateway, query: str, industries: tuple[str, ...]
) -> None:
    found = await filters(stored, query)

    assert set(found["industries"]) == {industries}


@pytest.mark.parametrize(
    "query, forms",
    [
        ("form=ApS", ("80",)),
        ("form=A/S", ("60",)),
        ("form=AS", ("AS",)),
        ("form=AS&country=dk", ("60",)),
        ("form=A/S&country=no", ("AS",)),
        ("form=a.s.&country=dk", ("60",)),
        ("form=anpartsselskab", ("80",)),
        ("form=private limited company", ("80", "AS")),
        ("form=80,FLI", ("80", "FLI")),
    ],
)
async def test_a_form_may_be_an_abbreviation_or_a_name(
    stored: Gateway, query: str, forms: tuple[str, ...]
) -> None:
    found = await filters(stored, query)

    assert set(found["forms"]) == {forms}


@pytest.mark.parametrize(
    "query, parameter, near",
    [
        ("industry=sofware", "industry", "software"),
        ("industry=xqzw", "industry", "/api/codes/industries"),
        ("industry=real xqzw", "industry", "/api/codes/industries"),
        ("form=anpartselskab", "form", "anpartsselskab"),
        ("form=80&country=no", "form", "no company in no has 80"),
        ("industry=99999", "industry", "such as 62"),
    ],
)
async def test_words_that_no_text_has_are_refused_with_near_ones(
    stored: Gateway, query: str, parameter: str, near: str
) -> None:
    problem = await problem_of(await stored.get(f"{FIND}&{query}"))

    assert problem["code"] == "invalid_parameter"
    [error] = problem["errors"]
    assert error["parameter"] == parameter
    assert near in error["message"]


async def test_only_words_need_the_texts_which_are_kept(stored: Gateway) -> None:
    counts = []
    for query in ("industry=62&form=ApS", "industry=IT", "form=anpartsselskab", "industry=IT"):
        await stored.get(f"{FIND}&country=dk&{query}")
        counts.append(sum(not one.limit for one in stored.finds.asked))
    stored.clock.now += 601
    await stored.get("/api/codes/forms?country=dk")

    assert counts == [0, 1, 1, 1]
    assert sum(not one.limit for one in stored.finds.asked) == 2


async def test_words_without_the_lookup_service_are_unavailable(gateway: Gateway) -> None:
    gateway.finds.answer = ServiceUnavailable()

    assert await code_of(await gateway.get(f"{FIND}&industry=IT")) == (503, "service_unavailable")


async def test_facets_carry_texts(stored: Gateway) -> None:
    answer = await stored.get(f"{FIND}&facets=form,industry,status")

    facets = orjson.loads(await answer.read())["facets"]
    assert {one["value"]: (one["text"], one["text_en"]) for one in facets["form"]} == {
        "60": ("Aktieselskab", "Public limited company"),
        "80": ("Anpartsselskab", "Private limited company"),
        "AS": ("Aksjeselskap", "Private limited company"),
        "FLI": ("Forening/lag/innretning", "Association"),
    }
    [ended] = [one for one in facets["status"] if one["value"] == "ended"]
    assert (ended["count"], ended["text"]) == (2, "Ophørt / Opphørt")
    assert facets["industry"][0]["text"]


async def test_an_export_takes_words(stored: Gateway) -> None:
    key = stored.issue()

    await stored.get("/api/export?country=dk&industry=restaurant&form=ApS", headers=key)

    [asked] = stored.exports.asked
    assert asked.filter is not None
    assert (asked.filter.industries, asked.filter.forms) == (("56",), ("80",))


def test_every_status_and_role_has_texts_and_every_english_form_exists() -> None:
    assert STATUSES.keys() == set(Status)
    assert ROLES.keys() == {*OwnerRole, *RoleCode}
    assert all(is_known("industries", code) for code in DIVISIONS)
    for country, forms in FORMS.items():
        assert [code for code in forms if not is_known("forms", code, [country])] == []
