"""Permitted and blocked addresses."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook_store.webhooks.addresses import blocked

BLOCKED = (
    ("0.0.0.0", "this network"),  # noqa: S104 (an address of the table)
    ("0.255.255.255", "this network"),
    ("10.0.0.1", "private"),
    ("10.255.255.255", "private"),
    ("100.64.0.1", "shared by carrier-grade NAT"),
    ("100.100.100.200", "shared by carrier-grade NAT"),
    ("100.127.255.255", "shared by carrier-grade NAT"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.255", "loopback"),
    ("168.63.129.16", "a cloud's own services"),
    ("169.254.169.254", "link-local"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.170", "reserved for protocols"),
    ("192.0.2.1", "documentation"),
    ("192.31.196.1", "reserved for AS112"),
    ("192.52.193.1", "reserved for AMT"),
    ("192.88.99.1", "6to4 relay"),
    ("192.168.1.1", "private"),
    ("192.175.48.1", "reserved for AS112"),
    ("198.18.0.1", "benchmarking"),
    ("198.19.255.255", "benchmarking"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::7f00:1", "IPv4-compatible"),
    ("::808:808", "IPv4-compatible"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:10.1.2.3", "private"),
    ("::ffff:a9fe:a9fe", "link-local"),
    ("::ffff:0:7f00:1", "IPv4-translated"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::192.168.0.1", "private"),
    ("64:ff9b:1::7f00:1", "local NAT64"),
    ("64:ff9b:1::808:808", "local NAT64"),
    ("64:ff9b:2::1", "not global unicast"),
    ("100::1", "discarded"),
    ("100:0:0:1::1", "reserved"),
    ("1000::1", "not global unicast"),
    ("2001::1", "Teredo"),
    ("2001:0:53aa:64c:0:fbff:d0ca:4bfb", "Teredo"),
    ("2001:2::1", "benchmarking"),
    ("2001:10::1", "reserved for protocols"),
    ("2001:20::1", "reserved for protocols"),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::", "6to4"),
    ("2002:808:808::1", "6to4"),
    ("2620:4f:8000::1", "reserved for AS112"),
    ("3fff::1", "documentation"),
    ("4000::1", "not global unicast"),
    ("5f00::1", "segment routing"),
    ("fc00::1", "private"),
    ("fd00:ec2::254", "private"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
    ("ff0e::1", "multicast"),
)

#: The neighbours of the blocked ranges among them.
CALLABLE = (
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
)


@pytest.mark.parametrize("address, word", BLOCKED)
def test_an_address_that_is_not_a_public_hosts_is_blocked(address: str, word: str) -> None:
    assert blocked(address) == word


@pytest.mark.parametrize("address", CALLABLE)
def test_a_public_address_may_be_called(address: str) -> None:
    assert blocked(address) is None


@given(st.ip_addresses(v=4))
def test_private_addresses_of_the_standard_library_are_blocked(
    address: ipaddress.IPv4Address,
) -> None:
    if not address.is_global:
        assert blocked(address) is not None


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_outside_global_unicast_is_blocked(
    address: ipaddress.IPv6Address,
) -> None:
    if blocked(address) is None:
        assert (
            address in ipaddress.ip_network("2000::/3")
            or blocked(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)) is None
        )


@given(st.ip_addresses(v=4))
def test_ipv6_forms_of_an_ipv4_address_are_treated_alike(
    address: ipaddress.IPv4Address,
) -> None:
    assert blocked(f"::ffff:{address}") == blocked(f"64:ff9b::{address}") == blocked(address)


def test_an_allowed_network_is_permitted_in_any_form() -> None:
    allowed = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")]

    assert blocked("127.0.0.1", allowed=allowed) is None
    assert blocked("::ffff:127.0.0.1", allowed=allowed) is None
    assert blocked("::1", allowed=allowed) is None


def test_allowing_one_network_allows_no_other() -> None:
    allowed = [ipaddress.ip_network("127.0.0.0/8")]

    assert blocked("::1", allowed=allowed) == "loopback"
    assert blocked("10.0.0.1", allowed=allowed) == "private"


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        blocked("localhost")
