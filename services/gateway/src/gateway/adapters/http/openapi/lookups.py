"""The operations of lookups: `/api` and the endpoint of each search type."""

from typing import Any

from common.contracts.company import Country, Include
from common.contracts.lookup import SearchType
from gateway.adapters.http.openapi.responses import LOOKUP_STATUSES, headers, problem_name, ref
from gateway.domain.query import FORMAT, INCLUDE, SEARCH, TERM, Format
from gateway.domain.reading import COUNTRY

Node = dict[str, Any]

#: Search types: the form of the term, and an example.
TERMS: dict[SearchType, tuple[str, str]] = {
    SearchType.VAT: (
        "Registration number: 8 digits in Denmark, 9 in Norway. Spaces, dots, dashes and the "
        "country's letters (`DK`, `NO`, `MVA`) may stand in it.",
        "12345674",
    ),
    SearchType.NAME: (
        "Company name, 2 to 200 characters: the current name, a trade name or a former one.",
        "Prøvefabrikken",
    ),
    SearchType.PRODU: (
        "Production-unit number: ten digits in Denmark, nine in Norway (underenhet). The answer "
        "is the company that the unit belongs to.",
        "1000000001",
    ),
    SearchType.PHONE: (
        "Phone number of 8 digits, with or without `+45` or `+47` (in a URL, `+` is `%2B`).",
        "12345678",
    ),
    SearchType.EAN: (
        "E-invoicing identifier: a GLN of 13 digits, or `<scheme>:<value>` with an ISO 6523 "
        "scheme, with or without `iso6523-actorid-upis::` before it.",
        "0184:12345674",
    ),
    SearchType.ADDRESS: (
        "Street address, 3 to 300 characters. The answer is the best-matching company there.",
        "Prøvevej 43, 1112 København K",
    ),
}


def lookup_paths() -> Node:
    kinds = (None, *SearchType)
    return {
        "/api" if kind is None else f"/api/{kind}": {"get": _lookup(kind), "options": options()}
        for kind in kinds
    }


def _lookup(kind: SearchType | None) -> Node:
    """The operation of `/api`, or of the endpoint of one search type."""
    about = "by any search type" if kind is None else f"by {kind}"
    shared = [ref("parameters", name) for name in (COUNTRY, INCLUDE, FORMAT)]
    terms = _any_search() if kind is None else [_term(TERM, kind, required=True)]
    return {
        "operationId": "lookUp" if kind is None else f"lookUpBy{kind.value.capitalize()}",
        "summary": f"Look up a company {about}",
        "tags": ["Lookups"],
        "parameters": [shared[0], *terms, *shared[1:]],
        "responses": {
            "200": ref("responses", "Company"),
            "304": ref("responses", "NotModified"),
            **{str(status): ref("responses", problem_name(status)) for status in LOOKUP_STATUSES},
        },
    }


def _any_search() -> list[Node]:
    search = {
        "name": SEARCH,
        "in": "query",
        "description": "Any of the above. Digits of a registration number's length are one, ten "
        "digits in Denmark a production-unit number, eight digits a phone number. Then come a "
        "registration number with letters (`DK12345674`, `NO 310 345 679 MVA`), a phone number "
        "with `+45` or `0047`, a GLN with a right check digit, `<scheme>:<value>`, and a street "
        "with a house number and a postal code. Anything else is a name. Give exactly one of the "
        "seven.",
        "schema": {"type": "string"},
        "example": "12345674",
    }
    return [*(_term(kind.value, kind, required=False) for kind in TERMS), search]


def _term(name: str, kind: SearchType, *, required: bool) -> Node:
    description, example = TERMS[kind]
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": {"type": "string", "minLength": 1},
        "example": example,
    }


def options() -> Node:
    """The OPTIONS operation of a path."""
    return {
        "summary": "Allowed methods, and the CORS preflight",
        "tags": ["Lookups"],
        "security": [{}],
        "responses": {
            "204": {"description": "The methods are in `Allow`.", "headers": headers("Allow")}
        },
    }


def lookup_parameters() -> Node:
    return {
        COUNTRY: {
            "name": COUNTRY,
            "in": "query",
            "required": True,
            "description": "The register to search: Denmark or Norway.",
            "schema": {"type": "string", "enum": list(Country)},
            "example": "dk",
        },
        INCLUDE: {
            "name": INCLUDE,
            "in": "query",
            "description": "Additional fields of the answer, separated by commas; may be repeated.",
            "schema": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "string", "enum": list(Include)},
            },
            "style": "form",
            "explode": False,
        },
        FORMAT: {
            "name": FORMAT,
            "in": "query",
            "description": "The format of the answer.",
            "schema": {"type": "string", "enum": list(Format), "default": Format.JSON},
        },
    }
