"""Headers of columns in English, Danish and Norwegian, as lists of companies have them."""

from typing import Final, NamedTuple, get_args

from company_registry.models import SearchType

#: The type of a term, `search` for one to be inferred, or the country.
COUNTRY: Final = "country"
SEARCH: Final = "search"

_ADDRESSES: Final = (
    "address streetaddress businessaddress visitingaddress companyaddress adresse adr gadeadresse"
    " gateadresse forretningsadresse besøksadresse beliggenhedsadresse firmaadresse kundeadresse"
    " forretningsadresseadresse fadresse adressetekst"
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
    " momsnr momsnummer senr senummer virksomhedsnummer virksomhedscvr virksomhedscvrnummer"
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
    " name navn name1 navn1 kontaktnavn",
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
    "email": "email emailaddress mail epost epostadresse mailadresse companyemail firmamail",
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


def type_of(header: str) -> str | None:
    """Returns the type of a column by its header; None for one of the caller's own."""
    return _TYPE_OF.get(_bare(header))


def meaning_of(header: str) -> Meaning | None:
    """Returns what a column of a record holds by its header; None for one of the caller's own."""
    return _MEANINGS.get(_bare(header))


def is_street(header: str) -> bool:
    """Returns True for a street without its house number."""
    return _bare(header) in _STREETS.split()


def kind_of(header: str) -> str | None:
    """Returns what a header is known as, a field of a record or a type; None if it is not known."""
    meaning = meaning_of(header)
    return type_of(header) if meaning is None else meaning.field


def _bare(header: str) -> str:
    return "".join(letter for letter in header.lower() if letter.isalnum())
