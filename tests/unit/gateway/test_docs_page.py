"""Structure of the documentation page."""

from collections import Counter
from html.parser import HTMLParser

import pytest

from gateway.adapters.http.docs.page import page
from gateway.adapters.http.openapi.document import openapi_document

DOCUMENT = openapi_document()

#: Elements that are never closed.
_VOID = {"meta", "link", "input"}


class Outline(HTMLParser):
    """Links and elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.links: set[str] = set()
        self.labels: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.attributes |= given.keys()
        self.ids.update([given["id"]] if "id" in given else [])
        self.links |= {given[name] for name in ("href", "src") if name in given}
        self.labels |= {given["for"]} if "for" in given else set()
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(name="outline", scope="module")
def _outline() -> Outline:
    outline = Outline()
    outline.feed(page(DOCUMENT))
    outline.close()
    return outline


def test_every_element_is_closed(outline: Outline) -> None:
    assert outline.open == []


def test_every_internal_link_has_a_target(outline: Outline) -> None:
    targets = {link.removeprefix("#") for link in outline.links if link.startswith("#")}

    assert targets <= outline.ids.keys()
    assert outline.labels <= outline.ids.keys()


def test_ids_are_unique(outline: Outline) -> None:
    assert set(outline.ids.values()) == {1}


def test_nothing_inline_violates_the_content_security_policy(outline: Outline) -> None:
    assert not any(name.startswith("on") or name == "style" for name in outline.attributes)


def test_every_path_and_parameter_is_on_it() -> None:
    text = page(DOCUMENT)

    for path in DOCUMENT["paths"]:
        assert f"<code>{path}</code>" in text
    for name in ("country", "vat", "search", "q", "include", "format"):
        assert f'name="{name}"' in text


def test_markup_in_the_document_is_escaped() -> None:
    document = {**DOCUMENT, "info": {**DOCUMENT["info"], "title": "<script>alert(1)</script>"}}

    assert "<script>alert" not in page(document)
