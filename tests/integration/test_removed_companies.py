"""The number of a removed company is answered with the day of its removal, and nothing else."""

import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupRequest, PartRequest, Question, SearchType
from common.contracts.match import MatchRecord, MatchRequest
from common.mongo import Database
from ingest.registers.brreg.sync import NO_ENTITIES
from lookup.answers.lookups import AnswerLookups
from lookup.answers.parts import AnswerPages
from lookup.answers.searches import AnswerMatches
from tests.builders.companies import a_company, a_company_record, a_norwegian_record
from tests.builders.loading import NOON, Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

REMOVED = Failure(
    code=FailureCode.COMPANY_NOT_FOUND,
    detail="the company with this number was removed by order of its register on 2026-03-04",
    removed_on=NOON.date().isoformat(),
)


@pytest.fixture
async def store(register_db: Database) -> Loader:
    """Two removed companies, a standing one with the phone number of one of them, and a unit's."""
    loader = Loader(register_db)
    standing = a_company_record(a_company(vat="87654321"), phones=("12345674",))
    await loader.load(a_company_record(), standing)
    await loader.load(a_norwegian_record(), kind=NO_ENTITIES)
    for company in ("dk:12345674", "no:987654321"):
        await loader.remove(company)
    await register_db["tombstones"].insert_one(
        {"_id": "no:910000004", "removed_at": NOON, "is_unit": True}
    )
    return loader


def asked(term: str, *types: SearchType, country: Country = Country.DK) -> LookupRequest:
    questions = tuple(Question(type=one, term=term) for one in types or (SearchType.VAT,))
    return LookupRequest(country=country, questions=questions)


async def test_a_lookup_by_number_tells_the_day(store: Loader) -> None:
    requests = [
        asked("12345674"),
        asked("987654321", country=Country.NO),
        asked("12345674", SearchType.VAT, SearchType.PHONE),
        asked("10000009"),
        asked("910000004", country=Country.NO),
    ]

    danish, norwegian, phone, unknown, unit = await AnswerLookups(store.register, FakeSearches())(
        requests
    )

    assert danish == norwegian == REMOVED
    assert not isinstance(phone, Failure), "another company has the number as its phone number"
    for never in (unknown, unit):
        assert isinstance(never, Failure)
        assert never.removed_on is None


async def test_a_page_of_a_list_tells_the_day(store: Loader) -> None:
    answers = AnswerPages(store.register)
    requests = [PartRequest(country=Country.DK, vat=vat, limit=9) for vat in ("12345674", "1")]

    removed, unknown = await answers(requests)

    assert removed == REMOVED
    assert isinstance(unknown, Failure)
    assert unknown.removed_on is None


async def test_a_record_of_a_customer_with_the_number_tells_the_day(store: Loader) -> None:
    records = tuple(MatchRecord(id=vat, number=vat) for vat in ("12345674", "10000009"))

    [reply] = await AnswerMatches(FakeSearches(), store.register)(
        [MatchRequest(country=Country.DK, records=records, limit=3)]
    )

    removed, unknown = reply.records
    assert (removed.failure, removed.removed_on) == (REMOVED.code, REMOVED.removed_on)
    assert (unknown.failure, unknown.removed_on) == (None, None)


async def test_only_removed_companies_have_a_day(store: Loader) -> None:
    keys = [CompanyKey.parse(key) for key in ("dk:12345674", "dk:87654321", "no:910000004")]

    assert await store.register.removed(keys) == {keys[0]: REMOVED.removed_on}
