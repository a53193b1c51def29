"""Changes of companies in the change stream of MongoDB, as the index takes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from common.contracts.company import CompanyKey, Country
from lookup.search.index.documents import StoredParts
from lookup.search.indexed import searched_core
from lookup.store.documents import HELD_NAMES

#: Operations on the whole collection, which invalidate the index.
_INVALIDATING = ("drop", "dropDatabase", "rename", "invalidate")


class RegisterReplaced(Exception):
    """The collection was dropped or renamed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed company: its stored parts, or None if it was removed."""

    key: CompanyKey
    stored: StoredParts | None
    at: datetime
    #: False if another part changed: its owners, a unit or an e-invoicing identifier.
    of_core: bool = True


_FIELDS = (
    "documentKey",
    "operationType",
    "clusterTime",
    "fullDocument.core",
    "fullDocument.owners",
    f"fullDocument.{HELD_NAMES}",
)
_CORE = "updateDescription.updatedFields.core"


def pipeline(country: Country) -> list[Mapping[str, Any]]:
    """Returns the stages of a country's stream.

    They match every new revision: one may have other owners, or receive e-invoices now.
    """
    return [
        {
            "$match": {
                "$or": [
                    {
                        "operationType": {"$in": ["insert", "replace", "delete"]},
                        "documentKey._id": {"$regex": f"^{country}:"},
                    },
                    {
                        "operationType": "update",
                        "documentKey._id": {"$regex": f"^{country}:"},
                        "updateDescription.updatedFields.revision": {"$exists": True},
                    },
                    {"operationType": {"$in": _INVALIDATING}},
                ]
            }
        },
        {"$project": {**dict.fromkeys(_FIELDS, 1), "core": {"$type": f"${_CORE}"}}},
    ]


def read_change(document: Mapping[str, Any]) -> Change:
    """Returns a change of the stream; raises RegisterReplaced."""
    if document["operationType"] in _INVALIDATING:
        raise RegisterReplaced(document["operationType"])
    # An update of a company that has been removed since comes without the document.
    full = document.get("fullDocument") or {}
    return Change(
        CompanyKey.parse(document["documentKey"]["_id"]),
        None if full.get("core") is None else stored_parts(full),
        document["clusterTime"].as_datetime(),
        document["operationType"] != "update" or document["core"] != "missing",
    )


def stored_parts(document: Mapping[str, Any], *, is_receiver: bool = False) -> StoredParts:
    """Returns the searched parts of a company's document."""
    core = searched_core(document["core"], document.get(HELD_NAMES, ()))
    return StoredParts(core, document.get("owners") or b"", is_receiver)
