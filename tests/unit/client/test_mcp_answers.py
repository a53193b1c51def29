"""Answers of the MCP server: small, clean, and with every fact that fits."""

import json
from typing import Any

import pytest

from company_registry.mcp.answers import MAX_COMPANY, clean, facts, lookup_answer, result
from company_registry.models import Company
from tests.builders.answers import a_found_company

ORDINARY: dict[str, Any] = {
    "name": "Prøvefabrikken ApS",
    "purpose": "Udvikling og salg af programmer.",
    "form": {"code": "80", "description": "Anpartsselskab", "short": "ApS"},
    "employees": {"min": 20, "max": 49},
    "capital": {"amount": "125000.00", "currency": "DKK"},
}
TEXT = "Æble" * 400
LARGE: dict[str, Any] = {
    "name": TEXT,
    "purpose": TEXT,
    "signing_rule": TEXT,
    "status_text": TEXT,
    "website": TEXT,
    "email": TEXT,
    "former_names": [TEXT] * 40,
    "trade_names": [TEXT] * 40,
    "address": {"text": TEXT, "municipality": TEXT},
    "industry": {"code": "620100", "description": TEXT},
    "form": {"code": "80", "description": TEXT},
}


def size(document: Any) -> int:
    return len(json.dumps(document, ensure_ascii=False).encode())


def a_company(**fields: Any) -> Company:
    return Company.model_validate(a_found_company(**fields))


def test_an_ordinary_company_has_every_fact_and_a_large_one_says_what_it_leaves_out() -> None:
    ordinary = facts(a_company(**ORDINARY)).model_dump(exclude_none=True)
    large = facts(a_company(**LARGE)).model_dump(exclude_none=True)

    assert "omitted" not in ordinary
    assert (ordinary["form"], ordinary["employees"]) == ("ApS", "20–49")
    assert (ordinary["capital"], ordinary["purpose"]) == ("125000.00 DKK", ORDINARY["purpose"])
    assert size(large) <= MAX_COMPANY
    assert {"id", "name", "status"} <= large.keys()
    assert {"purpose", "former_names"} <= set(large["omitted"])
    assert not set(large["omitted"]) & large.keys()


@pytest.mark.parametrize("fields", [ORDINARY, LARGE])
def test_full_detail_has_what_the_api_has(fields: dict[str, Any]) -> None:
    company = a_company(**fields)

    answer = result(lookup_answer(company, full=True))

    assert answer.structured_content is not None
    full = answer.structured_content["full"]
    assert full == clean(company.model_dump(mode="json", by_alias=True, exclude_none=True))
    assert full["name"] == fields["name"]


def test_texts_have_no_letter_that_hides_and_no_line_of_their_own() -> None:
    hostile = "A\nB\u2028C\x1b[0m\u202eD\u200bE\U000e0041F\u00a0G"

    assert clean(hostile) == "A B C [0m D E F G"
    assert clean({hostile: [hostile]}) == {"A B C [0m D E F G": ["A B C [0m D E F G"]}
    assert clean("x" * 10, 5) == "xxxx…"
