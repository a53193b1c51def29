"""Companies by filters: every page, total and count is that of a comparison one by one."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from common.contracts.company import Country, HomeRegister, Status
from common.contracts.find import Facet, FindPosition, FindRequest, FindSort
from lookup.search.find.columns import Segment, Segments, joined, load, save
from lookup.search.find.pages import find, find_numbers, having
from lookup.search.find.pages import owned as owned_numbers
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import (
    FIELDS,
    MAX_AMOUNT,
    NO_AMOUNT,
    POSTAL_CODE,
    AccountsFacts,
    Facts,
    Flag,
    facts_of,
    name_key,
)
from tests.builders.companies import a_company, an_address
from tests.builders.facts import fits, ordered, some_facts, some_request
from tests.builders.indexed import an_indexed_company, filled

#: Pages that are read of a list.
MAX_PAGES = 8


def check(segments: Segments, model: dict[int, Facts], request: FindRequest) -> None:
    """Compares the first pages of a list, and the one after its end, with the companies."""
    wanted = ordered((one for one in model.values() if fits(one, request)), request.sort)
    numbers = sorted(one.number for one in wanted)
    for place_in in (0, len(numbers) // 2, len(numbers)):
        above = numbers[place_in - 1] if place_in else 0
        following = find_numbers(segments, request, None, after=above, limit=9)
        assert following == numbers[place_in : place_in + 9]
    listed: list[int] = []
    after: FindPosition | None = None
    for _ in range(MAX_PAGES):
        page = find(segments, request.model_copy(update={"after": after}))
        listed += [position.number for position in page.positions]
        assert page.total == len(wanted)
        assert page.has_more == (len(listed) < len(wanted))
        for facet in request.facets:
            values = [one.values[FIELDS.index(facet)] for one in wanted]
            assert page.facets[facet] == Counter(filter(None, values))
        if not page.has_more:
            break
        after = page.positions[-1]
    assert listed == [one.number for one in wanted][: len(listed)]
    if wanted:
        whole = request.model_copy(update={"after": None, "limit": len(wanted)})
        last = find(segments, whole).positions[-1]
        assert last.number == wanted[-1].number
        assert find(segments, request.model_copy(update={"after": last})).positions == []


@pytest.mark.parametrize("seed", range(8))
def test_pages_totals_and_counts_are_right_across_changes_and_restarts(
    seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    count = (0, 1, 30, 3000)[seed % 4]
    numbers = random.sample(range(1, count * 2 + 2), count)
    model = {number: some_facts(random, number) for number in numbers}
    companies = list(model.values())
    batches = [Segment.of(companies[start : start + 700]) for start in range(0, count, 700)]
    segments = save(tmp_path / "find", joined(batches))

    for _ in range(5):
        changed = random.sample(range(1, count * 2 + 50), random.choice([1, 5, 40]))
        changes = {n: some_facts(random, n) if random.random() < 0.7 else None for n in changed}
        segments = save(tmp_path / "find", segments.changed(changes))
        for number, facts in changes.items():
            model.pop(number, None)
            if facts is not None:
                model[number] = facts
        if random.random() < 0.3:
            segments = load(tmp_path / "find")
        for _ in range(8):
            check(segments, model, some_request(random))
        # More companies than are sorted one by one, where the register is large.
        owned = FindRequest(country=Country.NO, owned_by="7", sort=FindSort.NAME, limit=20)
        check(segments, model, owned)
        owners = set(random.sample(range(1, 12), random.randint(0, 4)))
        expected = sorted(n for n, facts in model.items() if owners.intersection(facts.owners))
        assert owned_numbers(segments, owners, 30) == expected[:30]


def test_small_changes_are_joined_into_few_segments() -> None:
    random = Random(1)
    segments = joined([Segment.of([some_facts(random, number) for number in range(1000)])])

    for number in range(300):
        segments = segments.changed({number: some_facts(random, number)})

    assert len(segments.parts) <= 6
    assert find(segments, FindRequest(country=Country.NO, limit=0)).total == 1000


def test_a_file_that_is_cut_short_is_noticed(tmp_path: Path) -> None:
    save(tmp_path / "find", joined([Segment.of([some_facts(Random(1), 1)])]))
    [file] = (tmp_path / "find").glob("*.columns")
    file.write_bytes(file.read_bytes()[:-60])

    with pytest.raises(ValueError, match="cut short"):
        load(tmp_path / "find")


def test_names_are_sorted_as_in_the_alphabets_of_the_countries() -> None:
    names = ["Ab", "abe", "Ébène", "Zoo", "Ægir", "Öst", "Østre", "Åse"]

    assert sorted(reversed(names), key=name_key) == names


@pytest.mark.parametrize(
    "country,code",
    [(None, "5359"), ("DK", "5359"), ("GL", "5359"), ("SE", ""), ("NO", ""), ("FO", "")],
)
def test_a_postal_code_abroad_is_in_no_range_of_the_register(
    country: str | None, code: str
) -> None:
    address = an_address().model_copy(update={"country": country, "postal_code": "5359"})
    company = json.loads(a_company(address=address).model_dump_json())

    assert facts_of(company).values[FIELDS.index(POSTAL_CODE)] == code


def test_a_value_that_a_register_does_not_state_is_empty() -> None:
    facts = facts_of({"vat": "12345674", "name": "X", "status": "active"})

    values = dict(zip(FIELDS, facts.values, strict=True))
    assert values == {**dict.fromkeys(FIELDS, ""), "status": "active"}
    assert facts.flags == 0


def test_a_record_of_a_foreign_company_is_found_by_its_number_at_home() -> None:
    home = HomeRegister(number="CVR 87 65 43 21", country="DK")
    record = a_company(country=Country.NO, vat="987654321", home_register=home)

    facts = facts_of(record.model_dump(mode="json"), b'[{"type":"company","vat":"912345675"}]')

    assert facts.owners == (87654321, 912345675)


def test_the_lower_end_of_a_class_and_the_companies_among_the_owners_count() -> None:
    company = {
        "vat": "12345674",
        "name": "X",
        "status": "active",
        "employees": {"min": 10, "max": 19, "exact": None},
        "industry": {"code": "62.010"},
        "phone": "12345678",
        "vat_registered": False,
    }
    owners = b'[{"name":"A","type":"company","vat":"87654321"},{"name":"B","type":"person"}]'

    facts = facts_of(company, owners, einvoicing=True)

    assert facts.values[FIELDS.index("employees")] == "00000010"
    assert facts.values[FIELDS.index("industry")] == "62010"
    assert facts.owners == (87654321,)
    assert facts.flags == Flag.PHONE | Flag.EINVOICING | Flag.NOT_VAT_REGISTERED


@pytest.mark.parametrize("fields, end, year, due", [
    # Norway's register says the year; the accounts themselves say the day.
    ({"country": "no", "form": {"code": "AS"}, "accounts": "2024"}, "", "2024", "2026-12-31"),
    ({"country": "no", "form": {"code": "AS"}, "accounts": "2024"}, "2024-06-30", "2024",
     "2026-06-30"),
    ({"country": "no", "form": {"code": "AS"}, "accounts": "2025"}, "2024-12-31", "2025",
     "2027-12-31"),
    # None were ever filed: a first year may have 18 months.
    ({"country": "no", "form": {"code": "AS"}, "founded": "2024-02-29"}, "", "", "2026-08-29"),
    ({"country": "dk", "form": {"code": "80"}, "founded": "2024-02-29"}, "", "", ""),
    ({"country": "dk", "form": {"code": "80"}}, "2024-09-30", "2024", "2026-09-30"),
    # They need not file, whether they do or not.
    ({"country": "dk", "form": {"code": "10"}}, "2024-09-30", "2024", ""),
    ({"country": "no", "form": {"code": "ENK"}, "founded": "2020-01-01"}, "", "", ""),
    ({"country": "dk", "form": {"code": "80"}, "status": "bankrupt"}, "2020-12-31", "2020", ""),
])  # fmt: skip
def test_the_day_after_which_accounts_are_late(
    fields: dict[str, object], end: str, year: str, due: str
) -> None:
    company = {"vat": "12345674", "name": "X", "status": "active", **fields}

    values = facts_of(company, accounts=AccountsFacts(end)).values

    assert values[FIELDS.index("accounts_year")] == year
    assert values[FIELDS.index("accounts_due")] == due


def test_amounts_are_rounded_away_from_the_filters_that_they_do_not_reach() -> None:
    company = {"vat": "12345674", "name": "X", "status": "active"}
    accounts = AccountsFacts("2025-12-31", "999.9", "-0.5")

    assert facts_of(company, accounts=accounts).amounts == (999, 0)
    assert facts_of(company).amounts == (NO_AMOUNT, NO_AMOUNT)
    huge = AccountsFacts("2025-12-31", "9" * 30, "-" + "9" * 30)
    assert facts_of(company, accounts=huge).amounts == (MAX_AMOUNT, -MAX_AMOUNT)


def placed(number: int, **values: str) -> Facts:
    """A company with these values, and others that are empty."""
    given = {"status": "active", **values}
    return Facts(number, b"x", tuple(given.get(field, "") for field in FIELDS), 0)


@pytest.mark.parametrize(
    "fields, unknown",
    [
        ({"cities": ("Olso",)}, {"city": {"Olso": ("OSLO",)}}),
        ({"cities": ("bergn", "Trondhjem")}, {"city": {"bergn": ("BERGEN",), "Trondhjem": ()}}),
        ({"cities": ("Bodø", "oslo"), "forms": ("AS",)}, {"city": {"Bodø": ()}}),
        ({"cities": ("oslo",), "forms": ("AS",)}, {}),
        ({"municipalities": ("0302",)}, {"municipality": {"0302": ("OSLO",)}}),
        ({"municipalities": ("0031",)}, {"municipality": {"0031": ("OSLO",)}}),
        ({"municipalities": ("3010",)}, {"municipality": {"3010": ()}}),
        ({"municipalities": ("4610",)}, {"municipality": {"4610": ("BERGEN", "STAVANGER")}}),
        ({"municipalities": ("301",), "forms": ("AS",)}, {}),
        # Of a name the gateway has a list.
        ({"municipalities": ("Ozlo",)}, {}),
    ],
)
def test_values_that_no_company_has_are_told_with_the_nearest_beside_an_empty_list(
    fields: dict[str, object], unknown: dict[str, object]
) -> None:
    rows = [("OSLO", "301"), ("BERGEN", "4601"), ("STAVANGER", "4611")]
    companies = [
        placed(number, city=name, municipality=name, municipality_code=code)
        for number, (name, code) in enumerate(rows, start=1)
    ]
    # One in a segment of its own.
    segments = joined([Segment.of(companies[:2])]).changed({3: companies[2]})

    page = find(segments, FindRequest.model_validate({"country": "no", "limit": 1, **fields}))

    assert (page.total, page.unknown) == (0, unknown)


def test_a_code_with_many_neighbours_has_no_hint() -> None:
    codes = ["3301", "3303", "3305", "3310"]
    companies = [
        placed(number, municipality=f"PRØVE {code}", municipality_code=code)
        for number, code in enumerate(codes, start=1)
    ]
    asked = FindRequest(country=Country.NO, municipalities=("3300",), limit=1)

    assert find(joined([Segment.of(companies)]), asked).unknown == {"municipality": {"3300": ()}}


def by_words(words: str, **fields: object) -> FindRequest:
    return FindRequest.model_validate(
        {"country": "dk", "words": words, "sort": FindSort.RELEVANCE, "limit": 2, **fields}
    )


def test_words_are_found_in_every_name_the_most_relevant_first(index: SearchIndex) -> None:
    filled(
        index,
        an_indexed_company("Nordlys Byg ApS", number=10_000_001, employees=5),
        an_indexed_company("Nordlys ApS", number=10_000_002),
        an_indexed_company("Sydlys ApS", number=10_000_003, former_names=("Nordlys Kro",)),
        an_indexed_company("Byggeriet Nordlys", number=10_000_004, status=Status.ENDED),
        an_indexed_company("Aurora ApS", number=10_000_005),
    )

    first = index.find(by_words("NORDLYS"))
    rest = index.find(by_words("NORDLYS", after=first.positions[-1]))
    active = index.find(by_words("nordlys byg", statuses=["active"], facets=["status"]))

    numbers = [position.number for page in (first, rest) for position in page.positions]
    assert numbers == [10_000_002, 10_000_001, 10_000_004, 10_000_003]
    assert (first.total, first.has_more, rest.has_more) == (4, True, False)
    assert (active.total, active.facets) == (1, {Facet.STATUS: {"active": 1}})


@pytest.mark.parametrize(
    "words, found",
    [
        ("prøve", [7, 5, 2, 3, 1, 6]),
        ("prove", [7, 5, 2, 3, 1, 6]),
        ("byg prø", [2]),
        ("prø byg", []),
        ("pr", []),
        ("byg", [2]),
        ("nord as", []),
        ("nord asf", [4]),
        ("2", [2]),
        ("kvart 24", []),
    ],
)
def test_the_last_word_may_be_the_beginning_of_one_behind_exact_words(
    index: SearchIndex, words: str, found: list[int]
) -> None:
    filled(
        index,
        an_indexed_company("Prøvefabrikken ApS", number=1, employees=9),
        an_indexed_company("Prøve Byg 2 ApS", number=2, employees=1),
        an_indexed_company("Sydlys ApS", number=3, trade_names=("Prøve Kro",)),
        an_indexed_company("Nord Asfalt", number=4),
        an_indexed_company("Prøve", number=5, employees=2),
        an_indexed_company("Vestlys ApS", number=6, former_names=("Prøvehuset",), employees=99),
        an_indexed_company("Prøve A/S", number=7, employees=5),
        an_indexed_company("Kvart 241", number=8),
    )

    assert [each.number for each in index.find(by_words(words, limit=20)).positions] == found


@pytest.mark.parametrize(
    "words, total", [("nordlys aps", 1), ("nordlys as", 1), ("!!", 0), ("nordlis", 0)]
)
def test_a_legal_form_counts_and_typos_are_not_tolerated(
    index: SearchIndex, words: str, total: int
) -> None:
    filled(
        index,
        an_indexed_company("Nordlys ApS", number=10_000_001),
        an_indexed_company("Nordlys A/S", number=10_000_002),
    )

    assert index.find(by_words(words)).total == total


def test_changed_and_removed_companies_are_listed_as_they_are(index: SearchIndex) -> None:
    nordlys = an_indexed_company("Nordlys ApS", number=10_000_001)
    filled(index, nordlys, an_indexed_company("Aurora ApS", number=10_000_002))

    index.apply([], [nordlys.key], [an_indexed_company("Zoo", number=10_000_002).facts])
    index.commit(b"2")

    page = index.find(FindRequest(country=Country.DK, limit=10))
    assert [(one.key, one.number) for one in page.positions] == [("zoo", 10_000_002)]


def test_a_company_is_named_for_each_value_of_a_field() -> None:
    facts = {number: some_facts(Random(number), number) for number in range(1, 60)}
    segments = joined(
        [Segment.of(list(facts.values())[:30]), Segment.of(list(facts.values())[30:])]
    )
    changed = segments.changed({number: None for number in range(1, 20)})
    forms = {one.values[FIELDS.index("form")] for one in facts.values() if one.number >= 20}

    found = having(changed, "form", {*forms, "nothing"})

    assert found.keys() == forms
    for value, number in found.items():
        assert number >= 20
        assert facts[number].values[FIELDS.index("form")] == value
