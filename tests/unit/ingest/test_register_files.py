"""Raw records of files: every format, every kind of damage, any size."""

import gzip
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import UnitKey
from ingest.records.files import JsonRecords, raw_records, stream
from ingest.records.records import (
    CompanyRecord,
    FileBroken,
    OwnersRecord,
    RecordRejected,
    Rejected,
    Stored,
)
from ingest.records.source import parse as parse_record
from ingest.records.source import read
from ingest.records.tables import csv_records
from ingest.records.xml_records import XmlRecords
from ingest.registers.brreg.documents import DIALECT
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from tests.builders.companies import (
    TODAY,
    a_company,
    a_company_record,
    a_held_role,
    a_participant_record,
    a_unit,
    a_unit_record,
    an_owner,
    an_owners_record,
    parsed,
)
from tests.builders.registers import a_role, an_entity, roles

RECORDS = [{"n": number, "text": '}{"[\\', "in": [{"n": 1}, []]} for number in range(3)]
#: The size of a part that is read.
PART = 1 << 18

#: A record found, or the fault of one refused.
Outcome = Any
File = Callable[..., Path]

ROOT = Path(__file__).parents[3]


def compact(value: object) -> bytes:
    return orjson.dumps(value)


def indented(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode()


def an_answer(records: list[Any]) -> dict[str, Any]:
    """A page of Elasticsearch."""
    hits = {"total": len(records), "hits": [{"_index": "cvr", "_source": one} for one in records]}
    return {"took": 1, "_shards": {"total": 3}, "hits": hits, "timings": [{"hits": []}]}


def a_hal_page(records: list[Any]) -> dict[str, Any]:
    links = {"self": {"href": "https://register.example"}}
    return {"_links": links, "_embedded": {"enheter": records}, "page": {"size": 20}}


def an_export(records: list[Any]) -> dict[str, Any]:
    return {"version": 2, "codeListSupported": "9.2", "bc": records}


def parts(content: bytes, size: int = PART) -> Iterator[bytes]:
    return (content[at : at + size] for at in range(0, len(content), size))


def json_outcomes(content: bytes, size: int = PART) -> list[Outcome]:
    found = JsonRecords(parts(content, size))
    return ["refused" if one.content is None else one.content for one in found]


def outcomes(path: Path) -> list[Outcome]:
    """The records of a file; the last entry is its error, if any."""
    given: list[Outcome] = []
    try:
        for one in raw_records(path, DIALECT):
            given.append(one.reason if isinstance(one, Rejected) else one.raw)
    except FileBroken as broken:
        given.append(str(broken))
    return given


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """The most bytes that were allocated at once."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> File:
    def write(content: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("size", [1, 2, 7, 64, PART])
@pytest.mark.parametrize("write", [compact, indented])
@pytest.mark.parametrize("wrap", [list, a_hal_page, an_export])
def test_every_format_gives_its_records_for_any_chunk_size(
    wrap: Callable[[Any], Any], write: Callable[[Any], bytes], size: int
) -> None:
    assert json_outcomes(write(wrap(RECORDS)), size) == RECORDS


@pytest.mark.parametrize("size", [1, 7, PART])
@pytest.mark.parametrize("write", [compact, indented])
@pytest.mark.parametrize("between", [b"\n", b"\r\n\r\n", b""])
def test_concatenated_pages_are_read_like_one(
    write: Callable[[Any], bytes], between: bytes, size: int
) -> None:
    content = between.join([write(an_answer(RECORDS)), write(an_answer([])), write(RECORDS)])

    found = [one.get("_source", one) for one in json_outcomes(content, size)]

    assert found == RECORDS + RECORDS


def test_json_lines_and_a_single_record_are_read() -> None:
    assert json_outcomes(b"\n".join(map(compact, RECORDS))) == RECORDS
    assert json_outcomes(indented(RECORDS[0])) == RECORDS[:1]


@pytest.mark.parametrize("size", [1, 7, PART])
def test_a_separator_inside_a_record_does_not_split_it(size: int) -> None:
    records = [{"n": 1}, {"n": 2}, {"n": 3, "of": [{"n": 4}, {"n": 5}]}, {"n": '},{"n":'}, {"n": 6}]
    found = list(JsonRecords(parts(compact(records), size)))

    assert [one.content for one in found] == records
    assert [one.text for one in found] == [compact(record) for record in records]


#: Texts that are damaged, the records before the damage, and where it is.
DAMAGED: list[tuple[bytes, int, str]] = [
    (b'[{"n":1},{"n":nope},{"n":3}]', 1, "not JSON at byte 14, in the record at byte 9"),
    (b'[{"n":1},{"n":"\xff"},{"n":3}]', 1, "not UTF-8, at byte 15"),
    (b'[{"n":"\xc3\x98"},{"n":x},{"n":3}]', 1, "not JSON at byte 17, in the record at byte 12"),
    (b'[{"n":1},{"n":NaN},{"n":3}]', 1, "NaN is not a JSON value, in the record at byte 9"),
    (b'[{"n":1}},{"n":3}]', 1, "not JSON at byte 8"),
    (b'[{"n":1},nonsense {"n":3}]', 1, "not JSON at byte 9"),
    (b'{"n":1}\n{"n":\n{"n":3}', 1, "the file ends inside the record at byte 8"),
    (b'{"n":1}\nsome words\n{"n":3}', 1, "not JSON at byte 8"),
    (b'{"n":1}\n{"n":"lost}\n', 1, "in the record at byte 8"),
    (b'{"hits":{"hits":[{"n":1},]{"n":3}]}}', 1, "not JSON at byte 26"),
    (b'[{"n":1},{"n":2', 1, "the file ends inside the record at byte 9 (1 record before)"),
    (b'[{"n":1},{"n":"2', 1, "the file ends inside the record at byte 9 (1 record before)"),
    (b'[{"n":1},{"n":2}', 2, "the file ends inside a list of records (2 records before)"),
    (b'{"n":1}\n{"n"', 1, "the file ends inside the record at byte 8 (1 record before)"),
    (b'{"hits":{"hits":[{"n":1}]', 1, "the file ends inside a page, after its records"),
]


@pytest.mark.parametrize("content,whole,place", DAMAGED)
def test_a_damaged_file_is_read_up_to_the_byte_of_its_damage(
    file: File, content: bytes, whole: int, place: str
) -> None:
    *records, broken = outcomes(file(content))

    assert [one["n"] for one in records] == [1, 2, "Ø"][:whole] or records == [{"n": "Ø"}]
    assert place in broken


@pytest.mark.parametrize("size", [1, 5, 64])
@pytest.mark.parametrize("content", [each[0] for each in DAMAGED])
def test_the_place_of_a_damage_does_not_depend_on_the_parts(content: bytes, size: int) -> None:
    def end(size: int) -> tuple[int, str]:
        found = 0
        try:
            for _ in JsonRecords(parts(content, size)):
                found += 1
        except FileBroken as broken:
            return found, str(broken)
        return found, "sound"

    assert end(size) == end(PART)


def test_a_lone_surrogate_is_accepted() -> None:
    assert json_outcomes(b'[{"n":"\\ud83d"},{"n":"\\ud83d\\ude00"}]') == [
        {"n": "\ud83d"},
        {"n": "😀"},
    ]


def test_a_record_that_is_nested_too_deeply_ends_the_file() -> None:
    deep = b'{"n":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(FileBroken, match="nested too deeply, in the record at byte 9"):
        json_outcomes(b'[{"n":1},' + deep + b',{"n":3}]')


def test_records_have_numbers_and_positions(file: File) -> None:
    found = list(raw_records(file(b'[{"n":1},\n[1],null,4.2,"x",\n{"n":3}]')))

    assert [(one.number, one.place) for one in found] == [
        (1, "byte 1"),
        (2, "byte 10"),
        (3, "byte 14"),
        (4, "byte 19"),
        (5, "byte 23"),
        (6, "byte 28"),
    ]
    assert {one.reason for one in found if isinstance(one, Rejected)} == {"not an object"}


@given(st.binary(max_size=60))
def test_any_content_is_read_refused_or_broken(rubbish: bytes) -> None:
    for content in (rubbish, b'[{"n":1},' + rubbish, b'{"hits":{"hits":[' + rubbish):
        try:
            json_outcomes(content)
        except FileBroken:
            continue


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=3)))
def test_any_list_of_objects_is_read_unchanged(records: list[dict[str, str]]) -> None:
    assert json_outcomes(compact(records), size=5) == records


@pytest.mark.parametrize("content", [b"", b"  \n", b"<html></html>", b"navn;nummer\nA;1\n"])
def test_a_file_of_another_kind_is_broken_at_once(file: File, content: bytes) -> None:
    (broken,) = outcomes(file(content))

    assert broken.startswith("neither JSON nor a table of this register")
    assert broken.endswith("(0 records before)")
    assert ("an HTML page" in broken) == content.startswith(b"<html")


def test_a_byte_order_mark_is_skipped(file: File) -> None:
    assert outcomes(file(b"\xef\xbb\xbf" + compact(RECORDS))) == RECORDS


def test_a_record_over_the_maximum_is_not_buffered() -> None:
    longest = 1 << 16
    endless = chain([b'[{"n":"'], repeat(b"x" * longest))

    with peak_memory() as peak:
        with pytest.raises(FileBroken):
            list(JsonRecords(endless, max_size=longest))

        assert peak() < 20 * longest


def test_gzip_is_recognised_by_its_content_and_its_members_are_one_file(file: File) -> None:
    packed = gzip.compress(compact(RECORDS))
    lines = [gzip.compress(compact(record) + b"\n") for record in RECORDS]

    assert outcomes(file(packed, "file.json")) == RECORDS
    assert outcomes(file(compact(RECORDS), "file.json.gz")) == RECORDS
    assert outcomes(file(b"".join(lines) + b"\0" * 512)) == RECORDS
    assert outcomes(file(packed + b"rubbish"))[:-1] == RECORDS


def test_a_truncated_gzip_file_gives_its_intact_part_and_the_position_of_its_end(
    file: File,
) -> None:
    packed = gzip.compress(compact(RECORDS))

    for cut in (1, 8, 9):
        *records, broken = outcomes(file(packed[:-cut]))

        assert records == RECORDS
        assert broken.startswith("truncated gzip data after byte ")


def test_a_corrupt_gzip_file_gives_its_intact_part_and_the_position_of_the_damage(
    file: File,
) -> None:
    lines = b"".join(compact({"n": number, "text": "x" * number}) + b"\n" for number in range(900))
    packed = bytearray(gzip.compress(lines))
    packed[len(packed) // 2] ^= 0xFF
    wrong_sum = bytearray(gzip.compress(compact(RECORDS)))
    wrong_sum[-5] ^= 0xFF

    *records, broken = outcomes(file(bytes(packed)))
    *all_records, wrong = outcomes(file(bytes(wrong_sum)))

    assert 0 < len(records) < 900
    assert all_records == RECORDS
    assert broken.startswith(("corrupt gzip data", "not JSON at byte", "not UTF-8"))
    assert "corrupt gzip data" in wrong


def test_a_highly_compressed_part_is_decompressed_in_steps(file: File) -> None:
    content = b" " * (PART * 5) + b"[]"

    read = list(stream(file(gzip.compress(content))))

    assert b"".join(read) == content
    assert max(map(len, read)) <= PART


def test_progress_adds_up_to_the_file_size(file: File) -> None:
    path = file(gzip.compress(compact([{"n": number} for number in range(1000)])))
    told: list[int] = []

    records = list(raw_records(path, on_bytes=told.append))

    assert len(records) == 1000
    assert sum(told) == path.stat().st_size


def test_memory_does_not_grow_with_the_file(file: File) -> None:
    path = file(compact([{"n": number, "text": "x" * 1000} for number in range(6_000)]))

    with peak_memory() as peak:
        count = sum(1 for _ in raw_records(path))

        assert count == 6_000
        assert peak() < 4_000_000 < path.stat().st_size


HEADER = b"organisasjonsnummer,navn,organisasjonsform.kode\n"


SOUND = b"310345687,B,AS\n"


def rows(content: bytes, size: int = PART) -> list[Outcome]:
    """Places and cells of rows; the last entry is the table's error, if any."""
    given: list[Outcome] = []
    try:
        for one in csv_records(parts(HEADER + content, size), "utf-8", ","):
            given.append((one.place, one.fault or one.content))
    except FileBroken as broken:
        given.append(str(broken))
    return given


@pytest.mark.parametrize("size", [1, 7, PART])
def test_rows_are_read_with_line_breaks_in_cells_and_with_empty_cells(size: int) -> None:
    columns = ("organisasjonsnummer", "navn", "organisasjonsform.kode")

    found = rows(b'310345679,"TO, ""LINJER""\nAS",AS\r\n\n310345687,\xc3\x98L,\n', size)

    assert found == [
        ("line 2", dict(zip(columns, ("310345679", 'TO, "LINJER"\nAS', "AS"), strict=True))),
        ("line 5", dict(zip(columns, ("310345687", "ØL", ""), strict=True))),
    ]


@pytest.mark.parametrize("row", [b"310345679,TOO,MANY,AS", b"310345679,TOO FEW"])
def test_a_row_with_another_number_of_cells_is_refused(row: bytes) -> None:
    first, refused, last = rows(SOUND + row + b"\n" + SOUND)

    assert (first[0], last[0]) == ("line 2", "line 4")
    assert refused == ("line 3", f"{row.count(b',') + 1} cells instead of 3")


@pytest.mark.parametrize(
    "row,error",
    [
        (b"310345679,\xff,AS", "not utf-8, in the row at line 3"),
        (b"310345679," + b"x" * (2 << 20), "not a row at line 3: longer than 1,048,576 characters"),
    ],
    ids=["encoding", "no end"],
)
def test_a_damaged_table_is_read_up_to_the_row_of_its_damage(row: bytes, error: str) -> None:
    first, broken = rows(SOUND + row + b"\n" + SOUND)

    assert first[0] == "line 2"
    assert broken == error


#: Rows with quotation marks that are not doubled, and the name that is read.
REPAIRED = {
    "inside": (b'"310345679","DEN "NYE" PROVEN","AS"', 'DEN "NYE" PROVEN'),
    "before a comma": (b'"310345679","DEN "NYE", OG EN TIL","AS"', 'DEN "NYE", OG EN TIL'),
    "at the beginning": (b'"310345679",""NYE" PROVEN","AS"', '"NYE" PROVEN'),
    "at the end": (b'"310345679","DEN "NYE"","AS"', 'DEN "NYE"'),
    "one": (b'"310345679","ROR 3/4" OG MER","AS"', 'ROR 3/4" OG MER'),
    "one at the end": (b'"310345679","ROR 3/4"","AS"', 'ROR 3/4"'),
    "in a cell of two lines": (b'"310345679","DEN "NYE"\nPROVEN","AS"', 'DEN "NYE"\nPROVEN'),
    "after a line break": (b'"310345679","DEN\nNYE "PROVEN"","AS"', 'DEN\nNYE "PROVEN"'),
}


@pytest.mark.parametrize("size", [1, PART])
@pytest.mark.parametrize("row, name", REPAIRED.values(), ids=REPAIRED)
def test_a_row_of_quoted_cells_is_read_in_spite_of_its_quotation_marks(
    row: bytes, name: str, size: int
) -> None:
    for end in (b"\n" + SOUND, b"\r\n" + SOUND, b""):
        first, repaired, *following = rows(SOUND + row + end, size)

        assert isinstance(repaired[1], dict)
        assert (repaired[0], repaired[1]["navn"]) == ("line 3", name)
        assert [each[1] for each in following] == [first[1]] * bool(end)


#: Rows that can be read in more than one way, or in none.
REFUSED = {
    "a cell that is not quoted": b'310345679,"DEN" NYE,AS',
    "a cell without an end": b'310345679,"LOST,AS',
    "a text that looks like the end of a cell": b'"310345679","DEN "NYE","PROVEN" OG","AS"',
    "more cells than columns": b'"310345679","DEN "NYE" PROVEN","AS","1"',
    "nothing but a quotation mark": b'"',
}


@pytest.mark.parametrize("row", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("after", [1, 20_000])
def test_a_row_that_cannot_be_read_is_refused_and_the_next_ones_are_read(
    row: bytes, after: int
) -> None:
    first, refused, *following = rows(SOUND + row + b"\n" + SOUND * after)

    assert first[0] == "line 2"
    assert refused[0] == "line 3"
    assert refused[1].startswith(("not a row: ", "4 cells instead of 3"))
    assert [one[0] for one in following] == [f"line {4 + number}" for number in range(after)]


@pytest.mark.parametrize(
    "end",
    [
        b'310345679,"LOST',
        b'310345679,"LOST,AS\n',
        b'310345679,"LOST\nAND FOUND',
        b"310345679,LO",
        b'"310345679","DEN "NYE" PRO',
        b'"310345679","DEN "NYE"',
        b'"310345679","PROVEN"',
    ],
)
def test_a_table_that_ends_inside_a_row_says_so(end: bytes) -> None:
    *found, broken = rows(SOUND + end)

    assert found[0][0] == "line 2"
    assert isinstance(broken, str)
    assert broken.startswith("the file ends inside the row at line ")


def test_refusals_have_positions(file: File) -> None:
    nameless = an_entity(navn=None)
    path = file(compact([an_entity(), nameless, an_entity(organisasjonsnummer="12")]))

    first, second, third = read(path, NO_ENTITIES, TODAY)

    assert isinstance(first, CompanyRecord)
    place = f"byte {len(compact([an_entity()]))}"
    assert second == Rejected(2, place, "navn: missing")
    assert isinstance(third, Rejected)
    assert third.reason.startswith("organisasjonsnummer: ")


def test_roles_of_one_entity_alone_have_the_number_of_the_file_name(file: File) -> None:
    answer = roles(a_role())
    del answer["organisasjonsnummer"]

    [named] = read(file(compact(answer), "roller-310345679.json"), NO_ROLES, TODAY)
    [unnamed] = read(file(compact(answer), "roller.json"), NO_ROLES, TODAY)
    [of_a_list] = read(file(compact([answer]), "roller-310345679.json"), NO_ROLES, TODAY)

    assert isinstance(named, OwnersRecord)
    assert named.key == "no:310345679"
    assert [one.reason for one in (unnamed, of_a_list) if isinstance(one, Rejected)] == [
        "organisasjonsnummer: missing"
    ] * 2


MANY = 40_000
PHONES = tuple(f"{number:08}" for number in range(100_000))


@pytest.mark.parametrize(
    "make",
    [
        lambda: a_company_record(a_company(purpose="x" * (2 << 20))),
        lambda: a_company_record(owners=[an_owner(name=f"Owner {n}") for n in range(MANY)]),
        lambda: a_company_record(roles=[a_held_role(name=f"Member {n}") for n in range(MANY)]),
        lambda: a_company_record(phones=PHONES),
        lambda: a_company_record(units=tuple(UnitKey.parse(f"dk:{phone}") for phone in PHONES)),
        lambda: an_owners_record(*(an_owner(name=f"Owner {n}") for n in range(MANY))),
        lambda: a_unit_record(a_unit(name="x" * (2 << 20))),
        lambda: a_unit_record(phones=PHONES),
        lambda: a_participant_record(document_types=("x" * 200,) * 20_000),
    ],
)
def test_a_record_over_the_stored_size_is_refused_whatever_part_is_large(
    make: Callable[[], Stored],
) -> None:
    record = make()

    with pytest.raises(RecordRejected, match="bytes to store"):
        parse_record(lambda _raw, _today: record, {}, TODAY)


def test_a_document_over_the_stored_size_is_refused() -> None:
    with pytest.raises(RecordRejected, match="bytes to store"):
        parsed(NO_ENTITIES, an_entity(navn="x" * (3 << 20)))


XML = b'<?xml version="1.0"?>\n<root xmlns="urn:a" version="1">%b</root>'


def xml_outcomes(content: bytes, size: int = PART, **limits: int) -> list[Outcome]:
    """The records of a text; the last entry is its error, if any."""
    given: list[Outcome] = []
    try:
        for one in XmlRecords(parts(content, size), "card", **limits):
            given.append(one.fault if one.content is None else one.content)
    except FileBroken as broken:
        given.append(str(broken))
    return given


@pytest.mark.parametrize("size", [1, 7, PART])
@pytest.mark.parametrize(
    "content,expected",
    [
        (
            b'<card n="1"><id v="\xc3\xa5"/><id v="b"/> <t> c&amp;d </t></card>\n'
            b'<other/><b:card xmlns:b="urn:b"/>',
            [{"n": "1", "id": [{"v": "å"}, {"v": "b"}], "t": [{"#text": " c&d "}]}, {}],
        ),
        (b'<card n="1"/><card><id></card>', [{"n": "1"}, "mismatched tag, at byte 79"]),
        (b"", ["no element <card>"]),
        (
            b'<card/><card><big v="%b"/><big/></card><card/>' % (b"x" * 2000),
            [{}, "more than 1,100 bytes", {}],
        ),
        (b"<card><a><a><a><a><a/></a></a></a></a></card><card/>", ["more than 1,100 bytes", {}]),
    ],
)
def test_xml_gives_the_elements_of_a_name(
    content: bytes, expected: list[Outcome], size: int
) -> None:
    assert xml_outcomes(XML % content, size, max_size=1100) == expected


def test_an_xml_file_that_is_truncated_or_declares_entities_is_broken() -> None:
    declared = (
        b'<?xml version="1.0"?><!DOCTYPE root [<!ENTITY a "b">]><root><card>&a;</card></root>'
    )

    assert xml_outcomes((XML % b'<card n="1"/>')[:-5])[0] == {"n": "1"}
    assert str(xml_outcomes((XML % b'<card n="1"/>')[:-5])[1]).startswith("unclosed token")
    assert xml_outcomes(declared) == ["a document type is declared"]


def test_a_truncated_gzip_file_of_xml_says_so(file: File) -> None:
    packed = gzip.compress(XML % (b'<card n="1"/>' * 1000))
    found: list[Any] = []

    with pytest.raises(FileBroken, match="truncated gzip data"):
        found.extend(raw_records(file(packed[:-20]), element="card"))


def test_no_pattern_has_a_possessive_group_which_older_pythons_misread() -> None:
    """Before 3.11.5 it finds no match, see gh-106052; Debian 12 has 3.11.2."""
    sources = [*ROOT.glob("services/*/src/**/*.py"), *ROOT.glob("libs/*/src/**/*.py")]

    assert len(sources) > 200
    assert [str(path) for path in sources if re.search(r"[^(]\)[*+?]\+", path.read_text())] == []
