"""Parts common to companies and units: addresses, contacts, industries, employment."""

from datetime import date, timedelta

from register_samples.chance import Draw
from register_samples.denmark.periods import held, period, recorded
from register_samples.facts import AS_OF, Abroad, Address, Contact, Document, Industry

#: Lower ends of the classes of employees, and their codes.
_CLASSES = (
    (1000, "ANTAL_1000_"),
    (500, "ANTAL_500_999"),
    (200, "ANTAL_200_499"),
    (100, "ANTAL_100_199"),
    (50, "ANTAL_50_99"),
    (20, "ANTAL_20_49"),
    (10, "ANTAL_10_19"),
    (5, "ANTAL_5_9"),
    (2, "ANTAL_2_4"),
    (1, "ANTAL_1_1"),
    (0, "ANTAL_0_0"),
)

#: Municipalities are as they have been since the reform of 2007.
_REFORM = date(2007, 1, 1)

#: The industry codes of before are other ones.
_RECODED = date(2008, 1, 1)
_UNKNOWN = Industry("980000", "Uoplyst")

_NO_ADDRESS = dict.fromkeys(
    (
        "vejkode",
        "kommune",
        "husnummerFra",
        "adresseId",
        "sidstValideret",
        "husnummerTil",
        "bogstavFra",
        "bogstavTil",
        "etage",
        "sidedoer",
        "conavn",
        "postboks",
        "vejnavn",
        "bynavn",
        "postnummer",
        "postdistrikt",
    )
)


def address(address: Address | Abroad, since: date, until: date | None = None) -> Document:
    """An address; one abroad is nothing but its country and lines of text."""
    if isinstance(address, Abroad):
        text = "\n".join((*address.lines, address.city))
        return held({"landekode": address.country, "fritekst": text, **_NO_ADDRESS}, since, until)
    place = address.place
    written = {
        "landekode": "DK",
        "fritekst": None,
        # Codes of invented streets: the same name has the same code.
        "vejkode": sum(address.street.encode()) * 7 % 9900 + 1 if address.street else None,
        "kommune": {
            "kommuneKode": int(place.municipality_code),
            "kommuneNavn": place.municipality,
            "periode": period(_REFORM),
            "sidstOpdateret": "2006-11-13T00:00:00.000+01:00",
        },
        "husnummerFra": address.house,
        "adresseId": None,
        "sidstValideret": recorded(since),
        "husnummerTil": None,
        "bogstavFra": address.letter,
        "bogstavTil": None,
        "etage": address.floor,
        "sidedoer": address.door,
        "conavn": address.co,
        "postboks": address.box,
        "vejnavn": address.street or None,
        "bynavn": address.district,
        "postnummer": int(place.postcode),
        "postdistrikt": place.city,
    }
    return held(written, since, until)


def contact(contact: Contact, since: date, until: date | None = None) -> Document:
    return held({"kontaktoplysning": contact.value, "hemmelig": contact.secret}, since, until)


def current(contact_: Contact | None, since: date, until: date | None) -> list[Document]:
    """The list of a kind of contact, with the one that is known."""
    return [contact(contact_, since, until)] if contact_ else []


def public(*contacts: Contact | None) -> list[str]:
    """The contacts that are not secret, as the metadata lists them."""
    return [contact.value for contact in contacts if contact and not contact.secret]


def industries(known: tuple[Industry, ...], since: date, until: date | None) -> Document:
    """The main industry and the secondary ones; the codes of before 2008 are unknown."""
    main, *others = known or (_UNKNOWN,)
    history = []
    if since < _RECODED and (until is None or until >= _RECODED):
        history.append(_industry(_UNKNOWN, since, _RECODED - timedelta(days=1)))
        since = _RECODED
    return {
        "hovedbranche": [*history, _industry(main, since, until)],
        **{
            f"bibranche{place + 1}": [
                _industry(other, since, until) for other in others[place : place + 1]
            ]
            for place in range(3)
        },
    }


def _industry(industry: Industry, since: date, until: date | None) -> Document:
    return held({"branchekode": industry.code, "branchetekst": industry.text}, since, until)


def no_employment() -> Document:
    return {"aarsbeskaeftigelse": [], "kvartalsbeskaeftigelse": [], "maanedsbeskaeftigelse": []}


def employment(since: date, until: date | None, count: int, draw: Draw) -> Document:
    """Two years, two quarters and two months up to the end; newer documents have a fifth list."""
    last = until or AS_OF
    days = [day for day in (last - timedelta(days=31), last) if day >= since]
    record: Document = {
        "aarsbeskaeftigelse": [
            _yearly(year, count) for year in (last.year - 2, last.year - 1) if year >= since.year
        ],
        "kvartalsbeskaeftigelse": [_quarterly(day, count) for day in days[-1:]],
        "maanedsbeskaeftigelse": [_monthly(day, count) for day in days],
    }
    if draw.happens(0.7):
        record["erstMaanedsbeskaeftigelse"] = [_newest_monthly(day, count, draw) for day in days]
    return record


def interval(count: int) -> str:
    """The code of the class that a number of employees is in."""
    return next(code for lowest, code in _CLASSES if count >= lowest)


def _yearly(year: int, count: int) -> Document:
    return {
        "aar": year,
        **_withheld("antalInklusivEjere", "antalAarsvaerk", "antalAnsatte"),
        "sidstOpdateret": recorded(min(date(year + 1, 12, 15), AS_OF)),
        "intervalKodeAntalInklusivEjere": interval(count + 1),
        "intervalKodeAntalAarsvaerk": interval(count * 4 // 5),
        "intervalKodeAntalAnsatte": interval(count),
    }


def _quarterly(day: date, count: int) -> Document:
    return {
        "aar": day.year,
        "kvartal": (day.month + 2) // 3,
        **_withheld("antalAarsvaerk", "antalAnsatte"),
        "sidstOpdateret": recorded(min(date(day.year + 1, 3, 3), AS_OF)),
        "intervalKodeAntalAarsvaerk": interval(count * 4 // 5),
        "intervalKodeAntalAnsatte": interval(count),
    }


def _monthly(day: date, count: int) -> Document:
    return {
        "aar": day.year,
        "maaned": day.month,
        **_withheld("antalAarsvaerk", "antalAnsatte"),
        "sidstOpdateret": recorded(AS_OF),
        "intervalKodeAntalAarsvaerk": interval(count * 4 // 5),
        "intervalKodeAntalAnsatte": interval(count),
    }


def _newest_monthly(day: date, count: int, draw: Draw) -> Document:
    """A month in the form since 2019: some have the number, and full-time posts with decimals."""
    told = draw.happens(0.5)
    return {
        **_monthly(day, count),
        "antalAarsvaerk": round(count * 0.83, 2) if told else None,
        "antalAnsatte": count if told else None,
    }


def _withheld(*fields: str) -> dict[str, None]:
    return dict.fromkeys(fields)
