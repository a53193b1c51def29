"""Headers of columns in English, Danish and Norwegian, as lists of companies have them.

A header that is not known as a whole is read part by part: `CVR/Org.nr.`, `Org.nr (NO)`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple, get_args

from company_registry.models import SearchType

#: The type of a term, `search` for one to be inferred, or the country.
COUNTRY: Final = "country"
SEARCH: Final = "search"

_ADDRESSES: Final = (
    "address streetaddress businessaddress visitingaddress companyaddress adresse adr gadeadresse"
    " gateadresse forretningsadresse besøksadresse beliggenhedsadresse firmaadresse kundeadresse"
    " forretningsadresseadresse fadresse adressetekst streetandnumber"
    " streetandhousenumber adressepostnrby adressepostnrogby adressepostnrpoststed"
    " adressepostnrogpoststed adressepostnummerogby adressepostnummerogpoststed"
)
#: The first of several lines.
_FIRST_LINES: Final = (
    "addressline1 address1 adresselinje1 adresse1 adrlinje1 adr1 addr1 addressline"
)
_STREETS: Final = "vejnavn vej gadenavn gade gatenavn gate veinavn vei streetname street"

#: Headers in lower case without spaces and punctuation. The first type that a file has is looked
#: up by, unless the caller chooses.
HEADERS: Final[dict[str, str]] = {
    "vat": "vat vatno vatnr vatnumber vatid registrationno registrationnumber companynumber"
    " companyregistrationnumber organisationnumber organizationnumber companygovno"
    " cvr cvrnr cvrnummer cvrno cvrnumber cvrsenr cvrsenummer"
    " momsnr momsnummer senr senummer virksomhedsnr virksomhedsnummer virksomhedscvr"
    " virksomhedscvrnummer momsregnr momsregistreringsnummer mvaregistreringsnummer"
    " org organisasjonsno organisationsno organisationno organizationno taxid taxno taxnumber"
    " orgno orgnr orgnummer organisasjonsnummer organisasjonsnr organisationsnummer"
    " organisationsnr foretaksnummer foretaksnr mvanr mvanummer",
    "produ": "produ productionunit productionunitnumber pnr pnummer pnumber produktionsenhed"
    " produktionsenhedsnummer underenhet underenhetsnummer bedriftsnummer bedriftsnr",
    "ean": "ean eannr eannummer eannumber eanlokationsnummer gln glnnr glnnummer lokationsnummer"
    " lokasjonsnummer",
    "phone": "phone phoneno phonenumber telephone telephonenumber tel mobile mobilephone"
    " mobilenumber companyphone telefon telefonnr telefonnummer tlf tlfnr tlfnummer"
    " telefon1 tlf1 mobil mobiltlf mobiltelefon mobilnr mobilnummer",
    "name": "companyname businessname legalname organisationname organizationname company"
    " customername suppliername"
    " firmanavn firma virksomhedsnavn virksomhed selskabsnavn selskab selskapsnavn selskap"
    " foretaksnavn foretak bedriftsnavn bedrift organisasjonsnavn organisationsnavn"
    " kundenavn leverandørnavn debitornavn kreditornavn navnpåvirksomhed"
    " name navn name1 navn1 kontaktnavn"
    # May also hold the number of a customer: their cells decide.
    " kunde kundefirma debitor kreditor leverandør customer client supplier vendor account"
    " accountname",
    "address": f"{_ADDRESSES} {_FIRST_LINES}"
    f" {_STREETS} postadresse postaladdress mailingaddress fakturaadresse"
    " faktureringsadresse billingaddress",
    SEARCH: "search query term søg søgning søk søketekst",
    COUNTRY: "country countrycode countryname land landekode landkode landnavn",
}
TYPES: Final = (*get_args(SearchType), SEARCH)

#: Further headers of records to be matched, by their field.
_OF_RECORDS: Final = {
    "postal_code": "postalcode postcode zip zipcode postnr postnummer postkode poststednr"
    " forretningsadressepostnummer fadrpostnr fakturapostnr fakturapostnummer",
    "city": "city town postaltown by bynavn byby postby poststed postdistrikt sted stednavn"
    " forretningsadressepoststed fadrpoststed fakturaby fakturapoststed"
    " postnrby postnrogby postnummerby postnummerogby postnrsted postnrogsted postnrpoststed"
    " postnummerpoststed postnummerogpoststed postcodecity zipcity",
    "email": "email emailaddress emailadresse mail epost epostadresse mailadresse companyemail"
    " firmamail firmaemail",
    "website": "website websiteurl web webside webadresse webaddress homepage url domain www"
    " hjemmeside nettsted nettside netside domene domæne",
}
#: Fields of a record, by the type of a column.
_FIELDS: Final = {"vat": "number", "produ": "number", "phone": "phone", "name": "name"} | {
    "address": "address",
    COUNTRY: COUNTRY,
    SEARCH: "name",
}

#: The parts of an address after the street, in this order, if they have cells of their own.
_PARTS: Final = (
    "husnr husnummer husnrfra husnummerfra husnrnummer housenumber houseno housenr gatenr"
    " gatenummer vejnr veinr",
    "bogstav bogstavfra husbogstav bokstav husbokstav",
    "etage etasje floor",
    "dør sidedør sidedoer door",
    "addressline2 address2 adresselinje2 adresse2 adrlinje2 adr2 addr2",
    "addressline3 address3 adresselinje3 adresse3 adrlinje3 adr3",
)

_TYPE_OF: Final = {name: type_ for type_, names in HEADERS.items() for name in names.split()}


class Meaning(NamedTuple):
    """A field of a record to be matched."""

    field: str
    #: The place among the parts of one value; of several columns with part 0 one is taken.
    part: int
    #: The better one of two has the lower.
    rank: int


def _meanings() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    for type_, field in _FIELDS.items():
        for name in HEADERS[type_].split():
            found[name] = Meaning(field, 0, len(found))
    for field, names in _OF_RECORDS.items():
        for rank, name in enumerate(names.split()):
            found[name] = Meaning(field, 0, rank)
    for part, names in enumerate(_PARTS, start=1):
        for rank, name in enumerate(names.split()):
            found[name] = Meaning("address", part, rank)
    return found


_MEANINGS: Final = _meanings()


#: Between two names of a column, and between the words of one.
_APART: Final = re.compile(r"[/&+()\[\]\n]+|\b(?:og|eller|and|or)\b", re.IGNORECASE)
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_BETWEEN_WORDS: Final = re.compile(r"[\s_:*]+|(?<=[.])")
#: Words next to a header that say whose value or of which country it is, and no other meaning.
_BESIDE: Final = frozenset({
    "dk", "dnk", "danmark", "denmark", "dansk", "danske", "danish", "no", "nor", "norge", "noreg",
    "norway", "norsk", "norske", "norwegian", "da", "nb", "nn", "en", "kunde", "kundes",
    "kundens", "kunder", "debitor", "debitors", "kreditor", "leverandør", "leverandørs",
    "leverandørens", "customer", "customers", "client", "supplier", "vendor", "account", "firma",
    "firmaets", "company", "companys", "virksomhedens", "virksomhed", "selskabets", "selskapets",
    "selskab", "selskap", "bedriftens", "bedrift", "organisationens", "organisasjonens", "primær",
    "primært", "primary", "main", "hoved", "registreret", "registrert", "registered", "official",
    "officiel", "officielt", "offisiell", "offisielt", "gyldig", "valid",
})  # fmt: skip
#: Of several parts of an address, the first that a column has is what it holds.
_OF_ADDRESSES: Final = ("address", "city", "postal_code")
#: The second, third … column of a kind is worse than the first.
_FURTHER: Final = 1000


@lru_cache(maxsize=4096)
def type_of(header: str) -> str | None:
    """Returns the type of a column by its header; None for one of the caller's own."""
    meaning = meaning_of(header)
    for names in _readings(header):
        types = list(dict.fromkeys(_TYPE_OF[name] for name, _ in names if name in _TYPE_OF))
        if types:
            # A column of e-mail addresses or phone numbers is neither.
            is_one = len(types) == 1 and _FIELDS.get(types[0]) == (meaning and meaning.field)
            return types[0] if is_one and not (meaning and meaning.part) else None
    return None


@lru_cache(maxsize=4096)
def meaning_of(header: str) -> Meaning | None:
    """Returns what a column of a record holds by its header; None for one of the caller's own."""
    for names in _readings(header):
        found = [
            _MEANINGS[name]._replace(rank=_MEANINGS[name].rank + _FURTHER * further)
            for name, further in names
            if name in _MEANINGS
        ]
        fields = {each.field for each in found}
        if len(fields) == 1:
            return found[0]
        for field in _OF_ADDRESSES if fields.issubset(_OF_ADDRESSES) else ():
            # A town with its postal code is read as the town; both with a street as an address.
            if field in fields:
                return next(each for each in found if each.field == field)
    return None


def _readings(header: str) -> Iterator[list[tuple[str, int]]]:
    """Yields the names that a header may be, the likeliest reading first.

    A name has the number of further columns of its kind before it: `Firmanavn 2` has one.
    """
    yield [(_bare(header), 0)]
    outside = _IN_BRACKETS.sub(" ", header)
    yield [(_bare(outside), 0), _alone(outside)]
    yield [_alone(part) for part in _APART.split(header)]


def _alone(part: str) -> tuple[str, int]:
    words = [word for word in map(_bare, _BETWEEN_WORDS.split(part)) if word]
    own = [word for word in words if word not in _BESIDE] or words
    further = 0
    if len(own) > 1 and own[-1].isdecimal() and len(own[-1]) == 1:
        further = max(int(own.pop()) - 1, 0)
    return "".join(own), further


def is_street(header: str) -> bool:
    """Returns True for a street without its house number."""
    return _bare(header) in _STREETS.split()


def kind_of(header: str) -> str | None:
    """Returns what a header is known as, a field of a record or a type; None if it is not known."""
    meaning = meaning_of(header)
    return type_of(header) if meaning is None else meaning.field


def _bare(header: str) -> str:
    return "".join(letter for letter in header.lower() if letter.isalnum())
