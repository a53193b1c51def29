"""E-mail addresses and web sites of companies, by which they are matched and found."""

import re
from typing import Final, NamedTuple

from common.domain.written import plain, read_email

#: Providers whose domain is not the company's.
SHARED: Final = frozenset({
    "gmail.com", "googlemail.com", "hotmail.com", "hotmail.dk", "hotmail.no", "hotmail.co.uk",
    "live.com", "live.dk", "live.no", "outlook.com", "outlook.dk", "outlook.no", "msn.com",
    "yahoo.com", "yahoo.dk", "yahoo.no", "yahoo.co.uk", "icloud.com", "me.com", "mac.com",
    "mail.dk", "mail.com", "mail.tele.dk", "post.tele.dk", "tdcadsl.dk", "tdcspace.dk",
    "webspeed.dk", "stofanet.dk", "jubii.dk", "ofir.dk", "sol.dk", "privat.dk", "email.dk",
    "post.no", "online.no", "broadpark.no", "frisurf.no", "start.no", "getmail.no", "c2i.net",
    "lyse.net", "altibox.no", "epost.no", "protonmail.com", "proton.me", "gmx.com", "gmx.net",
    "facebook.com", "instagram.com", "linkedin.com", "linktr.ee", "wordpress.com", "wixsite.com",
    "simplesite.com", "business.site", "github.io", "blogspot.com", "mono.net", "proff.no",
})  # fmt: skip
#: Public suffixes of two labels, below which the company's own label is the third.
_SECOND_LEVEL: Final = frozenset({"co.uk", "com.au", "co.nz", "co.jp", "co.no", "co.dk"})
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/@]*@)?([^/:?#\s]+)", re.IGNORECASE)
#: A host with a top-level domain of letters, as people write it, and the rest of an address.
_SITE = re.compile(
    r"(?:https?://)?(?:[^\W_](?:[\w-]*[^\W_])?\.)+[a-z]{2,24}(?::[0-9]{1,5})?(?:[/?#]\S*)?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?!-)[a-z0-9æøåäö-]{1,63}(?<!-)")
_MAX = 253


class Contacts(NamedTuple):
    """An e-mail address, and the domains that are a company's own."""

    mailbox: str = ""
    email_domain: str = ""
    website_domain: str = ""

    @property
    def domains(self) -> frozenset[str]:
        """The domains of its own."""
        return frozenset(filter(None, (self.email_domain, self.website_domain)))

    @property
    def terms(self) -> list[str]:
        """The values by which the index finds the company."""
        return sorted({*self.domains, *filter(None, [self.mailbox])})


def read_mailbox(text: str) -> Contacts | None:
    """Returns an e-mail address, alone, as a link or behind a name; None if the text is none."""
    contacts = read_contacts(text, None)
    return contacts if contacts.mailbox else None


def read_site(text: str) -> str:
    """Returns the domain of a web site that is a company's own; empty if the text is none."""
    return _own(_domain(plain(text))) if _SITE.fullmatch(plain(text)) else ""


def read_contacts(email: str | None, website: str | None) -> Contacts:
    """Returns the mailbox and domains of an e-mail address and a web site; empty if invalid."""
    mailbox, email_domain = _mail(email or "")
    return Contacts(mailbox, email_domain, _own(_domain(website or "")))


def _mail(email: str) -> tuple[str, str]:
    name, _, host = (read_email(email) or "").casefold().partition("@")
    domain = _domain(host)
    return (f"{name}@{domain}", _own(domain)) if domain else ("", "")


def _own(domain: str) -> str:
    return "" if domain in SHARED else domain


def _domain(url: str) -> str:
    found = _HOST.match(url.strip().casefold()[:_MAX])
    labels = found[1].rstrip(".").split(".") if found else []
    if len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdecimal():
        return ""
    count = 3 if ".".join(labels[-2:]) in _SECOND_LEVEL else 2
    return ".".join(labels[-count:])
