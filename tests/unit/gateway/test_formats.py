"""The format that `Accept` selects, entity tags and If-None-Match."""

import pytest

from common.runtime.public_port.conditional import accepts_gzip, etag_matches
from gateway.http.formats import Format, entity_tag, prefers_xml


@pytest.mark.parametrize(
    "accept",
    [
        "application/xml",
        "Application/XML; charset=utf-8",
        "application/xml, application/json;q=0.9",
        "application/json;q=0.2,application/xml;q=0.3",
        "application/xml,*/*;q=0.8",
        "application/*, application/json;q=0.1",
        "application/json;q=0, */*",
    ],
)
def test_xml_is_preferred(accept: str) -> None:
    assert prefers_xml(accept)


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "application/*",
        "application/json",
        "application/json, application/xml",
        "application/json, application/xml;q=0.9",
        "application/xml;q=0",
        "application/xml;q=2",
        "application/xml;q=x",
        "text/plain",
        ",;=,",
        # A browser that opens a link.
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
    ],
)
def test_json_is_the_default(accept: str) -> None:
    assert not prefers_xml(accept)


TAG = entity_tag("1-dk12345674-3", Format.JSON)


@pytest.mark.parametrize(
    "header", [TAG, f"W/{TAG}", f'"other", {TAG}', f'W/"a",W/{TAG},"b"', "*", " * "]
)
def test_a_tag_the_client_has_matches(header: str) -> None:
    assert etag_matches(TAG, header)


@pytest.mark.parametrize("header", [None, "", '"other"', TAG.strip('"'), '"*"', TAG.upper()])
def test_any_other_tag_does_not_match(header: str | None) -> None:
    assert not etag_matches(TAG, header)


def test_a_comma_inside_a_tag_does_not_end_it() -> None:
    assert etag_matches('"a,b"', '"x", "a,b"')
    assert not etag_matches('"b"', '"a,"b')


@pytest.mark.parametrize(
    "accept_encoding, accepted",
    [
        ("gzip", True),
        ("deflate, gzip;q=0.5, br", True),
        ("GZIP ; Q=0.001", True),
        ("x-gzip", True),
        ("*", True),
        ("br;q=1.0, *;q=0.1", True),
        ("", False),
        ("identity", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("*;q=0", False),
        ("gzip;q=much", False),
        ("gzip;q=2", False),
        (";,;;", False),
    ],
)
def test_gzip_is_sent_only_if_accepted(accept_encoding: str, *, accepted: bool) -> None:
    assert accepts_gzip(accept_encoding) is accepted
