"""How far a record and a company agree, and how likely they are the same (ADR 0052).

`WEIGHTS` maps a feature to the change of the logarithm of the odds that a candidate, and not no
company, is the company of the record. A feature without a weight counts nothing: no record of the
samples told trade names apart. `python -m bench.learn_match` learnt the weights from the records of
half of 3,440 real Norwegian and 599 real Danish companies among 15,000 invented ones. The results
for the other half are in `bench/results/decisions.md`. `other_figures` is not learnt, as the
records have few: with it the same name at the same address is for review, and without the address
nothing.

A record is read as the register of one country would have it. Spreadsheets mix up their columns: a
postal code is read next to its town or in its place, and an invalid number as a phone number.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from common.contracts.company import Country, Status
from common.contracts.match import MatchEvidence, MatchRecord, WeighedCompany
from common.domain.numbers import (
    InvalidIdentifier,
    LostZero,
    parse_phone_numbers,
    parse_registration_number,
    parse_unit_number,
    registered_phone,
    registration_number_checks,
)
from common.domain.written import Contacts, read_contacts, read_postal_code
from lookup.search.address_scoring import ACCEPTED_ADDRESS, address_score, town_similarity
from lookup.search.addresses import ParsedAddress, fold_town, parsed_addresses, read_address
from lookup.search.folding import cut, fold_name_and_form, fold_text, form_of
from lookup.search.indexed_company import NameType, addresses_of, names_of
from lookup.search.scoring import Name, Query, Weigh, has_another_figure, match_name, read_query
from lookup.search.similarity import EXACT, edits_between, similarity
from register_store.documents import FOREIGN_FORM

_POSTAL_CODE = re.compile(r"(?<!\d)(?:(?:dk|no|n)[-\s]?)?(\d{4})(?!\d)", re.IGNORECASE)
#: Minimum letters and digits of a foreign postal code.
_MIN_CODE = 4
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")


class ReadRecord(NamedTuple):
    """A record in the form that is compared; absent parts are empty."""

    name: Query | None
    #: A registration number, and a production unit's.
    number: str
    unit: str
    phones: tuple[str, ...]
    contacts: Contacts
    #: The readings of the address, the likeliest first.
    addresses: tuple[ParsedAddress, ...]
    postal_code: str
    #: A postal code of another form, folded, as it is in foreign addresses.
    foreign_code: str
    town: str
    #: True if the number has the zero that a spreadsheet dropped from the record's.
    is_assumed: bool = False
    #: The fields with a value that cannot be read.
    unread: tuple[str, ...] = ()


class _Numbers(NamedTuple):
    """The numbers of a record; its number and its phone number may have changed places."""

    number: str
    unit: str
    phones: tuple[str, ...]
    is_assumed: bool
    unread: tuple[str, ...]


def read_record(record: MatchRecord, country: Country) -> ReadRecord:
    """Returns what the record says to the register of a country."""
    numbers, contacts = _numbers(record, country), read_contacts(record.email, record.website)
    unread = numbers.unread + (("email",) if record.email and not contacts.mailbox else ())
    address, city = _in_place(record.address or "", record.city or "")
    postal_code, town = _place(record.postal_code or "", city, country)
    addresses = read_address(_address(address, postal_code, town)) if address else ()
    if addresses and not postal_code and not town:
        first = addresses[0]
        postal_code, town = first.postal_code, next(iter(first.towns), "")
    name = read_query(cut(record.name), country) if record.name else None
    return ReadRecord(
        name if name is not None and name.name.words else None,
        numbers.number,
        numbers.unit,
        numbers.phones,
        contacts,
        addresses,
        postal_code,
        "" if postal_code else _read_foreign_code(record.postal_code or ""),
        fold_town(town) if town else "",
        numbers.is_assumed,
        unread,
    )


def _numbers(record: MatchRecord, country: Country) -> _Numbers:
    one, other = record.number or "", record.phone or ""
    (number, is_assumed), (swapped, is_guess) = (
        _read_number(one, country),
        _read_number(other, country),
    )
    unit, of_number, of_phone = _unit(one, country), _phones(one, country), _phones(other, country)
    checks = registration_number_checks(number, country)
    is_swapped = not checks and not is_guess and registration_number_checks(swapped, country)
    if is_swapped:
        number, phones = swapped, of_number or of_phone
    else:
        phones = of_phone or (() if checks else of_number)
    if record.country is None and not checks and not is_swapped:
        # Eight digits are a Danish number or a phone number of either country.
        number = ""
    is_phone = bool(of_number) and phones == of_number
    unread = []
    if one and not (unit or is_phone or (number and not is_swapped)):
        unread.append("number")
    if other and not (of_phone or is_swapped):
        unread.append("phone")
    return _Numbers(number, unit, phones, is_assumed and checks, tuple(unread))


def _read_number(text: str, country: Country) -> tuple[str, bool]:
    try:
        return parse_registration_number(text, country), False
    except LostZero as lost:
        return lost.number, True
    except InvalidIdentifier:
        return "", False


def _unit(text: str, country: Country) -> str:
    try:
        return parse_unit_number(text, country)
    except InvalidIdentifier:
        return ""


def _phones(text: str, country: Country) -> tuple[str, ...]:
    try:
        return parse_phone_numbers(text, country)
    except InvalidIdentifier:
        return ()


def _in_place(address: str, city: str) -> tuple[str, str]:
    """Returns the address and town, also if they changed places: a town has no house number."""
    is_town = bool(address) and not _DIGIT.search(address)
    is_address = _DIGIT.search(_POSTAL_CODE.sub("", city))
    return (city, address) if is_town and is_address else (address, city)


def _place(postal_code: str, city: str, country: Country) -> tuple[str, str]:
    if whole := read_postal_code(postal_code, country):
        postal_code = whole
    texts = [text for text in (postal_code, city) if text]
    code = next((found[1] for text in texts if (found := _POSTAL_CODE.search(text))), "")
    towns = (_POSTAL_CODE.sub(" ", text).strip(" ,;-") for text in reversed(texts))
    return code, next((" ".join(town.split()) for town in towns if _LETTER.search(town)), "")


def _read_foreign_code(text: str) -> str:
    key = fold_text(cut(text)).key
    return key if len(key) >= _MIN_CODE and _DIGIT.search(key) else ""


def _address(address: str, postal_code: str, town: str) -> str:
    place = " ".join(filter(None, (postal_code, town)))
    if not place or (postal_code and postal_code in address):
        return cut(address)
    return cut(f"{address}, {place}")


_NUMBERS = re.compile(r"\d+")
#: Maximum names of a company that are compared.
_MAX_NAMES: Final = 12

#: Agreement in part: a digit of the number is wrong, only the domain is the same, the postal codes
#: begin with the same two digits or one.
_NEAR_NUMBER, _SAME_DOMAIN, _SAME_REGION, _SAME_PART = 60.0, 80.0, 50.0, 25.0

#: Fields that are compared by similarity.
_PLACES: Final = frozenset({"address", "city"})

#: Agreement that sister companies have, `Prøven 2` and `Prøven 3`: it tells nothing where a figure
#: in the name differs, nor does a number with a typo.
_SHARED: Final = frozenset({
    "number_near", "phone_same", "email_same", "email_near", "website_same",
})  # fmt: skip

#: The features that are weighed, by name; `bias` is 1 for every candidate.
Features = Mapping[str, float]


class NumberMatches(NamedTuple):
    """Matches of a record that the JSON of a company does not show."""

    #: True if the phone number of the record is the company's or one of its units'.
    has_phone: bool = False
    #: True if the number of the record is that of one of its units.
    has_unit: bool = False


#: No numbers match.
NO_NUMBERS: Final = NumberMatches()


class Comparison(NamedTuple):
    """A record and a company, compared."""

    evidence: MatchEvidence
    features: Features


class _NameComparison(NamedTuple):
    """The best of a company's names."""

    #: As `match_name` scores it, and by letters alone.
    score: float
    letters: float
    type: NameType
    text: str
    #: True if a figure of the record's name makes it another name.
    is_other: bool = False


def compare(
    record: ReadRecord,
    company: Mapping[str, Any],
    weigh: Weigh,
    numbers: NumberMatches = NO_NUMBERS,
) -> Comparison:
    """Returns how far a record and a company's JSON agree."""
    country = Country(company["country"])
    addresses = [
        parsed for one in addresses_of(company) for parsed in parsed_addresses(one, home=country)
    ]
    places = frozenset(word for one in addresses for word in _place_words(one))
    name = None if record.name is None else _best_name(record.name, company, weigh, places)
    scores = [address_score(one, other) for one in record.addresses for other in addresses]
    evidence = MatchEvidence(
        name=None if name is None else round((name.score + name.letters) / 2, 1),
        number=_number(record, company["vat"], numbers),
        address=round(max(scores), 1) if scores else None,
        postal_code=_postal_code(record, addresses),
        city=_city(record, addresses, company),
        phone=_phone(record, company, country, numbers),
        **_contacts(record, company),
    )
    features = {"bias": 1.0, **_of_name(record, name, weigh), **_of_fields(evidence)}
    features |= _of_status(company)
    if name is not None and name.is_other and evidence.number != EXACT:
        features = {key: value for key, value in features.items() if key not in _SHARED}
        features["other_figures"] = 1.0
    return Comparison(evidence, features)


def _place_words(address: ParsedAddress) -> Iterable[str]:
    yield address.postal_code
    for town in address.towns:
        yield from town.split(" ")


def _best_name(
    query: Query, company: Mapping[str, Any], weigh: Weigh, places: frozenset[str]
) -> _NameComparison:
    found = []
    for text, type_ in names_of(company)[:_MAX_NAMES]:
        folded, _ = fold_name_and_form(text)
        if folded.words:
            # The type of the name is a feature of its own.
            name = Name(NameType.CURRENT, folded, text)
            match = match_name(query, name, 0, weigh)
            names = filter(None, (query.name, query.without_initials))
            letters = round(max(similarity(each, folded) for each in names), 1)
            is_other = not match.accepted and has_another_figure(
                query, name._replace(places=places)
            )
            found.append(_NameComparison(match.score, letters, type_, text, is_other))
    # Of equal names the current one, which is the first.
    return max(found, key=lambda one: (not one.is_other, one.score, one.letters))


def _of_name(record: ReadRecord, name: _NameComparison | None, weigh: Weigh) -> dict[str, float]:
    if record.name is None or name is None:
        return {"no_name": 1.0}
    score, letters = name.score / EXACT, name.letters / EXACT
    rarity = min(3.0, sum(map(weigh, record.name.name.tokens))) / 3
    numbers = (set(_NUMBERS.findall(text)) for text in (record.name.text, name.text))
    form = form_of(name.text)
    return {
        "name": score,
        "name_high": max(0.0, score - 0.85) / 0.15,
        "letters": letters,
        "letters_high": max(0.0, letters - 0.8) / 0.2,
        "exact": float(name.score == EXACT),
        "rarity": rarity,
        "exact_and_rare": rarity * (name.score == EXACT),
        "other_numbers": float(len(set(map(frozenset, numbers))) > 1),
        "same_form": float(bool(form) and form == record.name.form),
        "other_form": float(bool(form and record.name.form) and form != record.name.form),
        "trade_name": float(name.type is NameType.TRADE),
        "former_name": float(name.type is NameType.FORMER),
    }


def _of_fields(evidence: MatchEvidence) -> dict[str, float]:
    """Returns the agreement of each field that both have: whole, partial or none."""
    found: dict[str, float] = {}
    for field, value in evidence:
        if value is None or field == "name":
            continue
        if value == EXACT or (field in _PLACES and value >= ACCEPTED_ADDRESS):
            found[f"{field}_same"] = value / EXACT
        elif value == 0.0 or field in _PLACES:
            found[f"{field}_other"] = 1.0
        else:
            found[f"{field}_near"] = value / EXACT
    return found


def _of_status(company: Mapping[str, Any]) -> dict[str, float]:
    form = company.get("form") or {}
    found = {"foreign": 1.0} if form.get("code") == FOREIGN_FORM else {}
    if company["status"] != Status.ACTIVE:
        found["ended" if company["status"] == Status.ENDED else "winding_up"] = 1.0
    return found


def _number(record: ReadRecord, vat: str, numbers: NumberMatches) -> float | None:
    if numbers.has_unit:
        return EXACT
    if not record.number:
        return None
    if record.number == vat:
        return EXACT
    return _NEAR_NUMBER if edits_between(record.number, vat, 1) <= 1 else 0.0


def _postal_code(record: ReadRecord, addresses: list[ParsedAddress]) -> float | None:
    if record.foreign_code:
        return _foreign_code(record.foreign_code, addresses)
    codes = [one.postal_code for one in addresses if one.postal_code]
    if not record.postal_code or not codes:
        return None
    if record.postal_code in codes:
        return EXACT
    begins = {one[:length] for one in codes for length in (1, 2)}
    if record.postal_code[:2] in begins:
        return _SAME_REGION
    return _SAME_PART if record.postal_code[:1] in begins else 0.0


def _foreign_code(code: str, addresses: list[ParsedAddress]) -> float | None:
    if not addresses:
        return None
    return EXACT if any(one.whole and code in one.whole.key for one in addresses) else 0.0


def _city(
    record: ReadRecord, addresses: list[ParsedAddress], company: Mapping[str, Any]
) -> float | None:
    towns = [town for one in addresses for town in one.towns]
    towns += [
        fold_town(municipality)
        for one in addresses_of(company)
        if (municipality := one.municipality)
    ]
    if record.town and any(one.whole and record.town in one.whole.words for one in addresses):
        return EXACT
    if not record.town or not towns:
        return None
    return round(town_similarity((record.town,), tuple(towns)), 1)


def _phone(
    record: ReadRecord, company: Mapping[str, Any], country: Country, numbers: NumberMatches
) -> float | None:
    if not record.phones:
        return None
    texts = (company.get("phone"), company.get("fax"))
    phones = {registered_phone(text, country) for text in texts if text}
    if numbers.has_phone or not phones.isdisjoint(record.phones):
        return EXACT
    return 0.0 if phones else None


def _contacts(record: ReadRecord, company: Mapping[str, Any]) -> dict[str, float | None]:
    asked = record.contacts
    own = read_contacts(company.get("email"), company.get("website"))
    email = website = None
    if asked.mailbox and own.mailbox == asked.mailbox:
        email = EXACT
    elif asked.email_domain and own.domains:
        email = _SAME_DOMAIN if asked.email_domain in own.domains else 0.0
    if asked.website_domain and own.domains:
        website = EXACT if asked.website_domain in own.domains else 0.0
    return {"email": email, "website": website}


_DIGITS = 4

WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({
    "bias": -9.23,
    "no_name": 5.64,
    "name": 3.71,
    "name_high": -1.52,
    "letters": 7.01,
    "letters_high": 3.45,
    "exact": -0.07,
    "rarity": 1.84,
    "exact_and_rare": 2.46,
    "other_numbers": -1.55,
    "other_figures": -9.0,
    "same_form": -0.01,
    "other_form": -2.91,
    "former_name": -3.75,
    "number_same": 11.62,
    "number_near": 2.25,
    "number_other": -3.09,
    "address_same": 0.66,
    "address_other": -0.88,
    "postal_code_same": 2.23,
    "postal_code_near": -1.98,
    "postal_code_other": -1.23,
    "city_same": 1.29,
    "city_other": -1.54,
    "phone_same": 9.96,
    "phone_other": -1.78,
    "email_same": 9.59,
    "email_near": 10.87,
    "email_other": -2.64,
    "website_same": 9.75,
    "website_other": -1.48,
    "ended": -5.48,
    "winding_up": -3.64,
    "foreign": -5.85,
})  # fmt: skip


def log_odds(features: Features) -> float:
    """Returns the logarithm of the odds that a candidate, and not no company, is meant."""
    return sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())


class CandidateCompany(NamedTuple):
    """A company's stored JSON, and its numbers that match the record."""

    core: bytes
    numbers: NumberMatches = NO_NUMBERS


class Weighed(NamedTuple):
    """The companies that a record may be."""

    #: The likeliest first.
    ranked: Sequence[WeighedCompany]
    #: The company with the record's number, and of the others the one whose name agrees best.
    numbered: WeighedCompany | None
    named: WeighedCompany | None


def weighed(record: ReadRecord, companies: Iterable[CandidateCompany], weigh: Weigh) -> Weighed:
    """Returns the companies with their evidence and its weight."""
    found = sorted(
        (_weighed(record, company, weigh) for company in companies),
        key=lambda one: (-one[0].log_odds, one[0].vat),
    )
    ranked = [one for one, _ in found]
    numbered, named = claimed([compared for _, compared in found])
    return Weighed(
        ranked,
        None if numbered is None else ranked[numbered],
        None if named is None else ranked[named],
    )


def claimed(compared: Sequence[Comparison]) -> tuple[int | None, int | None]:
    """Returns the places of the company with the record's number, and of the best named other.

    The likeliest come first, which is the one of equal names.
    """
    places = range(len(compared))
    numbered = next((n for n in places if compared[n].evidence.number == EXACT), None)
    # A name with another figure is another company's.
    others = [n for n in places if n != numbered and "other_figures" not in compared[n].features]
    named = [n for n in others if compared[n].evidence.name is not None]
    return numbered, max(named, key=lambda n: compared[n].evidence.name or 0.0, default=None)


def _weighed(
    record: ReadRecord, candidate: CandidateCompany, weigh: Weigh
) -> tuple[WeighedCompany, Comparison]:
    company = orjson.loads(candidate.core)
    compared = compare(record, company, weigh, candidate.numbers)
    address = company.get("address") or {}
    found = WeighedCompany(
        vat=company["vat"],
        name=company["name"],
        city=address.get("city"),
        address=address.get("text"),
        form=company.get("form"),
        status=company["status"],
        evidence=compared.evidence,
        log_odds=round(log_odds(compared.features), _DIGITS),
    )
    return found, compared
