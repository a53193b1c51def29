"""The gateway's commands."""

from pathlib import Path
from typing import Any

import pymongo
import pytest

from gateway.access.keys import hash_of, parse_key
from local_stack.system import System
from tests.commanding import run_here
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.integration

#: An unused port.
CLOSED = "127.0.0.1:1"
#: Required to issue a key.
OPTIONS = ("--owner", "acme", "--name", "nightly sync", "--scope", "lookup")


@pytest.fixture
def system(tmp_path: Path, mongo_url: str, database_names: DatabaseNames) -> System:
    """A database for the commands; no service runs."""
    return System(tmp_path, f"amqp://{CLOSED}/", mongo_url, database_names.environment)


def issue(system: System, *options: str) -> str:
    status, output, error = run_here(system, "gateway", "keys", "issue", *OPTIONS, *options)
    assert status == 0, error
    return output.removesuffix("\n")


def test_a_key_is_printed_alone_and_stored_as_a_hash(
    system: System, mongo_url: str, database_names: DatabaseNames
) -> None:
    key = parse_key(issue(system))

    assert key is not None
    with pymongo.MongoClient[dict[str, Any]](mongo_url) as mongo:
        (stored,) = mongo[database_names.access]["api_keys"].find()
    assert stored["secret_hash"] == hash_of(key.secret)
    assert key.secret not in str(stored)


def test_keys_are_listed_without_their_secrets(system: System) -> None:
    key_id, _, secret = issue(system, "--scope", "webhooks").partition(".")

    _, output, _ = run_here(system, "gateway", "keys", "list")

    (line,) = output.splitlines()
    assert line.split("\t")[:4] == [key_id, "acme", "nightly sync", "lookup,webhooks"]
    assert line.split("\t")[5:] == ["active", "default rate"]
    assert secret not in output


@pytest.mark.parametrize("owner", ["", "  ", "acme\tbeta", "acme\nbeta"])
def test_an_owner_that_would_break_the_list_is_wrong_usage(system: System, owner: str) -> None:
    status, output, error = run_here(system, "gateway", "keys", "issue", *OPTIONS, "--owner", owner)

    assert (status, output) == (2, "")
    assert "argument --owner: must be one line and not empty" in error


def test_a_key_is_listed_with_its_rate_and_its_end(system: System) -> None:
    issue(system, "--rate", "7/hour", "--expires", "2999-01-01")

    _, output, _ = run_here(system, "gateway", "keys", "list")

    assert output.split("\t")[5:] == ["expires 2999-01-01T00:00:00Z", "7 in 3600 s\n"]


@pytest.mark.parametrize(
    "option, value",
    [
        ("--rate", "many"),
        ("--expires", "soon"),
        ("--expires", "2001-01-01"),
        ("--expires", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_an_invalid_rate_or_end_is_wrong_usage(system: System, option: str, value: str) -> None:
    status, output, error = run_here(system, "gateway", "keys", "issue", *OPTIONS, option, value)

    assert (status, output) == (2, "")
    assert f"argument {option}:" in error


def test_a_revoked_key_is_listed_as_revoked(system: System) -> None:
    key_id, _, _ = issue(system).partition(".")

    revoked = run_here(system, "gateway", "keys", "revoke", key_id)
    _, output, _ = run_here(system, "gateway", "keys", "list")

    assert revoked == (0, "", "")
    assert "\trevoked " in output


def test_an_unknown_key_cannot_be_revoked(system: System) -> None:
    status, _, error = run_here(system, "gateway", "keys", "revoke", "0" * 24)

    assert status == 1
    assert error == f"there is no key {'0' * 24}\n"


def test_creating_indexes_is_repeatable(system: System) -> None:
    outcomes = [run_here(system, "gateway", "indexes") for _ in range(2)]

    assert outcomes == [(0, "", "")] * 2
