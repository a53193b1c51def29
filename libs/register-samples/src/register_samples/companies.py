"""The variables of the company at a position, and of its units and owners."""

from datetime import date, timedelta

from register_samples.chance import Draw, Topic, urn
from register_samples.names import (
    abroad,
    building,
    coin,
    company_address,
    company_name,
    contacts,
    foreign_name,
    in_flat,
    person,
    postal_address,
    shared_name,
    trader_name,
)
from register_samples.registers import Register, Variables
from register_samples.showcase import exhibit

#: The date of the registers: nothing in them is later.
AS_OF = date(2026, 6, 30)

#: The share of companies with a shared name, and companies per such name. Coincidences and shared
#: names that occur once nearly cancel out: 7 % share theirs.
SHARED_NAMES = 0.067
BEARERS = 40

_STAFF = urn(
    [
        *[(0, 42), (1, 14), (2, 8), (3, 6), (4, 4), (7, 9)],
        *[(15, 8), (35, 5), (70, 2), (150, 1), (600, 1)],
    ]
)
_PERSONAL = ("SOLE_TRADER", "PARTNERS", "ASSOCIATION")
#: Holdings of the owners of a company, as the floors of the intervals that CVR keeps.
_SPLITS: tuple[tuple[str, ...], ...] = (
    *[("1.0",)] * 3,
    ("0.5", "0.5"),
    ("0.6667", "0.3333"),
    ("0.9", "0.05"),
    ("0.3333", "0.3333", "0.3333"),
    ("0.5", "0.25", "0.25"),
    ("0.5", "0.2", "0.15", "0.1"),
    ("0.25", "0.25", "0.25", "0.25"),
)


def corporate(register: Register, index: int) -> Variables:
    """Returns the company at a position as others refer to it: number, name and form."""
    return exhibit(register, index) or _identity(register, index, _draw(register, index))


def earlier_company(register: Register, company: Variables, draw: Draw) -> Variables:
    """Returns an earlier company, which exists in a register of any size."""
    found = corporate(register, draw.below(max(company["index"], 1)))
    return {name: found[name] for name in ("number", "name", "form")}


def company(register: Register, index: int) -> Variables:
    """Returns the company at a position, counted from 0; a function of its arguments alone."""
    shown = exhibit(register, index)
    if shown is not None:
        return shown
    draw = _draw(register, index)
    drawn = _identity(register, index, draw)
    form, name = drawn["form"], drawn["name"]
    drawn |= _life(register, draw, form)
    drawn["address"] = drawn.get("home") or company_address(register, index, draw)
    drawn["industries"] = _industries(register, draw)
    drawn["employees"] = _employees(draw, form)
    drawn["former_names"] = _former_names(register, draw, drawn)
    drawn["trade_names"] = _trade_names(register, draw)
    drawn["postal"] = postal_address(register, draw)
    drawn |= contacts(draw, register, name)
    usual = register.habits["capitals"].get(form["short"])
    drawn["capital"] = draw.pick(usual) if usual else None
    if form["naming"] == "TRADING" and draw.happens(0.6):
        drawn["purpose"] = draw.pick(register.words["purposes"])
    drawn["protected"] = draw.happens(0.45)
    return drawn


def _draw(register: Register, index: int) -> Draw:
    return Draw(register.ordinal, Topic.COMPANY, index)


def _identity(register: Register, index: int, draw: Draw) -> Variables:
    """Returns the variables drawn first: name and form, and a sole trader or a home abroad."""
    drawn: Variables = {"index": index, "number": register.company_number(index)}
    if draw.happens(SHARED_NAMES):
        # The names grow in number with the register, so that their share stays the same.
        shared = Draw(register.ordinal, Topic.SHARED_NAME, draw.below(index // BEARERS + 1))
        form = shared.pick(register.shared_forms)
        name = shared_name(shared, register)
        if form["naming"] == "SOLE_TRADER":
            drawn["trader"] = person(draw, register)
        return {**drawn, "form": form, "name": _spelt(register, shared, name, form)}
    form = draw.pick(register.forms)
    match form["naming"]:
        case "SOLE_TRADER":
            drawn["trader"] = person(draw, register)
            name = trader_name(draw, register, drawn["trader"])
        case "FOREIGN":
            drawn["home"] = abroad(draw)
            name = foreign_name(draw, drawn["home"]["country"])
        case _:
            name = company_name(draw, register, form)
    return {**drawn, "form": form, "name": _spelt(register, draw, name, form)}


def _spelt(register: Register, draw: Draw, name: str, form: Variables) -> str:
    spelt = name.upper() if draw.happens(register.habits["upper_case"]) else name
    return f"{spelt} {form['suffix']}".rstrip()


def _life(register: Register, draw: Draw, form: Variables) -> Variables:
    """Returns founding, registration and standing; there are more young companies than old ones."""
    founded = AS_OF - timedelta(days=draw.below(150) ** 2 + draw.below(120))
    registered = min(founded + timedelta(days=draw.below(60)), AS_OF)
    standing, status = draw.pick(register.states)
    has_ended = standing == "ENDED"
    since = founded
    if standing != "ACTIVE":
        earliest = founded if has_ended else max(founded, AS_OF - timedelta(days=700))
        since = draw.day(earliest, AS_OF)
    if form["naming"] in _PERSONAL and standing in ("ACTIVE", "ENDED"):
        status = ""
    return {
        "founded": founded,
        "registered": max(registered, register.habits["opened"]),
        "standing": standing,
        "status": status,
        "standing_since": since,
        "ended": since if has_ended else None,
    }


def _industries(register: Register, draw: Draw) -> list[Variables]:
    """Returns the main industry and up to two more; sometimes none is known."""
    kind = draw.below(100)
    count = 0 if kind < 4 else 3 if kind == 4 else 2 if kind < 12 else 1
    return [draw.pick(register.industries) for _ in range(count)]


def _employees(draw: Draw, form: Variables) -> int:
    if form["naming"] == "SOLE_TRADER" and draw.happens(0.85):
        return 0
    base = draw.pick(_STAFF)
    return base if base < 5 else base - 2 + draw.below(base)


def _former_names(register: Register, draw: Draw, company: Variables) -> list[Variables]:
    form, founded = company["form"], company["founded"]
    if form["naming"] != "TRADING" or not draw.happens(0.12):
        return []
    name = _spelt(register, draw, company_name(draw, register, form), form)
    until = draw.day(founded, (company["ended"] or AS_OF) - timedelta(days=1))
    return [{"name": name, "since": founded, "until": until}]


def _trade_names(register: Register, draw: Draw) -> list[str]:
    return [f"{coin(draw)} {draw.pick(register.words['tags'])}"] if draw.happens(0.06) else []


def units(register: Register, owner: Variables) -> list[Variables]:
    """Returns a company's units, also closed ones; the first is at the company's address."""
    if "units" in owner:
        shown: list[Variables] = owner["units"]
        return shown
    draw = Draw(register.ordinal, Topic.UNITS, owner["index"])
    numbers = register.unit_numbers(owner["index"])
    if not numbers:
        return []
    main = {"number": numbers[0], "industry": _unit_industry(register, owner, draw)}
    others = [_further_unit(register, owner, draw, number) for number in numbers[1:]]
    return [{**owner, **main, "started": owner["founded"]}, *others]


def _further_unit(register: Register, owner: Variables, draw: Draw, number: str) -> Variables:
    address = building(draw, register)
    if register.habits["flats"]:
        address = in_flat(draw, address)
    is_branch = draw.happens(0.4)
    latest = owner["ended"] or AS_OF
    started = draw.day(owner["founded"], latest)
    unit = {
        "number": number,
        "name": f"{owner['name']} {address['city']}" if is_branch else owner["name"],
        "address": address,
        "industry": _unit_industry(register, owner, draw),
        "employees": draw.below(owner["employees"] + 1),
        "started": started,
        "ended": draw.day(started, latest) if draw.happens(0.2) else owner["ended"],
    }
    return unit | (contacts(draw, register, owner["name"]) if is_branch else {})


def _unit_industry(register: Register, owner: Variables, draw: Draw) -> Variables:
    return owner["industries"][0] if owner["industries"] else draw.pick(register.industries)


def owners(register: Register, company: Variables) -> list[Variables]:
    """Returns the owners in the register; only the showcase has past ones."""
    if "owners" in company:
        shown: list[Variables] = company["owners"]
        return shown
    draw = Draw(register.ordinal, Topic.OWNERS, company["index"])
    match register.habits["ownership"].get(company["form"]["short"]):
        case "SOLE":
            holders = [company["trader"]]
        case "SHAREHOLDERS":
            return [_shareholder(register, company, draw, each) for each in draw.pick(_SPLITS)]
        case "GENERAL_PARTNER":
            holders = [earlier_company(register, company, draw)]
        case "BODIES":
            holders = [earlier_company(register, company, draw) for _ in range(3)]
        case "PARTNERS" | "CO_OWNERS":
            count = draw.between(2, 4)
            holders = [_holder(register, company, draw, firms=0.2) for _ in range(count)]
        case _:
            holders = []
    return [{"holder": holder, "since": company["founded"]} for holder in holders]


def _shareholder(register: Register, company: Variables, draw: Draw, share: str) -> Variables:
    founded, ended = company["founded"], company["ended"]
    return {
        "holder": _holder(register, company, draw, firms=0.4),
        "since": draw.day(founded, ended or AS_OF) if draw.happens(0.4) else founded,
        "share": share,
        "votes": "0.5" if draw.happens(0.05) else share,
        "until": ended,
    }


def _holder(register: Register, company: Variables, draw: Draw, *, firms: float) -> Variables:
    if draw.happens(firms):
        return earlier_company(register, company, draw)
    return person(draw, register)
