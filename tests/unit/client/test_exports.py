"""Copies of a register: lines out of parts, resumption, and their place in the event feed."""

import gzip
import json
from collections.abc import Iterable
from typing import Any

import pytest

from company_registry import CompanyFilter, InvalidResponse, NoResponse, RateLimited, Retries
from company_registry.exports import export, export_lines
from company_registry.http import Outcome, Part, Response, Unanswered
from tests.builders.answers import a_found_company
from tests.fakes.client import FakeTransport, problem

BROKEN = Unanswered("the connection broke", sent=True)
END = Part(None)
RETRIES = Retries(attempts=3)


class Place:
    """A store of cursors that remembers each."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    def load(self) -> str | None:
        return None

    def save(self, cursor: str) -> None:
        self.saved.append(cursor)


def head(**headers: str) -> Response:
    return Response(200, {"events-cursor": "00000000002a", **headers}, b"")


def lines(*numbers: str) -> bytes:
    return b"".join(json.dumps({"vat": number}).encode() + b"\n" for number in numbers)


def numbers_of(found: Iterable[bytes]) -> list[str]:
    return [json.loads(line)["vat"] for line in found]


def read(transport: FakeTransport, **options: Any) -> list[str]:
    return numbers_of(transport.iterate(export_lines(RETRIES, "no", **options)))


def queries(transport: FakeTransport) -> list[dict[str, str]]:
    return [dict(request.query) for request in transport.requests]


@pytest.mark.parametrize("parts", [("1", "2", "1"), ("1", "1"), ("2", "2", "2"), ("10", "9")])
def test_an_export_that_begins_again_without_end_is_an_error(parts: tuple[str, ...]) -> None:
    transport = FakeTransport([head(), *(Part(lines(number)) for number in parts), END])

    with pytest.raises(InvalidResponse, match="in no order"):
        read(transport)


def test_an_export_that_resumes_at_an_earlier_company_is_an_error() -> None:
    transport = FakeTransport([head(), Part(lines("1", "2")), BROKEN, head(), Part(lines("2"))])

    with pytest.raises(InvalidResponse, match="in no order"):
        read(transport)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_lines_are_put_together_from_parts_of_any_size(size: int, coding: str) -> None:
    whole = lines("1", "2", "3")
    sent = gzip.compress(whole) if coding else whole
    parts = [Part(sent[start : start + size]) for start in range(0, len(sent), size)]
    answers: list[Outcome] = [head(**{"content-encoding": coding}), *parts, END]

    assert read(FakeTransport(answers)) == ["1", "2", "3"]


def test_a_long_export_is_decompressed_in_pieces() -> None:
    numbers = [f"{number:01800}" for number in range(3_000)]
    sent = gzip.compress(lines(*numbers))
    transport = FakeTransport([head(**{"content-encoding": "gzip"}), Part(sent), END])

    assert read(transport) == numbers


def test_an_export_resumes_behind_its_last_line_and_keeps_its_first_place() -> None:
    place = Place()
    later = Response(200, {"events-cursor": "0000000000ff"}, b"")
    transport = FakeTransport(
        [head(), Part(lines("1", "2")[:-4]), BROKEN, later, Part(lines("2")), END]
    )

    assert read(transport, cursor=place) == ["1", "2"]
    assert [query.get("after") for query in queries(transport)] == [None, "1"]
    assert place.saved == ["00000000002a"]
    assert len(transport.slept) == 1


def test_an_export_after_a_given_number_saves_no_place() -> None:
    place = Place()
    transport = FakeTransport([head(), Part(lines("7")), END])

    assert read(transport, after="6", cursor=place) == ["7"]
    assert (queries(transport)[0]["after"], place.saved) == ("6", [])


def test_reading_ends_with_an_error_when_the_service_sends_nothing_more() -> None:
    transport = FakeTransport([head(), Part(lines("1")), BROKEN, head(), BROKEN, head(), BROKEN])

    with pytest.raises(NoResponse, match="broke"):
        read(transport)


@pytest.mark.parametrize("sent", [b'{"vat": "1"}\n{"vat"', b"{}\n"])
def test_what_is_no_line_of_a_company_is_an_error(sent: bytes) -> None:
    with pytest.raises(InvalidResponse):
        list(
            FakeTransport([head(), Part(sent), BROKEN if sent == b"{}\n" else END]).iterate(
                export_lines(RETRIES, "no")
            )
        )


def test_a_second_export_of_a_key_is_refused() -> None:
    refused = problem("rate_limited", 429, retry_after="100")

    with pytest.raises(RateLimited):
        read(FakeTransport([refused]))


def test_filters_and_parts_are_sent_as_in_a_list() -> None:
    transport = FakeTransport([head(), END])
    wanted = CompanyFilter(industry=("62", "70"), employees_min=5)

    read(transport, filter=wanted, include=("owners", "roles"))

    [query] = queries(transport)
    assert query == {
        "country": "no", "industry": "62,70", "employees_min": "5", "include": "owners,roles",
    }  # fmt: skip


def test_companies_are_models() -> None:
    line = json.dumps(a_found_company()).encode() + b"\n"
    transport = FakeTransport([head(), Part(line), END])

    [company] = transport.iterate(export(RETRIES, "dk"))

    assert company.vat == a_found_company()["vat"]


def test_a_line_that_is_no_company_is_an_error() -> None:
    transport = FakeTransport([head(), Part(lines("1")), END])

    with pytest.raises(InvalidResponse, match="no company"):
        list(transport.iterate(export(RETRIES, "dk")))
