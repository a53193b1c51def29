"""The command line of each service: usage and errors."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymongo
import pytest

from tests.commanding import run_main
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.integration

SERVICES = ("gateway", "lookup", "ingest", "webhook_registry", "dispatcher")
#: An unused port: a service contacts no dependency before it opens its own port.
SETTINGS = {
    "AMQP_URL": "amqp://127.0.0.1:1/",
    "MONGO_URL": "mongodb://127.0.0.1:1/",
    "INDEX_DIR": "/nonexistent",
    "WEBHOOK_SECRET_KEYS": "k:" + "A" * 43 + "=",
}
TIMEOUT = 60


def called(module: str, *arguments: str, settings: Mapping[str, str]) -> tuple[int, str, str]:
    return run_main(module, *arguments, environment={"PATH": os.environ["PATH"], **settings})


def started(
    module: str, *arguments: str, settings: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """The same as a process."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={"PATH": os.environ["PATH"], **settings},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


@pytest.mark.parametrize(
    "module,settings", [*((service, {}) for service in SERVICES), ("gateway", SETTINGS)]
)
def test_a_service_without_a_command_lists_its_commands(
    module: str, settings: Mapping[str, str]
) -> None:
    status, _, error = called(module, settings=settings)

    assert status == 2
    assert error.startswith(f"usage: python -m {module} ")
    assert "    serve " in error


@pytest.mark.parametrize("module", SERVICES)
def test_each_missing_setting_is_one_line(module: str) -> None:
    status, _, error = called(module, "serve", settings={})

    assert status == 2
    assert {"setting AMQP_URL: is not set", "setting MONGO_URL: is not set"} <= set(
        error.splitlines()
    )
    assert all(line.startswith("setting ") for line in error.splitlines())


@pytest.mark.parametrize("setting", ["ADMIN_PORT", "HTTP_PORT"])
def test_a_port_in_use_is_one_line(setting: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        ended = started("gateway", "serve", settings={**SETTINGS, setting: port})

    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith("gateway cannot start: ")
    assert port in line


@pytest.mark.usefixtures("services_selection_timeout")
@pytest.mark.parametrize(
    "arguments,wanted",
    [
        (("gateway", "indexes"), 1),
        (("gateway", "keys", "list"), 1),
        (("ingest", "indexes"), 4),
        (("webhook_registry", "reseal"), 1),
    ],
)
def test_an_outage_is_one_line(arguments: tuple[str, ...], wanted: int) -> None:
    status, output, error = called(*arguments, settings=SETTINGS)

    assert status == wanted
    assert output == ""
    [line] = error.splitlines()
    assert "cannot be reached" in line


def test_an_outage_of_the_broker_is_one_line() -> None:
    ended = started("dispatcher", "dead-letters", "list", settings=SETTINGS)

    assert ended.returncode == 1
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert "cannot be reached" in line


def test_an_invalid_url_is_one_line_without_the_url() -> None:
    settings = {"MONGO_URL": "mongodb://user:pass/word@host/"}

    status, _, error = called("ingest", "indexes", settings=settings)

    assert status == 2
    [line] = error.splitlines()
    assert line.startswith("setting MONGO_URL: write it as mongodb://<host>/")
    assert "word@" not in line


@pytest.mark.parametrize("module", SERVICES)
def test_several_hosts_of_the_broker_are_refused(module: str) -> None:
    settings = {**SETTINGS, "AMQP_URL": "amqp://guest:word@127.0.0.1:5671,127.0.0.1:5672/"}

    status, _, error = called(module, "serve", settings=settings)

    assert status == 2
    assert error == "setting AMQP_URL: name one host, which may resolve to every node\n"


# The gateway starts without its database.
@pytest.mark.parametrize(
    "module, has_database",
    [*((module, True) for module in SERVICES), *((module, False) for module in SERVICES[1:])],
)
def test_a_signal_ends_a_service_without_its_servers(
    module: str,
    *,
    has_database: bool,
    mongo_url: str,
    database_names: DatabaseNames,
    tmp_path: Path,
) -> None:
    database = {"MONGO_URL": mongo_url} if has_database else {}
    environment = {
        "PATH": os.environ["PATH"],
        "ADMIN_PORT": "0",
        "HTTP_PORT": "0",
        **SETTINGS,
        "INDEX_DIR": str(tmp_path),
        **database,
        **database_names.environment,
    }
    last_line = "service.started" if has_database else "service.starting"
    with subprocess.Popen(
        [sys.executable, "-m", module, "serve"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any(last_line in line for line in process.stdout)

        process.send_signal(signal.SIGTERM)
        output, error = process.communicate(timeout=TIMEOUT)

    assert "service.stopped" in output
    assert (process.returncode, error) == (0, "")


@pytest.mark.parametrize(
    "module,database,collection",
    [
        ("gateway", "access", "api_keys"),
        ("ingest", "register", "companies"),
        ("webhook_registry", "webhooks", "webhooks"),
    ],
)
def test_an_index_in_the_way_is_named(
    module: str,
    database: str,
    collection: str,
    mongo_admin: pymongo.MongoClient[dict[str, Any]],
    mongo_url: str,
    database_names: DatabaseNames,
) -> None:
    name: str = getattr(database_names, database)
    key = {"api_keys": "created_at", "companies": "units", "webhooks": "match_keys"}[collection]
    direction = -1 if key == "created_at" else 1
    mongo_admin[name][collection].create_index([(key, direction)], name="by_hand")
    settings = {**SETTINGS, "MONGO_URL": mongo_url, **database_names.environment}

    status, _, error = called(module, "indexes", settings=settings)

    assert status == 1
    assert error == (
        f"the collection {collection} of {name} has another index by_hand; drop it and run this "
        "command again\n"
    )
