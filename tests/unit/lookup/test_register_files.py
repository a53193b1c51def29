"""Raw records of files: every format, every kind of damage, any size."""

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookup.records import csv_records as file_csv
from lookup.records import json_records as file_json
from lookup.records import streams as file_streams
from lookup.records import streams as file_window
from lookup.records.csv_records import CsvRecords
from lookup.records.json_records import JsonRecords
from lookup.records.raw_records import raw_records
from lookup.records.records import CompanyRecord, FileBroken, OwnersRecord, RecordRejected, Rejected
from lookup.records.source import read
from lookup.records.streams import Window
from lookup.records.xml_records import XmlRecords
from lookup.registers.brreg.documents import DIALECT
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES
from tests.builders.companies import TODAY, parsed
from tests.builders.registers import a_role, an_entity, roles

RECORDS = [{"n": number, "text": '}{"[\\', "in": [{"n": 1}, []]} for number in range(3)]
#: The size of a part that is read.
PART = 1 << 18

#: A record found, or the fault of one refused.
Outcome = Any
File = Callable[..., Path]


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


def window(content: bytes, size: int = PART) -> Window:
    return Window(content[at : at + size] for at in range(0, len(content), size))


def json_outcomes(content: bytes, size: int = PART) -> list[Outcome]:
    found = JsonRecords(window(content, size))
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
    found = list(JsonRecords(window(compact(records), size)))

    assert [one.content for one in found] == records
    assert [one.text for one in found] == [compact(record) for record in records]


#: `n` of each record that is read, and an x for each that is refused.
BROKEN: dict[str, list[bytes]] = {
    "1x3": [
        b'[{"n":1},{"n":nope},{"n":3}]',
        b'[{"n":1},{"n":"\xff"},{"n":3}]',
        b'[{"n":1},{"n":NaN},{"n":3}]',
        b'[{"n":1}},{"n":3}]',
        b'[{"n":1},nonsense {"n":3}]',
        b'[{"n":1},"lost,{"n":3}]',
        b'{"n":1}\n{"n":\n{"n":3}',
        b'{"n":1}\nsome words\n{"n":3}',
        b'{"n":1}\n{"n":"lost}\n{"n":3}',
        b'{"n":1}}\n{"n":3}',
        b'{"hits":{"hits":[{"n":1},{"n":"lost}]}}\n{"hits":{"hits":[{"n":3}]}}',
        b'{"hits":{"hits":[{"n":1},]{"n":3}]}}',
    ],
    "1x34": [
        b'[{"n":1},{"n":"lost},{"n":3},{"n":4}]',
        b'[{"n":1},{"n":{"a":1},{"n":3},{"n":4}]',
        b'[{"n":1},[{"n":3},{"n":4}]',
    ],
    "x34": [b'[{"n":"lost},{"n":3},{"n":4}]'],
    "1xxx3": [b'[{"n":1},null,4.2,"x",{"n":3}]'],
    "1xx": [b'[{"n":1}"x]'],
    "13": [b'{"hits":{"hits":[{"n":1}]}\n{"hits":{"hits":[{"n":3}]}}'],
}


@pytest.mark.parametrize("expected,contents", BROKEN.items())
@pytest.mark.parametrize("size", [1, 5, PART])
def test_a_broken_record_is_refused_and_reading_continues(
    expected: str, contents: list[bytes], size: int
) -> None:
    for content in contents:
        found = json_outcomes(content, size)

        assert "".join("x" if one == "refused" else str(one["n"]) for one in found) == expected


def test_a_lone_surrogate_is_accepted() -> None:
    assert json_outcomes(b'[{"n":"\\ud83d"},{"n":"\\ud83d\\ude00"}]') == [
        {"n": "\ud83d"},
        {"n": "😀"},
    ]


def test_pythons_extensions_of_json_are_refused() -> None:
    deep = b'{"n":"\\ud83d","in":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    assert json_outcomes(b'[{"n":"\\ud83d","m":NaN},' + deep + b',{"n":3}]') == [
        "refused",
        "refused",
        {"n": 3},
    ]


def test_records_have_numbers_and_positions(file: File) -> None:
    path = file(b'[{"n":1},\n{"n":nope},\n{"n":3}]')

    found = list(raw_records(path))

    assert [(one.number, one.place) for one in found] == [
        (1, "byte 1"),
        (2, "byte 10"),
        (3, "byte 22"),
    ]
    assert isinstance(found[1], Rejected)
    assert found[1].reason.startswith("not JSON: ")


def test_values_other_than_objects_are_refused(file: File) -> None:
    assert outcomes(file(b'[[1],{"n":2}]')) == ["not an object", {"n": 2}]


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


@pytest.mark.parametrize(
    "content,whole,place",
    [
        (b'[{"n":1},{"n":2', 1, "inside the record at byte 9 (1 record before)"),
        (b'[{"n":1},{"n":2}', 2, "inside a list of records, at byte 16 (2 records before)"),
        (b'{"n":1}\n{"n"', 1, "inside the record at byte 8 (1 record before)"),
        (b'{"hits":{"hits":[{"n":1}]', 1, "inside a page, after its records"),
    ],
)
def test_a_truncated_file_gives_its_intact_part_and_the_position_of_its_end(
    file: File, content: bytes, whole: int, place: str
) -> None:
    *records, broken = outcomes(file(content))

    assert len(records) == whole
    assert place in broken


@pytest.mark.parametrize("content", [b"", b"  \n", b"<html></html>", b"navn;nummer\nA;1\n"])
def test_a_file_of_another_kind_is_broken_at_once(file: File, content: bytes) -> None:
    (broken,) = outcomes(file(content))

    assert broken.startswith("neither JSON nor a table of this register")
    assert broken.endswith("(0 records before)")
    assert ("an HTML page" in broken) == content.startswith(b"<html")


def test_a_byte_order_mark_is_skipped(file: File) -> None:
    assert outcomes(file(b"\xef\xbb\xbf" + compact(RECORDS))) == RECORDS


@pytest.mark.parametrize("text", [b"x", b'\\\\ \\" {['])
@pytest.mark.parametrize("size", [1, 100, PART])
@pytest.mark.parametrize("excess", [1, 5000])
def test_a_record_that_is_too_long_is_refused_and_skipped(
    excess: int, size: int, text: bytes
) -> None:
    longest = 1000
    filler = b'{"b":"' + text + b'"},'
    long = b'{"n":[' + filler * ((longest + excess) // len(filler) + 1) + b"0]}"
    content = b'[{"n":1},' + long + b',{"n":3}]'

    records = JsonRecords(window(content, size), max_size=longest)

    assert [one.fault or one.content for one in records] == [
        {"n": 1},
        "longer than 1,000 bytes",
        {"n": 3},
    ]


@pytest.mark.parametrize("rest", [b"", b']},{"n":"', b'"', b"\\"])
def test_a_file_that_ends_inside_a_record_that_is_too_long_is_broken(rest: bytes) -> None:
    content = b'[{"n":["' + b"x" * 5000 + rest
    records = JsonRecords(window(content), max_size=1000)

    with pytest.raises(FileBroken):
        list(records)


def test_no_record_over_the_maximum_is_buffered() -> None:
    longest = 1 << 16
    parts = chain([b'[{"n":"'], repeat(b"x" * longest, 100), [b'"}]'])

    with peak_memory() as peak:
        found = list(JsonRecords(Window(parts), max_size=longest))

        assert len(found) == 1
        assert peak() < 10 * longest


def test_a_lost_bracket_costs_one_record_even_far_from_the_end() -> None:
    sound = [{"n": number, "text": "x" * 1000} for number in range(3000)]
    content = compact(sound).replace(b'{"n":1000,', b'{"n":{"a":1000,')

    found = json_outcomes(content)

    assert found == [*sound[:1000], "refused", *sound[1001:]]


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
        assert broken.startswith(f"truncated gzip data, at byte {len(packed) - cut} ")


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
    assert "corrupt gzip data" in broken
    assert "corrupt gzip data" in wrong


def test_a_highly_compressed_part_is_decompressed_in_steps(file: File) -> None:
    content = b" " * (file_streams.PART * 5) + b"[]"

    parts = list(file_streams.stream(file(gzip.compress(content))))

    assert b"".join(parts) == content
    assert max(map(len, parts)) <= file_streams.PART


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
    found = CsvRecords(window(HEADER + content, size), DIALECT)
    return [(one.place, one.fault or one.content) for one in found]


def places_of_sound_rows(content: bytes) -> list[str]:
    """The places of rows, those of the refused in brackets."""
    return [at if isinstance(found, dict) else f"({at})" for at, found in rows(content)]


@pytest.mark.parametrize("size", [1, 7, PART])
def test_rows_are_read_with_line_breaks_in_cells_and_without_empty_cells(size: int) -> None:
    columns = ("organisasjonsnummer", "navn", "organisasjonsform.kode")

    found = rows(b'310345679,"TO, ""LINJER""\nAS",AS\r\n\n310345687,\xc3\x98L,\n', size)

    assert found == [
        ("line 2", dict(zip(columns, ("310345679", 'TO, "LINJER"\nAS', "AS"), strict=True))),
        ("line 5", dict(zip(columns, ("310345687", "ØL"), strict=False))),
    ]


@pytest.mark.parametrize(
    "broken",
    [
        b'310345679,"LOST,AS',
        b"310345679,TOO,MANY,AS",
        b"310345679,TOO FEW",
        b"310345679,\xff,AS",
        b'310345679,"LOST\nAND NOT,FOUND,AS',
    ],
)
def test_a_broken_row_is_refused_and_reading_continues(broken: bytes) -> None:
    places = places_of_sound_rows(SOUND + broken + b"\n" + SOUND + SOUND)

    assert (places[:2], [at[0] for at in places[2:]]) == (["line 2", "(line 3)"], ["l", "l"])


def test_a_row_that_never_ends_costs_no_other_and_a_long_one_is_not_buffered() -> None:
    many = b"310345687,A COMPANY" + b" OF MANY" * 25 + b",AS\n"
    long = b"310345679," + b"x" * (5 << 20) + b",AS\n"

    unclosed = places_of_sound_rows(b'310345679,"LOST,AS\n' + many * 6_000)

    assert (unclosed[0], len(unclosed)) == ("(line 2)", 6_001)
    assert not any(place.startswith("(") for place in unclosed[1:])
    assert places_of_sound_rows(long + SOUND) == ["(line 2)", "line 3"]


@pytest.mark.parametrize("rest", [b"310345679,A", b'310345679,"A'])
def test_a_table_that_ends_inside_a_row_is_broken(file: File, rest: bytes) -> None:
    *records, broken = outcomes(file(HEADER + SOUND + rest))

    assert len(records) == 1
    assert broken == "the file ends inside the row at line 3 (1 record before)"


def test_an_unreadable_header_breaks_the_file(file: File) -> None:
    (broken,) = outcomes(file(b"organisasjonsnummer,\xff\n"))

    assert broken.startswith("the header is unreadable: ")


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


@pytest.mark.parametrize(
    "unit",
    [b'{"n":{"a":1},', b'{"n":{"a":1}\n', b'"', b"}", b'"x" ', b'{"hits":{"hits":[', b"\n{"],
)
@pytest.mark.parametrize("before", [b"[", b"", b'[{"n":1},'])
def test_unclosed_records_are_read_at_most_twice(before: bytes, unit: bytes) -> None:
    longest = 1 << 14
    content = before + unit * ((8 * longest) // len(unit))
    records = JsonRecords(window(content, 1 << 12), max_size=longest)

    with suppress(FileBroken):
        for _ in records:
            assert records.read_twice <= longest + len(content)

    assert records.read_twice <= 3 * (longest + len(content))


def test_a_file_of_records_that_are_never_closed_is_broken() -> None:
    records = JsonRecords(window(b"[" + b'{"n":{"a":1},' * 20_000), max_size=1 << 14)

    with pytest.raises(FileBroken, match="too many records without an end"):
        list(records)


@pytest.mark.parametrize("read_file", [JsonRecords, lambda window: CsvRecords(window, DIALECT)])
@pytest.mark.parametrize("blank", [b" ", b"\n"])
def test_too_much_white_space_breaks_the_file(
    read_file: Callable[[Window], Any], blank: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (file_json, file_csv):
        monkeypatch.setattr(module, "MAX_BLANK", 1000)
    monkeypatch.setattr(file_window, "MAX_PASSED", 1000)

    with pytest.raises(FileBroken):
        list(read_file(Window(repeat(blank * 256))))


def test_a_record_without_an_end_breaks_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_json, "MAX_PASSED", 5000)

    with pytest.raises(FileBroken, match="has no end"):
        list(JsonRecords(Window(chain([b'[{"n":"'], repeat(b"x" * 256))), max_size=1000))


def test_a_record_over_the_stored_size_is_refused() -> None:
    with pytest.raises(RecordRejected, match="bytes to store"):
        parsed(NO_ENTITIES, an_entity(navn="x" * (3 << 20)))


XML = b'<?xml version="1.0"?>\n<root xmlns="urn:a" version="1">%b</root>'


def xml_outcomes(content: bytes, size: int = PART, **limits: int) -> list[Outcome]:
    """The records of a text; the last entry is its error, if any."""
    given: list[Outcome] = []
    try:
        for one in XmlRecords(window(content, size), "card", **limits):
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
