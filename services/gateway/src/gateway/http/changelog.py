"""The changelog as an Atom feed (RFC 4287): an entry for each release."""

import re
from collections.abc import Callable
from typing import Final
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

_ATOM: Final = "http://www.w3.org/2005/Atom"
#: `## 1.1.0 - 2026-11-26`; what is not released has no day.
_RELEASE: Final = re.compile(r"^## ([0-9][^ \n]*) - ([0-9]{4}-[0-9]{2}-[0-9]{2})$", re.MULTILINE)
_TITLE: Final = "Company Registry Lookup Service: releases"


def changelog_feed(text: str, as_html: Callable[[str], str]) -> bytes:
    """Returns the feed of a changelog in Markdown, the newest release first."""
    starts = list(_RELEASE.finditer(text))
    ends = [each.start() for each in starts[1:]] + [len(text)]
    feed = Element("feed", xmlns=_ATOM)
    _add(feed, "id", uuid5(NAMESPACE_URL, _TITLE).urn)
    _add(feed, "title", _TITLE)
    _add(feed, "updated", _midnight(max(each[2] for each in starts)))
    _add(SubElement(feed, "author"), "name", "Company Registry Lookup Service")
    # References are relative to the feed's own address (RFC 3986), so that they lead back to it
    # behind any proxy.
    SubElement(feed, "link", rel="self", type="application/atom+xml", href="changelog.atom")
    SubElement(feed, "link", rel="alternate", type="text/html", href="changelog")
    for release, end in zip(starts, ends, strict=True):
        entry, version = SubElement(feed, "entry"), release[1]
        _add(entry, "id", uuid5(NAMESPACE_URL, f"{_TITLE} {version}").urn)
        _add(entry, "title", version)
        _add(entry, "updated", _midnight(release[2]))
        anchor = f"{version.replace('.', '')}---{release[2]}"
        SubElement(entry, "link", rel="alternate", href=f"changelog#{anchor}")
        _add(entry, "content", as_html(text[release.end() : end]), type="html")
    document: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _midnight(day: str) -> str:
    return f"{day}T00:00:00Z"


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = text
