"""The preview of a company: a small page that other applications show in a frame."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from typing import Final

from gateway.reconcile.properties import PROPERTIES, Company, Value

_SHOWN: Final = (
    *("number", "status", "form", "address", "industry", "employees"),
    *("founded", "ended", "phone", "website"),
)
_STYLE: Final = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:12px;color:#1b1f24;background:#fff}"
    "h1{font-size:17px;margin:0 0 8px}dl{display:grid;grid-template-columns:auto 1fr;"
    "gap:2px 12px;margin:0}dt{color:#57606a}dd{margin:0;overflow-wrap:anywhere}a{color:#0550ae}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}"
    "dt{color:#9198a1}a{color:#4493f8}}"
)
_DIGEST: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()

#: The page loads nothing but its own style, and any site may frame it, as the protocol requires.
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors *"
)


def preview(company: Company, view: str) -> str:
    """Returns the page of a company; `view` is the address of its own page, or empty."""
    name = escape(company["name"])
    heading = (
        f'<a href="{escape(view)}" target="_blank" rel="noopener noreferrer">{name}</a>'
        if view
        else name
    )
    facts = "".join(
        f"<dt>{escape(PROPERTIES[each].name)}</dt><dd>{escape(text)}</dd>"
        for each in _SHOWN
        if (text := _text(PROPERTIES[each].read(company)))
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{heading}</h1><dl>{facts}</dl></body></html>"
    )


def _text(values: Iterable[Value]) -> str:
    """Returns the values as a text, a time as its day."""
    return ", ".join(str(next(iter(value.values()))).removesuffix("T00:00:00Z") for value in values)
