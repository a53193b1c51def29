"""Documents of the registers and the records as which they read, pair by pair.

Each file in `documents` is of one source: a whole `document` with its `record`, and cases that say
what another document has instead (`with`, `without`; or `raw`, the whole of it) and what its record
has instead (`reads`, with null for what it lacks), or the reason for which it is `refused`.
"""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ingest.records.records import Record, RecordRejected
from ingest.registers import table
from tests.builders.companies import TODAY, parsed

Json = dict[str, Any]
#: Fields of records that are JSON lists.
LISTS = ("owner_list", "role_list")


FILES = sorted((Path(__file__).parent / "documents").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_documents_of_a_source_read_as_the_records_beside_them(file: Path) -> None:
    pair = json.loads(file.read_text())
    read, expected = {}, {}
    for title, several in {"the document": [{}], **pair["cases"]}.items():
        for number, case in enumerate(several, 1):
            name = f"{title} {number}"
            read[name] = outcome(file.stem, pair, case)
            is_refused = "refused" in case
            expected[name] = case["refused"] if is_refused else case.get("reads", {})

    assert read == expected


def outcome(source: str, pair: Json, case: Json) -> Json | str:
    """The difference from the record of the whole document, or the reason for a refusal."""
    raw = case.get("raw") or {**pair["document"], **case.get("with", {})}
    for name in case.get("without", ()):
        del raw[name]
    today = date.fromisoformat(case["today"]) if "today" in case else TODAY
    try:
        read = shown(parsed(table.sources()[source], raw, today))
    except RecordRejected as error:
        return str(error)
    return changes(pair["record"], read)


def shown(record: Record) -> Json:
    """The type of a record, its own fields and those of its JSON, without empty ones.

    A later reading has only the fields that differ. Ranks, digests, pasts, readings by earlier
    releases and the numbers of reorganisations are tested elsewhere.
    """
    fields: Json = {name: getattr(record, name) for name in record.__slots__}
    upcoming = fields.pop("upcoming", ())
    core = json.loads(fields.pop("core", "{}"))
    owners, roles = (json.loads(fields.pop(name, None) or "null") for name in LISTS)
    for name in ("rank", "digest", "past", "earlier", "reorganisations"):
        fields.pop(name, None)
    fields = {"type": type(record).__name__, **fields, "owners": owners, "roles": roles, **core}
    plain: Json = _without_empty(json.loads(json.dumps(fields, default=_plain)))
    later = [{"from": str(day), **changes(plain, shown(each))} for day, each in upcoming]
    return {**plain, "upcoming": later} if later else plain


def changes(before: Json, after: Json) -> Json:
    """The values of `after` that differ, and null for what it lacks."""
    return {
        name: after.get(name) for name in {**before, **after} if before.get(name) != after.get(name)
    }


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _without_empty(each) for name, each in value.items() if each not in (None, [])}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else str(value)
