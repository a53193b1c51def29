"""Registration numbers in other spaces of identifiers: prefixes, and addresses of pages.

| space | Denmark | Norway |
|---|---|---|
| org-id.guide | `DK-CVR-` | `NO-BRC-` |
| EUID (Implementing Regulation (EU) 2021/1042) | `DKCVR.` | `NOFOR.` |
| ETSI EN 319 412-1, 5.1.4 | `VATDK-`, `NTRDK-` | `VATNO-`, `NTRNO-`, `NTRNO-NOFOR.` |
| Peppol | `0184:`, `9902:`, `DK:CVR:` | `0192:`, `9908:`, `9909:`, `NO:ORGNR:` |
| GLEIF's registration authorities | `RA000170` | `RA000472`, `RA000473` |

The SE numbers of Peppol (`0198:`, `9904:`) identify no company, and are not read as one.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from common.domain.countries import FORMATS, Country


class Identifier(NamedTuple):
    """A number whose space says whose it is."""

    #: Empty for the address of a page without a number.
    digits: str
    country: Country
    is_unit: bool


#: Text that may precede the prefix of a space: a certificate's attribute, or a URN of Peppol.
_OUTER: Final = re.compile(
    r"(?:(?:oid\.)?2\.5\.4\.97|organizationidentifier)\s*=\s*"
    r"|(?:busdox-actorid-upis|iso6523-actorid-upis)::"
    r"|urn:oasis:names:tc:ebcore:partyid-type:iso6523:",
    re.IGNORECASE,
)
_SPACES: Final = tuple(
    (re.compile(rf"(?:{prefixes})\s*([0-9][0-9 .]*)(?:\s*MVA)?", re.IGNORECASE), country, is_unit)
    for prefixes, country, is_unit in (
        (
            r"DK-CVR[-:. ]|DKCVR[.:]|(?:VAT|NTR)DK[-:]|(?:0184|9902):+(?:DK)?"
            r"|DK:(?:CVR|DIGST):(?:DK)?|urn:dk:cvr:(?:virksomhed:)?|RA000170[-:/ ]",
            Country.DK,
            False,
        ),
        (
            r"NO-BRC[-:. ]|NOFOR[.:]|(?:VAT|NTR)NO[-:](?:NOFOR\.)?|(?:0192|9908|9909):+(?:NO)?"
            r"|NO:(?:ORGNR|ORG|VAT):(?:NO)?|RA00047[23][-:/ ]",
            Country.NO,
            False,
        ),
        (r"0096:+|DK:P:|urn:dk:cvr:produktionsenhed:", Country.DK, True),
    )
)

#: The hosts of pages of companies, with those below them, and their country; None for both.
_HOSTS: Final[dict[str, Country | None]] = {
    "datacvr.virk.dk": Country.DK,
    "cvr.dk": Country.DK,
    "cvrapi.dk": None,
    "proff.dk": Country.DK,
    "virksomhet.brreg.no": Country.NO,
    "data.brreg.no": Country.NO,
    "w2.brreg.no": Country.NO,
    "proff.no": Country.NO,
    "opencorporates.com": None,
}
_PAGE: Final = re.compile(
    r"(?:https?://)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?::[0-9]+)?/\S", re.IGNORECASE
)
_IN_PAGE: Final = re.compile(r"(?<![0-9a-z])[0-9]{8,10}(?![0-9a-z])", re.IGNORECASE)
_UNIT_PAGE: Final = re.compile(r"produktionsenhed|underenhet", re.IGNORECASE)
_COUNTRY_OF_PAGE: Final = re.compile(r"(?<![a-z])(dk|no)(?![a-z])", re.IGNORECASE)

#: Longer texts are no identifiers.
MAX_PAGE: Final = 300


def read_identifier(text: str) -> Identifier | None:
    """Returns the number of a text of one line in a space of identifiers; None for other texts."""
    if len(text) > MAX_PAGE:
        return None
    bare = text
    while outer := _OUTER.match(bare):
        bare = bare[outer.end() :]
    for form, country, is_unit in _SPACES:
        if found := form.fullmatch(bare):
            return Identifier(re.sub("[ .]", "", found[1]), country, is_unit)
    return _of_page(text)


def _of_page(text: str) -> Identifier | None:
    page = _PAGE.match(text)
    host = page[1].casefold() if page else ""
    known = next((each for each in _HOSTS if f".{host}".endswith(f".{each}")), None)
    if known is None:
        return None
    parts = urlsplit(text if "://" in text else f"//{text}")
    place = unquote(f"{parts.path}?{parts.query}#{parts.fragment}")
    stated = _COUNTRY_OF_PAGE.search(parts.path)
    country = _HOSTS[known] or (Country(stated[1].lower()) if stated else None)
    if country is None:
        return None
    is_unit = _UNIT_PAGE.search(place) is not None
    formats = FORMATS[country]
    length = formats.unit_digits if is_unit else formats.vat_digits
    numbers = {each for each in _IN_PAGE.findall(place) if len(each) == length}
    return Identifier(numbers.pop() if len(numbers) == 1 else "", country, is_unit)
