"""Links to phones, e-mail addresses and websites, and codes in words."""

import pytest

from portal.domain import facts
from portal.domain.contacts import email_link, phone_link, website_link


@pytest.mark.parametrize(
    "phone, country, link",
    [
        ("12345678", "dk", "tel:+4512345678"),
        ("22 33 44 55", "no", "tel:+4722334455"),
        ("+46 8 123", "no", "tel:+468123"),
        ("none", "dk", None),
        ("12345678", "se", None),
    ],
)
def test_a_phone_link_has_the_calling_code(phone: str, country: str, link: str | None) -> None:
    assert phone_link(phone, country) == link


@pytest.mark.parametrize(
    "address, link",
    [
        ("post@example.com", "mailto:post@example.com"),
        ("ø+1@example.com", "mailto:%C3%B8%2B1@example.com"),
        ("post@example.com?subject=x", None),
        ("a@b@example.com", None),
        ("javascript:alert(1)//@example.com", None),
        ("post", None),
    ],
)
def test_an_email_link_is_one_address(address: str, link: str | None) -> None:
    assert email_link(address) == link


@pytest.mark.parametrize(
    "text, link",
    [
        ("www.example.com", "https://www.example.com"),
        ("example.com:8080/a?b#c", "https://example.com:8080/a?b#c"),
        ("http://example.com", "http://example.com"),
        ("HTTPS://Example.com/", "HTTPS://Example.com/"),
        ("blåbær.example", "https://blåbær.example"),
        ("javascript:alert(1)", None),
        ("java.script:alert(1)", None),
        ("data:text/html,<script>", None),
        ("//example.com", None),
        ("https://user@example.com", None),
        ("https://example.com/ onclick=", None),
        ("post@example.com", None),
        ("none", None),
        ("", None),
    ],
)
def test_a_website_link_is_of_the_web(text: str, link: str | None) -> None:
    assert website_link(text) == link


def test_a_code_without_a_word_is_shown_as_it_is() -> None:
    assert facts.role("new_role").name == "New role"
    assert facts.roles(["owner", "new_role", "owner", None]) == [facts.role("owner")]
    assert facts.form("dk", "999") == ""
