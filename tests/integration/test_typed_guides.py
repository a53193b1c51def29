"""Every command of our programs in a guide is typed, with real servers behind it.

tests/contract/test_typed_commands.py has the other programs, tests/e2e/test_readme.py examples.
"""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import aio_pika
import pytest

from common.contracts.topology import DEAD_LETTERS_ARGUMENTS, DEAD_LETTERS_QUEUE
from common.mongo import Client, database
from local_stack.system import System
from register_samples.files import write_registers
from register_samples.server import Registers
from register_samples.server.serving import Served, serving
from tests.builders.webhooks import a_call, a_registered, encoded_key, secret_keys
from tests.commanding import run_here
from tests.conftest import DatabaseNames
from tests.contract.manifests.guides import commands
from tests.delivery.waiting import eventually
from webhook_store.webhooks import Registrations

pytestmark = pytest.mark.integration

OURS = re.compile(r"python -m (gateway|lookup|ingest|webhook_registry|dispatcher) .+")
#: They run until they are stopped; every test of a whole system starts them.
ENDLESS = re.compile(r"python -m (\w+ serve|webhook_registry digests)")
LETTER = "11111111-1111-1111-1111-111111111111"
COMPANIES = 20


#: A command with its options; other values of these are read by the same parser.
KIND = re.compile(r"python -m \w+ [\w-]+(?: (?:list|issue|revoke|requeue|drop)\b)?")


def typed() -> list[str]:
    """A command of each kind, without what may be left out, in the order of the guides."""
    found: dict[str, str] = {}
    for each in commands():
        text = re.sub(r" \[[^\]]*\]| \| --all| > \S+", "", each.text)
        if OURS.match(text) and not ENDLESS.match(text) and (kind := KIND.match(text)):
            found.setdefault(" ".join([kind[0], *re.findall(r"--[\w-]+", text)]), text)
    return list(found.values())


@pytest.fixture
def system(tmp_path: Path, amqp_url: str, mongo_url: str, database_names: DatabaseNames) -> System:
    settings = {**database_names.environment, "WEBHOOK_SECRET_KEYS": f"k1:{encoded_key('k1')}"}
    return System(tmp_path, amqp_url, mongo_url, settings)


async def two_dead_letters(amqp_url: str) -> None:
    """A letter that died in a queue, and one that an operator put among the dead letters."""
    dying: dict[str, Any] = {
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": DEAD_LETTERS_QUEUE,
    }
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        dead = await channel.declare_queue(
            DEAD_LETTERS_QUEUE, durable=True, arguments=DEAD_LETTERS_ARGUMENTS
        )
        await channel.declare_queue("work", durable=True, arguments=dying)
        letter = aio_pika.Message(b"{}", message_id=LETTER)
        await channel.default_exchange.publish(letter, routing_key=DEAD_LETTERS_QUEUE)
        expired = aio_pika.Message(b"late", message_id="late", expiration=0)
        await channel.default_exchange.publish(expired, routing_key="work")
        await eventually(
            lambda: channel.declare_queue(dead.name, passive=True),
            lambda queue: queue.declaration_result.message_count == 2,
        )


def of_registers(served: Served) -> dict[str, str]:
    return {"BRREG_URL": str(served.brreg), "PEPPOL_URL": str(served.url)}


async def test_every_command_of_a_guide_works(
    system: System, mongo: Client, database_names: DatabaseNames
) -> None:
    webhooks = database(mongo, database_names.webhooks)
    registered = a_registered()
    await Registrations(webhooks, secret_keys("k1"), Random(1)).create(
        registered, call_id=a_call(1), limit=50
    )
    await two_dead_letters(system.amqp_url)
    files = write_registers(system.folder / "registers", COMPANIES)
    key = "python -m gateway keys issue --owner acme --name one --scope lookup"
    printed = {key: await done(system, key, {})}
    values = {
        "<id>": printed[key].partition(".")[0],
        "<webhook id>": registered.webhook.id,
        "<message id>": LETTER,
        "<country> <number>": "no 310345806",
        "<person>": "Testesen",
        # The others of acme are used by further commands.
        "owners remove acme": "owners remove former",
        "<owner>": "former",
        "<source> <file>…": "no-enheter enheter.json.gz",
        "ledger <source> <file>": f"ledger no-enheter {files['no-enheter']}",
        "ledger <source>": "ledger no-enheter",
        "<source>…": "no-enheter",
        "import …": "import no-enheter enheter.json.gz",
        "<time>": "2026-11-20T00:00:00Z",
        "<the backup's time>": "2026-11-20T00:00:00Z",
    }

    async with serving(Registers(companies=COMPANIES)) as served:
        for line in dict.fromkeys(filled(text, values, files) for text in typed()):
            printed[line] = await done(system, line, of_registers(served))

    (system.folder / "removed.txt").write_text("no 310345806\ndk 12345674\n")
    (system.folder / "limited.txt").write_text("dk 12345674 Testesen\n")
    loops = [each.text for each in commands() if each.text.startswith("while read")]
    for loop in loops:
        await asyncio.to_thread(in_a_shell, system, loop)

    listed = printed["python -m dispatcher dead-letters list"].splitlines()
    assert listed[0].startswith(f"{LETTER}\t")
    assert listed[1].startswith("late\twork\texpired\t")
    assert printed["python -m dispatcher dead-letters requeue --all"] == "1 put back\n"
    assert printed[f"python -m dispatcher dead-letters drop --id {LETTER}"] == "1 dropped\n"
    removed = await done(system, "python -m ingest removed", {})
    assert {"no 310345806", "dk 12345674"} <= set(removed.splitlines())
    assert len(loops) == 3
    assert "dk 12345674 sha256:" in await done(system, "python -m ingest limited", {})
    assert "revoked" in printed["python -m gateway keys list"]
    stored: Any = await webhooks["webhooks"].find_one({"_id": registered.webhook.id})
    assert stored["status"] == "enabled"


def filled(text: str, values: Mapping[str, str], files: Mapping[str, Path]) -> str:
    """The command with values for its placeholders, and with the file of its register."""
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    documents = files["dk-regnskab"].parent / "documents"
    text = text.replace("--documents documents/", f"--documents {documents}")
    return re.sub(
        r"import ([\w-]+) \S+", lambda found: f"import {found[1]} {files[found[1]]}", text
    )


def in_a_shell(system: System, line: str) -> None:
    """Types what needs a shell, in the system's folder; it has to succeed."""
    interpreter = Path(sys.executable).parent
    environment = {
        **os.environ,
        **system.settings_of("ingest"),
        "PATH": f"{interpreter}{os.pathsep}{os.environ['PATH']}",
    }
    subprocess.run(
        ["bash", "-euc", line], cwd=system.folder, env=environment, check=True, timeout=120
    )


async def done(system: System, line: str, settings: Mapping[str, str]) -> str:
    """The output of the command, which has to succeed."""
    _python, _m, module, *arguments = shlex.split(line)
    own = System(
        system.folder, system.amqp_url, system.mongo_url, {**system.environment, **settings}
    )

    # Programs that set up a log write to a standard output of their own.
    has_log = module == "dispatcher" or arguments[0] in ("sync", "import")
    run = own.run if has_log else partial(run_here, own)
    status, output, error = await asyncio.to_thread(run, module, *arguments)

    assert status == 0, f"{line}\n{output}{error}"
    return output
