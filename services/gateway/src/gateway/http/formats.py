"""The formats of responses, JSON and XML, and the one that a request selects."""

import re
from enum import StrEnum

from gateway.http.parameters import Parameters

FORMAT = "format"

JSON, HTML = "application/json", "text/html"
#: The second is an older name of the first.
XML = ("application/xml", "text/xml")

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


class Format(StrEnum):
    """The formats of lookups and of their problems, by the value of the parameter `format`."""

    JSON = "json"
    XML = "xml"


def wanted_format(parameters: Parameters, *, accept: str) -> Format:
    """Returns the format of an error's body, even when the rest of the query is invalid."""
    if FORMAT not in parameters:
        return negotiated(accept)
    given = [value.casefold() for value in parameters[FORMAT]]
    return Format.XML if given == [Format.XML] else Format.JSON


def negotiated(accept: str) -> Format:
    """Returns the format that an `Accept` header selects (RFC 9110, 12.5.1)."""
    return Format.XML if prefers_xml(accept) else Format.JSON


def prefers_xml(accept: str) -> bool:
    """Returns True if a client prefers XML to both JSON and pages; the default is JSON.

    Browsers accept XML before any other type, but want pages; a link to a lookup shows them JSON.
    """
    ranges = _ranges(accept.lower())
    xml = max(_quality(each, ranges) for each in XML)
    return xml > _quality(JSON, ranges) and xml >= _quality(HTML, ranges)


def _quality(media_type: str, ranges: dict[str, float]) -> float:
    family = media_type.partition("/")[0]
    for covering in (media_type, f"{family}/*", "*/*"):
        if covering in ranges:
            return ranges[covering]
    return 0.0


def _ranges(accept: str) -> dict[str, float]:
    ranges = {}
    for element in accept.split(","):
        media_range, *parameters = (part.strip() for part in element.split(";"))
        given = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
        quality = given[0] if given else "1"
        ranges[media_range] = float(quality) if _QUALITY.fullmatch(quality) else 0.0
    return ranges


def entity_tag(tag: str, format_: Format) -> str:
    """Returns the tag of a company in one format; weak, because it is the same in each coding."""
    # RFC 9110, 8.8.3
    return f'W/"{tag}.{format_}"'
