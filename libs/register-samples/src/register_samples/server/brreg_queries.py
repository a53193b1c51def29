"""The search parameters of `enheter` and `underenheter`, each with what it lets through."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from register_samples.facts import Document
from register_samples.server.parameters import (
    BadRequest,
    Reader,
    count,
    day,
    flag,
    listed,
    natural,
    numbers,
)

#: No page reaches further into the result.
WINDOW = 10_000
_DEFAULT_SIZE = 20


@dataclass(frozen=True, slots=True)
class Filter:
    read: Reader
    lets_through: Callable[[Document, Any], bool]


def _value(document: Document, path: str) -> Any:
    found: Any = document
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _one_of(path: str, reader: Reader = listed) -> Filter:
    return Filter(reader, lambda document, wanted: _value(document, path) in wanted)


def _is(path: str) -> Filter:
    return Filter(flag, lambda document, wanted: bool(_value(document, path)) is wanted)


def _begins(path: str) -> Filter:
    return Filter(str.lower, lambda document, wanted: _text(document, path).startswith(wanted))


def _contains(path: str) -> Filter:
    def lets_through(document: Document, wanted: str) -> bool:
        return all(word in _text(document, path) for word in wanted.split())

    return Filter(str.lower, lets_through)


def _text(document: Document, path: str) -> str:
    found = _value(document, path)
    return " ".join(found).lower() if isinstance(found, list) else str(found or "").lower()


def _days(path: str) -> tuple[Filter, Filter]:
    """From a day, and to a day, both included."""
    return (
        Filter(day, lambda document, wanted: (_value(document, path) or "") >= str(wanted)),
        Filter(day, lambda document, wanted: "" < (_value(document, path) or "") <= str(wanted)),
    )


def _industries() -> Filter:
    def lets_through(document: Document, wanted: Sequence[str]) -> bool:
        codes = [_text(document, f"naeringskode{place}.kode") for place in (1, 2, 3)]
        return any(code.startswith(one) for code in codes for one in wanted)

    return Filter(listed, lets_through)


def _address(name: str) -> dict[str, Filter]:
    return {
        f"{name}.kommunenummer": _one_of(f"{name}.kommunenummer"),
        f"{name}.postnummer": _one_of(f"{name}.postnummer"),
        f"{name}.poststed": _begins(f"{name}.poststed"),
        f"{name}.landkode": _one_of(f"{name}.landkode"),
        f"{name}.adresse": _contains(f"{name}.adresse"),
    }


def _shared(address: str) -> dict[str, Filter]:
    registered = _days("registreringsdatoEnhetsregisteret")
    return {
        "navn": _contains("navn"),
        "organisasjonsnummer": _one_of("organisasjonsnummer", numbers),
        "organisasjonsform": _one_of("organisasjonsform.kode"),
        "naeringskode": _industries(),
        "kommunenummer": _one_of(f"{address}.kommunenummer"),
        "overordnetEnhet": _one_of("overordnetEnhet", numbers),
        "fraAntallAnsatte": Filter(natural, lambda d, n: d.get("antallAnsatte", 0) >= n),
        "tilAntallAnsatte": Filter(natural, lambda d, n: d.get("antallAnsatte", 0) <= n),
        "fraRegistreringsdatoEnhetsregisteret": registered[0],
        "tilRegistreringsdatoEnhetsregisteret": registered[1],
        "registrertIMvaregisteret": _is("registrertIMvaregisteret"),
        "hjemmeside": _contains("hjemmeside"),
        **_address("postadresse"),
        **_address(address),
    }


def _ranges(**paths: str) -> dict[str, Filter]:
    return {
        f"{side}{name}": one
        for name, path in paths.items()
        for side, one in zip(("fra", "til"), _days(path), strict=True)
    }


ENTITY_FILTERS: Mapping[str, Filter] = {
    **_shared("forretningsadresse"),
    **_ranges(Stiftelsesdato="stiftelsesdato"),
    "konkurs": _is("konkurs"),
    "underAvvikling": _is("underAvvikling"),
    "underTvangsavviklingEllerTvangsopplosning": _is("underTvangsavviklingEllerTvangsopplosning"),
    "registrertIForetaksregisteret": _is("registrertIForetaksregisteret"),
    "registrertIStiftelsesregisteret": _is("registrertIStiftelsesregisteret"),
    "registrertIFrivillighetsregisteret": _is("registrertIFrivillighetsregisteret"),
    "frivilligRegistrertIMvaregisteret": _is("frivilligMvaRegistrertBeskrivelser"),
    "institusjonellSektorkode": _one_of("institusjonellSektorkode.kode"),
    "sisteInnsendteAarsregnskap": _one_of("sisteInnsendteAarsregnskap"),
}

UNIT_FILTERS: Mapping[str, Filter] = {
    **_shared("beliggenhetsadresse"),
    **_ranges(
        Oppstartsdato="oppstartsdato",
        DatoEierskifte="datoEierskifte",
        Nedleggelsesdato="nedleggelsesdato",
    ),
}


def _name_method(text: str) -> str:
    if text not in ("FORTLOEPENDE", "STRENG"):
        raise ValueError("there is no such method")
    return text


def _order(text: str) -> tuple[str, bool]:
    """The field to sort by, and whether it falls."""
    path, _, direction = text.partition(",")
    if direction.upper() not in ("", "ASC", "DESC"):
        raise ValueError("a direction is ASC or DESC")
    return path.removesuffix(".norwegian"), direction.upper() == "DESC"


#: What every search takes beside its filters.
PAGING: Mapping[str, Reader] = {
    "size": count(WINDOW),
    "page": natural,
    "sort": _order,
    "navnMetodeForSoek": _name_method,
}


@dataclass(frozen=True, slots=True)
class Page:
    documents: Sequence[Document]
    size: int
    total: int
    number: int

    @property
    def pages(self) -> int:
        return -(-self.total // self.size)


def search(
    documents: Iterable[Document], filters: Mapping[str, Filter], asked: Mapping[str, Any]
) -> Page:
    """One page of what all the filters let through; raises BadRequest beyond the window."""
    size, number = asked.get("size", _DEFAULT_SIZE), asked.get("page", 0)
    if size * number > WINDOW:
        raise BadRequest(f"page: size * page must not be over {WINDOW}")
    wanted = [(filters[name], value) for name, value in asked.items() if name in filters]
    found = [each for each in documents if all(f.lets_through(each, v) for f, v in wanted)]
    if "sort" in asked:
        path, falls = asked["sort"]
        found.sort(key=lambda each: _text(each, path), reverse=falls)
    return Page(found[size * number : size * (number + 1)], size, len(found), number)
