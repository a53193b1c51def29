"""A new register is one package and one entry in the table (`docs/adding-a-register.md`)."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pymongo
import pytest
from pymongo.database import Database

from common.contracts.company import Country
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.mongo import Reads, connected, database
from ingest import commands, import_commands
from ingest.following.passes import Outcome
from ingest.registers import table
from lookup.answers.lookups import AnswerLookups
from register_store.reads import StoredRegister
from tests.conftest import DatabaseNames
from tests.fakes.lookup import FakeSearches
from tests.invented_register.sources import ASSOCIATIONS, NEWCOMER, SOURCES, follow
from tests.syncing.world import World

#: Enough documents for a process of their own to parse them.
NUMBERS = [f"{number:08d}" for number in range(10_000_001, 10_000_251)]


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of registers with the invented one."""
    invented = table.Register(SOURCES, follow)
    monkeypatch.setattr(table, "REGISTERS", (*table.REGISTERS, invented))


@pytest.fixture
def imported(
    mongo_url: str,
    mongo_admin: pymongo.MongoClient[dict[str, Any]],
    database_names: DatabaseNames,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Database[dict[str, Any]]:
    """A file of the invented register, loaded with `import`."""
    for name, value in {"MONGO_URL": mongo_url, **database_names.environment}.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "associations.jsonl"
    documents = [orjson.dumps({"number": n, "name": f"Roklub {n}"}) for n in NUMBERS]
    file.write_bytes(b"\n".join(documents))
    with pytest.raises(SystemExit) as ended:
        commands.main(["import", "dk-forening", str(file)])
    assert ended.value.code == import_commands.SOUND
    return mongo_admin[database_names.register]


def test_a_company_of_a_new_register_is_looked_up_and_its_load_state_has_the_name_of_its_source(
    imported: Database[dict[str, Any]], mongo_url: str
) -> None:
    question = Question(type=SearchType.VAT, term=NUMBERS[-1])

    async def look_up() -> object:
        async with connected(mongo_url, name="test", operation_timeout=None) as client:
            register = StoredRegister(Reads(database(client, imported.name)))
            request = LookupRequest(country=Country.DK, questions=(question,))
            [reply] = await AnswerLookups(register, FakeSearches())([request])
            return reply

    reply = asyncio.run(look_up())
    state = imported["loads"].find_one({"_id": "dk-forening"})

    assert isinstance(reply, LookupReply)
    assert orjson.loads(reply.body)["name"] == f"Roklub {NUMBERS[-1]}"
    assert state is not None
    assert state["counts"]["read"] == len(NUMBERS)


async def test_a_new_register_is_followed_under_the_name_of_its_source(world: World) -> None:
    [result] = await world.sync(ASSOCIATIONS)

    assert result.outcome is Outcome.DONE
    assert (await world.stored_company(NEWCOMER["number"], country="dk"))["name"] == "Ny Roklub"
    assert (await world.cursor(ASSOCIATIONS)).revision == 1
