"""Client addresses behind proxies."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.clients import client_of

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    "peer,forwarded,client",
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.1", "10.2.3.4"], "198.51.100.1"),
        ("10.0.0.1", ["10.2.3.4"], "10.2.3.4"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1", "unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::/64"),
        ("fd00::1", ["198.51.100.1"], "198.51.100.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", [], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("::ffff:192.0.2.7", [], "192.0.2.7"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        (None, ["198.51.100.1"], "local"),
        ("", [], "local"),
    ],
)
def test_the_client_is_the_nearest_untrusted_address(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    assert client_of(peer, forwarded, PROXIES) == client


@given(st.lists(st.text(max_size=20), max_size=4))
def test_forwarded_addresses_of_an_untrusted_peer_are_ignored(forwarded: list[str]) -> None:
    assert client_of("192.0.2.7", forwarded, PROXIES) == "192.0.2.7"


@given(st.lists(st.text(max_size=20) | st.ip_addresses().map(str), max_size=4))
def test_any_header_yields_a_client(forwarded: list[str]) -> None:
    assert client_of("10.0.0.1", forwarded, PROXIES)
