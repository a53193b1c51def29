"""Adding a country is what docs/adding-a-register.md says: its tables, its limits, its code."""

import ast
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pytest

from common.contracts.company import Company, Status
from common.domain import known_values
from common.domain.countries import FORMATS, Country
from ingest.records.fields import Document, digits, read_document
from ingest.records.records import CompanyRecord, Raw
from ingest.records.source import Part, RegisterSource

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "adding-a-register.md").read_text()
STEP = GUIDE.partition("## 1. ")[2].partition("## 2. ")[0]

#: Names that the code in the guide uses.
NAMES: Final[dict[str, Any]] = {
    each.__name__: each
    for each in (
        *(Company, CompanyRecord, Country, Document, Part, RegisterSource, Status, date),
        *(digits, read_document),
    )
} | {"Annotated": Annotated, "FORMATS": FORMATS, "Final": Final, "Raw": Raw}


def countries_in(node: ast.AST) -> set[str]:
    """The countries that the keys of a dictionary, or the entries of a tuple, are."""
    entries: Sequence[ast.expr | None] = ()
    if isinstance(node, ast.Dict):
        entries = node.keys
    elif isinstance(node, ast.Tuple | ast.List):
        entries = node.elts
    found = set()
    for entry in entries:
        match entry:
            case ast.Attribute(value=ast.Name(id="Country"), attr=name):
                found.add(Country[name].value)
            case ast.Constant(value=str(code)) if code in set(Country):
                found.add(code)
    return found


def tables() -> Iterator[tuple[str, str, set[str]]]:
    """The path, the name and the countries of each table that is written out by country."""
    for folder in ("libs/common", "libs/*-store", "services/*", "clients/*"):
        for file in ROOT.glob(f"{folder}/src/**/*.py"):
            for statement in ast.parse(file.read_text()).body:
                for node in ast.walk(statement):
                    found = countries_in(node)
                    if len(found) > 1:
                        yield str(file.relative_to(ROOT)), name_of(statement), found


def name_of(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[name]) | ast.AnnAssign(target=name):
            return ast.unparse(name)
        case ast.FunctionDef(name=function) | ast.AsyncFunctionDef(name=function):
            return function
        case ast.ClassDef(name=class_):
            return class_
        case _:
            return "?"


def test_every_table_of_countries_has_all_and_is_in_the_guide() -> None:
    found = list(tables())
    places = re.findall(r"`((?:libs|services|clients)/[^`]+)`", STEP)

    assert len(found) > 10
    assert [(path, name) for path, name, countries in found if countries != set(Country)] == []
    assert [
        (path, name)
        for path, name, _ in found
        if f"`{name}`" not in STEP.replace("FORMATS", "`FORMATS`")
        or not any(path.startswith(place) for place in places)
    ] == []


@pytest.mark.parametrize("country", Country)
def test_every_country_has_its_section_of_forms_and_municipalities(country: Country) -> None:
    assert known_values.forms_named("none such", [country]) == ()
    assert not known_values.is_known("municipalities", "none such", [country])


@pytest.mark.parametrize("country", Country)
def test_the_numbers_of_every_country_fit_into_the_search_index(country: Country) -> None:
    assert 10 ** FORMATS[country].vat_digits - 1 <= np.iinfo(np.uint32).max


def test_the_code_of_the_guide_reads_a_document() -> None:
    names = dict(NAMES)
    for block in re.findall(r"```python\n(.*?)```", GUIDE.partition("## 3. ")[0], re.DOTALL):
        # The country of the example is not served.
        exec(block.replace("Country.FI", "Country.DK"), names)  # noqa: S102 (the guide's code)

    [source] = names["SOURCES"]
    raw = {"number": "12345674", "name": "Testi Oy", "ended": None}
    record = source.parse(raw, date(2026, 3, 2))

    assert (source.key(raw), record.key) == ("dk:12345674", "dk:12345674")
    assert b'"name":"Testi Oy"' in record.core
