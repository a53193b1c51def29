"""Custom headers that an owner adds to a webhook's deliveries."""

import re
from collections.abc import Mapping

from webhook_registry.domain.refusals import Wrong
from webhook_store.headers import MAX_HEADERS, comparable, is_reserved

#: RFC 9110, 5.1: a token.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: Visible ASCII with spaces inside: nothing that an intermediary reads in several ways.
_VALUE = re.compile(r"[!-~]([ -~]{0,1022}[!-~])?")


def read_headers(value: object) -> Mapping[str, str]:
    """Reads names with values; raises Wrong, never with a value."""
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_HEADERS:
        raise Wrong(f"give an object of at most {MAX_HEADERS} header names with their values")
    for name, content in value.items():
        at = f".{name[:100]}"
        if not _NAME.fullmatch(name):
            raise Wrong("give names of letters, digits and -, at most 100 characters", at=at)
        if is_reserved(name):
            raise Wrong("this header is set by the service, by HTTP or by proxies", at=at)
        if not isinstance(content, str) or not _VALUE.fullmatch(content):
            raise Wrong("give a value of 1 to 1024 visible ASCII characters", at=at)
    if len({comparable(name) for name in value}) < len(value):
        raise Wrong("give each name once; upper and lower case are the same, and so are - and _")
    return value
