"""The part of Elasticsearch's query language that clients of the Danish register need for changes.

Ranges of times, the existence of a field, and their combinations, sorted by times, as Elasticsearch
2 to 8 answer them. Any other search is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from register_samples.server.messages import BadRequest, moment
from register_samples.templates import Document

Matches = Callable[[Document], bool]

#: Before and after every time.
_FIRST, _LAST = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_BOUNDS: Mapping[str, Callable[[datetime, datetime], bool]] = {
    "gte": datetime.__ge__,
    "gt": datetime.__gt__,
    "lte": datetime.__le__,
    "lt": datetime.__lt__,
}
_CLAUSES = ("must", "filter", "should", "must_not")


def search(
    body: Mapping[str, Any], found: Sequence[Document], fields: Sequence[str]
) -> list[Document]:
    """Returns the documents that a search finds, in its order; `fields` are those with a time."""
    if body.keys() - {"query", "sort", "size"}:
        raise BadRequest("search: only query, sort and size are known")
    matches = _query(body.get("query", {"match_all": {}}), fields)
    hits = [each for each in found if matches(each)]
    for order in reversed(_list(body.get("sort", []))):
        hits.sort(key=_order(order, fields))
    return hits


def _query(query: Any, fields: Sequence[str]) -> Matches:
    kind, content = _only(query)
    match kind:
        case "match_all":
            return lambda _document: True
        case "range":
            field, bounds = _only(content)
            return _range(_known(field, fields), bounds)
        case "exists":
            field = _known(_object(content).get("field"), fields)
            return lambda document: _time(document, field) is not None
        case "bool":
            return _bool(_object(content), fields)
        case _:
            raise BadRequest(f"query: {kind} is unknown here")


def _range(field: str, bounds: Any) -> Matches:
    limits = []
    for name, text in _object(bounds).items():
        if name not in _BOUNDS:
            raise BadRequest(f"range: {name} is unknown")
        try:
            limits.append((_BOUNDS[name], moment(text)))
        except (TypeError, ValueError):
            raise BadRequest(f"range: {text} is not a time") from None

    def matches(document: Document) -> bool:
        at = _time(document, field)
        # A document without the field matches no range.
        return at is not None and all(holds(at, limit) for holds, limit in limits)

    return matches


def _bool(content: Mapping[str, Any], fields: Sequence[str]) -> Matches:
    if content.keys() - {*_CLAUSES, "minimum_should_match"}:
        raise BadRequest("bool: a clause is unknown")
    clauses = {
        name: [_query(each, fields) for each in _list(content.get(name, []))] for name in _CLAUSES
    }
    required = [*clauses["must"], *clauses["filter"]]
    # Without another clause, one of those that should match has to.
    least = content.get("minimum_should_match", int(bool(clauses["should"]) and not required))

    def matches(document: Document) -> bool:
        return (
            all(holds(document) for holds in required)
            and not any(holds(document) for holds in clauses["must_not"])
            and sum(holds(document) for holds in clauses["should"]) >= least
        )

    return matches


def _order(order: Any, fields: Sequence[str]) -> Callable[[Document], datetime]:
    """Returns the key of an ascending order; a document without the field is last, as told."""
    field, how = _only(order)
    told = {"order": how} if isinstance(how, str) else _object(how)
    absent = {"_last": _LAST, "_first": _FIRST}.get(told.get("missing", "_last"))
    if told.get("order") != "asc" or absent is None or told.keys() - {"order", "missing"}:
        raise BadRequest("sort: only asc, with missing _first or _last")
    return partial(_time_or, _known(field, fields), absent)


def _time_or(field: str, absent: datetime, document: Document) -> datetime:
    return _time(document, field) or absent


def _time(document: Document, field: str) -> datetime | None:
    """Returns the time at a path such as `Vrvirksomhed.sidstOpdateret`; None for null."""
    value: Any = document
    for name in field.split("."):
        value = value.get(name)
    return None if value is None else datetime.fromisoformat(value)


def _known(field: Any, fields: Sequence[str]) -> str:
    if field not in fields:
        raise BadRequest(f"{field}: it is unknown, or has no time")
    return str(field)


def _only(value: Any) -> tuple[str, Any]:
    """Returns the name and the value of an object with one member."""
    pairs = list(_object(value).items())
    if len(pairs) != 1:
        raise BadRequest("an object with one member is required")
    return pairs[0]


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadRequest("an object is required")
    return value


def _list(value: Any) -> list[Any]:
    """Returns the clauses, of which one may stand alone."""
    return value if isinstance(value, list) else [value]
