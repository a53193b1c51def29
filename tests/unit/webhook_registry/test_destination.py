"""Permitted destinations."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from webhook_registry.replies import InvalidValue
from webhook_registry.urls import MAX_URL_LENGTH, read_destination, refusal

PUBLIC = (ip_address("8.8.8.8"),)


@pytest.mark.parametrize(
    "url, host, port",
    [
        ("https://hooks.example.com", "hooks.example.com", 443),
        ("https://hooks.example.com/a/b?token=1&x=%C3%B8", "hooks.example.com", 443),
        ("HTTPS://Hooks.Example.COM:8443/", "hooks.example.com", 8443),
        ("https://hooks.example.com./", "hooks.example.com", 443),
        ("https://xn--prve-hra.example/", "xn--prve-hra.example", 443),
        ("https://under_score.example.com/", "under_score.example.com", 443),
        ("https://8.8.8.8/", "8.8.8.8", 443),
        ("https://[2606:4700:4700:0::1111]:444/", "2606:4700:4700::1111", 444),
        ("https://[2606:4700::1111]", "2606:4700::1111", 443),
        ("https://hooks.example.com:/?a=@:/?", "hooks.example.com", 443),
        ("https://hooks.example.com:0443", "hooks.example.com", 443),
    ],
)
def test_a_public_https_url_is_accepted(url: str, host: str, port: int) -> None:
    destination = read_destination(url)

    assert (destination.url, destination.host, destination.port) == (url, host, port)
    assert refusal(destination, (), allowed=()) is None


#: Addresses in a form that some resolvers read and some filters do not.
UNUSUAL = """
    [8.8.8.8] [] [v1.fe80] [fe80::1%25eth0] 2130706433 0x7f000001 0x7f.1 127.1 127.0.1 0177.0.0.1
    127.0.0.01 127.0.0.0x1 127.0.0.1. 1.2.3.4.5 256.1.1.1 example.0 0x
"""
#: URLs under a word of the hint that each gets.
MALFORMED: dict[str, list[object]] = {
    "as a string": [None, 7],
    "in the characters of RFC 3986": [
        "",
        "https://hooks.example.com\\@127.0.0.1/",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/\r\nHost: x",
    ],
    "starts with https://": [
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "hooks.example.com",
        "//hooks.example.com/",
    ],
    "give a host name": [
        "https://",
        "https:///path",
        "https:hooks.example.com",
        "https:/hooks.example.com/",
        "https://a..example/",
        "https://-a.example/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 127}example/",
        "https://%6cocalhost/",
    ],
    "give a host": [
        "https://[::1",
        "https://[2606:4700::1111]127.0.0.1/",
        "https://[2606:4700::1111].example.com/",
        "https://[2606:4700::1111][::1]/",
        "https://127.0.0.1[2606:4700::1111]/",
        "https://[2606:4700::1111]443/",
        "https://2606:4700::1111/",
        "https://hooks.example.com:80:443/",
        "https://hooks.example.com:+443/",
    ],
    "user name and password": [
        "https://user@hooks.example.com/",
        "https://user:pass@hooks.example.com/",
        "https://@hooks.example.com/",
    ],
    "fragment": ["https://hooks.example.com/#part", "https://hooks.example.com/#"],
    "port from 1 to 65535": [
        f"https://hooks.example.com:{port}/" for port in ("0", "65536", "https")
    ],
    "xn-- form": ["https://prøve.example/", "https://１２７.0.0.1/"],
    "percent-encode": [
        f"https://hooks.example.com/{path}" for path in ("%zz", "?token=100%", "?a[]=1")
    ],
    "usual form": [f"https://{host}/" for host in UNUSUAL.split()],
}


@pytest.mark.parametrize(
    "url, words", [(url, words) for words, urls in MALFORMED.items() for url in urls]
)
def test_a_malformed_url_is_refused_with_a_hint(url: object, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        read_destination(url)


LOCAL = """
    localhost LOCALHOST localhost. a.localhost localhost.localdomain printer.local
    metadata.google.internal vault.service.internal wiki.intranet router.lan router.home.arpa
    files.corp registry 127.0.0.1 10.0.0.1 169.254.169.254 192.168.0.1 [::1] [::ffff:127.0.0.1]
    [::ffff:7f00:1] [64:ff9b::10.0.0.1] [fd00:ec2::254] [fe80::1]
"""


@pytest.mark.parametrize("host", LOCAL.split())
def test_a_local_or_private_host_is_refused(host: str) -> None:
    destination = read_destination(f"https://{host}/")

    assert refusal(destination, (), allowed=()) is not None
    # A name may resolve to a public address all the same.
    assert refusal(destination, PUBLIC, allowed=()) is not None


@pytest.mark.parametrize("private", ["10.0.0.1", "127.0.0.1", "fd00::1", "::ffff:192.168.1.1"])
def test_a_name_is_refused_when_any_of_its_addresses_is_private(private: str) -> None:
    destination = read_destination("https://hooks.example.com/")

    reason = refusal(destination, (*PUBLIC, ip_address(private)), allowed=())

    assert reason is not None
    assert private not in reason


def test_a_name_that_does_not_resolve_is_accepted() -> None:
    assert refusal(read_destination("https://soon.example.com/"), (), allowed=()) is None


@pytest.mark.parametrize(
    "host, resolved, accepted",
    [
        ("localhost", ["127.0.0.1"], True),
        ("localhost", ["10.0.0.1"], False),
        ("localhost", [], False),
        ("127.0.0.1", [], True),
    ],
)
def test_with_allowed_networks_a_local_host_is_checked_by_its_addresses(
    host: str, resolved: list[str], *, accepted: bool
) -> None:
    destination = read_destination(f"https://{host}:8443/")
    addresses = [ip_address(each) for each in resolved]

    reason = refusal(destination, addresses, allowed=[ip_network("127.0.0.0/8")])

    assert (reason is None) == accepted


def test_the_maximum_url_length_is_inclusive() -> None:
    longest = "https://hooks.example.com/".ljust(MAX_URL_LENGTH, "a")

    assert read_destination(longest).url == longest
    with pytest.raises(InvalidValue, match="at most 2048"):
        read_destination(longest + "a")


PIECES = ("[2606:4700::1111]", "[::1]", "127.0.0.1", "a.example.com", "A", ".", ":", "443", "0")


@given(st.lists(st.sampled_from([*PIECES, "/", "?", "%41", "[", "]", "@", "//", "x"]), max_size=8))
def test_a_connection_goes_to_the_host_that_was_checked(pieces: list[str]) -> None:
    url = "https://" + "".join(pieces)
    try:
        destination = read_destination(url)
    except InvalidValue:
        return

    connected = URL(url)  # as aiohttp reads it

    assert (connected.raw_host or "").removesuffix(".") == destination.host
    assert connected.port == destination.port


@given(st.text(max_size=60))
def test_any_text_is_accepted_or_refused_with_a_message(text: str) -> None:
    try:
        host = read_destination(f"https://{text}").host
    except InvalidValue as wrong:
        host = str(wrong)

    assert host
