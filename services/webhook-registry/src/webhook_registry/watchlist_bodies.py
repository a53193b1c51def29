"""Bodies of requests about watchlists; every error is reported with a hint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from common.contracts.company import CompanyKey
from common.contracts.failures import FieldError
from common.contracts.watchlists import MAX_CHANGED, InvalidCompany
from common.domain.countries import Country
from common.domain.numbers import InvalidIdentifier, read_company
from common.domain.written import read_country
from webhook_registry.replies import InvalidValue, Rejected
from webhook_registry.webhook_bodies import Reader, faulty, read_description, read_fields

MAX_NAME_LENGTH: Final = 100
#: Malformed companies that a refusal names, and characters of each that an answer repeats.
_MAX_NAMED: Final = 20
_MAX_VALUE: Final = 100

_HINT: Final = "give country and registration number, such as dk:12345674 or no:123456785"


@dataclass(frozen=True, slots=True)
class WatchedChanges:
    """Companies to add to a list, and those to remove from it, without duplicates."""

    add: tuple[CompanyKey, ...] = ()
    remove: tuple[CompanyKey, ...] = ()
    #: Entries that are skipped.
    invalid: tuple[InvalidCompany, ...] = ()


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
        raise InvalidValue(f"give a name of 1 to {MAX_NAME_LENGTH} characters")
    return value.strip()


def read_watched_changes(body: bytes) -> WatchedChanges:
    """Returns the companies to add and to remove; raises Rejected with the errors."""
    fields = read_fields(body, required=(), optional=("add", "remove", *_OPTIONS))
    country, is_lenient = _options(fields)
    lists = {name: value for name, value in fields.items() if name not in _OPTIONS}
    read, invalid = _read(lists, country)
    if invalid and not is_lenient:
        raise _refusal(invalid)
    changes = WatchedChanges(read["add"], read["remove"], tuple(invalid))
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
    read, invalid = _read(read_fields(body, required=("companies",), optional=()), None)
    if invalid:
        raise _refusal(invalid)
    return read["companies"]


#: The country of companies without one, and whether entries that cannot be read are skipped.
_COUNTRY, _SKIP = "country", "skip_invalid"
_OPTIONS: Final = (_COUNTRY, _SKIP)


def _options(fields: Mapping[str, Any]) -> tuple[Country | None, bool]:
    given, is_lenient = fields.get(_COUNTRY), fields.get(_SKIP, False)
    country = read_country(given) if isinstance(given, str) else None
    faults = []
    if given is not None and country is None:
        faults.append(FieldError(parameter=_COUNTRY, message="must be dk or no"))
    if not isinstance(is_lenient, bool):
        faults.append(FieldError(parameter=_SKIP, message="must be true or false"))
    if faults:
        raise faulty(faults)
    return country, is_lenient is True


def _read(
    lists: Mapping[str, Any], country: Country | None
) -> tuple[dict[str, tuple[CompanyKey, ...]], list[InvalidCompany]]:
    """Returns the companies of each list, and its entries that are none.

    An absent list has none. Raises Rejected for a value that is no list of strings.
    """
    keys: dict[str, tuple[CompanyKey, ...]] = dict.fromkeys(("add", "remove", "companies"), ())
    faults: list[FieldError] = []
    invalid: list[InvalidCompany] = []
    for name, value in lists.items():
        if not isinstance(value, list) or len(value) > MAX_CHANGED:
            message = f"give a list of at most {MAX_CHANGED} companies"
            faults.append(FieldError(parameter=name, message=message))
            continue
        read: dict[CompanyKey, None] = {}
        for number, one in enumerate(value):
            place = f"{name}[{number}]"
            if not isinstance(one, str):
                faults.append(FieldError(parameter=place, message=_HINT))
                continue
            try:
                read[read_company(one, country)] = None
            except InvalidIdentifier as error:
                shown = one[:_MAX_VALUE]
                invalid.append(InvalidCompany(parameter=place, value=shown, message=str(error)))
        keys[name] = tuple(read)
    if faults:
        raise faulty(faults[:_MAX_NAMED])
    return keys, invalid


def _refusal(invalid: Sequence[InvalidCompany]) -> Rejected:
    return faulty(
        [
            FieldError(parameter=one.parameter, message=f"{_HINT} ({one.message})")
            for one in invalid[:_MAX_NAMED]
        ]
    )
