"""MongoDB for an operator's commands: they wait for a primary, and create indexes."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from pymongo import IndexModel
from pymongo.errors import OperationFailure

from common.mongo import Client, Database, open_client, translated_errors

#: For a command of an operator: an election takes seconds, and is perhaps why the command is typed.
COMMAND_TIMEOUT = timedelta(seconds=30)
#: Seconds without a primary after which a command says that it waits.
_SAY_AFTER = 2.0

#: IndexOptionsConflict and IndexKeySpecsConflict.
_CONFLICTS = frozenset({85, 86})


@asynccontextmanager
async def connected_for_command(
    url: str, *, name: str, is_long: bool = False
) -> AsyncIterator[Client]:
    """A client for an operator's command, which waits up to 30 s for a primary and says so.

    A command that `is_long`, such as of indexes, may take as long as it needs. Raises `Unavailable`
    where there is no primary in time.
    """
    operation_timeout = None if is_long else COMMAND_TIMEOUT
    async with open_client(
        url, name=name, operation_timeout=operation_timeout, selection_timeout=COMMAND_TIMEOUT
    ) as client:
        said = f"waiting up to {COMMAND_TIMEOUT.total_seconds():.0f} s for a primary of MongoDB\n"
        saying = asyncio.get_running_loop().call_later(_SAY_AFTER, sys.stderr.write, said)
        try:
            with translated_errors():
                await client.admin.command("ping")
        finally:
            saying.cancel()
        yield client


class IndexConflict(Exception):
    """An index stands in the way of a declared one; the message is for an operator."""


async def create_indexes(
    database: Database, declared: Mapping[str, Sequence[IndexModel]]
) -> list[str]:
    """Creates missing indexes; returns the names of all, such as `webhooks.match_keys`.

    Drops none: pods of the previous release run until each has been replaced. Raises IndexConflict
    and `Unavailable`.
    """
    made = []
    for name, models in declared.items():
        try:
            with translated_errors():
                names = await database[name].create_indexes(list(models))
        except OperationFailure as error:
            if error.code not in _CONFLICTS:
                raise
            existing = " or ".join(await _conflicting(database, name, models))
            raise IndexConflict(
                f"the collection {name} of {database.name} has another index {existing}; drop it "
                "and run this command again"
            ) from error
        made += [f"{name}.{one}" for one in names]
    return made


async def drop_indexes(database: Database, names: Mapping[str, Sequence[str]]) -> list[str]:
    """Drops those that exist of the indexes of each collection; returns their names."""
    dropped = []
    with translated_errors():
        for collection, replaced in names.items():
            present = await database[collection].index_information()
            for name in present.keys() & replaced:
                await database[collection].drop_index(name)
                dropped.append(f"{collection}.{name}")
    return dropped


async def _conflicting(
    database: Database, collection: str, models: Sequence[IndexModel]
) -> list[str]:
    """The indexes that have the name or the key of a declared one, and not both."""
    with translated_errors():
        present = await database[collection].index_information()
    declared = [(one.document["name"], dict(one.document["key"])) for one in models]
    return [
        name
        for name, index in present.items()
        if any((name == other) != (dict(index["key"]) == key) for other, key in declared)
    ]
