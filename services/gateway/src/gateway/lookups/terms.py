"""The form of each search term, checked and normalised, and the type inferred for a bare one.

docs/decisions.md (*Inferred searches*) has the order. The lookup service receives normalised terms
only.
"""

import re
from collections.abc import Callable, Iterable

from common.contracts.company import Country, Include
from common.contracts.lookup import LookupRequest, Question, SearchType
from common.domain.identifier_spaces import MAX_PAGE
from common.domain.numbers import (
    InvalidIdentifier,
    OtherNumber,
    parse_phone_number,
    parse_registration_number,
    parse_unit_number,
    read_participant,
)
from common.domain.written import (
    NumberType,
    PageWithoutNumber,
    ShortenedNumber,
    plain,
    plain_name,
    read_mailbox,
    read_number,
    read_site,
)

#: Answered by a search; every other type is one indexed read.
_SEARCHED = frozenset({SearchType.NAME, SearchType.ADDRESS, SearchType.EMAIL, SearchType.DOMAIN})
#: Read from many documents, of a large company.
_LONG = frozenset({Include.PRODUCTION_UNITS, Include.EINVOICING, Include.SUBSIDIARIES})

#: Minimum and maximum length, in characters after trimming.
NAME_LENGTH = (2, 200)
ADDRESS_LENGTH = (3, 300)

#: A term that matches several types is looked up by each, in this order.
NUMBERS = (SearchType.VAT, SearchType.PRODU, SearchType.PHONE, SearchType.EAN)
#: Maximum length of a text that is read as a number, and as an identifier with its scheme.
MAX_NUMBER, MAX_PASTED = MAX_PAGE, 200

#: The type of a number that its words name.
_NAMED = {
    NumberType.REGISTRATION: SearchType.VAT,
    NumberType.UNIT: SearchType.PRODU,
    NumberType.GLN: SearchType.EAN,
    NumberType.PHONE: SearchType.PHONE,
}

#: The ISO 6523 codes in use, so that a year before a colon does not match.
_SCHEME = re.compile(r"(?:iso6523-actorid-upis::)?(?:0[0-2]|99)[0-9]{2}:.*", re.IGNORECASE)
#: Markers required in a pasted identifier; `normalise` then checks its form.
_PASTED: tuple[tuple[SearchType, re.Pattern[str]], ...] = (
    (SearchType.PHONE, re.compile(r"[^0-9+]{0,20}(?:\+|00)\W*[0-9].*|[0-9\s()+./,;|&-]{16,}")),
    (SearchType.EAN, _SCHEME),
)  # fmt: skip

_POSTAL_CODE = re.compile(r"(?:^|[\s,;])(?:(?:DK|NO?)[-\s]?)?[0-9]{4}(?=[\s,;]|$)", re.IGNORECASE)
_STREET_AND_HOUSE = re.compile(r"[^\W\d]{2}[^,;]*?\s[0-9]{1,4}\s?[a-zæøå]?(?!\w)", re.IGNORECASE)
#: As systems of other countries write: `43 Prøvevej`.
_HOUSE_AND_STREET = re.compile(
    r"[0-9]{1,3}\s?[a-zæøå]?,?\s+[^\W\d][^\d,;]*(?:vej|vejen|gade|gaden|gate|gata|vei|veien|veg"
    r"|vegen|all[eé]|plads|pladsen|plass|plassen|stræde|torv|torvet|torg|torget|boulevard)\b"
    r"(?=$|[\s,;])",
    re.IGNORECASE,
)
#: Associations are often named after their address.
_ASSOCIATION = re.compile(
    r"\s*(?:\w/\w\b|\w*forening\w*\b|andelsbolig\w*\b|sameiet?\b|borettslaget?\b"
    r"|ejendomss\w+\b|eiendomss\w+\b)",
    re.IGNORECASE,
)


def takes_long(request: LookupRequest) -> bool:
    """Returns True for a lookup that must not delay lookups by number."""
    return (
        request.questions[0].type in _SEARCHED
        or not _LONG.isdisjoint(request.include)
        or request.as_of is not None
        or request.group_levels is not None
    )


class InvalidTerm(ValueError):
    """A term that cannot be searched for; the message states the right form."""


class OtherTerm(InvalidTerm):
    """A number of another country, or without some of its digits, as the message says."""


def normalise(search_type: SearchType, term: str, country: Country) -> str:
    """Returns the term in the register's form; raises InvalidTerm if it is not valid there."""
    try:
        return _NORMALISE[search_type](term, country)
    except OtherNumber as other:
        raise OtherTerm(str(other)) from None
    except InvalidIdentifier as invalid:
        raise InvalidTerm(str(invalid)) from None


def _phone(term: str, country: Country) -> str:
    try:
        return parse_phone_number(term, country)
    except OtherNumber:
        raise
    except InvalidIdentifier as invalid:
        raise InvalidTerm(f"{invalid} (in a URL, + is written %2B)") from None


def _ean(term: str, country: Country) -> str:
    identifier = read_participant(term)
    if identifier.country not in (None, country):
        raise OtherTerm(f"scheme {identifier.scheme} is not used in {country}")
    return str(identifier)


def _name(term: str, _country: Country) -> str:
    return _text(term, "a name", NAME_LENGTH)


def _address(term: str, _country: Country) -> str:
    return _text(term, "an address", ADDRESS_LENGTH)


def _email(term: str, _country: Country) -> str:
    contacts = read_mailbox(term)
    if contacts is None:
        raise InvalidTerm("an e-mail address is written as name@example.com")
    return contacts.mailbox


def _domain(term: str, _country: Country) -> str:
    domain = read_site(term)
    if not domain:
        raise InvalidTerm("a domain of a company is written as example.com")
    return domain


def _text(term: str, what: str, length: tuple[int, int]) -> str:
    trimmed = plain_name(term)
    shortest, longest = length
    if not shortest <= len(trimmed) <= longest:
        raise InvalidTerm(f"{what} is {shortest} to {longest} characters")
    return trimmed


_NORMALISE: dict[SearchType, Callable[[str, Country], str]] = {
    SearchType.VAT: parse_registration_number,
    SearchType.NAME: _name,
    SearchType.PRODU: parse_unit_number,
    SearchType.PHONE: _phone,
    SearchType.EAN: _ean,
    SearchType.ADDRESS: _address,
    SearchType.EMAIL: _email,
    SearchType.DOMAIN: _domain,
}


def infer(term: str, country: Country) -> tuple[Question, ...]:
    """Returns the searches for a bare term, in the order in which they are tried.

    Raises InvalidTerm if the text is not a valid name either, OtherTerm for a number of another
    country or without some of its digits.
    """
    return (
        _by_number(term, country)
        or _by_form(term, country)
        or _by_contact(term, country)
        or _by_address(term, country)
        or (_question(SearchType.NAME, term, country),)
    )


def _by_number(term: str, country: Country) -> tuple[Question, ...]:
    # A participant is looked up as one.
    if len(term) > MAX_NUMBER or _SCHEME.fullmatch(plain(term)):
        return ()
    try:
        written = read_number(term)
    except (ShortenedNumber, PageWithoutNumber) as unread:
        raise OtherTerm(str(unread)) from None
    except InvalidIdentifier:
        return ()
    types: tuple[SearchType, ...] = NUMBERS if written.type is None else (_NAMED[written.type],)
    # A unit has a registration number too, in Norway.
    if written.type is NumberType.REGISTRATION and country is Country.NO:
        types = (SearchType.VAT, SearchType.PRODU)
    return _valid(term, country, types if written.country is None else types[:2])


def _valid(term: str, country: Country, types: Iterable[SearchType]) -> tuple[Question, ...]:
    found, other = list[Question](), None
    for search_type in types:
        try:
            found.append(_question(search_type, term, country))
        except OtherTerm as invalid:
            other = other or invalid
        except InvalidTerm:
            continue
    if other and not found:
        raise other
    return tuple(found)


def _by_form(term: str, country: Country) -> tuple[Question, ...]:
    bare = plain(term)
    for search_type, form in _PASTED:
        is_form = len(bare) <= MAX_PASTED and form.fullmatch(bare)
        if is_form and (questions := _valid(term, country, (search_type,))):
            return questions
    return ()


def _by_contact(term: str, country: Country) -> tuple[Question, ...]:
    """Returns the search for an e-mail address, or that for a web site's domain and then a name.

    Some companies are named after their site; the domain of a provider is only a name.
    """
    if len(term) > NAME_LENGTH[1]:
        return ()
    if read_mailbox(term) is not None:
        return (_question(SearchType.EMAIL, term, country),)
    if read_site(term):
        types = (SearchType.DOMAIN, SearchType.NAME)
        return tuple(_question(each, term, country) for each in types)
    return ()


def _by_address(term: str, country: Country) -> tuple[Question, ...]:
    """Returns a search by address and one by name: some companies are named after theirs.

    The address is first if it has a postal code. With a house number alone it is second, and
    counts if no name matches well: `Bygg 24` may be either.
    """
    text = term.strip()
    # A longer text is not a valid term, and would be slow to match.
    if len(text) > ADDRESS_LENGTH[1] or _ASSOCIATION.match(text):
        return ()
    if is_address(text):
        types = [SearchType.ADDRESS, SearchType.NAME]
    elif _STREET_AND_HOUSE.search(text) or _HOUSE_AND_STREET.match(text):
        types = [SearchType.NAME, SearchType.ADDRESS]
    else:
        return ()
    if len(text) > NAME_LENGTH[1]:
        types.remove(SearchType.NAME)
    return tuple(_question(each, term, country) for each in types)


def is_address(term: str) -> bool:
    """Returns True for a street and house number with a postal code before or after them."""
    for code in _POSTAL_CODE.finditer(term):
        before, after = term[: code.start()], term[code.end() :]
        is_street = _STREET_AND_HOUSE.search(before) or _HOUSE_AND_STREET.match(before)
        if not any(map(str.isdigit, after)) and is_street:
            return True
        if not before.strip() and _STREET_AND_HOUSE.search(after.partition(",")[2]):
            return True
    return False


def _question(search_type: SearchType, term: str, country: Country) -> Question:
    return Question(type=search_type, term=normalise(search_type, term, country))
