"""Entity tags (RFC 9110 section 8.8.3)."""

from gateway.domain.query import Format


def entity_tag(tag: str, format_: Format) -> str:
    """The quoted tag of one representation; it differs by format."""
    return f'"{tag}.{format_}"'
