"""Norwegian annual accounts are read as they were filed, in any order, and nothing is repaired."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from common.contracts.accounts import AccountsFigures, AccountsState, AnnualAccounts
from common.contracts.company import CompanyKey
from ingest.changes.accounts import FiledAccounts
from ingest.following.register_client import RegisterUnavailable
from ingest.loading.load import Tally
from ingest.records.records import RecordRejected
from ingest.registers.brreg.accounts_sync import ReadAnswers, Schedule, of_answer
from ingest.registers.brreg.annual_accounts import annual_accounts, decoded
from register_store.accounts import AccountsCheck
from tests.builders.accounts import accounts_of

SHARED_DATA = os.environ.get("SHARED_DATA")
COMPANY = CompanyKey.parse("no:987654321")
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
BASE = "https://accounts.example"

#: The order of the figures in REAL.
NAMES = (
    "revenue", "employee_expense", "operating_profit", "profit_before_tax", "tax", "profit",
    "non_current_assets", "current_assets", "cash", "assets", "equity",
    "non_current_liabilities", "current_liabilities", "liabilities",
)  # fmt: skip
#: File, filing, standard with size, audit and warnings, and figures of each real answer, read from
#: the files by eye; a dash is what is not told.
REAL = [
    ("no01", "5667197 company 2024-01-01 2024-12-31 USD", "ifrs_simplified - audit",
     "72543000000 - 10347000000 8168000000 - 8141000000 "
     "64071000000 45079000000 - 109150000000 41090000000 26036000000 42024000000 68060000000"),
    ("no03", "6300609 company 2024-01-01 2024-12-31 NOK", "local_gaap - audit",
     "17763000000 - -15000000 758000000 - 752000000 "
     "234526000000 11157000000 - 245683000000 8678000000 224766000000 12239000000 237005000000"),
    ("no04", "6193159 company 2024-01-01 2024-12-31 NOK", "local_gaap small audit",
     "174012 - -8599 197030 - 186155 "
     "2973074 3086673 - 6059747 5957114 24168 78465 102633"),
    ("no05", "6222227 company 2024-01-01 2024-12-31 NOK", "local_gaap - audit unbalanced",
     "90624000 - -83150000 -260742000 - -260874000 "
     "1266197000 113931000 - 1380128000 1313849000 5430000 60847000 66277000"),
    ("no06", "6300613 company 2024-01-01 2024-12-31 EUR", "local_gaap - audit",
     "1931000000 - 267000000 238000000 - 194000000 "
     "4849000000 1591000000 - 6440000000 2919000000 1855000000 1666000000 3521000000"),
    ("no07", "4080685 group 2022-01-01 2022-12-31 USD", "ifrs - audit",
     "150806000000 - 78811000000 78604000000 49860000000 28744000000 "
     "79851000000 78170000000 16598000000 158021000000 53989000000 "
     "60226000000 43806000000 104032000000"),
    ("no07", "4080683 company 2022-01-01 2022-12-31 USD", "ifrs_simplified - audit",
     "96784000000 - 28365000000 27478000000 -68000000 27546000000 "
     "76319000000 83023000000 10204000000 159342000000 50914000000 "
     "33598000000 74830000000 108428000000"),
    ("no09", "6409129 company 2025-03-04 2025-12-31 NOK", "local_gaap small none",
     "100000 99180 -198967 -198967 - -198967 "
     "0 124869 24869 124869 -168967 - 293836 293836"),
    ("no10", "5415737 company 2023-01-01 2023-12-31 NOK", "local_gaap small audit",
     "28725566 - 2208188 2295479 - 1789315 "
     "6145015 1326383 - 7471397 3620340 835167 3015890 3851057"),
    ("no11", "7192427 company 2025-01-01 2025-12-31 USD", "- - -",
     "67956000000 - 5563000000 6124000000 - 5731000000 "
     "- - - - 39182000000 - - -"),
    ("no21", "100002 group 2018-01-01 2018-12-31 NOK", "local_gaap - -",
     "241557000 42289000 163018000 158369000 -532000 158901000 "
     "33323000 1988422000 280846000 2021745000 1750436000 25796000 245513000 271309000"),
    ("no22", "100003 company 2018-01-01 2018-12-31 NOK", "local_gaap small -",
     "56187507 26503063 16257541 15991975 - 15991975 "
     "466007 20428392 5798206 20894398 11805386 0 9089013 9089013"),
    ("no23", "100004 company 2018-01-01 2018-12-31 NOK", "local_gaap small -",
     "7125339 228200 3545529 3545529 - 2980874 "
     "58553043 5186696 4765250 63739739 13048626 50020698 670415 50691113"),
    ("no25", "100006 company 2018-01-01 2018-12-31 NOK", "local_gaap small none",
     "- - -9129 221495 - 221495 "
     "0 8980325 275 8980325 6459562 0 2520763 2520763"),
    ("no26", "100007 company 2016-01-01 2016-12-31 NOK", "local_gaap small none",
     "0 - -53268 -53266 - -53266 "
     "268288 78064 10064 346352 -31089 0 377441 377441"),
    ("no27", "100008 company 2018-01-01 2018-12-31 NOK", "local_gaap small none",
     "0 0 0 12 0 12 "
     "0 24453 24453 24453 24454 0 - 0"),
    ("no30", "7192427 company 2025-01-01 2025-12-31 USD", "ifrs_simplified - audit unbalanced",
     "67956000000 - 5563000000 6124000000 - 5731000000 "
     "70906000000 32526000000 - 103432000000 39182000000 27325000000 36924000000 64249000000"),
    ("no31", "6738052 company 2025-01-01 2025-12-31 NOK", "local_gaap small audit",
     "8913358 - 1436635 -1950047 - -1521043 "
     "187789384 2867150 - 190656534 49343706 139213411 2099417 141312828"),
    ("no32", "6336195 company 2024-01-01 2024-12-31 NOK", "local_gaap small none",
     "4859032 - 1092156 892908 - 692981 "
     "42600 2498346 - 2540946 33214 0 2507732 2507732"),
    ("no33", "6498211 company 2025-01-01 2025-12-31 NOK", "local_gaap small none",
     "705904 - 403448 403430 - 314675 "
     "- 499008 - 499008 344675 - 154333 154333"),
    ("no34", "6336111 company 2024-07-01 2025-06-30 NOK", "local_gaap - audit",
     "4139101000 - 94531000 145460000 - 115890000 "
     "158558000 1806732000 - 1965290000 171071000 172321000 1621898000 1794219000"),
]  # fmt: skip


@pytest.mark.skipif(SHARED_DATA is None, reason="SHARED_DATA names no folder of real samples")
@pytest.mark.parametrize("file,filing,says,figures", REAL)
def test_every_real_answer_has_its_figures(file: str, filing: str, says: str, figures: str) -> None:
    [path] = Path(SHARED_DATA or ".", "accounts", "no").glob(f"{file}-*.json")
    found = [annual_accounts(raw, base=BASE) for raw in decoded(path.read_bytes())]

    [one] = [one for one in found if one.source.id == filing.split()[0]]

    told = (one.source.id, one.scope, one.period.start, one.period.end, one.currency)
    assert " ".join(map(str, told)) == filing
    assert [getattr(one.figures, name) or "-" for name in NAMES] == figures.split()
    assert (one.figures.gross_profit, one.figures.employees) == (None, None)
    said = (one.standard, one.size_class, one.audit.type, *one.warnings)
    assert [each or "-" for each in said] == says.split()
    assert not one.liquidation


@pytest.mark.skipif(SHARED_DATA is None, reason="SHARED_DATA names no folder of real samples")
@pytest.mark.parametrize("file", ["no12", "no13", "no14", "no40"])
def test_real_answers_without_accounts_have_none(file: str) -> None:
    [path] = Path(SHARED_DATA or ".", "accounts", "no").glob(f"{file}-*.json")

    with pytest.raises(RecordRejected):
        decoded(path.read_bytes())


def an_element(**fields: Any) -> dict[str, Any]:
    """The least that accounts have."""
    return {
        "id": 1,
        "regnskapstype": "SELSKAP",
        "virksomhet": {"organisasjonsnummer": "987654321"},
        "regnskapsperiode": {"fraDato": "2025-01-01", "tilDato": "2025-12-31"},
        "valuta": "NOK",
        **fields,
    }


def read(**fields: Any) -> AnnualAccounts:
    [raw] = decoded(orjson.dumps([an_element(**fields)]))
    return annual_accounts(raw, base=BASE)


def test_an_absent_figure_is_no_zero() -> None:
    empty = read(eiendeler={"anleggsmidler": {}, "sumEiendeler": 0.0}, egenkapitalGjeld=None)

    assert empty.figures == AccountsFigures(assets="0")


@pytest.mark.parametrize(
    "text,figure",
    [
        ("109150000000.0", "109150000000"),
        ("12345678901234567890.05", "12345678901234567890.05"),
        ("-0.0", "0"),
        ("1E+5", "100000"),
        ("0.10", "0.1"),
        ("true", None),
        ('"7"', None),
        ("1e999", None),
        ("null", None),
    ],
)
def test_amounts_are_decimal_numbers_with_all_of_their_digits(
    text: str, figure: str | None
) -> None:
    body = orjson.dumps([an_element(eiendeler={"sumEiendeler": "@"})]).replace(
        b'"@"', text.encode()
    )

    assert annual_accounts(decoded(body)[0], base=BASE).figures.assets == figure


@pytest.mark.parametrize(
    "revision,type_",
    [
        ({"ikkeRevidertAarsregnskap": False, "fravalgRevisjon": True}, "none"),
        ({"ikkeRevidertAarsregnskap": True, "fravalgRevisjon": True}, "none"),
        ({"ikkeRevidertAarsregnskap": True, "fravalgRevisjon": False}, "missing"),
        ({"ikkeRevidertAarsregnskap": False, "fravalgRevisjon": False}, "audit"),
        ({"ikkeRevidertAarsregnskap": False}, None),
        (None, None),
    ],
)
def test_an_audit_that_is_not_told_is_not_guessed(revision: Any, type_: str | None) -> None:
    assert read(revisjon=revision).audit.type == type_


def test_what_looks_wrong_is_a_warning_and_is_not_repaired() -> None:
    wrong = read(
        eiendeler={"sumEiendeler": 100},
        egenkapitalGjeld={"sumEgenkapitalGjeld": 103},
        resultatregnskapResultat={
            "driftsresultat": {"driftskostnad": {"loennskostnad": -5}},
        },
        regnskapsperiode={"fraDato": "2024-01-01", "tilDato": "2025-12-31"},
    )

    assert wrong.warnings == ("unbalanced", "negative_costs", "period")
    assert (wrong.figures.assets, wrong.figures.employee_expense) == ("100", "-5")


@pytest.mark.parametrize(
    "fields",
    [
        {"id": None},
        {"id": True},
        {"regnskapstype": "ANNET"},
        {"regnskapsperiode": {}},
        {"regnskapsperiode": {"fraDato": "2025-12-31", "tilDato": "2025-01-01"}},
        {"virksomhet": {"organisasjonsnummer": "999999999"}},
        {"virksomhet": None},
    ],
)
def test_an_element_that_cannot_be_told_apart_is_passed(fields: dict[str, Any]) -> None:
    tally = Tally()
    body = orjson.dumps([an_element(**fields), an_element(id=2)])

    filed = of_answer(COMPANY, body, base=BASE, tally=tally)

    assert filed is not None
    assert [one.source.id for one in filed.accounts] == ["2"]
    assert tally.results["refused"] == 1


def test_an_answer_of_any_number_of_elements_in_any_order_is_read() -> None:
    elements = [
        an_element(id=number, regnskapstype=scope)
        for number, scope in enumerate(["KONSERN", "SELSKAP"] * 3)
    ]
    filed = of_answer(COMPANY, orjson.dumps(elements), base=BASE, tally=Tally())

    assert filed is not None
    assert [one.scope for one in filed.accounts] == ["group", "company"] * 3


@pytest.mark.parametrize("body", [b'{"message":"Too many requests"}', b"Too Many Requests"])
def test_a_200_that_asks_for_fewer_requests_is_an_outage(body: bytes) -> None:
    with pytest.raises(RegisterUnavailable):
        of_answer(COMPANY, body, base=BASE, tally=Tally())


@pytest.mark.parametrize("body", [b"{}", b"<html>", b"[[[", b'["2024"]', b"", b"[NaN]"])
def test_another_200_is_no_fact_about_accounts(body: bytes) -> None:
    tally = Tally()

    assert of_answer(COMPANY, body, base=BASE, tally=tally) is None
    assert tally.results["refused"] == 1


SCHEDULE = Schedule(timedelta(days=90))
NOTHING = FiledAccounts(COMPANY, ())
WANTED = AccountsCheck(COMPANY, AccountsState.UNKNOWN, wanted="2025")


def hours_of(filed: FiledAccounts | None, status: int = 200) -> tuple[list[int], AccountsCheck]:
    """The waits until a company is not asked any more, or is read again as all are."""
    waits: list[int] = []
    check, at = WANTED, NOON
    while True:
        check = SCHEDULE.after(check, filed, at, status=status)
        if check.next_at is None or check.next_at - at > timedelta(days=30):
            return waits, check
        waits.append(round((check.next_at - at).total_seconds() / 3600))
        at = check.next_at


def test_a_company_is_asked_until_the_wanted_year_is_there() -> None:
    older = FiledAccounts(COMPANY, (accounts_of(2024),))

    waits, check = hours_of(older)

    # After 1 h, 6 h, and 1, 3, 7 and 14 days.
    assert waits == [5, 18, 48, 96, 168]
    assert check.state is AccountsState.OK
    there = SCHEDULE.after(WANTED, FiledAccounts(COMPANY, (accounts_of(2025),)), NOON, status=200)
    assert there.next_at is not None
    assert timedelta(days=74) < there.next_at - NOON <= timedelta(days=90)


def test_a_company_without_accounts_waits_for_a_sign() -> None:
    waits, check = hours_of(NOTHING)

    assert (waits, check.state, check.next_at) == ([5, 18, 48, 96, 168], AccountsState.NONE, None)


def test_an_error_500_is_a_fact_after_a_day() -> None:
    waits, check = hours_of(NOTHING, 500)

    assert (waits, check.state, check.next_at) == ([1, 6, 17], AccountsState.UNAVAILABLE, None)


def test_an_unreadable_answer_is_no_fact() -> None:
    waits, check = hours_of(None)

    assert (waits, check.state) == ([1, 6, 17], AccountsState.UNKNOWN)
    assert check.next_at is not None


async def test_a_line_of_a_file_tells_accounts_or_a_status() -> None:
    read_line = ReadAnswers(lambda: NOON)

    accounts = await read_line(an_element())
    none = await read_line({"organisasjonsnummer": "987654321", "status": 404})
    bank = await read_line({"organisasjonsnummer": "987654321", "status": 500})

    assert [one.source.id for one in accounts.accounts] == ["1"]
    states = [filed.check and filed.check.state for filed in (accounts, none, bank)]
    assert states == ["ok", "none", "unavailable"]
    for wrong in ({"status": 404}, {"organisasjonsnummer": "987654321", "status": 503}, {}):
        with pytest.raises(RecordRejected):
            await read_line(wrong)
