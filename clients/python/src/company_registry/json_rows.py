"""What this project prints and answers for programs, as the rows of a spreadsheet.

JSON, one document or one on each line: companies, events, results of `match` and `batch`, and
answers of the API with a list of these. Or companies of a watchlist, `dk:12345674` on each line.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

#: Lists of an answer, and of a row's result.
_LISTS: Final = ("companies", "results", "suggestions", "events", "matches")
_CANDIDATES: Final = "candidates"
#: Decisions of `match` with a likely company.
_LIKELY: Final = ("match", "review")
#: Of a result, what the columns of a file with the same results are called.
_FOUND: Final = {"country": "company_country", "vat": "company_vat", "name": "company_name"}
#: Of an address.
_PLACE: Final = {"text": "address", "postal_code": "postal_code", "city": "city"}
#: Columns of all rows: of more the file is none of ours.
_MOST_COLUMNS: Final = 1_000
_KEY: Final = re.compile(r"\s*(dk|no):([0-9]{8,9})\s*")
_WORDS: Final = {True: "yes", False: "no"}


class Line(NamedTuple):
    """A row by its columns, and the number of its line."""

    number: int
    cells: dict[str, str]


def lines_in(text: str) -> list[Line]:
    """Returns the rows of a text that this project may have written; none of any other text.

    Raises ValueError with the reason if JSON cannot be read to its end.
    """
    if not _is_json(text):
        return _watched(text)
    lines = [Line(number, _row(number, each)) for number, each in _listed(text)]
    if len({name for line in lines for name in line.cells}) > _MOST_COLUMNS:
        raise ValueError(f"is JSON with more than {_MOST_COLUMNS} fields")
    return lines


def _watched(text: str) -> list[Line]:
    lines: list[Line] = []
    if not _KEY.match(text):
        return lines
    for number, line in enumerate(text.splitlines(), start=1):
        key = _KEY.fullmatch(line)
        if key is None and line.strip():
            return []
        lines += [Line(number, _key(key))] if key else []
    return lines


def _key(found: re.Match[str]) -> dict[str, str]:
    return {"country": found[1], "vat": found[2]}


def _is_json(text: str) -> bool:
    begun = text.lstrip()
    if not begun.startswith(("{", "[")):
        return False
    try:
        json.JSONDecoder().raw_decode(begun)
    except (ValueError, RecursionError):
        return False
    return True


def _documents(text: str) -> Iterator[tuple[int, Any]]:
    decoder, place, number = json.JSONDecoder(), 0, 1
    while True:
        begin = place
        while begin < len(text) and text[begin].isspace():
            begin += 1
        if begin == len(text):
            return
        number += text.count("\n", place, begin)
        try:
            document, place = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            raise ValueError(f"is no JSON from line {number} on") from None
        yield number, document
        number += text.count("\n", begin, place)


def _listed(text: str) -> Iterator[tuple[int, Any]]:
    for number, document in _documents(text):
        listed = [document]
        if isinstance(document, list):
            listed = document
        elif isinstance(document, dict):
            lists = (document[name] for name in _LISTS if isinstance(document.get(name), list))
            listed = next(lists, listed)
        for each in listed:
            yield number, each


def _row(number: int, document: Any) -> dict[str, str]:
    if isinstance(document, str) and (key := _KEY.fullmatch(document)):
        return _key(key)
    if not isinstance(document, dict):
        raise ValueError(f"has a value in line {number} that is no JSON object")
    # Of `listen`.
    document = document["event"] if isinstance(document.get("event"), dict) else document
    own = document.get("input")
    row = _cells(own if isinstance(own, dict) else document)
    if "company" in document and isinstance(document["company"], dict):
        return row | _found(document["company"])
    if "decision" in document or isinstance(document.get(_CANDIDATES), list):
        return row | _decided(document)
    if "problem" in document:
        return row | dict.fromkeys(_FOUND.values(), "")
    return row


def _decided(document: dict[str, Any]) -> dict[str, str]:
    decision = str(document.get("decision") or "error")
    candidates = document.get(_CANDIDATES)
    likely = candidates[:1] if isinstance(candidates, list) and decision in _LIKELY else []
    best = likely[0] if likely and isinstance(likely[0], dict) else {}
    return {"decision": decision, **_found(best)}


def _found(company: dict[str, Any]) -> dict[str, str]:
    return {column: _text(company.get(name)) for name, column in _FOUND.items()}


def _cells(document: dict[str, Any]) -> dict[str, str]:
    row: dict[str, str] = {}
    for name, value in document.items():
        if name == "address" and isinstance(value, dict):
            row |= {column: _text(value.get(part)) for part, column in _PLACE.items()}
        elif not isinstance(value, dict | list):
            row[_text(name)] = _text(value)
    return row


def _text(value: object) -> str:
    if value is None:
        return ""
    text = _WORDS[value] if isinstance(value, bool) else str(value)
    # An escape may be half a letter, which no file can hold.
    return text.encode("utf-8", "replace").decode()
