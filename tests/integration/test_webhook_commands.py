"""The registry's commands against MongoDB."""

import os
from dataclasses import dataclass
from random import Random

import pytest

from common.contracts.webhooks import DisabledReason
from common.mongo import Client, Database, database
from tests.builders.webhooks import NOON, OWNER, a_call, a_registered, encoded_key, secret_keys
from tests.commanding import run_main
from tests.conftest import DatabaseNames
from webhook_store.indexes import INDEXES
from webhook_store.secrets import SigningSecrets
from webhook_store.sending import Webhooks
from webhook_store.webhooks import Registration, Registrations

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Commands:
    environment: dict[str, str]
    database: Database

    def run(self, *arguments: str, **settings: str) -> tuple[int, str, str]:
        environment = {**os.environ, **self.environment, **settings}
        return run_main("webhook_registry", *arguments, environment=environment)

    async def created(self, key_id: str = "k1") -> Registration:
        new = a_registered()
        registrations = Registrations(self.database, secret_keys(key_id), Random(1))
        await registrations.create(new, call_id=a_call(1), limit=50)
        return new


def keys(*ids: str) -> str:
    return ",".join(f"{key_id}:{encoded_key(key_id)}" for key_id in ids)


@pytest.fixture(name="commands")
def _commands(mongo: Client, mongo_url: str, database_names: DatabaseNames) -> Commands:
    environment = {
        "MONGO_URL": mongo_url,
        "WEBHOOK_SECRET_KEYS": keys("k1"),
        **database_names.environment,
    }
    return Commands(environment, database(mongo, database_names.webhooks))


async def test_creating_indexes_is_repeatable(commands: Commands) -> None:
    first = commands.run("indexes", WEBHOOK_SECRET_KEYS="")
    again = commands.run("indexes", WEBHOOK_SECRET_KEYS="")

    assert (first, again) == ((0, "", ""),) * 2
    for name, models in INDEXES.items():
        made = await commands.database[name].index_information()
        assert {model.document["name"] for model in models} <= made.keys()


@pytest.mark.parametrize(
    "module, collection, index",
    [
        ("webhook_registry", "deliveries", "repeatable"),
        ("webhook_registry", "attempts", "latest"),
        ("ingest", "production_units", "company"),
    ],
)
async def test_indexes_of_an_earlier_release_stay_until_they_are_dropped_by_their_names(
    commands: Commands, mongo: Client, module: str, collection: str, index: str
) -> None:
    name = "WEBHOOKS_DB" if module == "webhook_registry" else "REGISTER_DB"
    of_collection = database(mongo, commands.environment[name])[collection]
    await of_collection.create_index("by_an_earlier_release", name=index)
    environment = {**os.environ, **commands.environment, "WEBHOOK_SECRET_KEYS": ""}

    made, done, again = [
        run_main(module, "indexes", *words, environment=environment)
        for words in ((), ("--drop-replaced",), ("--drop-replaced",))
    ]

    assert made == (0, "", "")
    # One writes it to its output, the other to its errors.
    assert f"dropped: {collection}.{index}\n" in done
    assert "dropped: none existed\n" in again
    assert index not in await of_collection.index_information()


async def test_resealing_reports_its_count(commands: Commands) -> None:
    new = await commands.created("k1")

    done = commands.run("reseal", WEBHOOK_SECRET_KEYS=keys("k2", "k1"))

    assert done[:2] == (0, "1 sealed anew with key k2\n")
    found = await Webhooks(commands.database, secret_keys("k2")).sendable([new.webhook.id], at=NOON)
    assert found[new.webhook.id].secrets == SigningSecrets(new.secret)


async def test_resealing_without_a_required_key_names_the_webhooks(
    commands: Commands,
) -> None:
    new = await commands.created("k9")

    status, _, error = commands.run("reseal")

    assert status == 1
    assert new.webhook.id in error


async def test_an_operator_disables_and_enables_a_webhook(commands: Commands) -> None:
    new = await commands.created()
    registrations = Registrations(commands.database, secret_keys(), Random(1))

    stopped = commands.run("disable", new.webhook.id)
    between = await registrations.find(OWNER, new.webhook.id)
    started = commands.run("enable", new.webhook.id)
    after = await registrations.find(OWNER, new.webhook.id)

    assert (stopped[0], started[0]) == (0, 0), stopped[2] + started[2]
    assert between is not None
    assert between.disabled_reason is DisabledReason.OPERATOR
    assert after is not None
    assert (after.enabled, after.generation) == (True, 3)


@pytest.mark.parametrize("command", ["disable", "enable"])
def test_an_unknown_webhook_is_reported(commands: Commands, command: str) -> None:
    done = commands.run(command, "wh_unknown")

    assert done == (1, "", "there is no webhook wh_unknown\n")


def test_an_unknown_command_is_wrong_usage(commands: Commands) -> None:
    assert commands.run("explode")[0] == 2
