"""The part of Elasticsearch's query language that the Danish register's users need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from register_samples.facts import Document
from register_samples.server.danish import Index
from register_samples.server.parameters import BadRequest

#: No answer reaches further than this but by scrolling.
WINDOW = 3000
_USUAL = 10

Test = Callable[[Document], bool]


class WindowTooLarge(Exception):
    """`from` and `size` reach too far."""


@dataclass(frozen=True, slots=True)
class Search:
    lets_through: Test
    #: The field to sort by, and whether it falls; None is the order of the index.
    order: tuple[str, bool] | None
    start: int
    size: int
    #: The fields of a document that are wanted; None wants all.
    source: tuple[str, ...] | None

    def run(self, index: Index) -> list[Document]:
        """All documents that are found, in order."""
        found = [each for each in index.documents.values() if self.lets_through(each)]
        if self.order is not None:
            path, falls = self.order
            found.sort(key=lambda each: _comparable(_value(each, path)), reverse=falls)
        return found


def read_search(body: Mapping[str, Any], index: Index) -> Search:
    """Raises BadRequest for what is not understood, and WindowTooLarge."""
    _known(body, {"query", "sort", "from", "size", "_source"}, "search")
    start, size = _natural(body, "from", 0), _natural(body, "size", _USUAL)
    if start + size > WINDOW:
        raise WindowTooLarge(
            f"Result window is too large, from + size must be less than or equal to: [{WINDOW}]"
            f" but was [{start + size}]"
        )
    return Search(
        _query(body.get("query", {"match_all": {}}), index),
        _order(body.get("sort"), index),
        start,
        size,
        _source(body.get("_source")),
    )


def duration(text: str) -> timedelta:
    """`1m`, `30s`."""
    units = {"s": 1, "m": 60, "h": 3600}
    if not text[:-1].isdecimal() or text[-1:] not in units:
        raise BadRequest(f"scroll: {text} is not a time")
    return timedelta(seconds=int(text[:-1]) * units[text[-1]])


def _query(query: Any, index: Index) -> Test:
    if not isinstance(query, dict) or len(query) != 1:
        raise BadRequest("query: it has one clause")
    [(clause, content)] = query.items()
    if clause not in _CLAUSES:
        raise BadRequest(f"query: {clause} is not known")
    return _CLAUSES[clause](content, index)


def _match_all(content: Any, _index: Index) -> Test:
    _known(content, set(), "match_all")
    return lambda _document: True


def _range(content: Any, index: Index) -> Test:
    path, bounds = _one_field(content, index)
    _known(bounds, set(_BOUNDS), "range")
    tests = [(_BOUNDS[name], _comparable(bound)) for name, bound in bounds.items()]

    def lets_through(document: Document) -> bool:
        value = _value(document, path)
        return value is not None and all(t(_comparable(value), bound) for t, bound in tests)

    return lets_through


def _term(content: Any, index: Index) -> Test:
    path, wanted = _one_field(content, index)
    return lambda document: str(_value(document, path)) == str(wanted)


def _terms(content: Any, index: Index) -> Test:
    path, wanted = _one_field(content, index)
    if not isinstance(wanted, list):
        raise BadRequest("terms: it takes a list")
    texts = {str(each) for each in wanted}
    return lambda document: str(_value(document, path)) in texts


def _bool(content: Any, index: Index) -> Test:
    _known(content, {"must", "filter"}, "bool")
    clauses = [
        clause
        for given in content.values()
        for clause in (given if isinstance(given, list) else [given])
    ]
    tests = [_query(clause, index) for clause in clauses]
    return lambda document: all(test(document) for test in tests)


_CLAUSES: Mapping[str, Callable[[Any, Index], Test]] = {
    "match_all": _match_all,
    "range": _range,
    "term": _term,
    "terms": _terms,
    "bool": _bool,
}

_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, bound: bool(value > bound),
    "gte": lambda value, bound: bool(value >= bound),
    "lt": lambda value, bound: bool(value < bound),
    "lte": lambda value, bound: bool(value <= bound),
}


def _one_field(content: Any, index: Index) -> tuple[str, Any]:
    if not isinstance(content, dict) or len(content) != 1:
        raise BadRequest("query: a clause is about one field")
    [(path, wanted)] = content.items()
    return _field(path, index), wanted


def _field(path: str, index: Index) -> str:
    if not path.startswith(f"{index.wrapping}."):
        raise BadRequest(f"{path}: there is no such field")
    return path


def _order(sort: Any, index: Index) -> tuple[str, bool] | None:
    given = sort[0] if isinstance(sort, list) and len(sort) == 1 else sort
    if given in (None, "_doc", {"_doc": "asc"}):
        return None
    if isinstance(given, str):
        return _field(given, index), False
    path, direction = _one_field(given, index)
    if isinstance(direction, dict):
        _known(direction, {"order"}, "sort")
        direction = direction.get("order", "asc")
    if direction not in ("asc", "desc"):
        raise BadRequest("sort: a direction is asc or desc")
    return path, direction == "desc"


def _source(given: Any) -> tuple[str, ...] | None:
    if given in (None, True):
        return None
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadRequest("_source: it is a list of names")
    return tuple(names)


def _known(content: Any, names: set[str], what: str) -> None:
    if not isinstance(content, Mapping):
        raise BadRequest(f"{what}: it is an object")
    unknown = content.keys() - names
    if unknown:
        raise BadRequest(f"{what}: {', '.join(sorted(unknown))} is not known")


def _natural(body: Mapping[str, Any], name: str, usual: int) -> int:
    value = body.get(name, usual)
    if type(value) is not int or value < 0:
        raise BadRequest(f"{name}: it is a number")
    return value


def _value(document: Document, path: str) -> Any:
    found: Any = document
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _comparable(value: Any) -> Any:
    """Times are compared as times, whatever their zone; raises BadRequest for what is none."""
    if not isinstance(value, str):
        return value
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise BadRequest(f"{value}: it is not a time") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
