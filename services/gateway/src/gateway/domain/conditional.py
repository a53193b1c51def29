"""Entity tags (RFC 9110 section 8.8.3)."""

from gateway.domain.query import Format


def entity_tag(tag: str, format_: Format) -> str:
    """The tag of a company in one format; weak, because it is the same in each coding."""
    return f'W/"{tag}.{format_}"'
