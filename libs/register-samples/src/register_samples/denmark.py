"""The documents of CVR (distribution.virk.dk): each part with the period in which it was valid."""

from datetime import date, timedelta

from register_samples.addresses import building, in_flat
from register_samples.chance import Draw, Topic
from register_samples.companies import AS_OF, earlier_company, owners, units
from register_samples.names import person
from register_samples.registers import DENMARK
from register_samples.showcase import SHOWCASE, SIZE
from register_samples.templates import Document, Templates, Variables

_TEMPLATES = Templates("denmark")
_DAY = timedelta(days=1)
#: One of so many documents has no time of loading.
_UNLOADED = 10
_UNKNOWN = {"code": "980000", "text": "Uoplyst"}


def company_document(company: Variables) -> Document:
    """Returns `{"Vrvirksomhed": {...}}`, with the history of each part."""
    draw = Draw(DENMARK.ordinal, Topic.DETAILS, company["index"])
    since, ended, form = company["founded"], company["ended"], company["form"]
    industries = company["industries"] or [_UNKNOWN]
    known = {
        **company,
        **_period(since, ended),
        "cvr": int(company["number"]),
        "names": _names(company),
        "trade_names": [{"name": name} for name in company["trade_names"]],
        "postal_address": address(company["postal"], since, ended),
        "addresses": _addresses(company, draw),
        **{f"industry_{n}": each for n, each in enumerate(industries, 1)},
        "states": _states(company),
        "form": {**form, "form_code": int(form["code"])},
        **({} if not company["employees"] and draw.happens(0.6) else _employment(company, draw)),
        "attributes": _attributes(company, draw),
        "units": _units(company),
        "relations": _relations(company),
        "summary": company["status"] or ("Ophørt" if ended else "Aktiv"),
        **_times(company["index"], company["standing_since"], draw),
    }
    return _TEMPLATES.fill("company", known)


def unit_document(unit: Variables, owner: Variables) -> Document:
    """Returns `{"VrproduktionsEnhed": {...}}` of a company's unit."""
    draw = Draw(DENMARK.ordinal, Topic.UNIT, int(unit["number"]))
    since, ended, cvr = unit["started"], unit["ended"], int(owner["number"])
    held = [{"cvr": cvr}]
    if moved := unit.get("moved"):
        before = _period(since, max(since, moved["on"] - _DAY))
        held = [{"cvr": int(moved["origin"]), **before}, {"cvr": cvr, "since": moved["on"]}]
    known = {
        **unit,
        **_period(since, ended),
        "cvr": cvr,
        "p_number": int(unit["number"]),
        "location": address(unit["address"], since, ended),
        **(_employment(unit, draw) if unit["employees"] else {}),
        "owners": held,
        "summary": "Ophørt" if ended else "Aktiv",
        **_times(owner["index"], since, draw),
    }
    return _TEMPLATES.fill("unit", known)


def address(address: Variables | None, since: date, until: date | None = None) -> Document | None:
    """Returns an address; one abroad has only a country and lines of text."""
    if address is None:
        return None
    known = {**address, **_period(since, until)}
    if "country" in address:
        text = "\n".join((*address["lines"], address["city"]))
        return _TEMPLATES.fill("abroad", {**known, "text": text})
    return _TEMPLATES.fill("domestic", {**known, "postcode_number": int(address["postcode"])})


def _period(since: date, until: date | None) -> Variables:
    """Returns a period from a day to a day, both included; None means open."""
    return {"since": since, "until": until}


def _names(company: Variables) -> list[Variables]:
    former: list[Variables] = company["former_names"]
    since = former[-1]["until"] + _DAY if former else company["founded"]
    return [*former, {"name": company["name"], "since": since}]


def _addresses(company: Variables, draw: Draw) -> list[Document]:
    found, since, latest = [], company["founded"], company["ended"] or AS_OF
    if draw.happens(0.3) and since < latest:
        moved = draw.day(since, latest - _DAY)
        found.append(address(building(draw, DENMARK), since, moved))
        since = moved + _DAY
    found.append(address(company["address"], since, company["ended"]))
    return [each for each in found if each]


def _states(company: Variables) -> list[Variables]:
    """Returns the words for the standing; sole traders, partnerships and associations have none."""
    text, since, founded = company["status"], company["standing_since"], company["founded"]
    if not text:
        return []
    state = {"status": text, **_period(since, None)}
    if company["standing"] == "ACTIVE":
        return [state]
    return [{"status": "NORMAL", **_period(founded, max(since - _DAY, founded))}, state]


def _employment(holder: Variables, draw: Draw) -> Variables:
    """Returns the last year, quarter and month; newer documents have a fourth list.

    The number is withheld, except for some months of that list; its class is not.
    """
    last, count = holder["ended"] or AS_OF, holder["employees"]
    classes = DENMARK.habits["employee_classes"]
    interval = next(code for code, lowest in classes.items() if count >= lowest)
    now = {"year": last.year, "interval": interval}
    known = {
        "last_year": {**now, "year": last.year - 1},
        "quarter": {**now, "quarter": (last.month + 2) // 3},
        "month": {**now, "month": last.month},
    }
    if draw.happens(0.7):
        known["new_month"] = {**known["month"], "shown": count if draw.happens(0.5) else None}
    return known


def _attributes(company: Variables, draw: Draw) -> list[Variables]:
    """Returns capital and purpose; only companies with a capital have them."""
    if company["capital"] is None:
        return []
    values = {
        "KAPITAL": f"{company['capital']}.00",
        "KAPITALVALUTA": "EUR" if draw.happens(0.02) else "DKK",
        "FORMÅL": company.get("purpose"),
    }
    return [{"type": each, "value": value} for each, value in values.items() if value]


def _units(company: Variables) -> list[Variables]:
    """Returns the units by number, with their time at the company; former ones first."""
    shown = [unit for each in SHOWCASE["dk"] for unit in each["units"] if "moved" in unit]
    gone = [
        {"unit": unit, **_period(unit["started"], unit["moved"]["on"] - _DAY)}
        for unit in shown
        if unit["moved"]["origin"] == company["number"]
    ]
    present = [
        {"unit": unit, **_period(unit.get("moved", {}).get("on", unit["started"]), unit["ended"])}
        for unit in units(DENMARK, company)
    ]
    return [{**each, "p_number": int(each["unit"]["number"])} for each in (*gone, *present)]


def _times(index: int, since: date, draw: Draw) -> Variables:
    """Returns the times at which the document changed and was loaded.

    A few documents have not the latter, and fewer neither.
    """
    updated = _updated(index, since, draw)
    unloaded = index >= SIZE and index % _UNLOADED == 0
    return {
        "updated": None if unloaded and index % (3 * _UNLOADED) == 0 else updated,
        "loaded": None if unloaded else updated,
    }


def _updated(index: int, since: date, draw: Draw) -> str:
    """Returns the time at which the register recorded the last change, in Danish time.

    The showcase's numbers may be issued, so its documents are older than any real one: a real
    document replaces them whenever it is loaded.
    """
    drawn = draw.day(max(since, AS_OF - timedelta(days=400)), AS_OF)
    day = date(1999, 12, 31) if index < SIZE else drawn
    turn = day.toordinal()
    offset = "+02:00" if 4 <= day.month <= 10 else "+01:00"
    return f"{day}T{8 + turn % 9:02}:{turn * 7 % 60:02}:{turn * 13 % 60:02}.000{offset}"


def _relations(company: Variables) -> list[Variables]:
    """Returns everyone related to the company, with persons' home addresses as in the register."""
    draw = Draw(DENMARK.ordinal, Topic.OFFICERS, company["index"])
    found = [_owner(owner, company, draw) for owner in owners(DENMARK, company)]
    if company["form"]["naming"] == "TRADING":
        bodies = [("Direktion", "DIREKTION")]
        if company["form"]["short"] == "A/S":
            bodies += [("Bestyrelse", "BESTYRELSE")] * 3
        found += [_officer(name, function, company, draw) for name, function in bodies]
        if draw.happens(0.3):
            auditor = _firm(earlier_company(DENMARK, company, draw))
            found.append(_member(auditor, "REVISION", "Revision", "REVISION", company["founded"]))
    return found


def shareholder(firm: Variables, share: str, since: date) -> Document:
    """Returns the relation of a company, by its number and name, that owns a share since a day."""
    relation = _shareholder(_firm(firm), {"share": share, "votes": share, "since": since})
    return _TEMPLATES.fill("relation", {"until": None, **relation})


def _owner(owner: Variables, company: Variables, draw: Draw) -> Variables:
    holder = owner["holder"]
    found = _person(holder, draw) if "born" in holder else _firm(holder)
    ownership = DENMARK.habits["ownership"][company["form"]["short"]]
    if ownership == "SHAREHOLDERS":
        return _shareholder(found, owner)
    name, function = DENMARK.habits["liable"][ownership]
    return _member(found, "FULDT_ANSVARLIG_DELTAGERE", name, function, owner["since"])


def _shareholder(holder: Variables, owner: Variables) -> Variables:
    """Returns a participant in the register of owners, with floors of intervals."""
    values = {"EJERANDEL_PROCENT": owner["share"], "EJERANDEL_STEMMERET_PROCENT": owner["votes"]}
    period = _period(owner["since"], owner.get("until"))
    attributes = [{"type": each, "value": value, **period} for each, value in values.items()]
    return {**holder, "body_type": "REGISTER", "body": "EJERREGISTER", "attributes": attributes}


def _officer(name: str, function: str, company: Variables, draw: Draw) -> Variables:
    since = draw.day(company["founded"], company["ended"] or AS_OF)
    officer = _person(person(draw, DENMARK), draw)
    return _member(officer, "LEDELSESORGAN", name, function, since)


def _member(holder: Variables, body_type: str, body: str, function: str, since: date) -> Variables:
    """Returns a participant with a function in a body of the company, until the company's end."""
    attributes = [{"type": "FUNKTION", "value": function, "since": since}]
    return {**holder, "body_type": body_type, "body": body, "attributes": attributes}


def _firm(company: Variables) -> Variables:
    number, name = company["number"], company["name"]
    return {"participant": "VIRKSOMHED", "cvr": int(number), "name": name, "home": None}


def _person(holder: Variables, draw: Draw) -> Variables:
    flat = in_flat(draw, building(draw, DENMARK))
    home = address(flat, draw.day(holder["born"], AS_OF))
    return {"participant": "PERSON", "cvr": None, "name": holder["name"], "home": home}
