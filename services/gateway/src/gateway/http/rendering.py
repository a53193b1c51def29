"""XML by dicttoxml: the tree of the JSON answer, as docs/decisions.md (*The company*) has it.

A list is its plural name around singular elements, `null` is an empty element with `nil="true"`.
A rendering process imports this module too, so it imports little itself.
"""

import importlib.util
import logging
import re
from collections.abc import Mapping
from typing import Any

import orjson

#: The name of the elements of each list.
SINGULAR = {
    "activities": "activity",
    "reasons": "reason",
    "trade_names": "trade_name",
    "former_names": "former_name",
    "phones": "phone",
    "founders": "founder",
    "merged_into": "company",
    "merged_from": "company",
    "registrations": "registration",
    "remarks": "remark",
    "secondary_industries": "secondary_industry",
    "owners": "owner",
    "roles": "role",
    "production_units": "production_unit",
    "einvoicing": "entry",
    "document_types": "document_type",
    "alternatives": "alternative",
    "subsidiaries": "subsidiary",
    "annual_accounts": "accounts",
    "warnings": "warning",
    "errors": "error",
}

#: Characters that XML 1.0 cannot represent. JSON can, and a register's text might contain them.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Placeholder for `null` in dicttoxml: illegal in XML, so no text can contain it.
_NIL = "\0"
_NIL_ELEMENT = re.compile(r"<(\w+)>\0</\1>")


def company_xml(body: bytes) -> bytes:
    """Returns the XML document of a company given as JSON."""
    return xml_document("company", orjson.loads(body))


def accounts_xml(body: bytes) -> bytes:
    """Returns the XML document of a page of annual accounts given as JSON."""
    return xml_document("accounts_page", orjson.loads(body))


def xml_document(root: str, tree: Mapping[str, Any]) -> bytes:
    """Returns a well-formed UTF-8 document for any text; the names in `tree` must be XML names."""
    text: str = _dicttoxml.dicttoxml(
        _prepared(tree),
        custom_root=root,
        attr_type=False,
        item_func=_singular,
        return_bytes=False,
    )
    return _NIL_ELEMENT.sub(r'<\1 nil="true"/>', text).encode()


def legal(text: str) -> str:
    """Returns the text without the characters that XML 1.0 cannot represent."""
    return _ILLEGAL.sub("", text)


def _singular(name: str) -> str:
    # dicttoxml requests a name for every dictionary, too.
    return SINGULAR.get(name, "item")


def _prepared(value: Any) -> Any:
    if value is None:
        return _NIL
    if isinstance(value, str):
        return legal(value)
    if isinstance(value, Mapping):
        return {name: _prepared(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_prepared(part) for part in value]
    return value


def _loaded() -> Any:
    """Returns a private copy of dicttoxml without its slow parts.

    It validates every name by parsing a document, though these are the fields of the contracts; and
    it writes every value to the log.
    Without both a company takes 0.1 ms instead of 1.2 ms.
    """
    spec = importlib.util.find_spec("dicttoxml")
    if spec is None or spec.loader is None:
        raise ImportError("dicttoxml is not installed")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    logging.getLogger("dicttoxml").disabled = True
    module.__dict__.update(
        make_valid_xml_name=lambda name, attributes: (name, attributes),
        # Apart from log lines it only receives strings to be escaped.
        unicode_me=lambda value: value if isinstance(value, str) else "",
    )
    return module


_dicttoxml = _loaded()
