"""Companies as filters know them, and the filters over them said again in plain Python."""

from collections.abc import Iterable
from random import Random

from common.contracts.company import Country, Status
from common.contracts.find import Between, Facet, FindRequest, FindSort, Has
from common.contracts.watchlists import packed
from lookup.search.indexed_company import (
    FIELDS,
    NO_AMOUNT,
    Facts,
    Flag,
    employees_text,
    name_key,
)

_NAMES = ("Ærø", "Åse", "Øst", "Nord", "Abc", "Foreningen Norden Afdelingen i ")


def some_facts(random: Random, number: int) -> Facts:
    """A company with few different values, so that filters have something in common."""

    def day() -> str:
        month, date = random.randint(1, 12), random.randint(1, 28)
        return f"{random.randint(1950, 2026)}-{month:02d}-{date:02d}"

    name = f"{random.choice(_NAMES)} {random.randint(0, 300)}{random.choice(['', ' ApS'])}"
    values = (
        random.choice(["", "620100", "621000", "011100", "990000"]),
        random.choice(["", "Oslo", "OSLO", "Bergen", "Aarhus"]),
        random.choice(["", "301", "4601"]),
        random.choice(["Oslo", "Bergen", ""]),
        random.choice(["0155", "1499", "5000", ""]),
        random.choice(["AS", "ENK", "80"]),
        random.choice(["active", "ended", "bankrupt"]),
        random.choice(["", employees_text(random.randint(0, 50))]),
        random.choice(["", day()]),
        random.choice(["", "", day()]),
        random.choice(["", "2023", "2024"]),
        random.choice(["", day()]),
        random.choice(["", day()]),
    )
    amounts = tuple(
        random.choice([NO_AMOUNT, random.randint(-3, 40), 10**18, -(10**18)]) for _ in range(2)
    )
    owners = tuple(sorted(random.sample(range(1, 8), random.randint(0, 2))))
    return Facts(number, name_key(name), values, random.randrange(256), owners, amounts)


def some_request(random: Random) -> FindRequest:
    """Some of the filters, in any order of the list."""

    def few(*values: object) -> tuple[object, ...]:
        return values if random.random() < 0.25 else ()

    def maybe(value: object) -> object:
        return value if random.random() < 0.25 else None

    return FindRequest.model_validate(
        {
            "country": Country.NO,
            "industries": few("62", "0111"),
            "municipalities": random.choice([(), (), ("oslo",), ("0301",), ("4601", "Aarhus")]),
            "cities": few("BERGEN"),
            "postal_codes": few(Between(first="0100", last="1499")),
            "forms": few("AS", "80"),
            "statuses": few(Status.ACTIVE),
            "min_employees": maybe(5),
            "max_employees": maybe(30),
            "min_revenue": maybe(random.choice([-2, 0, 20])),
            "max_equity": maybe(random.choice([-1, 30])),
            "accounts_years": few("2024"),
            "accounts_due": maybe(Between(last="2010-01-01")),
            "founded": maybe(Between(first="1990-01-01")),
            "ended": maybe(Between(last="2010-01-01")),
            "status_since": maybe(Between(first="1990-01-01", last="2010-01-01")),
            "has": few(Has.PHONE, Has.EMAIL),
            "vat_registered": maybe("true"),
            "advertising_protected": maybe("false"),
            "owned_by": maybe("7"),
            "numbers": maybe(packed(random.sample(range(1, 500), random.choice([0, 1, 300])))),
            "sort": random.choice([sort for sort in FindSort if sort is not FindSort.RELEVANCE]),
            "limit": random.choice([1, 7, 20]),
            "facets": few(*Facet),
        }
    )


def fits(one: Facts, request: FindRequest) -> bool:
    """Whether a company fits the filters, each value compared alone."""
    value = dict(zip(FIELDS, one.values, strict=True))
    flags = Flag(one.flags)
    wanted = {Has.PHONE: Flag.PHONE, Has.EMAIL: Flag.EMAIL}
    least, most = request.min_employees, request.max_employees
    staff = Between(
        first=None if least is None else employees_text(least),
        last=None if most is None else employees_text(most),
    )
    return all(
        (
            not request.industries or value["industry"].startswith(request.industries),
            not request.municipalities
            or value["municipality"].casefold() in [n.casefold() for n in request.municipalities]
            or value["municipality_code"] in [code.lstrip("0") for code in request.municipalities],
            _is_one(value["city"], request.cities),
            not request.postal_codes
            or any(_is_between(value["postal_code"], each) for each in request.postal_codes),
            _is_one(value["form"], request.forms),
            _is_one(value["status"], tuple(map(str, request.statuses))),
            _is_between(value["employees"], staff if staff != Between() else None),
            _is_between(value["founded"], request.founded),
            _is_between(value["ended"], request.ended),
            _is_between(value["status_since"], request.status_since),
            _is_amount(one.amounts[0], request.min_revenue, None),
            _is_amount(one.amounts[1], None, request.max_equity),
            _is_one(value["accounts_year"], request.accounts_years),
            _is_between(value["accounts_due"], request.accounts_due),
            all(wanted[part] in flags for part in request.has),
            request.vat_registered is None or Flag.VAT_REGISTERED in flags,
            request.advertising_protected is None or Flag.NOT_PROTECTED in flags,
            request.numbers is None or packed([one.number]) in _numbers(request.numbers),
            request.owned_by is None or int(request.owned_by) in one.owners,
        )
    )


def _numbers(text: bytes) -> set[bytes]:
    return {text[start : start + 4] for start in range(0, len(text), 4)}


def _is_one(value: str, wanted: tuple[str, ...]) -> bool:
    return not wanted or value.casefold() in [each.casefold() for each in wanted]


def _is_amount(value: int, least: int | None, most: int | None) -> bool:
    if least is most is None:
        return True
    return (
        value != NO_AMOUNT and (least is None or value >= least) and (most is None or value <= most)
    )


def _is_between(value: str, ends: Between | None) -> bool:
    if ends is None:
        return True
    return value != "" and (ends.first or "") <= value <= (ends.last or "~")


def value_of(one: Facts, sort: FindSort) -> int | bytes | None:
    """The value by which a company is sorted; None if its register does not say."""
    if sort.field == "name":
        return one.name
    if sort.field == "revenue":
        return None if one.amounts[0] == NO_AMOUNT else one.amounts[0]
    value = dict(zip(FIELDS, one.values, strict=True))[sort.field]
    return int(value.replace("-", "")) if value else None


def ordered(companies: Iterable[Facts], sort: FindSort) -> list[Facts]:
    """Companies in the order of a list: those without a value last, equal ones by number."""
    by_number = sorted(companies, key=lambda one: one.number)
    without = [one for one in by_number if value_of(one, sort) is None]
    having = [one for one in by_number if value_of(one, sort) is not None]
    # Sorting keeps the order of equal ones, in either direction.
    having.sort(key=lambda one: value_of(one, sort), reverse=sort.is_descending)  # type: ignore[arg-type,return-value]
    return having + without
