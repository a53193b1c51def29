"""The Danish register of companies: of Elasticsearch's interface, the searches for changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import orjson
from aiohttp import encode_basic_auth, web

from register_samples import files
from register_samples.denmark import shareholder
from register_samples.registers import Document
from register_samples.server.messages import BadRequest, Stamps, iso, json_answer, moment, read

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


PREFIX = "/cvr-permanent"
_AUTHORIZATION = encode_basic_auth("sample", "sample")
#: The largest page.
_MAX_SIZE, _DEFAULT_SIZE = 3000, 10
_DAY = timedelta(days=1)


@dataclass
class Index:
    """Companies (`virksomhed`) or production units (`produktionsenhed`)."""

    name: str
    #: Field names of the document inside its hit, and of its number.
    wrapping: str
    number: str
    stamps: Stamps
    documents: dict[str, Document] = field(default_factory=dict)

    def add(self, document: Document, *, stamped: bool = True) -> str:
        content: Document = document[self.wrapping]
        number = f"{content[self.number]:08}"
        self.documents[number] = document
        if stamped:
            self.change(number, lambda _content: None)
        else:
            for name in ("sidstOpdateret", "sidstIndlaest"):
                if content[name] is not None:
                    self.stamps.pass_by(datetime.fromisoformat(content[name]))
        return number

    def content(self, number: str) -> Document:
        found: Document = self.documents[number][self.wrapping]
        return found

    def change(
        self, number: str, edit: Callable[[Document], None], *, at: datetime | None = None
    ) -> None:
        """Edits a document and dates it, at `at` if it appears late."""
        content = self.content(number)
        edit(content)
        content["sidstOpdateret"] = content["sidstIndlaest"] = iso(at or self.stamps.next())

    def reload(self, number: str, edit: Callable[[Document], None]) -> None:
        """Edits what is no change of the subject: only the time of loading moves."""
        content = self.content(number)
        edit(content)
        content["sidstIndlaest"] = iso(self.stamps.next())

    @property
    def times(self) -> Sequence[str]:
        """The fields with a time that searches know."""
        return [f"{self.wrapping}.{name}" for name in ("sidstOpdateret", "sidstIndlaest")]


@dataclass
class _Scroll:
    """The rest of a search, and when it expires."""

    documents: Sequence[Document]
    total: int
    size: int
    until: datetime


class DanishRegister:
    def __init__(self, stamps: Stamps, *, companies: int) -> None:
        self.companies = Index("virksomhed", "Vrvirksomhed", "cvrNummer", stamps)
        self.units = Index("produktionsenhed", "VrproduktionsEnhed", "pNummer", stamps)
        self._now = stamps.now
        self._scrolls: dict[str, _Scroll] = {}
        self._opened = 0
        for found in files.companies_dk(companies):
            self.companies.add(found, stamped=False)
        for found in files.units_dk(companies):
            self.units.add(found, stamped=False)

    def add_company(self, index: int) -> str:
        """Registers the company that the generator has at this position, and its units."""
        [company] = files.companies_dk(1, start=index)
        number = self.companies.add(company)
        for unit in files.units_dk(1, start=index):
            self.units.add(unit)
        return number

    def rename(self, number: str, name: str, on: date) -> None:
        self.companies.change(number, lambda found: _succeed(found["navne"], {"navn": name}, on))

    def set_status(self, number: str, word: str, on: date) -> None:
        """Sets the status, such as `UNDER KONKURS`."""

        def edit(company: Document) -> None:
            _succeed(company["virksomhedsstatus"], {"status": word}, on)
            company["virksomhedMetadata"]["sammensatStatus"] = word

        self.companies.change(number, edit)

    def set_owner(self, number: str, holder: str, share: str, on: date) -> None:
        """Adds a company to the owners."""
        name = self.companies.content(holder)["navne"][-1]["navn"]
        relation = shareholder({"number": holder, "name": name}, share, on)
        self.companies.change(number, lambda company: company["deltagerRelation"].append(relation))

    def count_employees(self, number: str, month: date, count: int) -> None:
        """Adds a month's number of employees, which is no change of the company."""
        counted = {
            "aar": month.year,
            "maaned": month.month,
            "antalAnsatte": count,
            "intervalKodeAntalAnsatte": None,
        }

        def edit(company: Document) -> None:
            company["erstMaanedsbeskaeftigelse"] = [
                *(company.get("erstMaanedsbeskaeftigelse") or []),
                counted,
            ]

        self.companies.reload(number, edit)

    def rename_participant(self, number: str, name: str) -> None:
        """Renames the first participant, which is no change of the company."""

        def edit(company: Document) -> None:
            company["deltagerRelation"][0]["deltager"]["navne"] = [{"navn": name}]

        self.companies.reload(number, edit)

    def rename_unit(self, number: str, name: str, on: date) -> None:
        self.units.change(number, lambda unit: _succeed(unit["navne"], {"navn": name}, on))

    def close_unit(self, number: str, on: date) -> None:
        def edit(unit: Document) -> None:
            _close(unit["livsforloeb"], on + _DAY)
            unit["produktionsEnhedMetadata"]["sammensatStatus"] = "Ophørt"

        self.units.change(number, edit)

    def move_unit(self, number: str, *, to: str, on: date) -> None:
        """Moves a unit to another company."""

        def edit(unit: Document) -> None:
            _succeed(unit["virksomhedsrelation"], {"cvrNummer": int(to)}, on)
            unit["produktionsEnhedMetadata"]["nyesteCvrNummerRelation"] = int(to)

        self.units.change(number, edit)

    def routes(self) -> list[web.RouteDef]:
        """Returns the table of the interface."""
        return [
            web.post("/_search/scroll", self._next),
            *(
                web.post(f"{PREFIX}/{index.name}/_search", self._searching(index))
                for index in (self.companies, self.units)
            ),
        ]

    def _searching(self, index: Index) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            body = await _body(request)
            span = read(request, scroll=_duration).get("scroll")
            size = body.get("size", _DEFAULT_SIZE)
            if type(size) is not int or not 1 <= size <= _MAX_SIZE:
                raise BadRequest(f"size: it is from 1 to {_MAX_SIZE}")
            if span is None:
                raise BadRequest("scroll: it is required")
            found = search(body, list(index.documents.values()), index.times)
            self._opened += 1
            scroll = _Scroll(found, len(found), size, self._now())
            return self._page(f"c2Nyb2xs{self._opened:08d}", scroll, span)

        return answer

    async def _next(self, request: web.Request) -> web.Response:
        """Returns the next page; two requests return two pages, as in Elasticsearch."""
        body = await _body(request)
        key, span = str(body.get("scroll_id")), _duration(str(body.get("scroll")))
        scroll = self._scrolls.pop(key, None)
        if scroll is None or scroll.until < self._now():
            kind = "search_context_missing_exception"
            return json_answer({"error": {"type": kind}, "status": 404}, status=404)
        return self._page(key, scroll, span)

    def _page(self, key: str, scroll: _Scroll, span: timedelta) -> web.Response:
        page, scroll.documents = scroll.documents[: scroll.size], scroll.documents[scroll.size :]
        scroll.until = self._now() + span
        self._scrolls[key] = scroll
        hits = {"total": scroll.total, "hits": [_hit(each) for each in page]}
        return json_answer(
            {
                "_scroll_id": key,
                "timed_out": False,
                "_shards": {"total": 6, "successful": 6, "skipped": 0, "failed": 0},
                "hits": hits,
            }
        )


def _succeed(history: list[Any], values: Document, on: date) -> None:
    """Adds a value from a day on; the one before ends the day before."""
    _close(history, on)
    history.append({**values, "periode": {"gyldigFra": str(on), "gyldigTil": None}})


def _close(history: list[Any], on: date) -> None:
    if history:
        last = history[-1]
        history[-1] = {**last, "periode": {**last["periode"], "gyldigTil": str(on - _DAY)}}


def _duration(text: str) -> timedelta:
    """Returns the duration of `1m`, `30s`."""
    units = {"s": 1, "m": 60, "h": 3600}
    if not text[:-1].isdecimal() or text[-1:] not in units:
        raise BadRequest(f"scroll: {text} is not a time")
    return timedelta(seconds=int(text[:-1]) * units[text[-1]])


async def _body(request: web.Request) -> Mapping[str, Any]:
    """Returns the JSON object of a request with the right user and password."""
    if request.headers.get("Authorization") != _AUTHORIZATION:
        raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Basic realm="cvr"'})
    try:
        body = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        raise BadRequest("the body is not JSON") from None
    if not isinstance(body, dict):
        raise BadRequest("the body is not an object")
    return body


def _hit(document: Document) -> Document:
    (content,) = document.values()
    return {"_id": str(content.get("cvrNummer", content.get("pNummer"))), "_source": document}
