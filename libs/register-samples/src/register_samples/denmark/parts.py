"""Parts common to companies and units, each with the period it was valid in, as CVR keeps them."""

from datetime import date

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


def held(values: Document, since: date, until: date | None = None) -> Document:
    """Values with their period: from a day to a day, both included; None where open."""
    period = {"gyldigFra": since.isoformat(), "gyldigTil": until.isoformat() if until else None}
    return {**values, "periode": period}


def attribute(kind: str, value: Document) -> Document:
    """An attribute; its value comes from `held`."""
    return {"type": kind, "vaerdier": [value]}


def record_end(index: int, drawn: date) -> Document:
    """The fields that every document of the company at a position ends with.

    The showcase's numbers may be issued, so its documents are older than any real one: a real
    document replaces them whenever it is loaded.
    """
    changed = date(1999, 12, 31) if index < SIZE else drawn
    return {"sidstOpdateret": _recorded(changed), "fejlRegistreret": False}


def _recorded(day: date) -> str:
    """The time at which the register recorded a change of that day, in Danish time."""
    turn = day.toordinal()
    offset = "+02:00" if 4 <= day.month <= 10 else "+01:00"
    return f"{day}T{8 + turn % 9:02}:{turn * 7 % 60:02}:{turn * 13 % 60:02}.000{offset}"


def address(address: Address | Abroad, since: date, until: date | None = None) -> Document:
    """An address; one abroad is nothing but its country and lines of text."""
    if isinstance(address, Abroad):
        text = "\n".join((*address.lines, address.city))
        return held({"landekode": address.country, "fritekst": text}, since, until)
    place = address.place
    written = {
        "landekode": "DK",
        "kommune": {"kommuneNavn": place.municipality},
        "husnummerFra": address.house,
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


def current(contact: Contact | None, since: date, until: date | None) -> list[Document]:
    """The list of a kind of contact, with the one that is known."""
    if contact is None:
        return []
    return [held({"kontaktoplysning": contact.value, "hemmelig": contact.secret}, since, until)]


def industry(industry: Industry, since: date, until: date | None) -> Document:
    return held({"branchekode": industry.code, "branchetekst": industry.text}, since, until)


def employment(until: date | None, count: int, draw: Draw) -> Document:
    """The last year, quarter and month; newer documents have a fourth list.

    The number is withheld, but for some months of that list; its class is not.
    """
    last = until or AS_OF
    staff = {"antalAnsatte": None, "intervalKodeAntalAnsatte": _interval(count)}
    month = {"aar": last.year, "maaned": last.month, **staff}
    record: Document = {
        "aarsbeskaeftigelse": [{"aar": last.year - 1, **staff}],
        "kvartalsbeskaeftigelse": [
            {"aar": last.year, "kvartal": (last.month + 2) // 3, **staff},
        ],
        "maanedsbeskaeftigelse": [month],
    }
    if draw.happens(0.7):
        shown = count if draw.happens(0.5) else None
        record["erstMaanedsbeskaeftigelse"] = [{**month, "antalAnsatte": shown}]
    return record


def _interval(count: int) -> str:
    """The code of the class that a number of employees is in."""
    return next(code for lowest, code in _CLASSES if count >= lowest)
