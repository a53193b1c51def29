"""Examples of the OpenAPI document: invented companies, and real problems."""

from typing import Any

from common.contracts.failures import FieldError
from gateway.adapters.http.errors import problem_document
from gateway.domain import problems
from gateway.domain.problems import Problem
from gateway.domain.query import parse_lookup
from gateway.domain.reading import Parameters

REQUEST_ID = "5f0c6a1e8d3b4c7f9a2e1d0b3c4f5a6b"

COMPANY: dict[str, Any] = {
    "country": "dk",
    "vat": "12345674",
    "name": "Prøvefabrikken ApS",
    "trade_names": ["Prøven"],
    "former_names": ["ApS KBIL 17 NR. 0000"],
    "status": "active",
    "status_text": "NORMAL",
    "form": {"code": "80", "description": "Anpartsselskab"},
    "address": {
        "street": "Prøvevej 43, 3.",
        "co": None,
        "postal_code": "1112",
        "city": "København K",
        "district": None,
        "municipality": "KØBENHAVN",
        "country": "DK",
        "text": "Prøvevej 43, 3., 1112 København K",
    },
    "postal_address": None,
    "phone": "12345678",
    "fax": None,
    "email": "post@proeven.example",
    "website": None,
    "industry": {"code": "620100", "description": "Computerprogrammering"},
    "secondary_industries": [],
    "employees": {"min": 20, "max": 49, "exact": None},
    "founded": "1999-11-15",
    "registered": None,
    "ended": None,
    "capital": {"amount": "125000.00", "currency": "DKK"},
    "purpose": None,
    "vat_registered": None,
    "accounts": None,
    "parent": None,
    "advertising_protected": True,
    "revision": 3,
    "match": {"type": "vat", "score": 100, "matched_name": None},
    "source": {"register": "cvr", "updated_at": "2017-02-05T00:00:00Z"},
}

OWNERS: list[dict[str, Any]] = [
    {
        "name": "Prøveholding A/S",
        "type": "company",
        "vat": "87654325",
        "role": "owner",
        "role_text": "EJERREGISTER",
        "share": {"min": "66.67", "max": "90"},
        "votes": {"min": "66.67", "max": "90"},
        "since": "2004-06-01",
    }
]

ROLES: list[dict[str, Any]] = [
    {
        "role": "director",
        "role_text": "DIREKTION",
        "name": "Anna Testesen",
        "type": "person",
        "vat": None,
        "since": "2019-03-01",
    },
    {
        "role": "auditor",
        "role_text": "REVISION",
        "name": "Prøverevision A/S",
        "type": "company",
        "vat": "87654333",
        "since": "2021-06-30",
    },
]

PRODUCTION_UNITS: list[dict[str, Any]] = [
    {
        "number": "1000000001",
        "name": "Prøvefabrikken ApS",
        "main": True,
        "status": "active",
        "address": COMPANY["address"],
        "phone": "12345678",
        "email": None,
        "industry": COMPANY["industry"],
        "employees": {"min": 20, "max": 49, "exact": None},
        "started": "1999-11-15",
        "ended": None,
    }
]

EINVOICING: list[dict[str, Any]] = [
    {
        "identifier": "0184:12345674",
        "scheme": "0184",
        "network": "peppol",
        "document_types": ["urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice"],
        "registered": "2020-01-01",
    }
]

ALTERNATIVES: list[dict[str, Any]] = [
    {
        "vat": "87654325",
        "name": "Prøveholding A/S",
        "city": "Odense C",
        "status": "active",
        "score": 82.5,
    }
]

WITH_EVERYTHING = {
    **COMPANY,
    "owners": OWNERS,
    "production_units": PRODUCTION_UNITS,
    "einvoicing": EINVOICING,
    "roles": ROLES,
    "alternatives": ALTERNATIVES,
}

#: Invalid queries, one for each of three problems.
_FAULTY: tuple[Parameters, ...] = (
    {"vat": ["12345674"]},
    {"country": ["dk"], "vat": ["1234"], "include": ["owners,branches"]},
    {"country": ["dk"], "vat": ["12345674"], "name": ["Prøvefabrikken"]},
)

_OTHERS: tuple[Problem, ...] = (
    problems.Unauthorized("the API key is unknown or revoked"),
    problems.Forbidden("the API key lacks the scope lookup"),
    problems.CompanyNotFound("no company in the register matches; searched as a name"),
    problems.InvalidBody(
        "the request body is invalid",
        errors=(FieldError(parameter="url", message="give a URL that starts with https://"),),
    ),
    problems.WebhookNotFound("you have no webhook with this id"),
    problems.DeliveryNotFound("this webhook has no delivery with this id"),
    problems.WebhookDisabled("the webhook is disabled"),
    problems.WebhookLimitReached("you have 50 webhooks, which is the maximum; delete one first"),
    problems.DeliveryPending("the delivery is not finished: its next attempt is already scheduled"),
    problems.IdempotencyConflict("this Idempotency-Key was used for a request with another body"),
    problems.BodyTooLarge("the body is larger than 64 KiB"),
    problems.UnsupportedMediaType("send the body as Content-Type: application/json"),
    problems.NotFound("no resource at this path"),
    problems.MethodNotAllowed("this path does not allow POST", allowed=("GET", "HEAD", "OPTIONS")),
    problems.RateLimited("too many requests; retry in 12 s", retry_after=12),
    problems.InternalError("an internal error"),
    problems.ServiceUnavailable("the lookup service cannot be reached now"),
    problems.LookupTimeout("the lookup service did not answer in time"),
)


def example_problems() -> dict[type[Problem], dict[str, Any]]:
    """The body of each kind of problem."""
    found = [*map(_problem_of, _FAULTY), *_OTHERS]
    return {type(problem): problem_document(problem, REQUEST_ID) for problem in found}


def _problem_of(parameters: Parameters) -> Problem:
    try:
        parse_lookup(parameters)
    except Problem as problem:
        return problem
    raise AssertionError("an example of an invalid query is valid")
