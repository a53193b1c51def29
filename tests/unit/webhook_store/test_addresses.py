"""Permitted and blocked addresses."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook_store.addresses import blocked

#: Addresses at the bounds of each blocked range.
BLOCKED = {
    "this network": "0.0.0.0 0.255.255.255",
    "private": (
        "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 ::ffff:10.1.2.3 "
        "64:ff9b::192.168.0.1 fc00::1 fd00:ec2::254"
    ),
    "shared by carrier-grade NAT": "100.64.0.1 100.100.100.200 100.127.255.255",
    "loopback": "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1",
    "a cloud's own services": "168.63.129.16",
    "link-local": "169.254.169.254 ::ffff:a9fe:a9fe fe80::1 fe80::1%eth0",
    "reserved for protocols": "192.0.0.170 2001:10::1 2001:20::1",
    "documentation": "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1",
    "reserved for AS112": "192.31.196.1 192.175.48.1 2620:4f:8000::1",
    "reserved for AMT": "192.52.193.1",
    "6to4 relay": "192.88.99.1",
    "benchmarking": "198.18.0.1 198.19.255.255 2001:2::1",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1 ff0e::1",
    "reserved": "240.0.0.1 255.255.255.255 100:0:0:1::1",
    "unspecified": "::",
    "IPv4-compatible": "::7f00:1 ::808:808",
    "IPv4-translated": "::ffff:0:7f00:1",
    "local NAT64": "64:ff9b:1::7f00:1 64:ff9b:1::808:808",
    "not global unicast": "64:ff9b:2::1 1000::1 4000::1",
    "discarded": "100::1",
    "Teredo": "2001::1 2001:0:53aa:64c:0:fbff:d0ca:4bfb",
    "6to4": "2002:7f00:1:: 2002:808:808::1",
    "segment routing": "5f00::1",
    "site-local": "fec0::1",
}

#: The neighbours of the blocked ranges among them.
CALLABLE = (
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 "
    "128.0.0.0 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 "
    "192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 "
    "223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:200::1 2001:4860:4860::8888 "
    "2003::1 2606:4700:4700::1111 2a00:1450:4001::1"
)


@pytest.mark.parametrize(
    "address, word", [(each, word) for word, listed in BLOCKED.items() for each in listed.split()]
)
def test_an_address_that_is_not_a_public_hosts_is_blocked(address: str, word: str) -> None:
    assert blocked(address) == word


@pytest.mark.parametrize("address", CALLABLE.split())
def test_a_public_address_may_be_called(address: str) -> None:
    assert blocked(address) is None


@given(st.ip_addresses(v=4))
def test_private_addresses_of_the_standard_library_are_blocked(
    address: ipaddress.IPv4Address,
) -> None:
    if not address.is_global:
        assert blocked(address) is not None


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_outside_global_unicast_is_blocked(address: ipaddress.IPv6Address) -> None:
    if blocked(address) is None:
        assert (
            address in ipaddress.ip_network("2000::/3")
            or blocked(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)) is None
        )


@given(st.ip_addresses(v=4))
def test_ipv6_forms_of_an_ipv4_address_are_treated_alike(address: ipaddress.IPv4Address) -> None:
    assert blocked(f"::ffff:{address}") == blocked(f"64:ff9b::{address}") == blocked(address)


@pytest.mark.parametrize(
    "address, word",
    [
        ("127.0.0.1", None),
        ("::ffff:127.0.0.1", None),
        ("fd00::1", None),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
    ],
)
def test_an_allowed_network_is_permitted_in_any_form_and_no_other_is(
    address: str, word: str | None
) -> None:
    allowed = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("fd00::/8")]

    assert blocked(address, allowed=allowed) == word


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        blocked("localhost")
