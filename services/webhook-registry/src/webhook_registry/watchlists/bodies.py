"""Validation of the bodies of requests about watchlists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from common.contracts.company import CompanyKey
from common.contracts.failures import FieldError
from common.contracts.watchlists import MAX_CHANGED
from webhook_registry.replies import Wrong
from webhook_registry.webhooks.bodies import Reader, faulty, read_description, read_fields

MAX_NAME_LENGTH: Final = 100
#: Malformed companies that a refusal names.
_MAX_NAMED: Final = 20

_HINT: Final = "give country and registration number, such as dk:12345674 or no:123456785"


@dataclass(frozen=True, slots=True)
class WatchedChanges:
    """Companies to add to a list, and those to remove from it, without duplicates."""

    add: tuple[CompanyKey, ...] = ()
    remove: tuple[CompanyKey, ...] = ()


def read_new_list(body: bytes) -> Mapping[str, Any]:
    """Returns the name and description of the list to create; raises Rejected with every error."""
    return {"description": None, **_list_fields(body, required=("name",))}


def read_list_changes(body: bytes) -> Mapping[str, Any]:
    """Returns the fields of a list to change; raises Rejected with every error."""
    return _list_fields(body, required=())


def _list_fields(body: bytes, *, required: tuple[str, ...]) -> Mapping[str, Any]:
    fields = read_fields(body, required=required, optional=("name", "description"))
    read = Reader(fields)
    values = {"name": read("name", _name), "description": read("description", read_description)}
    if read.faults:
        raise faulty(read.faults)
    return {name: values[name] for name in fields}


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME_LENGTH:
        raise Wrong(f"give a name of 1 to {MAX_NAME_LENGTH} characters")
    return value.strip()


def read_watched_changes(body: bytes) -> WatchedChanges:
    """Returns the companies to add and to remove; raises Rejected with the errors."""
    fields = read_fields(body, required=(), optional=("add", "remove"))
    read = _read(fields)
    changes = WatchedChanges(read["add"], read["remove"])
    if len(changes.add) + len(changes.remove) > MAX_CHANGED:
        message = f"give at most {MAX_CHANGED} companies in add and remove together"
        raise faulty([FieldError(parameter="add", message=message)])
    both = set(changes.add).intersection(changes.remove)
    if both:
        message = f"{min(both)} is in remove as well; give each company once"
        raise faulty([FieldError(parameter="add", message=message)])
    return changes


def read_watched(body: bytes) -> tuple[CompanyKey, ...]:
    """Returns the companies of the list from now on; raises Rejected with the errors."""
    return _read(read_fields(body, required=("companies",), optional=()))["companies"]


def _read(fields: Mapping[str, Any]) -> dict[str, tuple[CompanyKey, ...]]:
    """Returns the companies of each field; an absent field has none."""
    keys: dict[str, tuple[CompanyKey, ...]] = dict.fromkeys(("add", "remove", "companies"), ())
    faults: list[FieldError] = []
    for name, value in fields.items():
        if not isinstance(value, list) or len(value) > MAX_CHANGED:
            message = f"give a list of at most {MAX_CHANGED} companies"
            faults.append(FieldError(parameter=name, message=message))
            continue
        read = [CompanyKey.read(one) if isinstance(one, str) else None for one in value]
        faults += [
            FieldError(parameter=f"{name}[{number}]", message=_HINT)
            for number, key in enumerate(read)
            if key is None
        ]
        keys[name] = tuple(dict.fromkeys(key for key in read if key is not None))
    if faults:
        raise faulty(faults[:_MAX_NAMED])
    return keys
