"""The format that `Accept` selects."""

import pytest

from gateway.http.formats import prefers_xml


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
