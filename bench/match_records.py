"""Records of customers as spreadsheets have them, each with the company that it means.

The companies are the real ones of the folder SHARED_DATA among invented ones. A seed invents what
the real samples lack: contacts, ended namesakes, chains of subsidiaries, differences of customers'
data, and Danish addresses from a list of real ones. One company in eight is held out of the
register, unless another has its name, so that its records mean none; nor do those of the other
country's companies. A foreign company that is registered like its branch has no records: the
branch is meant.
"""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from bench.edits import one_typo, two_typos
from common.contracts.company import Address, Company, CompanyKey, Country, Status
from common.contracts.match import MatchRecord
from ingest.registers.brreg.entities import company_record
from lookup.search.folding import fold_name, fold_text
from register_samples import companies_no
from register_store.documents import FOREIGN_FORM, dump

SEED: Final = 20_261_125
#: The day on which documents are read.
_DAY: Final = date(2026, 11, 2)
_HELD_OUT: Final = 8
#: The fields of a record except its id; a type with `country` names the register.
KINDS: Final = {
    "name": ("name", "country"),
    "name, postal code": ("name", "postal_code", "country"),
    "name, town": ("name", "city", "country"),
    "name, address": ("name", "address", "postal_code", "city", "country"),
    "name, postal code, both registers": ("name", "postal_code"),
    "weak name, phone": ("weak", "phone", "country"),
    "weak name, e-mail": ("weak", "email", "country"),
    "weak name, web site": ("weak", "website", "country"),
    "all but number": (
        "name", "address", "postal_code", "city", "phone", "email", "website", "country",
    ),
    "number, name": ("number", "name", "country"),
    "number": ("number", "country"),
    "phone": ("phone", "country"),
    "e-mail": ("email", "country"),
}  # fmt: skip
_SHORT: Final = {
    "entreprenør": "entr.", "eiendom": "eiend.", "ejendomme": "ejd.", "forening": "foren.",
    "foreningen": "foren.", "international": "intl.", "consulting": "cons.", "service": "serv.",
    "invest": "inv.", "holding": "hold.", "norge": "no", "norway": "norge", "danmark": "dk",
    "denmark": "danmark", "transport": "transp.", "og": "&", "and": "&", "&": "og",
}  # fmt: skip


class Labelled(NamedTuple):
    """A record, its type, and the company that it means; None for one of no register."""

    record: MatchRecord
    kind: str
    right: CompanyKey | None
    #: Halves for learning and for measuring; a company is in one of them.
    is_test: bool


@dataclass
class World:
    """Two registers, and companies that are in neither."""

    companies: dict[CompanyKey, Company] = field(default_factory=dict)
    outside: list[Company] = field(default_factory=list)
    #: Companies of which records are made.
    real: list[Company] = field(default_factory=list)

    def add(self, company: Company, *, is_real: bool = True) -> None:
        """Adds a company to its register."""
        self.companies[CompanyKey(company.country, company.vat)] = company
        if is_real:
            self.real.append(company)

    def cores(self, country: Country) -> dict[CompanyKey, bytes]:
        """Returns the stored JSON of a country's companies."""
        return {key: dump(one) for key, one in self.companies.items() if key.country is country}


def world(shared: Path, invented: int) -> World:
    """Returns the registers with the real companies, and so many invented Norwegian ones."""
    random, made = Random(SEED), World()
    real = [*_norwegian(shared), *_danish(shared, random)]
    names = Counter(fold_name(company.name).key for company in real)
    for number, company in enumerate(random.sample(real, len(real))):
        known = _with_contacts(company, random)
        is_single = names[fold_name(company.name).key] == 1
        if number % _HELD_OUT == 0 and is_single and not _is_foreign(company):
            made.outside.append(known)
            continue
        known = _with_history(known, made, random)
        made.add(known, is_real=not _is_foreign(known))
        for other in _namesakes(known, random, len(made.companies)):
            # The members of a chain have the same name, so only the first has records.
            made.add(other, is_real=False)
    for document in companies_no(invented):
        company = Company.model_validate_json(company_record(document, _DAY).core)
        made.add(company, is_real=False)
    return made


def _is_foreign(company: Company) -> bool:
    return company.form is not None and company.form.code == FOREIGN_FORM


def _norwegian(shared: Path) -> Iterator[Company]:
    with gzip.open(shared / "no-enheter.json.gz") as file:
        for document in json.load(file):
            yield Company.model_validate_json(company_record(document, _DAY).core)


def _danish(shared: Path, random: Random) -> Iterator[Company]:
    addresses = (shared / "dk-addresses.txt").read_text().splitlines()
    with (shared / "dk-company-names.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            address = _danish_address(random.choice(addresses))
            yield Company(
                country=Country.DK,
                vat=row["cvr"],
                name=row["name"],
                status=Status.ACTIVE,
                address=address,
            )


def _danish_address(text: str) -> Address:
    street, _, place = text.rpartition(", ")
    postal_code, _, city = place.partition(" ")
    return Address(street=street, postal_code=postal_code, city=city, country="DK", text=text)


def _with_contacts(company: Company, random: Random) -> Company:
    words = fold_name(company.name).tokens
    slug = "".join(letter for letter in "".join(words[:2]) if letter.isascii())[:20] or "firma"
    domain = f"{slug}{random.randrange(100)}.{company.country}"
    given: dict[str, str] = {}
    if random.random() < 0.6:
        given["phone"] = f"{random.randrange(20_000_000, 99_999_999)}"
    if random.random() < 0.5:
        shared = random.random() < 0.3
        given["email"] = f"{slug}{random.randrange(1000)}@gmail.com" if shared else f"post@{domain}"
    if random.random() < 0.3:
        given["website"] = f"https://www.{domain}/"
    return company.model_copy(update=given)


def _with_history(company: Company, made: World, random: Random) -> Company:
    """Returns the company, some with a former name: that of a company that no longer exists."""
    if random.random() < 0.08 and made.outside:
        former = random.choice(made.outside).name.split()
        own = company.name.split()
        name = " ".join([*own[: len(own) // 2 or 1], *former[-1:]])
        return company.model_copy(update={"former_names": (name,)})
    return company


def _namesakes(company: Company, random: Random, number: int) -> Iterator[Company]:
    """Yields an ended namesake, subsidiaries of a chain, or another company of the same name."""
    chance = random.random()
    first = 30_000_000 if company.country is Country.DK else 700_000_000
    bare = {"phone": None, "email": None, "website": None, "former_names": ()}
    if chance < 0.06:
        yield company.model_copy(
            update={**bare, "vat": f"{first + number}", "status": Status.ENDED}
        )
    elif chance < 0.09:
        for place in range(random.randint(1, 4)):
            address = _moved(company.address, random)
            yield company.model_copy(
                update={**bare, "vat": f"{first + 10_000_000 + number * 9 + place}",
                        "address": address, "postal_address": None}
            )  # fmt: skip


def _moved(address: Address | None, random: Random) -> Address | None:
    """Returns an address with the same street and another number, mostly elsewhere."""
    if address is None:
        return None
    street = (address.street or "Storgata 1").rstrip("0123456789ABCDEFG ") or "Storgata"
    line = f"{street} {random.randint(1, 150)}"
    if random.random() < 0.3:
        text = address.text.replace(address.street or "", line)
        return address.model_copy(update={"street": line, "text": text})
    code = f"{random.randint(1000, 9900)}"
    city = f"{random.choice(['Nord', 'Sør', 'Øst', 'Vest'])}by {random.randrange(40)}"
    changed = {"street": line, "postal_code": code, "city": city, "municipality": None}
    return address.model_copy(update={**changed, "text": f"{line}, {code} {city}"})


def records(made: World) -> list[Labelled]:
    """Returns the records of the real companies, of every type that a company's data allow."""
    random = Random(SEED + 1)
    found: list[Labelled] = []
    of: list[tuple[Company, CompanyKey | None]] = [
        (one, CompanyKey(one.country, one.vat)) for one in made.real if one.status is Status.ACTIVE
    ]
    for company, key in [*of, *((one, None) for one in made.outside)]:
        is_test = random.random() < 0.5
        for kind in random.sample(sorted(KINDS), 3 if key else 6):
            record = _record(company, kind, f"{len(found)}", made, random)
            if record is not None:
                found.append(Labelled(record, kind, key, is_test))
    return [*found, *_foreign(made, random, len(found))]


#: Records of two companies.
_OF_TWO: Final = 1_000
#: The fields of another company than that of the number.
_OTHERS: Final = {
    "a number, another's name": ("name",),
    "a number, another's name and town": ("name", "city"),
    "a number, another's name and address": ("name", "address", "postal_code", "city"),
}


def contradictions(made: World) -> list[Labelled]:
    """Returns records with the number of one company, and the name of another in its register."""
    random = Random(SEED + 2)
    active = [one for one in made.real if one.status is Status.ACTIVE]
    found: list[Labelled] = []
    for number, company in enumerate(random.choices(active, k=_OF_TWO)):
        other = random.choice([one for one in active if one.country is company.country])
        kind = sorted(_OTHERS)[number % len(_OTHERS)]
        place = other.address
        known = {
            "name": written(other.name, random),
            "address": place and place.street,
            "postal_code": place and place.postal_code,
            "city": place and place.city,
        }
        given = {name: known[name] for name in _OTHERS[kind] if known[name]}
        if fold_name(other.name).key != fold_name(company.name).key:
            record = {"id": f"{number}", "country": company.country, "number": company.vat, **given}
            found.append(Labelled(MatchRecord.model_validate(record), kind, None, is_test=True))
    return found


def _foreign(made: World, random: Random, first: int) -> Iterable[Labelled]:
    """Yields records of one country's companies that are searched in the other's register."""
    for number, company in enumerate(random.sample(made.real, len(made.real) // 8)):
        kind = random.choice(["name", "name, postal code", "name, town", "name, address"])
        record = _record(company, kind, f"{first + number}", made, random)
        if record is not None:
            other = Country.NO if company.country is Country.DK else Country.DK
            moved = record.model_copy(update={"country": other})
            yield Labelled(moved, kind, None, random.random() < 0.5)


def _record(
    company: Company, kind: str, record_id: str, made: World, random: Random
) -> MatchRecord | None:
    wanted, address = KINDS[kind], company.address
    if random.random() < 0.06:
        # The company has moved since.
        address = random.choice(made.real).address
    known = {
        "country": company.country,
        "number": _number(company.vat, made, random),
        "name": written(company.name, random),
        "weak": _weak(company.name, random),
        "address": address and _street(address.street or "", random),
        "postal_code": address and address.postal_code and _code(address.postal_code, random),
        "city": address and address.city and _cased(address.city, random),
        "phone": company.phone and _phone(_other(company, "phone", kind, made, random), random),
        "email": company.email and _email(_other(company, "email", kind, made, random), random),
        "website": _other(company, "website", kind, made, random),
    }
    given = {name: known[name] for name in wanted if known.get(name)}
    if {"phone", "email", "website"}.intersection(wanted[:2]) - given.keys():
        return None
    if kind == "number, name" and random.random() < 0.1:
        # The company was renamed since, or has a trade name that its register lacks.
        given["name"] = random.choice(made.outside).name
    if "weak" in given:
        given["name"] = given.pop("weak")
    if "address" in given and random.random() < 0.03 and "city" in given:
        given["address"], given["city"] = given["city"], given["address"]
    if "postal_code" in given and "city" in given and random.random() < 0.03:
        given["postal_code"], given["city"] = given["city"], given["postal_code"]
    return MatchRecord.model_validate({"id": record_id, **given})


def _other(company: Company, field: str, kind: str, made: World, random: Random) -> str:
    """Returns the company's contact, or an unregistered one; never with a weak name."""
    share = 0.3 if kind.startswith(("name", "all")) else 0.0
    return _else(company, field, share, made, random) or ""


def _else(company: Company, field: str, share: float, made: World, random: Random) -> str | None:
    value: str | None = getattr(company, field)
    if value is not None and random.random() < share:
        return getattr(random.choice(made.outside), field) or value
    return value


def _number(number: str, made: World, random: Random) -> str:
    """Returns the number, sometimes with a wrong digit, or of another company."""
    chance, place = random.random(), random.randrange(len(number))
    if chance < 0.04:
        return number[:place] + random.choice("0123456789") + number[place + 1 :]
    return random.choice(made.outside).vat if chance < 0.06 else number


def _code(code: str, random: Random) -> str:
    """Returns the postal code, sometimes that of the next street."""
    return f"{code[:-1]}{random.randrange(10)}" if random.random() < 0.05 else code


def written(name: str, random: Random) -> str:
    """Returns a name as another person writes it."""
    text = _cased(name, random)
    if random.random() < 0.45:
        text = fold_name(text).spelled if random.random() < 0.3 else _without_form(text)
    if random.random() < 0.12:
        text = " ".join(_SHORT.get(word.casefold(), word) for word in text.split())
    if random.random() < 0.08:
        text = text.replace("æ", "ae").replace("ø", "oe").replace("å", "aa")
    words = text.split()
    if len(words) > 3 and random.random() < 0.06:
        del words[random.randrange(1, len(words))]
        text = " ".join(words)
    chance = random.random()
    if len(text) > 4 and chance < 0.25:
        text = (two_typos if chance < 0.05 else one_typo)(text, random)
    return text.strip() or name


def _without_form(text: str) -> str:
    words = text.split()
    kept = len(words)
    own = fold_name(text).spelled
    while kept > 1 and fold_name(" ".join(words[: kept - 1])).spelled == own:
        kept -= 1
    return " ".join(words[:kept])


def _cased(text: str, random: Random) -> str:
    return random.choice([text, text, text.title(), text.lower(), text.upper()])


def _weak(name: str, random: Random) -> str:
    """Returns a part of a name as in a note: its first word or half of it, and another word."""
    words = fold_text(name).spelled.split()
    some = words[: max(1, len(words) // 2)]
    return " ".join([*some, random.choice(["kunde", "aps", "v/ chefen", "afd. 2", ""])]).strip()


def _street(street: str, random: Random) -> str:
    if len(street) > 6 and random.random() < 0.1:
        return one_typo(street[:-4], random) + street[-4:]
    return street.replace("vej ", "v. ") if random.random() < 0.05 else street


def _phone(phone: str, random: Random) -> str:
    pairs = " ".join(phone[n : n + 2] for n in range(0, 8, 2))
    return random.choice([phone, pairs, pairs])


def _email(email: str, random: Random) -> str:
    name, _, domain = email.partition("@")
    if domain != "gmail.com" and random.random() < 0.6:
        return f"{random.choice(['anna', 'faktura', 'info'])}@{domain}"
    return f"{name}@{domain}"


def of_country(labelled: Sequence[Labelled], country: Country) -> list[int]:
    """Returns the places of the records that are matched with a country's register."""
    return [n for n, one in enumerate(labelled) if one.record.country in (None, country)]
