"""The documentation page holds together."""

from collections import Counter
from html.parser import HTMLParser

import pytest

from gateway.adapters.http.docs.page import page
from gateway.adapters.http.openapi.document import openapi_document

DOCUMENT = openapi_document()

#: Elements that are never closed.
_VOID = {"meta", "link", "input"}


class Outline(HTMLParser):
    """What a page refers to, and what it is made of."""

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


def test_every_link_within_the_page_leads_somewhere(outline: Outline) -> None:
    targets = {link.removeprefix("#") for link in outline.links if link.startswith("#")}

    assert targets <= outline.ids.keys()
    assert outline.labels <= outline.ids.keys()


def test_no_place_has_the_name_of_another(outline: Outline) -> None:
    assert set(outline.ids.values()) == {1}


def test_there_is_nothing_inline_that_the_policy_would_refuse(outline: Outline) -> None:
    assert not any(name.startswith("on") or name == "style" for name in outline.attributes)


def test_every_path_and_parameter_is_on_it() -> None:
    text = page(DOCUMENT)

    for path in DOCUMENT["paths"]:
        assert f"<code>{path}</code>" in text
    for name in ("country", "vat", "search", "q", "include", "format"):
        assert f'name="{name}"' in text


def test_markup_in_the_document_is_shown_and_not_obeyed() -> None:
    document = {**DOCUMENT, "info": {**DOCUMENT["info"], "title": "<script>alert(1)</script>"}}

    assert "<script>alert" not in page(document)
