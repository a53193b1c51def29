"""The documents of Enhetsregisteret (data.brreg.no), and other formats of its files."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache
from textwrap import wrap
from typing import IO, Any

from register_samples.chance import Draw, Topic
from register_samples.companies import AS_OF, earlier_company, owners
from register_samples.names import person, postal_address
from register_samples.registers import NORWAY, Document, Templates, Variables

API = "https://data.brreg.no/enhetsregisteret/api"

_TEMPLATES = Templates("norway")
#: The day on which employees were last counted.
_COUNTED = "2026-06-12"
_TRADED = ("TRADING", "PARTNERS", "FOREIGN")
#: The first registrations of voluntary organisations, and waivers of the audit.
_VOLUNTARY_SINCE, _WAIVED_SINCE = date(2009, 6, 2), date(2011, 5, 1)
#: One in so many companies quotes a name in its activity; one board in so many has two members
#: with one name.
_QUOTED, _NAMESAKES = 60, 40
#: Fewer employees than this are withheld.
_WITHHELD_BELOW = 5

#: Texts of codes, by what they name.
_TEXTS: dict[str, dict[str, str]] = NORWAY.habits["texts"]
#: The sector of companies by their naming, and the role of owners by the legal form.
_SECTORS, _OWNERS = NORWAY.habits["sectors"], NORWAY.habits["owners"]
_AS = "Aksjeselskap"
_SHARE_CAPITAL = {"kind": _TEXTS["capitals"]["SHARES"]}
#: The reasons of a compulsory dissolution, as the template has them.
_DEFICIENCIES = ("no_accounts", "no_director", "no_auditor", "no_board", "not_deleted")
#: Codes of roles and their holders.
_Seats = Sequence[tuple[str, Variables]]

#: The groups of roles that are not called as the role in them.
_GROUPS = {"DTPR": "DELT", "DTSO": "DELT", "SIFE": "SIGN", "POHV": "PROK"}
#: The words on the approval of those who have it, and when every group of roles last changed.
_APPROVALS = {"REVI": "Godkjent revisjonsforetak", "REGN": "Autorisert regnskapsforetak"}
_CHANGED = "2026-05-04"
#: The last seat on a board of so many is the employees'.
_WITH_EMPLOYEES = 4
_EMPLOYEES = {"code": "AREP", "text": "Representant for de ansatte"}
#: How the register has the share of each of so many partners.
_PARTS = {1: "100%", 2: "50%", 3: "1/3", 4: "25,00"}


def entity(company: Variables) -> Document:
    """Returns one `enhet`; fields without a value are absent, as in the register."""
    draw = Draw(NORWAY.ordinal, Topic.DETAILS, company["index"])
    form, naming, standing = company["form"], company["form"]["naming"], company["standing"]
    traded = naming in _TRADED
    variables = {
        **_common(company),
        "postal": _address(company["postal"]),
        **{f"industry_{n}": each for n, each in enumerate(company["industries"], 1)},
        "vat": traded and draw.happens(0.7),
        # Sole traders have no date of foundation, only that of registration.
        "established": None if naming == "SOLE_TRADER" else company["founded"],
        "sector": _coded("sectors", _SECTORS[naming]),
        "traded": traded,
        "foundation": form["code"] == "STI",
        "association": naming == "ASSOCIATION",
        "bankrupt": standing == "BANKRUPT",
        "liquidation": standing == "LIQUIDATION",
        "compulsory": standing == "COMPULSORY",
        standing: company["standing_since"],
        **_deficiencies(company),
    }
    if naming == "TRADING" and not draw.happens(0.1):
        variables["accounts"] = str(AS_OF.year - draw.between(1, 2))
    if form["code"] == "ORGL":
        variables["parent"] = earlier_company(NORWAY, company, draw)["number"]
    variables["language"] = "Nynorsk" if draw.happens(0.12) else "Bokmål"
    variables["vat_since"] = company["registered"] if variables["vat"] else None
    variables["traded_since"] = company["registered"] if traded else None
    if purpose := company.get("purpose"):
        variables["statutes"] = draw.day(company["founded"], AS_OF)
        variables["purpose_lines"] = list(_in_lines(purpose))
    variables["in_group"] = False
    if capital := company["capital"]:
        variables["shares"] = {"amount": float(capital), "count": capital // 10} | _SHARE_CAPITAL
        drawn = draw.happens(0.2)
        variables["in_group"] = company.get("in_group", drawn)
    details = _further_details(company) | _voluntary(variables["vat_since"], company["index"])
    return _TEMPLATES.fill("entity", variables | details)


def _deficiencies(company: Variables) -> Variables:
    """Returns the day of each reason for which a company is dissolved; some have two."""
    if company["standing"] != "COMPULSORY":
        return {}
    first, since = company["index"] % len(_DEFICIENCIES), company["standing_since"]
    second = _DEFICIENCIES[first - 1] if company["index"] % 2 else None
    return {_DEFICIENCIES[first]: since} | ({second: since} if second else {})


def _voluntary(since: date | None, index: int) -> Variables:
    """Returns the voluntary registration of few of those that are registered for VAT."""
    if since is None or not Draw(NORWAY.ordinal, Topic.ATTRIBUTES, index).happens(0.1):
        return {}
    return {"voluntary": ["Utleier av bygg eller anlegg"], "voluntary_since": since}


def _further_details(company: Variables) -> Variables:
    """Returns the variables of members that few entities have, or that were added later."""
    draw = Draw(NORWAY.ordinal, Topic.FURTHER_DETAILS, company["index"])
    form, registered = company["form"]["code"], company["registered"]
    naming = company["form"]["naming"]
    details: Variables = {"remarks": company.get("remarks", []), "party": False}
    text = company.get("purpose") or (company["industries"] or [{"text": "Forening"}])[0]["text"]
    text = str(company.get("activity", text))
    if naming == "TRADING" and company["index"] % _QUOTED == 0:
        text += f' Drives som "{company["name"]}", og under "navn" av andre.'
    details["activity_lines"] = list(_in_lines(text))
    if naming == "ASSOCIATION":
        details["association_since"] = draw.day(max(registered, _VOLUNTARY_SINCE), AS_OF)
        details["party"] = draw.happens(0.02)
        details["party_since"] = registered if details["party"] else None
    if form == "AS" and draw.happens(0.7):
        details["waived"] = draw.day(max(registered, _WAIVED_SINCE), AS_OF)
    if draw.happens(0.02):
        details["auxiliary"] = draw.pick(NORWAY.industries)
    if not details["remarks"] and draw.happens(0.01):
        kind = draw.pick(list(_TEXTS["remarks"]))
        on = draw.day(registered, AS_OF)
        details["remarks"] = [{"type": kind, "text": _TEXTS["remarks"][kind], "on": on}]
    if form in ("KS", "BA") and draw.happens(0.3):
        # Of some forms only the paid-in part is registered.
        kind = _TEXTS["capitals"]["OTHER"]
        details["shares"] = {"paid": float(draw.between(1, 90) * 10_000), "kind": kind}
    if naming == "FOREIGN" and company["address"] and "country" in company["address"]:
        details |= _home_register(company["address"], draw)
    return details


def _home_register(address: Variables, draw: Draw) -> Variables:
    country = address["country"]
    name = _TEXTS["countries"][country]
    return {
        "home_number": f"{draw.below(100_000_000):08d}",
        "home_register": _TEXTS["home_registers"].get(country, "Business Register"),
        "home_office": {**address, "country_name": name},
        "home_country": country,
        "home_country_name": name,
        "home_form": {"code": "LTD", "text": "Private limited company", "norwegian": _AS},
    }


def unit(unit: Variables, owner: Variables) -> Document:
    """Returns one `underenhet` of a company."""
    trading = owner["form"]["naming"] not in ("ASSOCIATION", "PROPERTY")
    return _TEMPLATES.fill(
        "unit",
        {
            **_common(unit),
            "form": _coded("unit_forms", "BEDR" if trading else "AAFY"),
            "registered": max(unit["started"], owner["registered"]),
            "trading": trading,
            "unit_vat_since": unit["started"] if trading else None,
            **_further_unit_details(unit),
            **_voluntary(unit["started"] if trading else None, int(unit["number"])),
            "owner": owner["number"],
            "moved_on": unit["moved"]["on"] if "moved" in unit else None,
        },
    )


def _further_unit_details(unit: Variables) -> Variables:
    draw = Draw(NORWAY.ordinal, Topic.FURTHER_DETAILS, int(unit["number"]))
    further = [draw.pick(NORWAY.industries) for _ in range(2)]
    return {
        "industry_2": further[0] if draw.happens(0.08) else None,
        "auxiliary": further[1] if draw.happens(0.02) else None,
        "postal": _address(unit.get("postal") or postal_address(NORWAY, draw)),
    }


def _common(holder: Variables) -> Variables:
    """Returns the variables of companies and units."""
    employees = holder["employees"]
    return {
        **holder,
        "counted": _COUNTED if employees else None,
        "former_names": [_former(name) for name in holder.get("former_names", ())],
        "employees_shown": employees if employees >= _WITHHELD_BELOW else None,
        "has_employees": employees > 0,
        "address": _address(holder["address"]),
    }


def _former(name: Variables) -> Variables:
    """Returns a former name; the register has local times of its changes."""
    return {
        "name": name["name"],
        "since_time": f"{name['since']} 16:52:00",
        "until_time": f"{name['until']} 12:54:30",
    }


def _address(address: Variables | None) -> Variables | None:
    """Returns an address; one abroad has neither postcode nor municipality of its own."""
    if address is None:
        return None
    if "country" in address:
        return {**address, "country_name": _TEXTS["countries"][address["country"]]}
    care_of = [f"c/o {address['co']}"] if address.get("co") else []
    line = f"Postboks {address['box']}" if "box" in address else address["street"]
    if address.get("house"):
        line += f" {address['house']}{address.get('letter') or ''}"
    return {**address, "country_name": "Norge", "country": "NO", "lines": [*care_of, line]}


@cache
def _in_lines(text: str) -> tuple[str, ...]:
    """Returns a text in lines as wide as the register's."""
    return tuple(wrap(text, 70))


def roles(company: Variables) -> Document | None:
    """Returns the roles of a company with its number; None where the register has none."""
    form, naming = company["form"], company["form"]["naming"]
    if company["ended"] or form["code"] == "UTLA":
        return None
    draw = Draw(NORWAY.ordinal, Topic.OFFICERS, company["index"])
    seats: list[tuple[str, _Seats]] = []
    if known := owners(NORWAY, company):
        code = _OWNERS[form["short"]]
        part = {"part": _PARTS.get(len(known))} if code == "DTPR" else {}
        seats.append((_GROUPS.get(code, code), [(code, owner["holder"] | part) for owner in known]))
    if naming == "ESTATE":
        seats.append(("BOBE", [("BOBE", trustee(draw))]))
    if naming in ("TRADING", "FOREIGN", "PUBLIC") and draw.happens(0.8):
        seats.append(("DAGL", [("DAGL", person(draw, NORWAY))]))
    if naming in ("TRADING", "ASSOCIATION", "PROPERTY"):
        members = ["LEDE", *["MEDL"] * draw.below(4), *(["VARA"] if draw.happens(0.2) else [])]
        held = [(code, person(draw, NORWAY)) for code in members]
        if company["index"] % _NAMESAKES == 0 and members[1:3] == ["MEDL", "MEDL"]:
            held[2] = "MEDL", {**held[1][1], "born": held[2][1]["born"]}
        seats.append(("STYR", held))
    for code in ("REVI", "REGN"):
        if naming == "TRADING" and draw.happens(0.4):
            seats.append((code, [(code, earlier_company(NORWAY, company, draw))]))
    seats += _further_seats(company, draw)
    groups = [group(code, held) for code, held in seats]
    return {"organisasjonsnummer": company["number"], "rollegrupper": groups} if groups else None


def _further_seats(company: Variables, draw: Draw) -> Iterator[tuple[str, _Seats]]:
    """Yields the roles that few companies have, by group."""
    naming = company["form"]["naming"]
    if company["standing"] == "BANKRUPT":
        yield "BOBE", [("BOBE", trustee(draw))]
    if naming == "FOREIGN":
        yield "REPR", [("REPR", person(draw, NORWAY))]
    for code in ("SIFE", "POHV"):
        if naming == "TRADING" and draw.happens(0.1):
            yield _GROUPS[code], [(code, person(draw, NORWAY)) for _ in range(2)]


def trustee(draw: Draw) -> Variables:
    """Returns a lawyer who administers an estate, with a name as it is written."""
    return {"advocate": f"Adv. {person(draw, NORWAY)['name']}"}


def group(code: str, seats: _Seats) -> Document:
    """Returns the roles of one group, such as a board: the code of each and its holder."""
    approval = _APPROVALS.get(code)
    held = [
        {
            "type": _coded("roles", role),
            _kind(holder): holder | {"approval": approval} if approval else holder,
            "part": holder.get("part"),
        }
        for role, holder in seats
    ]
    if code == "STYR" and len(seats) >= _WITH_EMPLOYEES:
        held[-1]["elected"] = _EMPLOYEES
    return _TEMPLATES.fill(
        "group", {"type": _coded("groups", code), "changed": _CHANGED, "roles": held}
    )


def _kind(holder: Variables) -> str:
    return "trustee" if "advocate" in holder else "person" if "born" in holder else "firm"


def _coded(of: str, code: str) -> Variables:
    return {"code": code, "text": _TEXTS[of][code]}


#: Names of columns and members, by year and table.
_TABLES: dict[str, str] = NORWAY.habits["tables"]
_MEMBERS: dict[str, str] = NORWAY.habits["members"]
#: Columns whose names differ from those of the members by more than upper and lower case.
_OTHERWISE = {"registreringsdatoienhetsregisteret": "registreringsdatoenhetsregisteret"}


def write_table(file: IO[str], table: str, found: Iterable[Document]) -> None:
    """Writes a CSV file with the columns of a table, such as `entities_2026`.

    Like the register's, it quotes every cell and doubles no quotation mark in it.
    """
    columns = _TABLES[table].split()
    file.write(_row(columns))
    file.writelines(_row([_cell(document, column) for column in columns]) for document in found)


def _row(cells: Sequence[str]) -> str:
    return '"' + '","'.join(cells) + '"\n'


def _cell(document: Document, column: str) -> str:
    """Returns a member as text: lists in one cell, and of remarks only whether there are any."""
    value: Any = document
    for step in column.lower().split("."):
        members = {name.lower(): each for name, each in (value or {}).items()}
        value = members.get(_OTHERWISE.get(step, step))
    if column == "paategninger":
        value = bool(value)
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ("/n" if column.endswith(".adresse") else " ").join(value)
        case _:
            return "" if value is None else str(value)


def as_of_2022(document: Document) -> Document:
    """Returns an entity or a unit as the JSON files of 2022 had it."""
    kind = {"Enhet": "entities_2022", "Underenhet": "units_2022"}[document["respons_klasse"]]
    members = _MEMBERS[kind].split()
    older = {name: document[name] for name in members if name in document}
    # Nothing was withheld, and the industry of a unit that serves its own group was marked.
    older.setdefault("antallAnsatte", 3 if document["harRegistrertAntallAnsatte"] else 0)
    if auxiliary := document.get("hjelpeenhetskode"):
        older["naeringskode2"] = {**auxiliary, "hjelpeenhetskode": True}
    return older
