"""XML: the specified tree, well-formed with any text."""

import types
from typing import Any, get_args, get_origin
from xml.etree import ElementTree

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import CompanyAnswer
from common.contracts.contract import Contract
from gateway.http.rendering import SINGULAR, company_xml, xml_document
from tests.builders.openapi import example

COMPANY, WITH_EVERYTHING = example("Company"), example("CompanyWithEverything")


def tree(document: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(document)  # noqa: S314 (our own document)


def test_a_company_is_written_as_decided() -> None:
    document = company_xml(
        orjson.dumps(
            {
                "name": "Prøve & Søn <ApS>",
                "trade_names": ["Prøven", "Søn's"],
                "former_names": ["Prøve"],
                "fax": None,
                "form": {"code": "80", "description": None},
                "advertising_protected": True,
                "match": {"type": "vat", "score": 99.5},
                "einvoicing": [{"identifier": "0184:12345674", "document_types": ["a", "b"]}],
                "alternatives": [{"vat": "87654325", "city": None}],
                "einvoicing_total": 6500,
                "owners": [{"name": "Bo"}],
                "owners_total": None,
                "roles": [{"role": "auditor"}],
                "production_units": [{"number": "1012345670"}],
                "production_units_total": 101,
                "secondary_industries": [{"code": "620100"}],
                "subsidiaries": [{"vat": "12345682"}],
            }
        )
    )

    assert document.decode() == (
        '<?xml version="1.0" encoding="UTF-8" ?><company>'
        "<name>Prøve &amp; Søn &lt;ApS&gt;</name>"
        "<trade_names><trade_name>Prøven</trade_name>"
        "<trade_name>Søn&apos;s</trade_name></trade_names>"
        "<former_names><former_name>Prøve</former_name></former_names>"
        '<fax nil="true"/>'
        '<form><code>80</code><description nil="true"/></form>'
        "<advertising_protected>true</advertising_protected>"
        "<match><type>vat</type><score>99.5</score></match>"
        "<einvoicing><entry><identifier>0184:12345674</identifier>"
        "<document_types><document_type>a</document_type><document_type>b</document_type>"
        "</document_types></entry></einvoicing><alternatives><alternative>"
        '<vat>87654325</vat><city nil="true"/></alternative></alternatives>'
        "<einvoicing_total>6500</einvoicing_total>"
        '<owners><owner><name>Bo</name></owner></owners><owners_total nil="true"/>'
        "<roles><role><role>auditor</role></role></roles>"
        "<production_units><production_unit><number>1012345670</number></production_unit>"
        "</production_units><production_units_total>101</production_units_total>"
        "<secondary_industries><secondary_industry><code>620100</code>"
        "</secondary_industry></secondary_industries>"
        "<subsidiaries><subsidiary><vat>12345682</vat></subsidiary></subsidiaries></company>"
    )


def test_leading_zeros_survive() -> None:
    assert tree(xml_document("company", {"vat": "01234567"})).findtext("vat") == "01234567"


def test_an_empty_text_is_not_null() -> None:
    found = tree(xml_document("company", {"name": "", "fax": None}))

    assert [(each.tag, each.get("nil")) for each in found] == [("name", None), ("fax", "true")]


@given(st.text())
def test_any_text_makes_a_well_formed_document(text: str) -> None:
    document = xml_document("company", {"name": text, "trade_names": [text], "fax": None})

    found = tree(document)

    assert [each.tag for each in found] == ["name", "trade_names", "fax"]
    assert "".join(found.find("name").itertext()) == legal(text)  # type: ignore[union-attr]


def legal(text: str) -> str:
    """A parser's view of a text: valid XML characters, with normalised line ends."""
    kept = "".join(
        character
        for character in text
        if character in "\t\n\r"
        or "\u0020" <= character <= "\ud7ff"
        or "\ue000" <= character <= "\ufffd"
        or character >= "\U00010000"
    )
    return kept.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("text", ["\0", "\0</name>", "]]>", "<!--", "&amp;", '" nil="true'])
def test_no_text_can_pass_for_markup(text: str) -> None:
    found = tree(xml_document("company", {"name": text}))

    assert len(found) == 1
    assert found[0].attrib == {}


def test_xml_and_json_have_the_same_content() -> None:
    found = tree(company_xml(orjson.dumps(WITH_EVERYTHING)))

    assert as_json(found, like=WITH_EVERYTHING) == WITH_EVERYTHING


def as_json(element: ElementTree.Element, *, like: Any) -> Any:
    """The value of an element, read as the kind that `like` is."""
    if element.get("nil") == "true":
        return None
    if isinstance(like, dict):
        return {child.tag: as_json(child, like=like[child.tag]) for child in element}
    if isinstance(like, list):
        return [as_json(child, like=item) for child, item in zip(element, like, strict=True)]
    text = element.text or ""
    return text == "true" if isinstance(like, bool) else type(like)(text)


def lists_of(contract: type[Contract], found: set[str]) -> set[str]:
    for name, field in contract.model_fields.items():
        for kind in kinds_of(field.annotation):
            if get_origin(kind) is tuple:
                found.add(name)
            for part in (kind, *get_args(kind)):
                if isinstance(part, type) and issubclass(part, Contract):
                    lists_of(part, found)
    return found


def kinds_of(annotation: Any) -> tuple[Any, ...]:
    union = get_origin(annotation) is types.UnionType
    return get_args(annotation) if union else (annotation,)


def test_every_list_of_a_company_has_a_name_for_its_elements() -> None:
    assert lists_of(CompanyAnswer, set()) <= SINGULAR.keys()


def test_every_name_of_a_company_is_an_xml_name() -> None:
    assert all(name.isidentifier() and name.isascii() for name in COMPANY)
