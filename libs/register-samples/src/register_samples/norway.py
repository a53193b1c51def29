"""The documents of Enhetsregisteret (data.brreg.no)."""

from collections.abc import Sequence
from functools import cache
from textwrap import wrap

from register_samples.chance import Draw, Topic
from register_samples.companies import AS_OF, earlier_company, owners
from register_samples.names import person
from register_samples.registers import NORWAY
from register_samples.templates import Document, Templates, Variables

API = "https://data.brreg.no/enhetsregisteret/api"

_TEMPLATES = Templates("norway")
#: The day on which employees were last counted.
_COUNTED = "2026-06-12"
_TRADED = ("TRADING", "PARTNERS", "FOREIGN")
#: Fewer employees than this are withheld.
_WITHHELD_BELOW = 5

#: Texts of codes, by what they name.
_TEXTS: dict[str, dict[str, str]] = NORWAY.habits["texts"]
#: The sector of companies by their naming, and the role of owners by the legal form.
_SECTORS, _OWNERS = NORWAY.habits["sectors"], NORWAY.habits["owners"]


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
    }
    if naming == "TRADING" and not draw.happens(0.1):
        variables["accounts"] = str(AS_OF.year - draw.between(1, 2))
    if form["code"] == "ORGL":
        variables["parent"] = earlier_company(NORWAY, company, draw)["number"]
    variables["language"] = "Nynorsk" if draw.happens(0.12) else "Bokmål"
    variables["vat_since"] = company["registered"] if variables["vat"] else None
    variables["traded_since"] = company["registered"] if traded else None
    variables["counted"] = _COUNTED if company["employees"] else None
    if purpose := company.get("purpose"):
        variables["statutes"] = draw.day(company["founded"], AS_OF)
        variables["purpose_lines"] = list(_in_lines(purpose))
    if capital := company["capital"]:
        variables["shares"] = {"amount": float(capital), "count": capital // 10}
        variables["in_group"] = draw.happens(0.2)
    return _TEMPLATES.fill("entity", variables)


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
            "owner": owner["number"],
            "moved_on": unit["moved"]["on"] if "moved" in unit else None,
        },
    )


def _common(holder: Variables) -> Variables:
    """Returns the variables of companies and units."""
    employees = holder["employees"]
    return {
        **holder,
        "employees_shown": employees if employees >= _WITHHELD_BELOW else None,
        "has_employees": employees > 0,
        "address": _address(holder["address"]),
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
    seats: list[tuple[str, list[tuple[str, Variables]]]] = []
    if known := owners(NORWAY, company):
        code = _OWNERS[form["short"]]
        seats.append((code, [(code, owner["holder"]) for owner in known]))
    if naming == "ESTATE":
        seats.append(("BOBE", [("BOBE", person(draw, NORWAY))]))
    if naming in ("TRADING", "FOREIGN", "PUBLIC") and draw.happens(0.8):
        seats.append(("DAGL", [("DAGL", person(draw, NORWAY))]))
    if naming in ("TRADING", "ASSOCIATION", "PROPERTY"):
        members = ["LEDE", *["MEDL"] * draw.below(4), *(["VARA"] if draw.happens(0.2) else [])]
        seats.append(("STYR", [(code, person(draw, NORWAY)) for code in members]))
    for code in ("REVI", "REGN"):
        if naming == "TRADING" and draw.happens(0.4):
            seats.append((code, [(code, earlier_company(NORWAY, company, draw))]))
    groups = [group(code, held) for code, held in seats]
    return {"organisasjonsnummer": company["number"], "rollegrupper": groups} if groups else None


def group(code: str, seats: Sequence[tuple[str, Variables]]) -> Document:
    """Returns the roles of one group, such as a board: the code of each and its holder."""
    held = [
        {
            "type": _coded("roles", role),
            "person" if "born" in holder else "firm": holder,
        }
        for role, holder in seats
    ]
    return _TEMPLATES.fill("group", {"type": _coded("groups", code), "roles": held})


def _coded(of: str, code: str) -> Variables:
    return {"code": code, "text": _TEXTS[of][code]}
