"""The sample registers: invented, the same in every version, and in the real formats.

A digest pins the documents, so that whatever holds for them holds until it is changed on purpose.
"""

import argparse
import csv
import gzip
import hashlib
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from itertools import islice
from math import gcd
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import register_samples
from common.contracts.company import DissolutionReason
from ingest.records.records import CompanyRecord
from ingest.records.source import RegisterSource
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from register_samples import (
    SHOWCASE,
    companies_dk,
    companies_no,
    participants,
    roles_no,
    units_dk,
    units_no,
    write_registers,
)
from register_samples.__main__ import run
from register_samples.companies import company
from register_samples.customers import write_customers
from register_samples.numbers import CVR, ORGNR, P_NUMBER, STRIDE, NumberSeries, gln
from register_samples.registers import DENMARK, NORWAY, REGISTERS, Register
from register_samples.server.changing import read_duration
from register_samples.showcase import SIZE
from tests.builders.companies import parsed
from tests.builders.durations import REFUSED, SECONDS

README = Path(register_samples.__file__).parents[2] / "README.md"

Stream = Callable[..., Iterator[dict[str, Any]]]
#: The registers' name of a number, the digest of some documents, and fields that they never state.
STREAMS: list[tuple[Stream, str, str, RegisterSource, str]] = [
    (
        companies_no,
        "organisasjonsnummer",
        "bfb9c1ec3683da3f",
        NO_ENTITIES,
        "trade_names fax advertising_protected signing_rule financial_year listed founders "
        "merged_into merged_from minor_owners state_owned aml_obliged social_enterprise",
    ),
    (units_no, "organisasjonsnummer", "4e185f0680ed38a3", NO_UNITS, "advertising_protected fax"),
    (
        companies_dk,
        "cvrNummer",
        "44e75155635839c3",
        DK_COMPANIES,
        "registered vat_registered vat_registered_since accounts parent shares activity "
        "registrations sector in_group language home_register voluntary_vat "
        "role_list.approval role_list.group_changed",
    ),
    (
        units_dk,
        "pNummer",
        "46f8c6e8c935dc3b",
        DK_UNITS,
        "website registered owner_changed vat_registered voluntary_vat vat_registered_since",
    ),
    (participants, "pid", "b41b7ad256ce4d05", PEPPOL, ""),
    (roles_no, "organisasjonsnummer", "5f69625b2aa78c5e", NO_ROLES, ""),
]
COUNT = 800


@cache
def of(stream: Stream) -> list[dict[str, Any]]:
    """The documents of a stream."""
    return list(stream(COUNT))


def public_fields(record: object) -> Iterator[tuple[str, Any]]:
    """The public fields of a record, of its owners and of its roles, with their values."""
    for part in ("core", "owner_list", "role_list"):
        found = orjson.loads(getattr(record, part, None) or b"null")
        for each in found if isinstance(found, list) else [found or {}]:
            yield from ((f"{part}.{name}", value) for name, value in each.items())


@pytest.mark.parametrize("stream,number,digest,source,unknown", STREAMS)
def test_documents_are_fixed_different_and_have_every_field(
    stream: Stream, number: str, digest: str, source: RegisterSource, unknown: str
) -> None:
    text = b"".join(map(orjson.dumps, (*stream(300), *stream(50, start=800_000))))
    numbers = [next(iter(each.values())) if len(each) == 1 else each for each in of(stream)]
    fields = [pair for each in of(stream) for pair in public_fields(parsed(source, each))]
    known = {name for name, value in fields if value not in (None, [])}

    assert hashlib.sha256(text).hexdigest()[:16] == digest
    assert len(list(islice(stream(7_000_000), 3))) == 3
    assert len({each[number] for each in numbers}) == len(numbers)
    if stream is not roles_no:  # some roles have no share, and persons no number
        assert {name for name, _ in fields} - known == {
            name if "." in name else f"core.{name}" for name in unknown.split()
        }
    if stream is not participants:  # those of one country come before those of the other
        assert [*stream(35), *stream(25, start=35)] == list(stream(60))


def test_fields_that_few_documents_have_are_in_some() -> None:
    read = [record_of(DK_COMPANIES, each) for each in of(companies_dk)]
    danish = [orjson.loads(each.core) for each in read]
    owners = [one for each in read for one in orjson.loads(each.owner_list or b"[]")]
    entities = [record_of(NO_ENTITIES, each) for each in companies_no(2_000)]
    norwegian = [orjson.loads(each.core) for each in entities]
    alone = [each for each in danish if (each["employees"] or {}).get("max") == 0]
    years = [year for each in danish if (year := each["financial_year"])]
    dissolved = [one for each in norwegian if (one := each["dissolution"])]

    # A sole proprietor alone.
    assert {"min": 1, "max": 1, "exact": None} in [
        each["employees"]["including_owners"] for each in alone
    ]
    for period in ("first", "adjusted"):
        assert any(year[period] and year[period]["start"] < year[period]["end"] for year in years)
    assert {one["country"] for one in owners if one["type"] == "other"} - {"DK", None}
    assert {cause["reason"] for one in dissolved for cause in one["reasons"]} == {
        reason.value for reason in DissolutionReason
    }
    assert max(len(one["reasons"]) for one in dissolved) == 2


def record_of(source: RegisterSource, document: dict[str, Any]) -> CompanyRecord:
    record = parsed(source, document)
    assert isinstance(record, CompanyRecord)
    return record


def test_norwegian_roles_have_owners_and_officers_with_every_field() -> None:
    found = [pair for each in of(roles_no) for pair in public_fields(parsed(NO_ROLES, each))]
    known = {name for name, value in found if value is not None}

    assert known >= {
        *("owner_list.vat", "owner_list.name", "owner_list.share"),
        *("role_list.vat", "role_list.role_text"),
    }


@pytest.mark.parametrize("register,capitals", [(NORWAY, 0.98), (DENMARK, 0)])
def test_names_are_as_varied_as_in_the_registers(register: Register, capitals: float) -> None:
    names = [company(register, index)["name"] for index in range(6000)]
    words = Counter(word for name in names for word in name.upper().split())
    sharing = sum(count for count in Counter(names).values() if count > 1)

    assert 0.055 < sharing / len(names) < 0.085
    assert 19 < sum(map(len, names)) / len(names) < 24
    assert 0.1 < sum(not name.isascii() for name in names) / len(names) < 0.35
    assert words.most_common(100)[-1][1] > 15
    assert len(words) > 5000
    assert capitals < sum(name.isupper() for name in names) / len(names) < 1


# --- Numbers: check digits are written from their descriptions and not from our code ------------


def mod11(number: str, *weights: int) -> bool:
    return sum(int(digit) * w for digit, w in zip(number, weights, strict=True)) % 11 == 0


def is_cvr(number: str) -> bool:
    return mod11(number, 2, 7, 6, 5, 4, 3, 2, 1)


def is_orgnr(number: str) -> bool:
    return mod11(number, 3, 2, 7, 6, 5, 4, 3, 2, 1)


def is_p_number(number: str) -> bool:
    return int(number) > 1006959421 and mod11(number, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)


def is_gln(number: str) -> bool:
    """Thirteen digits, weighted 1 and 3 in turn, add up to a multiple of ten."""
    digits = [int(digit) for digit in number]
    return len(digits) == 13 and (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10 == 0


@pytest.mark.parametrize(
    "series,is_valid,unissued",
    [
        (CVR, is_cvr, ("0",)),
        (ORGNR, is_orgnr, ("1", "2")),
        (P_NUMBER, is_p_number, ("15", "16", "17", "18", "19")),
    ],
)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_number_of_a_series_has_a_right_check_digit_and_is_never_issued(
    series: NumberSeries, is_valid: Callable[[str], bool], unissued: tuple[str, ...], share: float
) -> None:
    number = series.number(int(share * series.capacity))

    assert is_valid(number)
    assert number.startswith(unissued)
    # The stride reaches every position.
    assert gcd(STRIDE, series.capacity) == 1


def test_no_two_positions_have_the_same_number_and_others_are_an_error() -> None:
    series = NumberSeries(10, 60, (5, 4, 2, 1))

    assert len({series.number(index) for index in range(series.capacity)}) == 450
    for index in (-1, CVR.capacity):
        with pytest.raises(ValueError, match="none at"):
            CVR.number(index)


@given(index=st.integers(0, 99_999_999))
def test_every_gln_has_a_right_check_digit(index: int) -> None:
    assert is_gln(gln("5790", index))


def test_the_showcase_is_as_documented_with_valid_numbers() -> None:
    exhibits = [each for found in SHOWCASE.values() for each in found]
    shown = {each["value"] for exhibit in exhibits for each in exhibit["identifiers"]}
    drawn = {card["pid"].split(":")[-1] for card in participants(500, start=SIZE)}
    first = next(companies_dk(1))["Vrvirksomhed"]

    for each in exhibits:
        assert f"| {each['number']} | {each['name']} |" in README.read_text()
    for each in SHOWCASE["dk"]:
        assert is_cvr(each["number"])
        assert all(is_p_number(unit["number"]) for unit in each["units"])
    for each in SHOWCASE["no"]:
        numbers = [each["number"], *(unit["number"] for unit in each["units"])]
        assert all(is_orgnr(number) and number.startswith("3") for number in numbers)
    assert all(is_gln(value) for value in shown if len(value) == 13)
    assert not shown & drawn
    assert (first["cvrNummer"], first["navne"][-1]["navn"]) == (12345674, "Prøvefabrikken ApS")
    assert {card["pid"] for card in participants(SIZE)} >= {
        *("iso6523-actorid-upis::0088:5790000000005", "iso6523-actorid-upis::0192:310345679"),
    }


# --- Files -------------------------------------------------------------------------------------


def test_files_hold_the_documents_and_are_the_same_bytes_again(tmp_path: Path) -> None:
    written, again = (write_registers(tmp_path / name, 40) for name in ("one", "other"))
    lines = written["dk-virksomhed"].read_text().splitlines()
    export = json.loads(written["peppol"].read_text())

    assert {kind: path.name for kind, path in written.items()} == {
        "no-enheter": "no-enheter.json.gz",
        "no-underenheter": "no-underenheter.json.gz",
        "no-roller": "no-roller.json.gz",
        "no-konsern": "no-konsern.jsonl",
        "dk-virksomhed": "dk-virksomhed.jsonl",
        "dk-produktionsenhed": "dk-produktionsenhed.jsonl",
        "peppol": "peppol.json",
        "no-regnskap": "no-regnskap.jsonl",
        "dk-regnskab": "dk-regnskab.jsonl",
    }
    for kind, path in written.items():
        assert path.read_bytes() == again[kind].read_bytes()
    with gzip.open(written["no-enheter"]) as file:
        assert json.load(file) == list(companies_no(40))
    assert [json.loads(line) for line in lines] == list(companies_dk(40))
    assert (export["version"], export["bc"]) == (2, list(participants(40)))


def test_the_command_writes_and_names_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["--out", str(tmp_path), "--companies", "12"])

    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert (status, len(told)) == (0, 9)
    assert all(Path(path).stat().st_size for _, path in told)
    for companies in ("0", "999999999"):
        with pytest.raises(SystemExit, match="2"):
            run(["--out", str(tmp_path), f"--companies={companies}"])
        assert "must be from 1 to 891000" in capsys.readouterr().err


def test_a_list_whose_reader_leaves_ends_without_a_traceback() -> None:
    command = [sys.executable, "-m", "register_samples", "customers", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        assert writing.stderr is not None
        assert writing.stdout.readline().startswith(b"Name,")
        writing.stdout.close()
        told = writing.stderr.read()

    assert (writing.returncode, told) == (-signal.SIGPIPE, b"")


def test_most_customers_are_in_the_registers_and_many_are_misspelled() -> None:
    def written() -> list[dict[str, str]]:
        text = StringIO()
        write_customers(text, 200)
        return list(csv.DictReader(StringIO(text.getvalue())))

    # Among the first 150 positions, as the documentation says.
    known = [
        (code, company(register, place))
        for code, register in REGISTERS.items()
        for place in range(150)
    ]
    names = {(code, each["name"]) for code, each in known}
    places = {(code, (each["address"] or {}).get("postcode")) for code, each in known}
    customers = written()

    assert customers == written()
    assert {each["Country"] for each in customers} == set(REGISTERS)
    assert 60 < sum((each["Country"], each["Name"]) in names for each in customers) < 140
    assert 180 < sum((each["Country"], each["Postal code"]) in places for each in customers) < 200


@pytest.mark.parametrize("text", SECONDS)
def test_the_time_between_changes_is_read_like_a_duration_of_a_setting(text: str) -> None:
    assert read_duration(text).total_seconds() == SECONDS[text]


@pytest.mark.parametrize("text", [*REFUSED, "0", "PT0S", "-PT3S"])
def test_what_is_no_time_between_changes_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="give a duration such as PT3S"):
        read_duration(text)
