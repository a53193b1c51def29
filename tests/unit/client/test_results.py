"""The cells of a batch: ties are visible, and no spreadsheet runs them."""

from typing import Any

import pytest

from company_registry import Company, CompanyNotFound
from company_registry.cli.companies import Include
from company_registry.cli.results import Result, cells, harmless, header
from tests.builders.companies import a_company


def company(**more: Any) -> Company:
    fields = a_company(vat="12345674").model_dump(mode="json")
    match = {"type": "name", "score": 100}
    return Company.model_validate(
        {**fields, "revision": 1, "match": match, "source": {"register": "cvr"}, **more}
    )


def other(score: float) -> dict[str, Any]:
    return {"vat": "12345682", "name": "Alfa A/S", "status": "active", "score": score}


def cell(found: Company, column: str, *include: Include) -> str:
    return dict(zip(header(include), cells(Result(found, None), include), strict=True))[column]


def test_a_company_that_another_matches_as_well_is_ambiguous() -> None:
    tied, clear = company(alternatives=[other(100)]), company(alternatives=[other(99.5)])

    assert (cell(tied, "score"), cell(tied, "ambiguous")) == ("100", "yes")
    assert cell(tied, "alternatives") == "12345682 Alfa A/S (100)"
    assert cell(clear, "ambiguous") == ""
    assert cell(clear, "alternatives") == "12345682 Alfa A/S (99.5)"


def test_what_is_included_has_columns() -> None:
    share = {"min": "10", "max": "15"}
    found = company(
        owners=[
            {"name": "Alfa ApS", "type": "company", "vat": "12345682", "share": share},
            {"name": "Ane Prøve", "type": "person"},
        ],
        roles=[{"role": "director", "role_text": "DIREKTION", "name": "Ane", "type": "person"}],
        production_units=[{"number": "1012345670", "name": "Alfa Nord"}],
        einvoicing=[{"identifier": "0088:5790000000000", "scheme": "0088"}],
    )
    parts = [part for part in Include if part != Include.ALTERNATIVES]

    assert {part: cell(found, part, *parts) for part in parts} == {
        "owners": "Alfa ApS 12345682 (10–15 %) | Ane Prøve",
        "roles": "DIREKTION: Ane",
        "production_units": "1012345670 Alfa Nord",
        "einvoicing": "0088:5790000000000",
    }
    assert "owners" not in header([])


def test_a_row_without_a_company_has_its_error() -> None:
    error = CompanyNotFound(404, {"detail": "no company matches"}, retry_after=None)

    row = dict(zip(header([]), cells(Result(None, error), []), strict=True))

    assert row.pop("error") == "company_not_found"
    assert row.pop("error_detail") == "no company matches"
    assert set(row.values()) == {""}


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        " =1+1",
        "\u202e=1+1",
        "\u200f\ufeff+A1",
        "＝1+1",
        "-A1",
    ],
)
def test_a_formula_becomes_a_text(text: str) -> None:
    cell = harmless(text)

    assert cell.startswith("'")
    assert cell.isprintable()


@pytest.mark.parametrize("text", ["+45 12 34 56 78", "-5,50", "-", "--", "A-B", "1=1", "", "12 %"])
def test_numbers_and_words_stay(text: str) -> None:
    assert harmless(text) == text


def test_a_cell_keeps_its_lines_and_loses_control_characters() -> None:
    assert harmless("Storgata 1\n0159 \x1b[31mOslo") == "Storgata 1\n0159  [31mOslo"
