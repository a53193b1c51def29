"""How the MCP server reaches the service."""

import pytest

from company_registry.mcp.connections import DirectClient, connections


@pytest.mark.parametrize(
    "environment, url, is_direct",
    [
        ({}, "http://gateway", True),
        ({"HTTPS_PROXY": "http://proxy.example.com"}, "http://gateway", True),
        ({"HTTP_PROXY": "http://proxy.example.com"}, "http://gateway", False),
        ({"ALL_PROXY": "http://proxy.example.com"}, "https://registry.example.com", False),
        (
            {"HTTPS_PROXY": "http://proxy.example.com", "NO_PROXY": "example.com"},
            "https://registry.example.com",
            True,
        ),
    ],
)
def test_a_proxy_of_the_environment_is_used(
    environment: dict[str, str], url: str, *, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert isinstance(connections(url), DirectClient) == is_direct
