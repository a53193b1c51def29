"""Bodies of requests about watchlists; every error is reported with a hint."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import PlainValidator

from common.contracts.company import CompanyKey
from common.contracts.watchlists import MAX_CHANGED, InvalidCompany
from common.domain.countries import Country
from common.domain.numbers import InvalidIdentifier, read_company
from common.domain.written import read_country
from webhook_registry.replies import InvalidValue, Rejected
from webhook_registry.webhook_bodies import Body, Description, invalid_fields, read_object

MAX_NAME_LENGTH: Final = 100
#: Malformed companies that a refusal names, and characters of each that an answer repeats.
_MAX_NAMED: Final = 20
_MAX_VALUE: Final = 100

_HINT: Final = "give country and registration number, such as dk:12345674 or no:123456785"


#: Categories of Unicode: control characters, and separators of lines and of paragraphs.
_CONTROLS: Final = ("Cc", "Zl", "Zp")


@dataclass(frozen=True, slots=True)
class WatchedChanges:
    """Companies to add to a list, and those to remove from it, without duplicates."""

    add: tuple[CompanyKey, ...] = ()
    remove: tuple[CompanyKey, ...] = ()
    #: Entries that are skipped.
    invalid: tuple[InvalidCompany, ...] = ()


def _read_name(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME_LENGTH:
        raise InvalidValue(f"give a name of 1 to {MAX_NAME_LENGTH} characters")
    if any(unicodedata.category(each) in _CONTROLS for each in value):
        raise InvalidValue("give a name without control characters, such as a line break")
    return value.strip()


Name = Annotated[str, PlainValidator(_read_name)]


class NewList(Body):
    """A list to create."""

    name: Name
    description: Description = None


class ListChanges(Body):
    """Changes of a list; fields that are not set stay unchanged."""

    name: Name = ""
    description: Description = None


def read_watched_changes(body: bytes) -> WatchedChanges:
    """Returns the companies to add and to remove; raises Rejected with the errors."""
    fields = read_object(body, required=(), known=("add", "remove", *_OPTIONS))
    country, is_lenient = _options(fields)
    lists = {name: value for name, value in fields.items() if name not in _OPTIONS}
    read, invalid = _read(lists, country)
    if invalid and not is_lenient:
        raise _refusal(invalid)
    changes = WatchedChanges(read["add"], read["remove"], tuple(invalid))
    if len(changes.add) + len(changes.remove) > MAX_CHANGED:
        message = f"give at most {MAX_CHANGED} companies in add and remove together"
        raise invalid_fields(("add", message))
    both = set(changes.add).intersection(changes.remove)
    if both:
        message = f"{min(both)} is in remove as well; give each company once"
        raise invalid_fields(("add", message))
    return changes


def read_watched(body: bytes) -> tuple[CompanyKey, ...]:
    """Returns the companies of the list from now on; raises Rejected with the errors."""
    read, invalid = _read(read_object(body, required=("companies",), known=("companies",)), None)
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
        faults.append((_COUNTRY, "must be dk or no"))
    if not isinstance(is_lenient, bool):
        faults.append((_SKIP, "must be true or false"))
    if faults:
        raise invalid_fields(*faults)
    return country, is_lenient is True


def _read(
    lists: Mapping[str, Any], country: Country | None
) -> tuple[dict[str, tuple[CompanyKey, ...]], list[InvalidCompany]]:
    # An absent list has none. Raises Rejected for a value that is no list of strings.
    keys: dict[str, tuple[CompanyKey, ...]] = dict.fromkeys(("add", "remove", "companies"), ())
    faults: list[tuple[str, str]] = []
    invalid: list[InvalidCompany] = []
    for name, value in lists.items():
        if not isinstance(value, list) or len(value) > MAX_CHANGED:
            faults.append((name, f"give a list of at most {MAX_CHANGED} companies"))
            continue
        read: dict[CompanyKey, None] = {}
        for number, one in enumerate(value):
            place = f"{name}[{number}]"
            if not isinstance(one, str):
                faults.append((place, _HINT))
                continue
            try:
                read[read_company(one, country)] = None
            except InvalidIdentifier as error:
                shown = one[:_MAX_VALUE]
                invalid.append(InvalidCompany(parameter=place, value=shown, message=str(error)))
        keys[name] = tuple(read)
    if faults:
        raise invalid_fields(*faults[:_MAX_NAMED])
    return keys, invalid


def _refusal(invalid: Sequence[InvalidCompany]) -> Rejected:
    named = invalid[:_MAX_NAMED]
    return invalid_fields(*((one.parameter, f"{_HINT} ({one.message})") for one in named))
