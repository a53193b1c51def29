"""Formats of responses: the one that a request selects, and the tag of a company in each."""

import re
from enum import StrEnum

from gateway.http.parameters import Parameters

FORMAT = "format"

JSON, XML, HTML = "application/json", "application/xml", "text/html"

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


class Format(StrEnum):
    """The formats of lookups and of their problems, by the value of the parameter `format`."""

    JSON = "json"
    XML = "xml"


def wanted_format(parameters: Parameters, *, accept: str) -> Format:
    """The format of an error's body, even when the rest of the query is invalid."""
    if FORMAT not in parameters:
        return negotiated(accept)
    return Format.XML if list(parameters[FORMAT]) == [Format.XML] else Format.JSON


def negotiated(accept: str) -> Format:
    """The format that an `Accept` header selects (RFC 9110, 12.5.1)."""
    return Format.XML if prefers_xml(accept) else Format.JSON


def prefers_xml(accept: str) -> bool:
    """True if a client accepts XML, and JSON or pages less: without a preference it gets JSON.

    Browsers accept XML before any other type, but want pages; a link to a lookup shows them JSON.
    """
    ranges = _ranges(accept.lower())
    xml = _quality(XML, ranges)
    return xml > _quality(JSON, ranges) and xml >= _quality(HTML, ranges)


def _quality(media_type: str, ranges: dict[str, float]) -> float:
    """The quality of a media type by the most specific range that covers it; 0 without one."""
    family = media_type.partition("/")[0]
    for covering in (media_type, f"{family}/*", "*/*"):
        if covering in ranges:
            return ranges[covering]
    return 0.0


def _ranges(accept: str) -> dict[str, float]:
    """Media ranges with their qualities; one with an invalid quality is not accepted."""
    ranges = {}
    for element in accept.split(","):
        media_range, *parameters = (part.strip() for part in element.split(";"))
        given = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
        quality = given[0] if given else "1"
        ranges[media_range] = float(quality) if _QUALITY.fullmatch(quality) else 0.0
    return ranges


def entity_tag(tag: str, format_: Format) -> str:
    """The tag of a company in one format; weak, because it is the same in each coding."""
    # RFC 9110, 8.8.3
    return f'W/"{tag}.{format_}"'
