"""The JSON of a company, as the client receives it."""

from datetime import UTC, datetime
from typing import Any

import orjson

from common.contracts.company import CompanyAnswer, CompanyKey, Country, Include
from common.contracts.lookup import SearchType
from lookup.answers.rendering import Candidate, Extras, answer
from lookup.search.hits import SearchHit
from lookup.store.canonical_json import dump, dump_all
from lookup.store.documents import CompanyRow
from tests.builders.companies import a_company, a_held_role, an_owner


def a_found_company(*, score: float = 100.0, **fields: Any) -> Candidate:
    row: dict[str, Any] = {
        "revision": 3,
        "core": dump(a_company()),
        "owners": dump_all([an_owner()]),
        "roles": dump_all([a_held_role()]),
        "updated_at": datetime(2017, 2, 5, tzinfo=UTC),
        **fields,
    }
    hit = SearchHit(CompanyKey(Country.DK, "12345674"), score)
    return Candidate(SearchType.VAT, hit, CompanyRow(**row))


def test_the_body_is_the_company_with_revision_match_and_source() -> None:
    body = orjson.loads(answer(a_found_company(), (), Extras()).body)

    assert body["vat"] == "12345674"
    assert body["revision"] == 3
    assert body["match"] == {"type": "vat", "score": 100, "matched_name": None}
    assert body["source"] == {"register": "cvr", "updated_at": "2017-02-05T00:00:00Z"}


def test_the_body_matches_the_contract() -> None:
    body = orjson.loads(answer(a_found_company(), tuple(Include), Extras()).body)

    parsed = CompanyAnswer.model_validate(body)

    assert parsed.owners is not None
    assert parsed.owners[0].name == "Anna Testesen"


def test_without_an_include_its_key_is_absent() -> None:
    bare = orjson.loads(answer(a_found_company(), (), Extras()).body)
    full = orjson.loads(answer(a_found_company(), tuple(Include), Extras()).body)

    assert not set(Include) & bare.keys()
    assert [full[one] for one in Include if one not in ("owners", "roles")] == [[], [], []]
    assert full["production_units_total"] == 0
    assert full["roles"][0]["role"] == "director"


def test_lists_that_the_register_lacks_are_null() -> None:
    found = a_found_company(owners=b"null", roles=b"null")

    full = orjson.loads(answer(found, tuple(Include), Extras()).body)

    assert (full["owners"], full["roles"]) == (None, None)


def test_companies_of_an_earlier_release_have_every_field() -> None:
    core = orjson.loads(dump(a_company()))
    del core["registered"], core["parent"]
    found = a_found_company(core=orjson.dumps(core))

    body = orjson.loads(answer(found, (), Extras()).body)

    assert (body["registered"], body["parent"]) == (None, None)


def test_a_fuzzy_score_has_one_decimal() -> None:
    body = orjson.loads(answer(a_found_company(score=91.2345), (), Extras()).body)

    assert body["match"]["score"] == 91.2


def test_the_tag_changes_with_the_revision_the_match_and_what_is_included() -> None:
    tags = {
        answer(found, include, Extras()).tag
        for found in (a_found_company(), a_found_company(revision=4), a_found_company(score=90.0))
        for include in ((), (Include.OWNERS,), (Include.EINVOICING,))
    }

    assert len(tags) == 9


def test_the_tag_changes_with_the_alternatives() -> None:
    one, other = dump(a_company(vat="10000009")), dump(a_company(vat="10000017"))
    tags = {
        answer(a_found_company(), (Include.ALTERNATIVES,), Extras(alternatives=alternatives)).tag
        for alternatives in ([], [(90.0, one)], [(90.0, other)], [(80.0, one)])
    }

    assert len(tags) == 4


def test_the_tag_ignores_the_registers_time() -> None:
    earlier = answer(a_found_company(), (), Extras())
    later = answer(a_found_company(updated_at=datetime(2020, 1, 1, tzinfo=UTC)), (), Extras())

    assert earlier.tag == later.tag
