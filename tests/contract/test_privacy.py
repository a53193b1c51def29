"""docs/privacy.md names everything that is kept: collections, queues, cookies, backups, labels."""

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from pydantic import SecretStr

from common.contracts import topology
from common.messaging.requests import KNOWN, OF_GATEWAY, OWNER_EVENT
from portal.adapters.http.sessions import SessionPolicy, session_storage
from tests.contract.manifests.metrics import exposed_metrics
from tests.contract.manifests.reading import COMPONENTS, ROOT

TEXT = (ROOT / "docs" / "privacy.md").read_text()
SECTION = TEXT.split("## What is kept")[1]
#: The names of a database in the code.
DATABASES = re.compile(r"(self\._)?(database|register|webhooks|access)(\.get_collection)?")
#: Labels that would tell of a person, a customer or a client.
TELLING = {
    "owner",
    "key",
    "name",
    "company",
    "vat",
    "url",
    "host",
    "address",
    "email",
    "webhook_id",
}


def rows(title: str) -> dict[str, str]:
    """The rows of a table by each name in their first cell."""
    table = SECTION.split(f"| {title} |")[1].split("\n\n")[0]
    found = re.findall(r"^\| (.+?) \| (.+?) \|", table, re.MULTILINE)
    return {name: what for names, what in found for name in re.findall(r"`([^`]+)`", names)}


def collections(*folders: str) -> set[str]:
    """The names with which the code of these folders opens a collection."""
    return {
        name
        for folder in folders
        for file in (ROOT / folder).glob("src/**/*.py")
        for name in _opened_in(file)
    }


def _opened_in(file: Path) -> Iterator[str]:
    module = ".".join(file.with_suffix("").parts[file.parts.index("src") + 1 :])
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Subscript(value=opened, slice=ast.Name(id=constant)):
                pass
            case ast.Call(func=ast.Attribute() as opened, args=[ast.Name(id=constant), *_]):
                pass
            case _:
                continue
        if constant.isupper() and DATABASES.fullmatch(ast.unparse(opened)):
            yield getattr(import_module(module), constant)


def test_every_collection_is_listed_and_no_other() -> None:
    leases = {"leases"}
    register = collections("libs/register-store", "services/ingest") - {"receipts"} | leases
    webhooks = collections("libs/webhook-store", "services/dispatcher") | leases | {"receipts"}
    webhooks |= collections("services/webhook-registry")
    access = collections("services/gateway") | leases

    assert len(register | webhooks | access) > 25
    assert rows("database `register`").keys() == register
    assert rows("database `webhooks`").keys() == webhooks
    assert rows("database `access`").keys() == access


def test_every_queue_is_listed() -> None:
    queues = {value for name, value in vars(topology).items() if name.endswith("_QUEUE")}
    queues |= {topology.delay_queue(timedelta(minutes=1)), *KNOWN.queues, *OWNER_EVENT.queues}
    queues |= {queue for procedure in OF_GATEWAY for queue in procedure.queues}
    patterns = [re.escape(name).replace(r"\*", ".*") for name in rows("RabbitMQ")]

    assert [one for one in queues if not any(re.fullmatch(each, one) for each in patterns)] == []


def test_the_cookie_and_the_backups_are_those_of_the_deployment() -> None:
    policy = SessionPolicy(
        SecretStr("A" * 43 + "="), is_secure=True, idle_timeout=timedelta(1), lifetime=timedelta(1)
    )
    backup = (COMPONENTS / "operators" / "backup.yaml").read_text()
    (days,) = re.findall(r"-mtime \+(\d+) -delete", backup)

    assert rows("elsewhere").keys() >= {session_storage(policy).cookie_name}
    assert f"{days} days with `components/operators`" in SECTION
    assert f"{days} days with the CronJob" in TEXT


def test_what_a_browser_keeps_is_listed() -> None:
    scripts = (files("portal.adapters.http") / "static").iterdir()
    text = "".join(each.read_text() for each in scripts if each.name.endswith(".js"))
    named = dict(re.findall(r'export const (\w+) = "(\w+)";', text))
    kept = re.findall(r"(?:local|session)Storage\.\w+\((\w+)", text)

    assert kept
    assert {named[each] for each in kept} <= rows("elsewhere").keys()


def test_no_metric_has_a_label_of_a_person_and_one_has_owners() -> None:
    labels = frozenset[str]().union(*exposed_metrics().values())

    assert labels > {"route", "queue", "status"}
    # Operators ask whose requests a gateway serves; owners are names that they gave.
    assert labels & TELLING == {"owner"}
    assert {name for name, of in exposed_metrics().items() if "owner" in of} == {
        "http_owner_requests_total"
    }
