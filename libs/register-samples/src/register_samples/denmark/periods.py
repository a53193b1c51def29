"""Values with the period they were valid in, which is how CVR keeps everything."""

from datetime import date
from functools import cache

from register_samples.facts import Document


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


#: The showcase's numbers may be issued, so its documents are older than any real one: a real
#: document replaces them whenever it is loaded.
SHOWCASE_CHANGED = date(1999, 12, 31)


def record_end(changed: date, *, mistaken: bool) -> Document:
    """The fields every document ends with; a mistaken one is in the register by error."""
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
