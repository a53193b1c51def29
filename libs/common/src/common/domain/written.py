"""Identifiers, addresses and other values as people and spreadsheets write them.

Every surface reads with these functions and those of `numbers` and `participants`. They read what
is certain and refuse the rest: no text gives a number that differs from its digits, and a value
that cannot be read is never taken for an absent one.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from common.domain.countries import Country
from common.domain.identifier_spaces import Identifier, read_identifier


class InvalidIdentifier(ValueError):
    """The text does not have the identifier's form; the message states the right form."""


class ShortenedNumber(InvalidIdentifier):
    """The text is a number of which a spreadsheet shows the first digits only."""


class PageWithoutNumber(InvalidIdentifier):
    """The text is the address of a page of companies that has no number in it."""


class NumberType(StrEnum):
    """The type of a number, by the words around it."""

    REGISTRATION = "registration"
    UNIT = "unit"
    GLN = "gln"
    PHONE = "phone"


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """The digits of a text, and what its words say about them; None where they say nothing."""

    digits: str
    type: NumberType | None = None
    country: Country | None = None


#: Soft hyphens, marks of width, direction and joining, variation selectors, byte order marks.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
#: Wide forms of ASCII, as East Asian keyboards write them.
_WIDE: Final = {0xFF01 + place: 0x21 + place for place in range(0x5E)}
#: A character that HTML writes in words; an ampersand alone is one.
_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")

#: A spreadsheet shows such a text as no number: ="01234567".
_QUOTED: Final = re.compile(r'=?"([^"]*)"')
_DASHES: Final = re.compile("[‐-―]")

#: `4,10000E+07`: how a spreadsheet shows a number in a narrow column.
_SHORTENED: Final = re.compile(r"([0-9])(?:[.,]([0-9]+))?[eE]\+?([0-9]{1,2})")
_NUMBER: Final = re.compile(
    r"(?P<before>[^0-9+]*)(?P<digits>[0-9](?:[0-9 .,-]*[0-9])?)(?P<after>[^0-9+]*)"
)
_DECIMALS: Final = re.compile(r"([0-9](?:[0-9 .,]*[0-9])?)([.,])0+")
_THOUSANDS: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
_GROUPS: Final = re.compile(r"[ .-]+")
_DATE: Final = re.compile(
    r"[0-3]?[0-9] ?([.-]) ?[01]?[0-9] ?\1 ?(?:19|20)[0-9]{2}"
    r"|(?:19|20)[0-9]{2} ?([.-]) ?[01][0-9] ?\2 ?[0-3][0-9]"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
#: Characters that may stand between words and digits.
_PUNCTUATION: Final = re.compile(r"""[^\W\d_]+|[\s.,:;#°ºª№()\[\]<>/|*'"’“”☎✆📞📱-]+""")
_INITIALS: Final = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]\.){2,}")
_COMPOUND: Final = re.compile(r"([^\W\d_]+?)(?:nr|nummer|number|no)")

_MORE: Final = "there is more than a number in this text"
_NO: Final = "no"
#: Words that number something and say nothing more; `no` is one after a label or `id`.
_NUMBERING: Final = frozenset({"nr", "num", "nummer", "number", "numer", "n", "id", "kode", "code"})
#: By word, in lower case and without a compound's `nr` and `nummer`.
_LABELS: Final[dict[str, tuple[NumberType | None, Country | None]]] = {
    word: (type_, country)
    for words, type_, country in (
        ("cvr se virksomhed moms", NumberType.REGISTRATION, Country.DK),
        ("foretaksregisteret foretaksregister foretak mva", NumberType.REGISTRATION, Country.NO),
        ("enhetsregisteret organisasjon", NumberType.REGISTRATION, Country.NO),
        ("org organisation organization vat tva tax", NumberType.REGISTRATION, None),
        ("reg registrering registration registreret company business", None, None),
        ("p produktion produktionsenhed", NumberType.UNIT, Country.DK),
        ("underenhet bedrift", NumberType.UNIT, Country.NO),
        ("unit production", NumberType.UNIT, None),
        ("ean gln lokation lokasjon location", NumberType.GLN, None),
        ("tlf tel telefon telephone phone ph mobil mobile mob mobiltelefon mobiltlf t m direkte"
         " direct dir kontor office hovednummer cell", NumberType.PHONE, None),
        ("dk dnk danmark denmark dansk danish", None, Country.DK),
        ("nor norge noreg norway norsk norwegian", None, Country.NO),
    )
    for word in words.split()
}  # fmt: skip

_COUNTRIES: Final = {
    name: country
    for country, names in {
        Country.DK: "dk dnk denmark danmark dänemark kongerigetdanmark",
        Country.NO: "no nor norway norge noreg norwegen kongeriketnorge",
    }.items()
    for name in names.split()
}

#: Cells that say only that nothing is known, without blanks.
_PLACEHOLDERS: Final = frozenset({
    "na", "n/a", "nan", "null", "none", "nil", "tom", "ukendt", "ukjent", "unknown", "ingen",
    "intet", "mangler", "missing", "uoplyst", "ikkeoppgitt", "ikkeoplyst", "ikkerelevant", "tbd",
    "xx", "xxx", "#n/a", "#i/t", "#ref!", "#verdi!", "#værdi!", "#value!", "#name?", "#navn?",
    "#div/0!", "#null!",
})  # fmt: skip


def plain(text: str) -> str:
    """Returns the text on one line, without invisible marks and with ordinary blanks and ASCII."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text).translate(_WIDE)
    return " ".join(text.split())


def plain_name(text: str) -> str:
    """Returns a name or address without invisible marks and with the characters of HTML entities.

    Line breaks stay, since they divide the parts of an address.
    """
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return text.strip() if text.isascii() else _INVISIBLE.sub("", text).replace("\xa0", " ").strip()


def is_placeholder(text: str) -> bool:
    """Returns True for `?`, `N/A`, `-` and other cells that say only that nothing is known."""
    bare = plain(text).casefold().replace(" ", "").replace(".", "")
    return not any(map(str.isalnum, bare)) or bare in _PLACEHOLDERS


def read_country(text: str) -> Country | None:
    """Returns the country with a code or name; None for another one."""
    return _COUNTRIES.get(plain(text).casefold().rstrip(".").replace(" ", ""))


def read_number(text: str) -> WrittenNumber:
    """Returns the number that is all of a text, but for words that say what it is.

    Raises InvalidIdentifier.
    """
    if text.isascii() and text.isdecimal():
        return WrittenNumber(text)
    bare = _bare(text)
    if identifier := read_identifier(bare):
        return _identified(identifier)
    if shortened := _SHORTENED.fullmatch(bare):
        return WrittenNumber(_whole(*shortened.groups("")))
    match = _NUMBER.fullmatch(bare)
    if match is None:
        raise InvalidIdentifier("this is no single number")
    type_, country = _labelled(match["before"], match["after"])
    return WrittenNumber(_joined(match["digits"]), type_, country)


def _identified(identifier: Identifier) -> WrittenNumber:
    if not identifier.digits:
        raise PageWithoutNumber("the address of this page has no number of a company in it")
    type_ = NumberType.UNIT if identifier.is_unit else NumberType.REGISTRATION
    return WrittenNumber(identifier.digits, type_, identifier.country)


def _bare(text: str) -> str:
    bare = _DASHES.sub("-", plain(text)).removeprefix("'")
    quoted = _QUOTED.fullmatch(bare)
    return quoted[1].strip() if quoted else bare


def _whole(first: str, decimals: str, exponent: str) -> str:
    if len(decimals) != int(exponent):
        raise ShortenedNumber("a spreadsheet has shortened this number: its last digits are lost")
    return first + decimals


def _joined(text: str) -> str:
    match = _DECIMALS.fullmatch(text)
    # The last group of 12.34.56.00 is part of the number, as its mark also divides the others.
    if match and match[2] not in match[1]:
        text = match[1]
    if "," in text:
        if not _THOUSANDS.fullmatch(text):
            raise InvalidIdentifier("this is a number with decimals, or several numbers")
        return text.replace(",", "")
    groups = _GROUPS.split(text)
    if _DATE.fullmatch(text):
        raise InvalidIdentifier("this is a date")
    if "." in text and not _is_grouped(text, [len(group) for group in groups]):
        raise InvalidIdentifier("this is a number with decimals")
    return "".join(groups)


def _is_grouped(text: str, lengths: Sequence[int]) -> bool:
    if text.count(".") == 1:
        is_last = not _GROUPS.search(text.partition(".")[2])
        return not is_last or lengths == [4, 4]
    first, *middle, last = lengths
    is_amount = first <= 3 and set(middle) == {3} and last != 3
    return not is_amount and first <= 4 and all(2 <= each <= 4 for each in (*middle, last))


def _labelled(before: str, after: str) -> tuple[NumberType | None, Country | None]:
    types, countries = set[NumberType](), set[Country]()
    for text, is_before in ((before, True), (after, False)):
        if _PUNCTUATION.sub("", text):
            raise InvalidIdentifier(_MORE)
        words = _WORD.findall(_INITIALS.sub(_without_stops, text.casefold()))
        for place, word in enumerate(words):
            earlier = words[place - 1] if place else ""
            type_, country = _meaning(earlier, word, is_before=is_before)
            types |= {type_} if type_ else set()
            countries |= {country} if country else set()
    if len(types) > 1 or len(countries) > 1:
        raise InvalidIdentifier("its words contradict each other")
    return next(iter(types), None), next(iter(countries), None)


def _without_stops(initials: re.Match[str]) -> str:
    return initials[0].replace(".", "") + " "


def _meaning(
    earlier: str, word: str, *, is_before: bool
) -> tuple[NumberType | None, Country | None]:
    if word == _NO and is_before:
        is_number = earlier in _LABELS or earlier == "id"
        return None, None if is_number else Country.NO
    if word in _NUMBERING:
        return None, None
    compound = _COMPOUND.fullmatch(word)
    stem = compound[1] if compound else word
    for each in (word, stem, stem.removesuffix("s")):
        if each in _LABELS:
            return _LABELS[each]
    raise InvalidIdentifier(_MORE)


_POSTAL_CODE: Final = re.compile(
    r"(?:(?:dk|no?)[\s-]*)?(?:([0-9]{4})|([0-9]{2,3}))(?:[.,]0+)?", re.IGNORECASE
)
#: The lowest code that a spreadsheet shortens to three digits, or two.
_LOWEST: Final = {Country.DK: 500, Country.NO: 1}


def read_postal_code(text: str, country: Country) -> str | None:
    """Returns the postal code of `159`, `159.0`, `NO-0159` and the like; None for another text."""
    match = _POSTAL_CODE.fullmatch(plain(text))
    if match is None:
        return None
    if match[1]:
        return match[1]
    return match[2].zfill(4) if int(match[2]) >= _LOWEST[country] else None


_MAIL: Final = re.compile(r"[^\s<>,;:\"'()\[\]@]+@[^\s<>,;:\"'()\[\]@]+")
_BRACKETED: Final = re.compile(r"<([^<>]*)>")
_BETWEEN_MAILS: Final = re.compile(r"[\s,;]+")
_MAILTO: Final = re.compile("mailto:", re.IGNORECASE)


def read_email(text: str) -> str | None:
    """Returns the first e-mail address of `Name <mail@example.com>` and the like."""
    bare = _MAILTO.sub("", plain(text), count=1)
    bracketed = map(str.strip, _BRACKETED.findall(bare))
    parts = list(filter(_MAIL.fullmatch, bracketed)) or _BETWEEN_MAILS.split(bare.strip(" ,;."))
    return parts[0] if all(map(_MAIL.fullmatch, parts)) else None


#: A Danish or Norwegian personal number as it is written: the date of birth comes first.
_PERSONAL: Final = re.compile(
    r"(?:[0-2][0-9]|3[01]|[4-7][0-9])(?:0[1-9]|1[0-2]|[4589][0-9])[0-9]{2}"
    r"(?: ?- ?[0-9]{4}|[ -]?[0-9]{5})"
)


def is_personal_number(text: str) -> bool:
    """Returns True for `010170-1234`, and for the eleven digits of a Norwegian personal number.

    The words around it do not count.
    """
    found = _NUMBER.fullmatch(_bare(text))
    return found is not None and _PERSONAL.fullmatch(found["digits"]) is not None


#: Providers of e-mail and pages whose domain is not that of the company.
SHARED: Final = frozenset({
    "gmail.com", "googlemail.com", "hotmail.com", "hotmail.dk", "hotmail.no", "hotmail.co.uk",
    "live.com", "live.dk", "live.no", "outlook.com", "outlook.dk", "outlook.no", "msn.com",
    "yahoo.com", "yahoo.dk", "yahoo.no", "yahoo.co.uk", "icloud.com", "me.com", "mac.com",
    "mail.dk", "mail.com", "tele.dk", "tdcadsl.dk", "tdcspace.dk",
    "webspeed.dk", "stofanet.dk", "jubii.dk", "ofir.dk", "sol.dk", "privat.dk", "email.dk",
    "post.no", "online.no", "broadpark.no", "frisurf.no", "start.no", "getmail.no", "c2i.net",
    "lyse.net", "altibox.no", "epost.no", "protonmail.com", "proton.me", "gmx.com", "gmx.net",
    "facebook.com", "instagram.com", "linkedin.com", "linktr.ee", "wordpress.com", "wixsite.com",
    "simplesite.com", "business.site", "github.io", "blogspot.com", "mono.net", "proff.no",
})  # fmt: skip
#: Public suffixes of two labels, below which the company's own label is the third.
_SECOND_LEVEL: Final = frozenset({"co.uk", "com.au", "co.nz", "co.jp", "co.no", "co.dk"})
#: A scheme has no dot here, unlike a host before a port.
_HOST = re.compile(r"(?:[a-z][a-z0-9+-]*:)?(?://)?(?:[^/@]*@)?([^/:?#\s]+)", re.IGNORECASE)
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
