"""The history of a company: what is kept of its changes, and how it was on a day."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, UnitKey
from common.contracts.failures import Failure
from common.contracts.lookup import (
    ListedPart,
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    Question,
    SearchType,
)
from common.domain.limited import hash_of_name
from common.mongo import Database
from ingest.loading.stores import Stores
from ingest.records.records import SourceVersion
from ingest.registers.cvr.sync import DK_UNITS
from lookup.answers.lookups import AnswerLookups
from lookup.answers.parts import AnswerPages
from register_store.documents import HISTORY
from register_store.indexes import make_indexes
from tests.builders.companies import (
    a_company,
    a_company_record,
    a_held_role,
    a_unit,
    a_unit_record,
    an_address,
    an_owner,
)
from tests.builders.loading import Loader
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

KEY = CompanyKey.parse("dk:12345674")
FIRST = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Past(Loader):
    """A company that is stored anew on some days."""

    def __post_init__(self) -> None:
        self.at = FIRST
        self.stores = Stores.of(self.database, lambda: self.at)

    async def store(
        self, day: int, *, owners: Any = None, roles: Any = None, **fields: Any
    ) -> None:
        self.at = FIRST + timedelta(days=day)
        record = a_company_record(
            a_company(**fields), owners=owners, roles=roles, version=SourceVersion(self.at)
        )
        await self.load(record, force=True)

    async def page(self, **fields: Any) -> dict[str, Any]:
        request = PartRequest(
            country=Country.DK,
            vat=KEY.vat,
            part=ListedPart.HISTORY,
            **{"limit": 100, **fields},
        )
        [reply] = await AnswerPages(self.register)([request])
        assert isinstance(reply, PartReply)
        page: dict[str, Any] = orjson.loads(reply.body)
        return page

    async def seen(self) -> list[dict[str, Any]]:
        return [entry for entry in (await self.page())["history"] if not entry["dated"]]

    async def on(self, day: int) -> dict[str, Any]:
        reply = await self.reply((FIRST + timedelta(days=day)).date().isoformat())
        assert isinstance(reply, LookupReply)
        company: dict[str, Any] = orjson.loads(reply.body)
        return company

    async def reply(self, day: str | None) -> LookupReply | Failure:
        request = LookupRequest(
            country=Country.DK,
            questions=(Question(type=SearchType.VAT, term=KEY.vat),),
            include=(Include.OWNERS, Include.ROLES),
            as_of=day,
        )
        lookups = AnswerLookups(self.register, FakeSearches(), now=lambda: self.at)
        [reply] = await lookups([request])
        return reply


@pytest.fixture
def past(register_db: Database) -> Past:
    return Past(register_db)


async def test_a_change_is_kept_with_old_and_new_values(past: Past) -> None:
    await past.store(0, name="Prøven ApS")
    await past.store(3, name="Prøvefabrikken ApS")

    page = await past.page()

    assert page["known_from"] == "2026-03-01T12:00:00Z"
    assert page["history"][0] == {
        "time": "2026-03-04T12:00:00Z",
        "dated": False,
        "type": "company.updated",
        "revision": 2,
        "production_unit": None,
        "changes": [{"field": "name", "old": "Prøven ApS", "new": "Prøvefabrikken ApS"}],
    }


OWNERS = [an_owner(name=name) for name in ("Aud", "Bo", "Cilla", "Dan")]
ROLES = [a_held_role(name=f"Member {number:03}") for number in range(130)]
#: By day: what is stored of the company from then on.
VERSIONS: dict[int, dict[str, Any]] = {
    0: {"name": "Prøven ApS", "owners": OWNERS[:2], "roles": ROLES[:1]},
    2: {"name": "Prøven ApS", "owners": [OWNERS[2], *OWNERS[:2]], "roles": ROLES},
    4: {
        "name": "Prøvefabrikken ApS",
        "trade_names": ("Prøven",),
        "address": an_address("Prøvevej 12, 1112 København K"),
        "owners": [OWNERS[3], OWNERS[1], OWNERS[0]],
        "roles": ROLES[20:],
    },
    5: {"name": "Prøvefabrikken ApS", "address": None, "owners": [], "roles": ROLES[:2]},
    9: {
        "name": "Prøvefabrikken ApS",
        "status": "bankrupt",
        "address": an_address("Prøvevej 14, 1112 København K"),
        "owners": OWNERS,
        "roles": [],
    },
}


async def test_a_company_is_as_it_was_on_each_day(past: Past) -> None:
    answers = {}
    for day, version in VERSIONS.items():
        await past.store(day, **version)
        answers[day] = await past.on(day)

    for day in range(10):
        last = max(each for each in VERSIONS if each <= day)
        then = await past.on(day)

        expected = answers[last]
        for name in ("owners", "roles"):
            # The order of a list of more than a hundred entries is not kept.
            one, other = ([each["name"] for each in some[name]] for some in (then, expected))
            total = f"{name}_total"
            assert (then[total], sorted(one)) == (expected[total], sorted(other)) or (
                then[total] == expected[total] > 100
            )
        assert then["as_of"] == f"2026-03-{day + 1:02}"
        own = {"owners", "roles", "as_of", "source"}
        assert {k: v for k, v in then.items() if k not in own} == {
            k: v for k, v in expected.items() if k not in own
        }
        assert (then["source"]["updated_at"] is None) == (last != 9)


async def test_two_members_with_one_name_on_a_long_board_are_two_on_each_day(past: Past) -> None:
    boards = [[*ROLES, ROLES[0]], ROLES, [*ROLES, ROLES[0], ROLES[0]], ROLES[1:]]
    for day, roles in enumerate(boards):
        await past.store(day, owners=[], roles=roles)

    for day, roles in enumerate(boards):
        then = await past.on(day)
        assert then["roles_total"] == len(roles)


async def test_small_lists_keep_their_order(past: Past) -> None:
    orders = [OWNERS, OWNERS[::-1], OWNERS[1:3], [OWNERS[3], *OWNERS[:2]], [OWNERS[0], OWNERS[0]]]
    for day, owners in enumerate(orders):
        await past.store(day, owners=owners, roles=[])

    for day, owners in enumerate(orders):
        assert [one["name"] for one in (await past.on(day))["owners"]] == [o.name for o in owners]


@pytest.mark.parametrize(
    "day, message",
    [
        ("2026-02-28", "must be 2026-03-01 or later: changes are known since then"),
        ("2026-03-03", "must be 2026-03-02 or an earlier day"),
    ],
)
async def test_a_day_without_knowledge_is_refused(past: Past, day: str, message: str) -> None:
    await past.store(0)
    past.at += timedelta(days=1)

    reply = await past.reply(day)

    assert isinstance(reply, Failure)
    assert (reply.code, reply.errors[0].message) == ("invalid_parameter", message)


async def test_a_day_before_that_has_what_the_register_dates(past: Past) -> None:
    past.at = FIRST
    former = {"name": "Anna Testesen", "type": "person", "role": "owner", "since": "2018-03-01"}
    record = a_company_record(
        a_company(name="Prøvefabrikken ApS", founded="2000-01-01", phone="22334455"),
        owners=[],
        roles=[],
        past=[
            ("2000-01-01", "name", "Prøven ApS"),
            ("2010-01-01", "name", "Prøvefabrikken ApS"),
            ("2018-03-01", "owners", [[], [former]]),
            ("2021-01-01", "owners", [[former], []]),
        ],
        version=SourceVersion(past.at),
    )
    await past.load(record, force=True)

    replies = [await past.reply(day) for day in ("2005-05-05", "2019-05-05", "1999-12-31")]

    before, owned = (orjson.loads(one.body) for one in replies[:2] if isinstance(one, LookupReply))
    assert (before["as_of"], before["name"], before["phone"]) == ("2005-05-05", "Prøven ApS", None)
    assert before["owners"] is None
    assert [one["name"] for one in owned["owners"]] == ["Anna Testesen"]
    assert owned["known_from"] == "2026-03-01T12:00:00Z"
    assert isinstance(replies[2], Failure)
    assert replies[2].detail == "as_of: must not be before the company was founded"


async def test_nothing_is_known_from_before_the_retention(past: Past) -> None:
    """By the database's time, years after this company was stored."""
    await past.store(0)
    await make_indexes(past.database, history_retention=timedelta(days=30))
    past.at = datetime.now(UTC)

    page, reply = await past.page(), await past.reply("2026-03-02")

    assert isinstance(reply, Failure)
    known_from = datetime.fromisoformat(page["known_from"])
    assert timedelta(days=29) < past.at - known_from < timedelta(days=31)


async def test_a_limited_person_leaves_the_history(past: Past) -> None:
    await past.store(0, owners=[], roles=[])
    await past.store(1, owners=[an_owner(name="Anna Testesen")], roles=[])
    await past.store(2, owners=[an_owner(name="Anna Testesen")], roles=[], name="Ny ApS")
    past.at += timedelta(days=1)

    await past.stores.writer.limit(
        KEY, hash_of_name(KEY, "Anna Testesen"), at=past.at, publish_events=True
    )

    page = await past.page()
    assert "Testesen" not in str(page)
    assert [one["field"] for e in page["history"] if not e["dated"] for one in e["changes"]] == [
        "name"
    ]
    assert isinstance(await past.reply("2026-03-03"), Failure)
    assert (await past.on(3))["owners"] == []


async def test_changes_that_are_not_published_are_kept_but_no_first_load(past: Past) -> None:
    await past.store(0, owners=[], roles=[])
    assert await past.database[HISTORY].count_documents({}) == 0

    past.at += timedelta(days=1)
    record = a_company_record(a_company(name="Ny ApS"), version=SourceVersion(past.at))
    await past.stores.apply([record], SourceVersion(past.at), publish_events=False)

    assert [entry["changes"][0]["new"] for entry in await past.seen()] == ["Ny ApS"]
    assert await past.events() == []


async def test_pages_have_every_entry_once_and_the_dated_ones_last(past: Past) -> None:
    owners = [an_owner(name="Aud", since="2012-04-01")]
    for day in range(7):
        await past.store(day, name=f"Prøven {day} ApS", founded="2011-05-01", owners=owners)

    whole = (await past.page())["history"]
    pages = [await past.page(limit=4)]
    while pages[-1]["cursor"]:
        pages.append(await past.page(limit=4, after=pages[-1]["cursor"]))

    since = datetime.fromisoformat(whole[2]["time"])
    later = await past.page(limit=100, since=since)
    of_year = await past.page(limit=100, since=datetime(2012, 1, 1, tzinfo=UTC))
    assert later["history"] == [entry for entry in whole[:3]]
    assert [entry["time"] for entry in of_year["history"]][-1] == "2012-04-01"
    assert [entry for page in pages for entry in page["history"]] == whole
    assert [entry["revision"] for entry in whole if not entry["dated"]] == [7, 6, 5, 4, 3, 2]
    dated = [(one["time"], one["changes"][0]["field"]) for one in whole if one["dated"]]
    assert [one for one in dated if one[1] in ("owners", "founded")] == [
        ("2012-04-01", "owners"),
        ("2011-05-01", "founded"),
    ]
    assert dated == sorted(dated, key=lambda one: one[0], reverse=True)


async def test_the_register_says_what_precedes_the_service(past: Past) -> None:
    name = {"field": "name", "old": "Prøven ApS", "new": "Prøvefabrikken ApS"}
    dates = [
        ("1999-11-15", "name", "Prøven ApS"),
        ("2000-02-21", "name", "Prøvefabrikken ApS"),
        ("1999-11-15", "status", "active"),
        ("1999-11-15", "status_text", "NORMAL"),
        ("2001-01-01", "status", "bankrupt"),
        ("2001-01-01", "status_text", "UNDER KONKURS"),
        ("2026-03-02", "status", "active"),
        ("2026-03-02", "status_text", "NORMAL"),
    ]
    await past.load(replace(a_company_record(a_company()), past=orjson.dumps(dates)))

    dated = [one for one in (await past.page())["history"] if one["dated"]]

    turns = [one for one in dated if one["type"] == "company.status_changed"]
    assert [one["time"] for one in turns] == ["2001-01-01", "1999-11-15"]
    assert turns[0]["changes"] == [
        {"field": "status", "old": "active", "new": "bankrupt"},
        {"field": "status_text", "old": "NORMAL", "new": "UNDER KONKURS"},
    ]
    assert [one["changes"] for one in dated if one["time"] == "2000-02-21"] == [[name]]


async def test_a_removed_company_or_unit_takes_its_history_along(past: Past) -> None:
    await past.store(0)
    units = ("1000000001", "1000000002")
    for day in (1, 2):
        past.at = FIRST + timedelta(days=day)
        records = [
            a_unit_record(
                a_unit(number=unit, name=f"Afdeling {day}"), version=SourceVersion(past.at)
            )
            for unit in units
        ]
        await past.load(*records, kind=DK_UNITS, force=True)
    renames = [entry for entry in await past.seen() if entry["changes"]]
    assert {entry["production_unit"] for entry in renames} == set(units)

    await past.stores.remove_unit(DK_UNITS.name, UnitKey.parse(f"dk:{units[0]}"))

    left = [entry["production_unit"] for entry in await past.seen() if entry["changes"]]
    assert left == [units[1]]
    await past.remove()
    assert await past.database[HISTORY].count_documents({}) == 0


async def test_the_retention_can_be_changed(register_db: Database) -> None:
    await make_indexes(register_db, history_retention=timedelta(days=10))
    await make_indexes(register_db, history_retention=timedelta(days=20))

    index = (await register_db[HISTORY].index_information())["expiry"]
    options = await register_db[HISTORY].options()

    assert index["expireAfterSeconds"] == 20 * 86_400
    assert "zstd" in options["storageEngine"]["wiredTiger"]["configString"]
