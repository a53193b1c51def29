"""Reading an XBRL instance: its facts with period, dimensions and unit, without any taxonomy.

XBRL 2.1 and Dimensions 1.0. Names are told apart by namespace, never by prefix. No DTD is read, no
address in the document is followed, and only the facts that `annual_accounts.py` uses are kept.
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

#: Bytes of a document, unpacked, and its elements.
MAX_SIZE: Final = 20 * 2**20
MAX_ELEMENTS: Final = 200_000
#: Characters of a value; longer ones are texts.
_MAX_VALUE: Final = 200
_MAX_DIGITS: Final = 30
_DAY: Final = re.compile(r"(19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}(T|Z|[+-]|$)")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")

_XBRLI, _XBRLDI = "{http://www.xbrl.org/2003/instance}", "{http://xbrl.org/2006/xbrldi}"
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_CURRENCIES = "http://www.xbrl.org/2003/iso4217"
#: Registration numbers of companies; other schemes are Greenland's, and the LEI of ESEF.
_COMPANIES = re.compile(r"https?://www\.dcca\.dk/cvr")
#: Namespaces of the Danish taxonomies, which have no date, and of IFRS, which have one.
_FAMILIES: Final = (
    (re.compile(r"http://xbrl\.dcca\.dk/(fsa|gsd|cmn|arr)"), None),
    (re.compile(r"https?://xbrl\.ifrs\.org/taxonomy/[^/]+/ifrs(-full)?"), "ifrs"),
    (re.compile(r"http://xbrl\.dcca\.dk/ifrs-dk-cor_[0-9-]+"), "ifrs-dk"),
)


class UnreadableDocument(Exception):
    """The document is not read; the message says why, in words of our own."""


@dataclass(frozen=True, slots=True)
class Context:
    """The subject of a fact; a balance has `end` alone."""

    end: str
    start: str | None = None
    #: Dimensions and their members; of the namespaces that are read the local names.
    dimensions: frozenset[tuple[str, str]] = frozenset()
    #: The Danish registration number that it is about; None for another scheme.
    company: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    #: `fsa`, `gsd`, `cmn` and `arr` of the Danish taxonomies, `ifrs` and `ifrs-dk`.
    family: str
    name: str
    value: str
    context: Context
    #: The local name of its unit, such as `DKK` or `pure`; None for a text.
    unit: str | None = None
    is_currency: bool = False
    #: To how many decimals it is exact, as filed: a number, or `INF`.
    decimals: str | None = None

    @property
    def number(self) -> Decimal | None:
        """The value as a number; None if it is none."""
        return decimal_of(self.value)


@dataclass(frozen=True, slots=True)
class Instance:
    """The facts of a document that are kept, in its order."""

    facts: tuple[Fact, ...]

    @property
    def companies(self) -> frozenset[str]:
        """Danish registration numbers that its facts are about."""
        return frozenset(f.context.company for f in self.facts if f.context.company is not None)


def decimal_of(text: str) -> Decimal | None:
    """Returns a number of at most 30 digits, with a decimal point; None for anything else."""
    if not _NUMBER.fullmatch(text) or len(text.strip("+-").replace(".", "")) > _MAX_DIGITS:
        return None
    return Decimal(text)


def day_of(text: str) -> str | None:
    """Returns the day of a date or time, `YYYY-MM-DD`; None for anything else."""
    if not _DAY.match(text):
        return None
    try:
        return str(date.fromisoformat(text[:10]))
    except ValueError:
        return None


def last_day(text: str) -> str | None:
    """Returns the day with which a period ends; a time is midnight after it (XBRL 2.1, 4.7.2)."""
    day = day_of(text)
    if day is None or not text[10:].startswith("T00:00"):
        return day
    return str(date.fromisoformat(day) - timedelta(days=1))


def unpacked(content: bytes) -> bytes:
    """Returns a document as it was filed; many are gzip, with or without a header that says so.

    Raises UnreadableDocument beyond `MAX_SIZE`, without unpacking more.
    """
    if content[:2] == b"\x1f\x8b":
        reading = zlib.decompressobj(wbits=31)
        try:
            content = reading.decompress(content, MAX_SIZE + 1)
        except zlib.error:
            raise UnreadableDocument("the gzip data is broken") from None
        if len(content) <= MAX_SIZE and not reading.eof:
            raise UnreadableDocument("the gzip data ends early")
    if len(content) > MAX_SIZE:
        raise UnreadableDocument(f"larger than {MAX_SIZE // 2**20} MB unpacked")
    return content


def read_instance(content: bytes, wanted: Mapping[str, frozenset[str]]) -> Instance:
    """Reads the facts of the `wanted` names, by family; raises UnreadableDocument."""
    reading = _Reading(wanted)
    try:
        return reading.read(unpacked(content))
    except DefusedXmlException:
        raise UnreadableDocument("it has a document type or entities") from None
    except (ParseError, LookupError, ValueError):
        # LookupError: an encoding that Python does not know.
        raise UnreadableDocument("it is not well-formed XML") from None


@dataclass(slots=True)
class _RawFact:
    family: str
    name: str
    value: str
    context: str
    unit: str | None
    decimals: str | None


@dataclass(slots=True)
class _Reading:
    wanted: Mapping[str, frozenset[str]]
    contexts: dict[str, Context] = field(default_factory=dict)
    units: dict[str, tuple[str, bool]] = field(default_factory=dict)
    facts: list[_RawFact] = field(default_factory=list)
    families: dict[str, str | None] = field(default_factory=dict)
    #: Namespaces by prefix, as they were declared last.
    prefixes: dict[str, str] = field(default_factory=dict)

    def read(self, content: bytes) -> Instance:
        root: Element | None = None
        for depth, element in _elements(content, self.prefixes):
            if depth == 0:
                root = element
                if element.tag != f"{_XBRLI}xbrl":
                    raise UnreadableDocument("it is not an XBRL instance")
            elif depth == 1:
                self._take(element)
                if root is not None:
                    root.clear()
        return Instance(tuple(self._resolved()))

    def _take(self, element: Element) -> None:
        match element.tag:
            case "{http://www.xbrl.org/2003/instance}context":
                self._take_context(element)
            case "{http://www.xbrl.org/2003/instance}unit":
                self._take_unit(element)
            case str(tag):
                self._take_fact(tag, element)

    def _take_context(self, element: Element) -> None:
        period = element.find(f"{_XBRLI}period")
        if period is None:
            return
        texts = {each.tag: (each.text or "").strip() for each in period}
        end = last_day(texts.get(f"{_XBRLI}instant") or texts.get(f"{_XBRLI}endDate") or "")
        start = day_of(texts.get(f"{_XBRLI}startDate", ""))
        if end is None or (start is None and f"{_XBRLI}startDate" in texts):
            return
        dimensions = {
            (self._name(each.get("dimension", "")), self._name(_member(each)))
            for each in element.iter()
            if each.tag in (f"{_XBRLDI}explicitMember", f"{_XBRLDI}typedMember")
        }
        self.contexts[element.get("id", "")] = Context(
            end, start, frozenset(dimensions), _company(element)
        )

    def _take_unit(self, element: Element) -> None:
        measures = [(each.text or "").strip() for each in element.iter(f"{_XBRLI}measure")]
        if len(measures) == 1:
            prefix, _, name = measures[0].rpartition(":")
            # Some leave the prefix out.
            is_currency = _is_code(name) if not prefix else self.prefixes.get(prefix) == _CURRENCIES
            self.units[element.get("id", "")] = (name, is_currency)

    def _take_fact(self, tag: str, element: Element) -> None:
        namespace, _, name = tag[1:].partition("}")
        family = self._family(namespace)
        if family is None or name not in self.wanted.get(family, ()):
            return
        value = (element.text or "").strip()
        if element.get(_NIL) in ("true", "1") or not value or len(value) > _MAX_VALUE:
            return
        self.facts.append(
            _RawFact(
                family,
                name,
                value,
                element.get("contextRef", ""),
                element.get("unitRef"),
                _decimals(element),
            )
        )

    def _name(self, name: str) -> str:
        """Returns the local name of a dimension or member that is known, else all of it."""
        prefix, _, local = name.rpartition(":")
        namespace = self.prefixes.get(prefix)
        is_known = namespace is not None and self._family(namespace) is not None
        return local if is_known else f"{{{namespace}}}{local}"

    def _family(self, namespace: str) -> str | None:
        if namespace not in self.families:
            self.families[namespace] = next(
                (
                    family or found[1]
                    for pattern, family in _FAMILIES
                    if (found := pattern.fullmatch(namespace))
                ),
                None,
            )
        return self.families[namespace]

    def _resolved(self) -> Iterator[Fact]:
        for raw in self.facts:
            context = self.contexts.get(raw.context)
            if context is None:
                continue
            unit, is_currency = self.units.get(raw.unit or "", (None, False))
            yield Fact(raw.family, raw.name, raw.value, context, unit, is_currency, raw.decimals)


def _elements(content: bytes, prefixes: dict[str, str]) -> Iterator[tuple[int, Element]]:
    """Yields the root at its start, and each of its children when it is complete.

    `prefixes` receives the namespaces that are declared until then.
    """
    depth = count = 0
    wanted = ("start", "end", "start-ns")
    events: Any = iterparse(BytesIO(content), events=wanted, forbid_dtd=True)
    for event, element in events:
        if event == "start-ns":
            prefix, namespace = element
            prefixes[prefix] = namespace
        elif event == "start":
            count += 1
            if count > MAX_ELEMENTS:
                raise UnreadableDocument(f"more than {MAX_ELEMENTS:,} elements")
            if depth == 0:
                yield 0, element
            depth += 1
        else:
            depth -= 1
            if depth == 1:
                yield 1, element


def _member(element: Element) -> str:
    """Returns the member of an explicit dimension; a typed one has a value of its own."""
    return (element.text or "").strip()


def _company(context: Element) -> str | None:
    identifier = context.find(f"{_XBRLI}entity/{_XBRLI}identifier")
    if identifier is None or not _COMPANIES.match(identifier.get("scheme", "")):
        return None
    return (identifier.text or "").strip().zfill(8)


def _decimals(element: Element) -> str | None:
    """Returns the attribute; the older `precision` counts digits, so only its `INF` is used."""
    told = element.get("decimals")
    return "INF" if told is None and element.get("precision") == "INF" else told


def _is_code(name: str) -> bool:
    return len(name) == 3 and name.isascii() and name.isupper()
