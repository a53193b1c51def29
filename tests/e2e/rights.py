"""The rights of each service as docs/operations.md has them, and users with exactly these.

The users for backups and restores are those of components/operators.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymongo
import yaml

from local_stack import mongodb, ports
from local_stack.management import Management
from local_stack.processes import wait_for
from local_stack.run_files import write_private
from local_stack.servers import BrokerAddress

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "operations.md"
OPERATORS = ROOT / "deploy" / "k8s" / "components" / "operators" / "mongodb.yaml"

_CELL = re.compile(r"(?<!\\)\|")
_ROLE = re.compile(r"`(?P<action>\w+)` on `(?P<database>\w+)(?:\.(?P<collection>\w+))?`")
#: Has every right on the databases.
ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class BrokerRights:
    """Regular expressions of the names of exchanges and queues."""

    configure: str
    write: str
    read: str


@dataclass(frozen=True, slots=True)
class DatabaseRight:
    #: A role such as `readWrite`, or an action such as `find` on one collection.
    action: str
    database: str
    collection: str | None


def broker_rights() -> dict[str, BrokerRights]:
    """By user."""
    return {
        user: BrokerRights(*(pattern.strip("`").replace(r"\|", "|") for pattern in patterns))
        for user, *patterns in _table("Rights in RabbitMQ")
    }


def database_rights() -> dict[str, list[DatabaseRight]]:
    """By user."""
    return {
        user: [DatabaseRight(*found.group(*_ROLE.groupindex)) for found in _ROLE.finditer(rights)]
        for users, rights in _table("Rights in MongoDB")
        for user in users.split(", ")
    }


@contextmanager
def broker_users(broker: BrokerAddress, vhost: str) -> Iterator[dict[str, str]]:
    """The URL of the virtual host for each documented user."""
    management = Management(broker.management_url)
    place = urlsplit(broker.vhost_url(vhost))
    urls = {}
    try:
        for user, rights in broker_rights().items():
            name, password = f"{user}-{vhost}", secrets.token_hex()
            management.create_user(name, password)
            urls[user] = f"amqp://{name}:{password}@{place.hostname}:{place.port}{place.path}"
            management.permit(
                name, vhost, configure=rights.configure, write=rights.write, read=rights.read
            )
        yield urls
    finally:
        for user in urls:
            management.delete_user(f"{user}-{vhost}")


@contextmanager
def database_users(folder: Path) -> Iterator[dict[str, str]]:
    """A replica set that demands passwords, and its URL for each documented user and for all."""
    mongodb.ensure_runs()
    key = folder / "key"
    folder.mkdir()
    write_private(key, secrets.token_hex())
    mongod = mongodb.Mongod(folder, ports.free_ports(1)[0], (*mongodb.SMALL, "--keyFile", str(key)))
    mongod.begin()
    try:
        mongod.ready()
        yield _users_of(mongod.host)
    finally:
        mongod.kill()


def _users_of(host: str) -> dict[str, str]:
    member = {"_id": 0, "host": host}
    mongodb.command(host, "replSetInitiate", {"_id": mongodb.REPLICA_SET, "members": [member]})
    led = wait_for(
        lambda: bool(mongodb.command(host, "hello")["isWritablePrimary"]),
        seconds=mongodb.START_TIMEOUT,
    )
    assert led, "the replica set has no primary"
    password = secrets.token_hex()
    # The first user may be created from the same machine; from then on passwords are required.
    mongodb.command(host, "createUser", ADMINISTRATOR, pwd=password, roles=["root"])
    with pymongo.MongoClient[dict[str, Any]](
        _url(host, ADMINISTRATOR, password), timeoutMS=30_000
    ) as it:
        urls = {
            user: _url(host, user, _created(it, user, rights))
            for user, rights in database_rights().items()
        }
        urls[ADMINISTRATOR] = _url(host, ADMINISTRATOR, password)
        for user, own in _supplied(it):
            urls[user] = _url(host, user, own)
        return urls


def _supplied(client: pymongo.MongoClient[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Creates the users of backups and restores as components/operators has them."""
    [database] = [
        each for each in yaml.safe_load_all(OPERATORS.read_text()) if "users" in each["spec"]
    ]
    for role in database["spec"]["security"]["roles"]:
        given = {"privileges": role["privileges"], "roles": role["roles"]}
        client[role["db"]].command("createRole", role["role"], **given)
    for user in database["spec"]["users"]:
        if user["name"] in ("backup", "restore"):
            password = secrets.token_hex()
            roles = [{"role": each["name"], "db": each["db"]} for each in user["roles"]]
            client.admin.command("createUser", user["name"], pwd=password, roles=roles)
            yield user["name"], password


def _created(
    client: pymongo.MongoClient[dict[str, Any]], user: str, rights: list[DatabaseRight]
) -> str:
    """Creates the user; its password."""
    roles: list[Mapping[str, str] | str] = []
    for right in rights:
        if right.collection is None:
            roles.append({"role": right.action, "db": right.database})
            continue
        place = {"db": right.database, "collection": right.collection}
        role = f"{user}-{right.action}-{right.collection}"
        privileges = [{"resource": place, "actions": [right.action]}]
        client.admin.command("createRole", role, privileges=privileges, roles=[])
        roles.append(role)
    password = secrets.token_hex()
    client.admin.command("createUser", user, pwd=password, roles=roles)
    return password


def _url(host: str, user: str, password: str) -> str:
    return f"mongodb://{user}:{password}@{host}/?replicaSet={mongodb.REPLICA_SET}&authSource=admin"


def _table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    section = GUIDE.read_text().split(f"### {heading}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines[2:]]
