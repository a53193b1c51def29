"""The JSON of a company, as the client receives it."""

from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import orjson
import pytest

from common.contracts.company import Company, CompanyAnswer, CompanyKey, Country, Include
from common.contracts.lookup import SearchType
from lookup.answers.rendering import Candidate, Extras, answer
from lookup.search.indexed_company import SearchHit
from register_store.documents import CompanyRow, dump, dump_all, is_outdated
from tests.builders.companies import a_company, a_held_role, an_owner


def answered(
    *include: Include, score: float = 100.0, extras: Extras | None = None, **fields: Any
) -> Any:
    row: dict[str, Any] = {
        "revision": 3,
        "core": dump(a_company()),
        "owners": dump_all([an_owner()]),
        "roles": dump_all([a_held_role()]),
        "updated_at": datetime(2017, 2, 5, tzinfo=UTC),
        **fields,
    }
    hit = SearchHit(CompanyKey(Country.DK, "12345674"), score)
    return answer(Candidate(SearchType.VAT, hit, CompanyRow(**row)), include, extras or Extras())


def body(*include: Include, **fields: Any) -> Any:
    return orjson.loads(answered(*include, **fields).body)


def test_the_body_is_the_company_with_revision_match_and_source() -> None:
    bare = body()

    assert (bare["vat"], bare["revision"]) == ("12345674", 3)
    assert bare["match"] == {"type": "vat", "score": 100, "matched_name": None, "others": 0}
    assert bare["source"] == {"register": "cvr", "updated_at": "2017-02-05T00:00:00Z"}
    assert body(score=91.2345)["match"]["score"] == 91.2


def test_the_body_matches_the_contract_and_has_a_part_only_if_it_is_included() -> None:
    bare, full = body(), body(*Include)

    parsed = CompanyAnswer.model_validate(full)
    assert parsed.owners is not None
    [owner] = parsed.owners
    assert owner.model_dump(exclude={"source"}) == an_owner().model_dump()
    assert not set(Include) & bare.keys()
    assert [full[one] for one in ("production_units", "einvoicing", "alternatives")] == [[], [], []]
    assert full["production_units_total"] == 0
    assert full["roles"][0]["role"] == "director"


def test_lists_that_the_register_lacks_are_null() -> None:
    full = body(*Include, owners=b"null", roles=b"null")

    assert (full["owners"], full["roles"]) == (None, None)
    assert (full["subsidiaries"], full["subsidiaries_total"]) == (None, None)
    assert (full["owners_total"], full["roles_total"]) == (None, None)


def test_a_long_list_has_its_first_hundred_entries_and_their_number() -> None:
    owners = [an_owner(name=f'"name":{number}') for number in range(250)]

    full = body(*Include, owners=dump_all(owners), roles=dump_all([a_held_role()] * 100))

    assert [one["name"] for one in full["owners"]] == [one.name for one in owners[:100]]
    assert (full["owners_total"], len(full["roles"]), full["roles_total"]) == (250, 100, 100)


def test_an_owner_is_counted_once_whatever_it_holds() -> None:
    nested = orjson.dumps([{"name": "Anna", "home": {"name": "Testland", "of": {"name": "x"}}}])

    assert body(Include.OWNERS, owners=nested)["owners_total"] == 1


@pytest.mark.parametrize("field", Company.model_fields)
def test_companies_of_an_earlier_release_have_every_field(field: str) -> None:
    core = orjson.loads(dump(a_company()))
    # Parts of a company have fields of the same names, and texts have whatever they like.
    core |= {"remarks": [{"type": field, "text": f'"{field}":', field: None}]}
    core.pop(field)

    assert is_outdated(orjson.dumps(core))
    if not Company.model_fields[field].is_required():
        assert field in body(core=orjson.dumps(core))


def test_the_etag_covers_everything_that_a_client_sees_except_the_registers_time() -> None:
    one, other = dump(a_company(vat="10000009")), dump(a_company(vat="10000017"))
    alternatives: Any = ([], [(90.0, one)], [(90.0, other)], [(80.0, one)])

    tags = {
        answered(*include, **found).tag
        for found in ({}, {"revision": 4}, {"score": 90.0})
        for count in range(len(Include) + 1)
        for include in combinations(Include, count)
    }
    of_alternatives = {
        answered(Include.ALTERNATIVES, extras=Extras(alternatives=given)).tag
        for given in alternatives
    }
    of_subsidiaries = {
        answered(
            Include.SUBSIDIARIES, extras=Extras(subsidiaries=listed, subsidiaries_total=total)
        ).tag
        for listed, total in ((b"[]", 0), (b"null", None), (b'[{"vat":"1"}]', 1), (b"[]", 101))
    }

    assert (len(of_alternatives), len(of_subsidiaries)) == (4, 4)
    assert len(tags) == 3 * 2 ** len(Include)
    assert answered(updated_at=datetime(2020, 1, 1, tzinfo=UTC)).tag == answered().tag
