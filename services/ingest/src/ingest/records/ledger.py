"""The ledger of a register: what is done with each member of its documents, and each coded value.

A register's package has the table. A member or a value that is not in it is told by its name, as
odd values are, so that nothing new in a register passes in silence (ADR 0120).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self, get_args

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from ingest.records.fields import Document
from ingest.records.records import Raw

#: Names of more characters, or with others, are no register's: they would fill metrics and logs.
_NAME: Final = re.compile(r"[\w -]{1,48}")


class Members(NamedTuple):
    """The members of a kind of objects."""

    #: The field of the answer that each is read as, or what else it is read for.
    read: Mapping[str, str]
    #: Why each of the others is left out.
    left_out: Mapping[str, str] = {}


class Values(NamedTuple):
    """The values of a code list, at a member of a kind of objects."""

    model: type[Document]
    member: str
    read: Mapping[str, str]
    left_out: Mapping[str, str] = {}
    #: The member of an object that has the code; None if the value is the code.
    key: str | None = None
    #: True for words that the reader looks up itself, mostly folded, and tells as odd if unknown.
    is_told: bool = False


class Counts(NamedTuple):
    """How many rows of a ledger are read, and how many left out."""

    read: int
    left_out: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """The ledger's rows of a kind of objects, as the check needs them."""

    known: frozenset[str]
    children: list[tuple[str, "_Shape"]] = field(default_factory=list)
    codes: list[tuple[str, str | None, frozenset[str]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of a kind of documents."""

    root: type[Document]
    members: Mapping[type[Document], Members]
    values: Sequence[Values]
    #: Returns the document inside its wrapping.
    unwrap: Callable[[Raw], Raw]
    _shape: _Shape

    @classmethod
    def of(
        cls,
        root: type[Document],
        members: Mapping[type[Document], Members],
        values: Sequence[Values] = (),
        unwrap: Callable[[Raw], Raw] = dict,
    ) -> Self:
        """Returns the ledger of the documents of a model, of the tables of several."""
        shapes: dict[type[Document], _Shape] = {}
        shape = _shape_of(root, members, values, shapes)
        own = {model: table for model, table in members.items() if model in shapes}
        return cls(root, own, [one for one in values if one.model in own], unwrap, shape)

    def unknown(self, raw: Raw) -> Sequence[str]:
        """Returns the paths of members that are not in the ledger, and of values with the value."""
        found: dict[str, None] = {}
        _check(self._shape, self.unwrap(raw), "", found)
        return tuple(found)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yields kind of object, member or code, `read` or `left out`, and as what or why."""
        tables: list[tuple[str, Members | Values]] = [
            *((model.__name__, table) for model, table in self.members.items()),
            *((f"{one.model.__name__}.{one.member}", one) for one in self.values),
        ]
        for name, table in tables:
            for state, rows in (("read", table.read), ("left out", table.left_out)):
                yield from ((name, one, state, text) for one, text in rows.items())

    @property
    def paths(self) -> Counts:
        """The numbers of members, of every kind of objects once."""
        return _counted(list(self.members.values()))

    @property
    def codes(self) -> Counts:
        """The numbers of coded values."""
        return _counted(self.values)


def members_of(model: type[Document]) -> dict[str, type[Document] | None]:
    """Returns the members that a model reads, each with the model of its objects."""
    found: dict[str, type[Document] | None] = {}
    for name, info in model.model_fields.items():
        for alias in _aliases(name, info):
            found[alias] = next(_models(info.annotation), None)
    return found


def _aliases(name: str, info: FieldInfo) -> Sequence[str]:
    given = info.validation_alias
    if isinstance(given, AliasChoices):
        return [str(one) for one in given.choices]
    return [given if isinstance(given, str) else info.alias or name]


def _models(annotation: object) -> Iterator[type[Document]]:
    if isinstance(annotation, type) and issubclass(annotation, Document):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _counted(rows: Sequence[Members] | Sequence[Values]) -> Counts:
    return Counts(sum(len(one.read) for one in rows), sum(len(one.left_out) for one in rows))


def _shape_of(
    model: type[Document],
    members: Mapping[type[Document], Members],
    values: Sequence[Values],
    made: dict[type[Document], _Shape],
) -> _Shape:
    if model in made:
        return made[model]
    table = members[model]
    made[model] = shape = _Shape(frozenset({*table.read, *table.left_out}))
    for name, child in members_of(model).items():
        if child is not None:
            shape.children.append((name, _shape_of(child, members, values, made)))
    for one in values:
        if one.model is model and not one.is_told:
            shape.codes.append((one.member, one.key, frozenset({*one.read, *one.left_out})))
    return shape


def _check(shape: _Shape, raw: Mapping[str, Any], path: str, found: dict[str, None]) -> None:
    """Adds what is unknown in an object; of an unexpected type is told where it is read."""
    if not raw.keys() <= shape.known:
        for name in raw.keys() - shape.known:
            found[f"{path}{_named(name)} (not in the ledger)"] = None
    for name, key, known in shape.codes:
        value = raw.get(name)
        if key is not None:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None and str(value) not in known:
            found[f"{path}{name}={_named(str(value))} (not in the ledger)"] = None
    for name, child in shape.children:
        value = raw.get(name)
        if not value:
            continue
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, dict):
                _check(child, one, f"{path}{name}.", found)


def _named(text: str) -> str:
    return text if _NAME.fullmatch(text) else "(another)"
