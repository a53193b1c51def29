"""The history in a mirror's file."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from company_registry.mirror_history import RETENTION, mirrored_history
from company_registry.mirror_store import MirrorStore, Place
from company_registry.models import Event, HistoryPage

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANNA, BENT = {"name": "Anna Testesen"}, {"name": "Bent Prøvesen"}
VAT = "12345674"


def an_event(revision: int, *changes: dict[str, Any], **fields: Any) -> Event:
    type_, unit = fields.pop("type", "company.updated"), fields.pop("unit", None)
    company = {"country": "dk", "vat": VAT, "name": "Alfa", "status": "active"}
    data: dict[str, Any] = {"company": {**company, "revision": revision}, "changes": changes}
    if unit is not None:
        data["production_unit"] = {"number": unit, "status": "ended"}
    if type_ == "company.removed":
        data = {}
    return Event.model_validate(
        {
            "id": f"{type_}-{revision}-{unit}",
            "type": type_,
            "occurred_at": "2026-03-04T12:00:00Z",
            "country": "dk",
            "vat": VAT,
            "revision": revision,
            "data": data,
            **fields,
        }
    )


def a_change(field: str, old: Any, new: Any) -> dict[str, Any]:
    return {"field": field, "old": old, "new": new}


@dataclass
class Mirrored:
    path: Path
    now: datetime = NOON
    history: timedelta = RETENTION
    place: Place = field(default=Place(cursor="0", copied_until=None))

    def opened(self) -> closing[MirrorStore]:
        return closing(MirrorStore(self.path, "dk", history=self.history, now=lambda: self.now))

    def copy(self, place: Place) -> None:
        self.place = place._replace(copied_until=None)
        with self.opened() as store:
            company = {"country": "dk", "vat": VAT, "revision": 1, "name": "Alfa"}
            store.store([company], place)
            store.complete(self.place)

    def apply(self, *events: Event) -> None:
        """Applies the events of a page, in a run of its own."""
        self.place = self.place._replace(cursor=str(int(self.place.cursor or 0) + 1))
        with self.opened() as store:
            store.apply(events, self.place)

    @property
    def page(self) -> HistoryPage:
        page = mirrored_history(self.path, "dk", VAT)
        assert page is not None
        return page

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Each change with its revision, without defaults."""
        return [
            {"revision": entry.revision, **change.model_dump(exclude_unset=True)}
            for entry in self.page.history
            for change in entry.changes
        ]


@pytest.fixture
def mirror(tmp_path: Path) -> Mirrored:
    mirror = Mirrored(tmp_path / "mirror ø.sqlite")
    mirror.copy(mirror.place)
    return mirror


def test_changes_are_kept_once_and_newest_first_as_the_service_lists_them(mirror: Mirrored) -> None:
    phone, name = a_change("phone", None, "1"), a_change("name", "Alfa", "Beta")
    owners = a_change("owners", [ANNA], [ANNA, BENT])
    first = an_event(2, phone, name)
    ended = an_event(
        3, a_change("status", "active", "ended"), type="production_unit.ended", unit="7"
    )

    mirror.apply(first, an_event(3, owners, type="owners.changed"))
    mirror.apply(first, ended)

    assert mirror.changes == [
        {"revision": 3, **a_change("status", "active", "ended")},
        {"revision": 3, **a_change("owners", [], [BENT]), "partial": True},
        {"revision": 2, **phone},
        {"revision": 2, **name},
    ]
    newest = mirror.page.history[0]
    assert (newest.time, newest.dated, newest.production_unit) == (
        "2026-03-04T12:00:00Z",
        False,
        "7",
    )
    assert mirror.page.known_from == NOON


def test_a_removed_company_or_unit_takes_its_history_along(mirror: Mirrored) -> None:
    phone, moved = a_change("phone", None, "1"), a_change("address", None, {"city": "Aarhus"})
    mirror.apply(an_event(2, phone), an_event(3, moved, type="production_unit.updated", unit="7"))

    mirror.apply(an_event(4, type="production_unit.ended", unit="7"))

    assert mirror.changes == [{"revision": 2, **phone}]
    mirror.apply(an_event(5, type="company.removed"))
    assert mirrored_history(mirror.path, "dk", VAT) is None
    with closing(sqlite3.connect(mirror.path)) as database:
        assert database.execute("SELECT count(*) FROM history").fetchone() == (0,)


def test_a_person_who_is_left_out_of_a_company_leaves_its_history(mirror: Mirrored) -> None:
    phone = a_change("phone", None, "1")
    owners, roles = (a_change(name, [], [ANNA, BENT]) for name in ("owners", "roles"))
    mirror.apply(an_event(2, phone), an_event(3, owners), an_event(4, roles))
    later = (NOON + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")

    limited = an_event(5, a_change("owners", None, [BENT]), occurred_at=later)
    mirror.apply(limited, an_event(6, a_change("purpose", None, None), occurred_at=later))

    assert mirror.changes == [
        {"revision": 6, **a_change("purpose", None, None)},
        {"revision": 2, **phone},
    ]
    assert mirror.page.known_from == NOON + timedelta(days=2)


def test_the_first_owners_of_a_company_delete_nothing(mirror: Mirrored) -> None:
    phone, owners = a_change("phone", None, "1"), a_change("owners", None, [ANNA])

    mirror.apply(an_event(2, phone), an_event(3, owners))

    assert [change["revision"] for change in mirror.changes] == [3, 2]
    assert mirror.page.known_from == NOON


def test_changes_are_known_from_the_copy_that_the_events_follow(mirror: Mirrored) -> None:
    mirror.apply(an_event(2, a_change("phone", None, "1")))
    mirror.now += timedelta(days=40)
    with mirror.opened() as store:
        store.start_over()

    mirror.copy(Place(copy=2, cursor="900"))
    mirror.apply(an_event(9, a_change("phone", "2", "3")))

    assert [change["revision"] for change in mirror.changes] == [9, 2]
    assert mirror.page.known_from == NOON + timedelta(days=40)


def test_a_company_that_a_new_copy_does_not_have_has_no_history(mirror: Mirrored) -> None:
    mirror.apply(an_event(2, a_change("phone", None, "1")))

    with mirror.opened() as store:
        store.start_over()
        store.complete(Place(copy=2, cursor="900", copied_until=None))

    with closing(sqlite3.connect(mirror.path)) as database:
        assert database.execute("SELECT count(*) FROM history").fetchone() == (0,)


def test_changes_expire_and_are_known_from_then_on(mirror: Mirrored) -> None:
    mirror.history = timedelta(days=365)
    mirror.apply(an_event(2, a_change("phone", None, "1")))
    mirror.now += timedelta(days=366)
    later = (NOON + timedelta(days=366)).strftime("%Y-%m-%dT%H:%M:%SZ")

    mirror.apply(an_event(3, a_change("phone", "1", "2"), occurred_at=later))

    assert [change["revision"] for change in mirror.changes] == [3]
    assert mirror.page.known_from == NOON + timedelta(days=1)


def test_a_run_without_history_deletes_it_and_a_later_one_begins_anew(mirror: Mirrored) -> None:
    mirror.apply(an_event(2, a_change("phone", None, "1")))

    mirror.history = timedelta(0)
    mirror.apply(an_event(3, a_change("phone", "1", "2")))

    assert (mirror.page.history, mirror.page.known_from) == ((), None)
    mirror.history, mirror.now = RETENTION, NOON + timedelta(days=1)
    mirror.apply(an_event(4, a_change("phone", "2", "3")))
    assert [change["revision"] for change in mirror.changes] == [4]
    assert mirror.page.known_from == NOON + timedelta(days=1)


def test_a_file_of_an_earlier_release_is_known_from_its_first_run_of_this_one(
    mirror: Mirrored,
) -> None:
    with closing(sqlite3.connect(mirror.path)) as database:
        database.executescript("DROP TABLE history; DROP TABLE histories")
    with pytest.raises(sqlite3.Error, match="histories"):
        mirrored_history(mirror.path, "dk", VAT)
    mirror.now += timedelta(days=3)

    mirror.apply(an_event(2, a_change("phone", None, "1")))

    assert [change["revision"] for change in mirror.changes] == [2]
    assert mirror.page.known_from == NOON + timedelta(days=3)
    assert json.loads(mirror.page.model_dump_json())["cursor"] is None


def test_a_run_of_an_earlier_release_in_between_is_noticed(mirror: Mirrored) -> None:
    mirror.apply(an_event(2, a_change("phone", None, "1")))
    with closing(sqlite3.connect(mirror.path)) as database:
        database.execute("UPDATE mirrors SET cursor = '77'")
        database.commit()
    mirror.now += timedelta(days=3)

    mirror.apply(an_event(9, a_change("phone", "2", "3")))

    assert mirror.page.known_from == NOON + timedelta(days=3)
