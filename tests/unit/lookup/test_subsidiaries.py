"""`include=subsidiaries`: the companies that a company owns."""

from typing import Any

import orjson

from common.contracts.company import CompanyAnswer, CompanyKey, Country, Include, Share, Status
from common.contracts.lookup import (
    MAX_SUBSIDIARIES,
    LookupReply,
    LookupRequest,
    Question,
    SearchType,
)
from lookup.answers.lookups import AnswerLookups
from register_store.documents import CompanyRow, dump, dump_all
from tests.builders.companies import a_company, an_owner
from tests.fakes.lookup import FakeRegister, FakeSearches

DK, NO = Country.DK, Country.NO
OWNER = "10000009"


def a_row(country: Country, vat: str, owners: bytes = b"[]", **fields: Any) -> CompanyRow:
    company = a_company(country=country, vat=vat, **fields)
    return CompanyRow(1, dump(company), owners, b"[]", None)


def owned_by(vat: str, **fields: Any) -> bytes:
    return dump_all([an_owner(name="Ane Prøve", vat=None), an_owner(vat=vat, **fields)])


async def answered(
    rows: dict[str, CompanyRow], *owned: str, country: Country = DK, owner: str = OWNER
) -> tuple[CompanyAnswer, FakeSearches]:
    """The answer of the owner, and the searches that were asked for what it owns."""
    stored = {owner: a_row(country, owner), **rows}
    register = FakeRegister({CompanyKey(country, vat): row for vat, row in stored.items()})
    searches = FakeSearches(owned={owner: owned})
    request = LookupRequest(
        country=country,
        questions=(Question(type=SearchType.VAT, term=owner),),
        include=(Include.SUBSIDIARIES,),
        client="one",
    )
    [reply] = await AnswerLookups(register, searches)([request])
    assert isinstance(reply, LookupReply)
    return CompanyAnswer.model_validate(orjson.loads(reply.body)), searches


async def test_subsidiaries_have_the_share_and_the_role_of_their_owner() -> None:
    share = Share(min="66.67", max="90")
    row = a_row(DK, "10000017", owned_by(OWNER, share=share, role="owner"), name="Alfa Nord ApS")

    company, searches = await answered({"10000017": row}, "10000017")

    [owned] = company.subsidiaries or ()
    assert (owned.vat, owned.name, owned.status) == ("10000017", "Alfa Nord ApS", Status.ACTIVE)
    assert (owned.share, owned.role, owned.city) == (share, "owner", None)
    assert company.subsidiaries_total == 1
    assert searches.clients == ["one"]


async def test_the_first_hundred_are_listed_and_all_are_counted() -> None:
    rows = {f"{n:08}": a_row(DK, f"{n:08}", owned_by(OWNER)) for n in range(MAX_SUBSIDIARIES + 30)}

    company, _ = await answered(rows, *rows)

    assert [one.vat for one in company.subsidiaries or ()] == list(rows)[:MAX_SUBSIDIARIES]
    assert company.subsidiaries_total == MAX_SUBSIDIARIES + 30


async def test_a_company_sold_or_removed_a_moment_ago_is_no_subsidiary() -> None:
    rows = {"10000017": a_row(DK, "10000017", owned_by("10000025"))}

    company, _ = await answered(rows, "10000017", "10000033")

    assert (company.subsidiaries, company.subsidiaries_total) == ((), 0)


async def test_norway_has_no_subsidiaries_of_a_company_that_is_no_partner() -> None:
    owner, firm = "310345679", "310345687"
    row = a_row(NO, firm, owned_by(owner, share=None, role="partner"))

    partner, _ = await answered({firm: row}, firm, country=NO, owner=owner)
    other, _ = await answered({}, country=NO, owner=owner)

    assert [one.role for one in partner.subsidiaries or ()] == ["partner"]
    assert (other.subsidiaries, other.subsidiaries_total) == (None, None)


async def test_a_lookup_without_subsidiaries_searches_for_none() -> None:
    searches = FakeSearches(owned={OWNER: ["10000017"]})
    register = FakeRegister({CompanyKey(DK, OWNER): a_row(DK, OWNER)})
    questions = (Question(type=SearchType.VAT, term=OWNER),)
    request = LookupRequest(country=DK, questions=questions, include=(Include.OWNERS,))

    await AnswerLookups(register, searches)([request])

    assert searches.clients == []
