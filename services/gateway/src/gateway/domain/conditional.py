"""Entity tags and conditional requests (RFC 9110 sections 8.8.3 and 13.1.2)."""

import re

from gateway.domain.query import Format

_TAG = re.compile(r'(?:W/)?("[!#-~\x80-\uffff]*")')


def entity_tag(tag: str, format_: Format) -> str:
    """The quoted tag of one representation: the same company in another format has another."""
    return f'"{tag}.{format_}"'


def is_known(entity: str, if_none_match: str | None) -> bool:
    """Whether the client has the representation already, by weak comparison."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or entity in _TAG.findall(if_none_match)
