"""Indexes, created and dropped by commands of the packages that declare them."""

from collections.abc import Mapping, Sequence

from pymongo import IndexModel
from pymongo.errors import OperationFailure

from common.mongo import Database, translated_errors

#: IndexOptionsConflict and IndexKeySpecsConflict.
_CONFLICTS = frozenset({85, 86})


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
