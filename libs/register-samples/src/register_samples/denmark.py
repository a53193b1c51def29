"""The documents of CVR (distribution.virk.dk): each part with the period in which it was valid."""

from datetime import date, timedelta
from uuid import NAMESPACE_URL, uuid5

from register_samples.chance import Draw, Topic
from register_samples.companies import AS_OF, earlier_company, owners, units
from register_samples.names import abroad, building, foreign_name, in_flat, person
from register_samples.registers import DENMARK, Document, Templates, Variables
from register_samples.showcase import SHOWCASE, SIZE

_TEMPLATES = Templates("denmark")
_DAY = timedelta(days=1)
#: One of so many documents has no time of loading.
_UNLOADED = 10
#: The notice of a court that opens a procedure, by the standing: its code and its text, and those
#: of the procedure.
_DECREES = {
    "BANKRUPT": (1, "Dekret", 1, "Konkurs"),
    "RECONSTRUCTION": (8, "Åbning af forhandling", 3, "Tvangsakkord"),
}
#: A notice that follows after so many days and changes nothing.
_FOLLOWING = (6, "Skiftesamling", timedelta(days=90))
#: The first numbers of participants, and those that parties of reorganisations share.
_PARTICIPANTS, _SHARED = 4_000_000_000, 4_100_000_000
#: One of so many companies has an owner whose share has changed, and a chair who has left.
_CHANGED = 6
#: From this day on industries have a code of each classification.
_DB25 = date(2025, 1, 1)
#: Attributes next to a share, and next to the function of a general partner.
_REPORTED = {"EJERANDEL_KAPITALKLASSE": "A", "SÆRLIGE_EJERFORHOLD": "Har indirekte besiddelser"}
_CONTRIBUTED = {"KOMPLEMENTAR_INDSKUDSKAPITAL": "7000.00", "KOMPLEMENTAR_INDSKUDSVALUTA": "DKK"}
#: One of so many companies is owned by one abroad.
_FROM_ABROAD = 40
#: One of so many documents says that the register could not load all of it.
_NOT_LOADED = 50
_FAX = {"value": "33 44 55 66", "secret": False}
_UNKNOWN = {"code": "980000", "text": "Uoplyst"}


def company_document(company: Variables) -> Document:
    """Returns `{"Vrvirksomhed": {...}}`, with the history of each part."""
    draw = Draw(DENMARK.ordinal, Topic.DETAILS, company["index"])
    further = Draw(DENMARK.ordinal, Topic.DANISH_DETAILS, company["index"])
    since, ended, form = company["founded"], company["ended"], company["form"]
    industries = company["industries"] or [_UNKNOWN]
    known = {
        **company,
        **_period(since, ended),
        **_phones(company, further),
        "protected": company["protected"] if further.happens(0.97) else None,
        "cvr": int(company["number"]),
        "names": _names(company),
        "trade_names": [{"name": name} for name in company["trade_names"]],
        "postal_address": address(company["postal"], since, ended),
        "addresses": _addresses(company, draw),
        **{f"industry_{n}": each for n, each in enumerate(industries, 1)},
        "main_industries": _main_industries(industries[0], company),
        "states": _states(company),
        "decrees": _decrees(company),
        "mergers": _reorganisations("Fusion", company, further),
        "demergers": _reorganisations("Spaltning", company, further),
        "form": {**form, "form_code": int(form["code"])},
        **(
            {}
            if not company["employees"] and draw.happens(0.6)
            else _employment(company, company, draw)
        ),
        "attributes": [
            *_attributes(company, draw),
            *_rules(company, further),
            *_rare_attributes(company),
        ],
        "not_loaded": company["index"] >= SIZE and company["index"] % _NOT_LOADED == 0,
        "units": _units(company),
        "relations": _relations(company),
        "summary": _summary(company),
        **_times(company["index"], company["standing_since"], draw),
    }
    return _TEMPLATES.fill("company", known)


def unit_document(unit: Variables, owner: Variables) -> Document:
    """Returns `{"VrproduktionsEnhed": {...}}` of a company's unit."""
    draw = Draw(DENMARK.ordinal, Topic.UNIT, int(unit["number"]))
    further = Draw(DENMARK.ordinal, Topic.DANISH_DETAILS, int(unit["number"]))
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
        **_further_unit(unit, owner, further),
        "location": address(unit["address"], since, ended),
        **(_employment(unit, owner, draw) if unit["employees"] else {}),
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
    known["postcode_number"] = int(address["postcode"])
    known["municipality_number"] = int(address["municipality_code"])
    place = [address.get(part) for part in ("street", "box", "house", "letter", "floor", "door")]
    known["identifier"] = str(uuid5(NAMESPACE_URL, f"dar:{address['postcode']} {place}"))
    return _TEMPLATES.fill("domestic", known)


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
    if not text or company["form"]["naming"] == "SOLE_TRADER":
        return []
    state = {"status": text, **_period(since, None)}
    if company["standing"] == "ACTIVE":
        return [state]
    return [{"status": "NORMAL", **_period(founded, max(since - _DAY, founded))}, state]


def _summary(company: Variables) -> str:
    """Returns the word of the summary, which some documents write without spaces."""
    if company["form"]["naming"] == "SOLE_TRADER":
        return "Ophørt" if company["ended"] else "Aktiv"
    text: str = company["status"] or ("Ophørt" if company["ended"] else "Aktiv")
    return text.replace(" ", "") if company["index"] % 2 else text


def _decrees(company: Variables) -> list[Variables]:
    """Returns the decrees of courts on a sole trader's insolvency; the others have none."""
    known = _DECREES.get(company["standing"])
    if known is None or company["form"]["naming"] != "SOLE_TRADER":
        return []
    code, text, credit_code, credit_text = known
    about = {"credit_code": credit_code, "credit_text": credit_text}
    since = company["standing_since"]
    found = [{**about, "code": code, "text": text, **_period(since, None)}]
    following, its_text, after = _FOLLOWING
    if company["index"] >= SIZE and since + after <= AS_OF:
        # Each notice ends the one before.
        found[0]["until"] = since + after - _DAY
        later = {"code": following, "text": its_text, **_period(since + after, None)}
        found.append({**about, **later})
    return found


def _main_industries(main: Variables, company: Variables) -> list[Variables]:
    """Returns the main industry, from 2025 on with its code in either classification."""
    newer = DENMARK.habits["reclassified"].get(main["code"])
    if newer is None or company["founded"] < _DB25:
        return [main]
    return [main, {**main, "code": newer}]


def _phones(company: Variables, draw: Draw) -> Variables:
    """Returns the phone, some with the mobile in the same field."""
    phone, mobile = company.get("phone"), company.get("mobile")
    if not phone or not mobile or phone["secret"] or mobile["secret"] or not draw.happens(0.3):
        return {}
    return {"phone": {**phone, "value": f"{phone['value']}/{mobile['value']}"}, "mobile": None}


def _reorganisations(name: str, company: Variables, draw: Draw) -> list[Variables]:
    """Returns the merger or demerger into which a company went, or out of which it came."""
    part = {"type": "FUNKTION", "value": name}
    shared = {"name": name, "shared_number": _SHARED + company["index"] // 2}
    if company["status"].upper().endswith(name.upper()):
        day = company["ended"]
        return [{**shared, "incoming": {**part, **_period(day, day)}, **_period(day, day)}]
    if company["capital"] is None or not draw.happens(0.03):
        return []
    day = draw.day(company["founded"], company["ended"] or AS_OF)
    sides = {"outgoing": {**part, **_period(day, day)}}
    if company["index"] % 2:
        # A company that continues is on both sides.
        sides["incoming"] = sides["outgoing"]
    return [{**shared, **sides, **_period(day, day)}]


def _rules(company: Variables, draw: Draw) -> list[Variables]:
    """Returns what the articles say; only companies with a capital have them."""
    if company["capital"] is None:
        return []
    start, end = draw.pick([("01-01", "12-31"), ("07-01", "06-30"), ("10-01", "09-30")])
    values = {
        "TEGNINGSREGEL": draw.pick(DENMARK.words["signing_rules"]),
        "REVISION_FRAVALGT": "true" if draw.happens(0.4) else "false",
        "VEDTÆGT_SENESTE": str(draw.day(company["founded"], company["ended"] or AS_OF)),
        "REGNSKABSÅR_START": f"--{start}",
        "REGNSKABSÅR_SLUT": f"--{end}",
        "BØRSNOTERET": "true" if draw.happens(0.05) else "false",
    }
    is_listable = company["form"]["short"] == "A/S"
    found = [{"type": each, "value": value} for each, value in values.items()]
    return found if is_listable else found[:-1]


def _rare_attributes(company: Variables) -> list[Variables]:
    """Returns attributes that few companies have; those of the showcase have none of them."""
    if company["capital"] is None or company["index"] < SIZE:
        return []
    draw = Draw(DENMARK.ordinal, Topic.ATTRIBUTES, company["index"])
    day = str(company["founded"])
    shares = (
        ("EJERREGISTRERING_UNDER_5_PROCENT", 0.1, "true"),
        ("KAPITALKLASSER", 0.1, "true"),
        ("KAPITAL_DELVIST", 0.1, f"{company['capital'] // 2}.00"),
        ("STATSLIG_VIRK", 0.02, "true"),
        ("OMFATTET_AF_LOV_OM_HVIDVASK_OG_TERRORFINANSIERING", 0.2, "true"),
        ("SOCIAL_ØKONOMISK_VIRKSOMHED", 0.02, "true"),
        ("OPLØSNINGSTRUSSEL_SENESTE", 0.05, day),
        ("GENOPTAGELSE_TVANGSOPLØSNING", 0.02, day),
    )
    found = {name: value for name, share, value in shares if draw.happens(share)}
    found |= _financial_periods(company["founded"], draw)
    return [{"type": name, "value": value} for name, value in found.items()]


def _financial_periods(founded: date, draw: Draw) -> dict[str, str]:
    """Returns the first financial period, and the short one by which the year was moved."""
    found = {}
    if draw.happens(0.8):
        found["FØRSTE_REGNSKABSPERIODE_START"] = str(founded)
        found["FØRSTE_REGNSKABSPERIODE_SLUT"] = f"{founded.year + 1}-12-31"
    if draw.happens(0.1) and founded.year + 2 < AS_OF.year:
        found["OMLÆGNINGSPERIODE_START"] = f"{founded.year + 2}-01-01"
        found["OMLÆGNINGSPERIODE_SLUT"] = f"{founded.year + 2}-06-30"
    return found


def _further_unit(unit: Variables, owner: Variables, draw: Draw) -> Variables:
    """Returns the names, the postal address, the second industry and the protection of a unit."""
    since, ended, name = unit["started"], unit["ended"], {"name": unit["name"]}
    names = [{**name, **_period(since, ended)}]
    if owner["index"] >= SIZE and draw.happens(0.05) and since < (ended or AS_OF):
        changed = draw.day(since + _DAY, ended or AS_OF)
        former = {"name": f"{unit['name']} Filial", **_period(since, changed - _DAY)}
        names = [former, {**name, **_period(changed, ended)}]
    postal = address(building(draw, DENMARK), since, ended) if draw.happens(0.03) else None
    others = DENMARK.industries
    return {
        "names": names,
        "postal_address": postal,
        "industry_2": draw.pick(others) if draw.happens(0.08) else None,
        "protected": draw.happens(0.4),
        "unit_fax": _FAX if owner["index"] >= SIZE and draw.happens(0.05) else None,
    }


def _employment(holder: Variables, company: Variables, draw: Draw) -> Variables:
    """Returns the last year, quarter and month; newer documents have a fourth list.

    The number is withheld, except for some months of that list; its class is not.
    """
    last, count = holder["ended"] or AS_OF, holder["employees"]
    interval = _class_of(count)
    now = {"year": last.year, "interval": interval}
    known = {
        "last_year": {
            **now,
            "year": last.year - 1,
            "with_owners": _with_owners(holder, company),
        },
        "quarter": {**now, "quarter": (last.month + 2) // 3},
        "month": {**now, "month": last.month},
    }
    if draw.happens(0.7):
        shown = count if draw.happens(0.5) else None
        known["new_month"] = {**known["month"], "shown": shown, "full_time": shown}
    return known


def _class_of(count: int) -> str:
    """Returns the code of the class of a number of people."""
    classes: dict[str, int] = DENMARK.habits["employee_classes"]
    return next(code for code, lowest in classes.items() if count >= lowest)


def _with_owners(holder: Variables, company: Variables) -> str | None:
    """Returns the class of the employees with the owners who work in a company or its main unit.

    These are sole proprietors and partners; the documents of the showcase have none of it.
    """
    if company["index"] < SIZE:
        return None
    ownership = DENMARK.habits["ownership"].get(company["form"]["short"])
    works = "form" in holder and ownership in ("SOLE", "PARTNERS")
    return _class_of(holder["employees"] + (len(owners(DENMARK, company)) if works else 0))


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
    ownership = DENMARK.habits["ownership"].get(company["form"]["short"])
    is_drawn = company["index"] >= SIZE
    if ownership == "SHAREHOLDERS" and is_drawn and company["index"] % _FROM_ABROAD == 0:
        found[0] |= _foreign(company)
    if company["form"]["naming"] == "TRADING":
        bodies = [("Direktion", "DIREKTION")]
        if company["form"]["short"] == "A/S":
            bodies += [("Bestyrelse", "BESTYRELSE")] * 3
        found += [_officer(name, function, company, draw) for name, function in bodies]
        further = Draw(DENMARK.ordinal, Topic.DANISH_DETAILS, company["index"] << 1)
        if further.happens(0.3):
            founder = _firm(earlier_company(DENMARK, company, further))
            found.append(_member(founder, "STIFTERE", "Stiftere", "STIFTERE", company["founded"]))
        for kind, body, function in DENMARK.habits["further_bodies"]:
            if further.happens(0.02):
                person_ = _person(person(further, DENMARK), further)
                found.append(_member(person_, kind, body, function, company["founded"]))
        if draw.happens(0.3):
            auditor = _firm(earlier_company(DENMARK, company, draw))
            found.append(_member(auditor, "REVISION", "Revision", "REVISION", company["founded"]))
        if is_drawn and company["index"] % _CHANGED == 0:
            found.append(_former_chair(company, further))
    numbered = enumerate(found, _PARTICIPANTS + (company["index"] << 8))
    return [{**each, "participant_number": number} for number, each in numbered]


def _former_chair(company: Variables, draw: Draw) -> Variables:
    """Returns a person who led the board for a time that is over."""
    since = company["founded"]
    chair = _person(person(draw, DENMARK), draw)
    member = _member(chair, "LEDELSESORGAN", "Bestyrelse", "FORMAND", since)
    last = draw.day(since, company["ended"] or AS_OF)
    return {**member, "attributes": [{**each, "until": last} for each in member["attributes"]]}


def shareholder(firm: Variables, share: str, since: date) -> Document:
    """Returns the relation of a company, by its number and name, that owns a share since a day."""
    relation = _shareholder(_firm(firm), {"share": share, "votes": share, "since": since})
    return _TEMPLATES.fill("relation", {"until": None, **relation})


def _owner(owner: Variables, company: Variables, draw: Draw) -> Variables:
    holder = owner["holder"]
    found = _person(holder, draw) if "born" in holder else _firm(holder)
    is_shown = company["index"] < SIZE
    if "born" not in holder and not is_shown:
        found = {**found, "home": address(company["address"], company["founded"])}
    ownership = DENMARK.habits["ownership"][company["form"]["short"]]
    if ownership == "SHAREHOLDERS":
        relation = _shareholder(found, owner)
        if not is_shown:
            relation = _with(relation, _REPORTED | {"EJERANDEL_MEDDELELSE_DATO": owner["since"]})
        is_changed = company["index"] >= SIZE and company["index"] % _CHANGED == 0
        return _with_earlier_share(relation) if is_changed else relation
    name, function = DENMARK.habits["liable"][ownership]
    partner = _member(found, "FULDT_ANSVARLIG_DELTAGERE", name, function, owner["since"])
    is_general = function.startswith("KOMPLEMENTAR")
    return _with(partner, _CONTRIBUTED) if is_general and not is_shown else partner


def _with(relation: Variables, values: Variables) -> Variables:
    """Returns the relation with more attributes, which hold as long as its last one."""
    last = relation["attributes"][-1]
    further = [{**last, "type": each, "value": str(value)} for each, value in values.items()]
    return {**relation, "attributes": [*relation["attributes"], *further]}


def _shareholder(holder: Variables, owner: Variables) -> Variables:
    """Returns a participant in the register of owners, with floors of intervals."""
    values = {"EJERANDEL_PROCENT": owner["share"], "EJERANDEL_STEMMERET_PROCENT": owner["votes"]}
    period = _period(owner["since"], owner.get("until"))
    attributes = [{"type": each, "value": value, **period} for each, value in values.items()]
    return {**holder, "body_type": "REGISTER", "body": "EJERREGISTER", "attributes": attributes}


def _with_earlier_share(relation: Variables) -> Variables:
    """Returns the relation with another share before the present one, without a day between."""
    share, *others = relation["attributes"]
    last = share["since"] - _DAY
    before = {**share, "value": "0.05", **_period(last - timedelta(days=365), last)}
    return {**relation, "attributes": [before, share, *others]}


def _officer(name: str, function: str, company: Variables, draw: Draw) -> Variables:
    since = draw.day(company["founded"], company["ended"] or AS_OF)
    officer = _person(person(draw, DENMARK), draw)
    member = _member(officer, "LEDELSESORGAN", name, function, since)
    is_elected = name == "Bestyrelse" and company["index"] >= SIZE
    return _with(member, {"VALGFORM": "generalforsamling"}) if is_elected else member


def _member(holder: Variables, body_type: str, body: str, function: str, since: date) -> Variables:
    """Returns a participant with a function in a body of the company, until the company's end."""
    attributes = [{"type": "FUNKTION", "value": function, "since": since}]
    return {**holder, "body_type": body_type, "body": body, "attributes": attributes}


def _firm(company: Variables) -> Variables:
    number, name = company["number"], company["name"]
    return {"participant": "VIRKSOMHED", "cvr": int(number), "name": name, "home": None}


def _foreign(company: Variables) -> Variables:
    """Returns a company abroad, which has no number here."""
    draw = Draw(DENMARK.ordinal, Topic.OWNER_ABROAD, company["index"])
    home = abroad(draw)
    name = foreign_name(draw, home["country"])
    return {
        "participant": "ANDEN_DELTAGER",
        "cvr": None,
        "name": name,
        "home": address(home, company["founded"]),
    }


def _person(holder: Variables, draw: Draw) -> Variables:
    flat = in_flat(draw, building(draw, DENMARK))
    home = address(flat, draw.day(holder["born"], AS_OF))
    return {"participant": "PERSON", "cvr": None, "name": holder["name"], "home": home}
