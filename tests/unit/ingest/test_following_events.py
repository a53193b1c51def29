"""A receiver that applies all events from a version on has the stored version."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import CompanyKey, Status
from ingest.records.records import SourceVersion, Stored
from tests.builders.companies import (
    a_company,
    a_company_record,
    a_participant_record,
    a_unit,
    a_unit_record,
    an_owner,
)
from tests.builders.planning import PlannedRegister

VATS = ("12345674", "12345682")

words = st.sampled_from(["A", "B", "C"])
vats = st.sampled_from(VATS)
company_records = st.builds(
    a_company_record,
    st.builds(a_company, vat=vats, name=words, status=st.sampled_from(Status), ended=st.none()),
    owners=st.lists(st.builds(an_owner, name=words), max_size=2),
)
unit_records = st.builds(
    a_unit_record,
    st.builds(
        a_unit,
        number=st.sampled_from(["1012345678", "1012345686"]),
        name=words,
        status=st.sampled_from([Status.ACTIVE, Status.ENDED]),
    ),
    company=st.none() | vats,
)
participant_records = st.builds(
    a_participant_record,
    st.sampled_from(["0088:5790000000005", "0184:12345674"]),
    holder=st.none() | st.sampled_from([f"dk:{vat}" for vat in VATS] + ["dk:1012345678"]),
    document_types=st.lists(words, max_size=1).map(tuple),
)
vanished = st.sampled_from(["0088:5790000000005", "0184:12345674"])
happenings = st.lists(company_records | unit_records | participant_records | vanished, max_size=12)


class Register(PlannedRegister):
    """The stored records and their events, each record a minute newer than the one before."""

    _at = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

    def happens(self, happening: Stored | str) -> None:
        """A newer record, or an identifier that vanished."""
        self._at += timedelta(minutes=1)
        version = SourceVersion(self._at)
        newer = happening if isinstance(happening, str) else replace(happening, version=version)
        self.take(newer, version=version)

    def shown(self, vat: str) -> dict[str, Any]:
        """A company with all that may be included, as a lookup shows it."""
        key = CompanyKey.parse(f"dk:{vat}")
        units = {k: unit for k, unit in self.known.units.items() if unit.company == key}
        held = sorted(
            (state.holder != key, name, state.entry)
            for name, state in self.known.participants.items()
            if state.holder == key or state.holder in units
        )
        company = self.company(key)
        return {
            "company": orjson.loads(company.core or b"{}"),
            "owners": orjson.loads(company.owners or b"[]"),
            # Events do not say which unit is the main one.
            "units": {
                key[3:]: {**orjson.loads(unit.core), "main": None} for key, unit in units.items()
            },
            "einvoicing": [orjson.loads(entry) for *_, entry in held],
        }


def follow(event: dict[str, Any], seen: dict[str, Any]) -> None:
    """Applies an event to a receiver's copy."""
    kind, data = event["type"], event["data"]
    if kind in ("owners.changed", "einvoicing.changed"):
        apply(data["changes"], seen)
    elif kind.startswith("company."):
        apply(data["changes"], seen["company"])
    else:
        number = data["production_unit"]["number"]
        if kind == "production_unit.created":
            seen["units"][number] = data["production_unit"]
        elif any(change["field"] == "company" for change in data["changes"]):
            del seen["units"][number]
        else:
            apply(data["changes"], seen["units"][number])


def apply(changes: Iterable[dict[str, Any]], target: dict[str, Any]) -> None:
    for change in changes:
        *path, name = change["field"].split(".")
        place = target
        for step in path:
            place = place[step]
        assert place.get(name) == change["old"]
        place[name] = change["new"]


@given(happenings)
def test_applying_all_events_gives_the_stored_version(
    happened: Sequence[Stored | str],
) -> None:
    register = Register()
    for vat in VATS:
        register.happens(a_company_record(a_company(vat=vat)))
    register.events.clear()
    seen = {vat: copy.deepcopy(register.shown(vat)) for vat in VATS}

    for happening in happened:
        register.happens(happening)

    for event in register.events:
        follow(event, seen[event["vat"]])
    assert seen == {vat: register.shown(vat) for vat in VATS}


@given(happenings)
def test_event_ids_are_unique_and_revisions_only_rise(
    happened: Sequence[Stored | str],
) -> None:
    register = Register()

    for happening in happened:
        register.happens(happening)

    ids = [event["id"] for event in register.events]
    assert len(set(ids)) == len(ids)
    for vat in VATS:
        revisions = [event["revision"] for event in register.events if event["vat"] == vat]
        assert revisions == sorted(revisions)
