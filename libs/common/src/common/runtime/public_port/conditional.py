"""Conditional requests and codings (RFC 9110 sections 8.8.3, 12.5.3 and 13.1.2)."""

import re

from aiohttp import hdrs, web

#: The usual spelling; aiohttp's constant is "Etag".
ETAG = "ETag"

_TAG = re.compile(r'(?:W/)?("[!#-~\x80-\uffff]*")')

#: The weight of an acceptable coding: not 0.
_WEIGHT = re.compile(r"1(\.0{0,3})?|0\.(?=0*[1-9])[0-9]{1,3}")


def if_none_match(request: web.BaseRequest) -> str | None:
    """Returns the values of all If-None-Match headers."""
    if hdrs.IF_NONE_MATCH not in request.headers:
        return None
    return ",".join(request.headers.getall(hdrs.IF_NONE_MATCH))


def etag_matches(entity: str, if_none_match: str | None) -> bool:
    """Returns True if the client already has the representation, by weak comparison."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or entity.removeprefix("W/") in _TAG.findall(if_none_match)


def takes_gzip(request: web.BaseRequest) -> bool:
    """Returns True if the client of a request accepts gzip."""
    accepted = request.headers.getall(hdrs.ACCEPT_ENCODING, ())
    return bool(accepted) and accepts_gzip(",".join(accepted))


def accepts_gzip(accept_encoding: str) -> bool:
    """Returns True if the client accepts gzip; without the header it does not."""
    weights = dict(_weighted(coding) for coding in accept_encoding.lower().split(","))
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*", "0")))
    return bool(_WEIGHT.fullmatch(weight))


def _weighted(coding: str) -> tuple[str, str]:
    name, _, parameter = coding.partition(";")
    return name.strip(), parameter.strip().removeprefix("q=") or "1"
