"""Parts common to companies and units, each with the period it was valid in, as CVR keeps them."""

from datetime import date, timedelta
from functools import cache
from typing import Any

from register_samples.chance import Draw
from register_samples.facts import AS_OF, Abroad, Address, Contact, Document, Industry
from register_samples.showcase import SIZE

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
        *("landekode", "fritekst", "vejkode", "kommune", "husnummerFra", "adresseId"),
        *("sidstValideret", "husnummerTil", "bogstavFra", "bogstavTil", "etage", "sidedoer"),
        *("conavn", "postboks", "vejnavn", "bynavn", "postnummer", "postdistrikt"),
    )
)


def period(since: date | None, until: date | None = None) -> Document:
    """From a day to a day, both included; None where open."""
    return {
        "gyldigFra": since.isoformat() if since else None,
        "gyldigTil": until.isoformat() if until else None,
    }


@cache
def recorded(day: date) -> str:
    """The time at which the register recorded a change of that day, in Danish time."""
    turn = day.toordinal()
    offset = "+02:00" if 4 <= day.month <= 10 else "+01:00"
    return f"{day}T{8 + turn % 9:02}:{turn * 7 % 60:02}:{turn * 13 % 60:02}.000{offset}"


def held(values: Document, since: date, until: date | None = None) -> Document:
    """Values with their period and the time of the change that came last."""
    return {
        **values,
        "periode": period(since, until),
        "sidstOpdateret": recorded(until or since),
    }


def attribute(kind: str, type_: str, *values: Document) -> Document:
    """An attribute: its values, each with its period, come from `held`."""
    return {"sekvensnr": 0, "type": kind, "vaerditype": type_, "vaerdier": list(values)}


def record_end(index: int, drawn: date, *, mistaken: bool = False) -> Document:
    """The fields that every document of the company at a position ends with.

    A mistaken one is in the register by error. The showcase's numbers may be issued, so its
    documents are older than any real one: a real document replaces them whenever it is loaded.
    """
    changed = date(1999, 12, 31) if index < SIZE else drawn
    return {
        "sidstIndlaest": recorded(changed),
        "sidstOpdateret": recorded(changed),
        "fejlRegistreret": mistaken,
        "fejlVedIndlaesning": False,
        "fejlBeskrivelse": None,
        "dataAdgang": 0,
        "naermesteFremtidigeDato": None,
        "virkningsAktoer": "PO",
    }


def address(address: Address | Abroad, since: date, until: date | None = None) -> Document:
    """An address; one abroad is nothing but its country and lines of text."""
    if isinstance(address, Abroad):
        text = "\n".join((*address.lines, address.city))
        return held(_NO_ADDRESS | {"landekode": address.country, "fritekst": text}, since, until)
    place = address.place
    written = _NO_ADDRESS | {
        "landekode": "DK",
        # Codes of invented streets: the same name has the same code.
        "vejkode": sum(address.street.encode()) * 7 % 9900 + 1 if address.street else None,
        "kommune": {
            "kommuneKode": int(place.municipality_code),
            "kommuneNavn": place.municipality,
            "periode": period(_REFORM),
            "sidstOpdateret": "2006-11-13T00:00:00.000+01:00",
        },
        "husnummerFra": address.house,
        "sidstValideret": recorded(since),
        "bogstavFra": address.letter,
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
        "antalInklusivEjere": None,
        "intervalKodeAntalInklusivEjere": interval(count + 1),
        **_staff(count, date(year + 1, 12, 15)),
    }


def _quarterly(day: date, count: int) -> Document:
    quarter = (day.month + 2) // 3
    return {"aar": day.year, "kvartal": quarter, **_staff(count, date(day.year + 1, 3, 3))}


def _monthly(day: date, count: int) -> Document:
    return {"aar": day.year, "maaned": day.month, **_staff(count, AS_OF)}


def _newest_monthly(day: date, count: int, draw: Draw) -> Document:
    """A month in the form since 2019: some have the number, and full-time posts with decimals."""
    shown = draw.happens(0.5)
    return {
        **_monthly(day, count),
        "antalAarsvaerk": round(count * 0.83, 2) if shown else None,
        "antalAnsatte": count if shown else None,
    }


def _staff(count: int, counted: date) -> Document:
    """Employees and full-time posts: their numbers are withheld, their classes are not."""
    return {
        "antalAarsvaerk": None,
        "antalAnsatte": None,
        "sidstOpdateret": recorded(min(counted, AS_OF)),
        "intervalKodeAntalAarsvaerk": interval(count * 4 // 5),
        "intervalKodeAntalAnsatte": interval(count),
    }


def newest(history: Document, part: str) -> Any:
    """The newest entry of a part of a document."""
    found = history.get(part)
    return found[-1] if found else None


def digest(history: Document) -> Document:
    """The register's own digest of a document, as far as companies and units have the same.

    It keeps the last values of companies that ended, where the parts have no current ones.
    """
    return {
        "nyesteBeliggenhedsadresse": newest(history, "beliggenhedsadresse"),
        "nyesteHovedbranche": newest(history, "hovedbranche"),
        **{f"nyesteBibranche{n}": newest(history, f"bibranche{n}") for n in (1, 2, 3)},
        "nyesteAarsbeskaeftigelse": newest(history, "aarsbeskaeftigelse"),
        "nyesteKvartalsbeskaeftigelse": newest(history, "kvartalsbeskaeftigelse"),
        "nyesteMaanedsbeskaeftigelse": newest(history, "maanedsbeskaeftigelse"),
        "nyesteErstMaanedsbeskaeftigelse": newest(history, "erstMaanedsbeskaeftigelse"),
    }
