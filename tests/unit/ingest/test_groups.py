"""Groups of Norwegian companies: the links of an answer, which is a graph written as a tree."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from ingest.changes.differences import owners_events
from ingest.changes.group_plans import all_owners
from ingest.records.records import GroupRecord, RecordRejected, Rejected
from ingest.records.source import read
from ingest.registers.brreg import groups
from ingest.registers.brreg.group_sync import NO_GROUPS
from ingest.registers.brreg.groups import group_record
from tests.builders.companies import TODAY

SHARED_DATA = os.environ.get("SHARED_DATA")

TOP, HOLDING, DAUGHTER, OTHER = "310345679", "310345806", "310345784", "310345733"

#: Owner, owned, code of the kind, share.
Found = tuple[str | None, str, str | None, str | None]


def a_member(number: str | None, basis: str = "100%", *children: Any, **fields: Any) -> Any:
    return {
        "nivaa": 1,
        "knytningsform": {"kode": "KDAT", "beskrivelse": "Konsern datter"},
        "navn": f"FORETAK {number} AS",
        "organisasjonsnummer": number,
        "grunnlag": basis,
        "dato": "2021-10-01",
        **({"children": list(children)} if children else {}),
        **fields,
    }


def a_group(*children: Any, number: str = TOP) -> Any:
    return {"organisasjonsnummer": number, "navn": "TOPPEN AS", "children": list(children)}


def read_group(raw: Any) -> GroupRecord:
    return group_record(raw, TODAY)


def links_of(record: GroupRecord) -> set[Found]:
    return {
        (one["vat"], key.number, one["role"], one["share"] and one["share"]["min"])
        for key, owners in record.links.items()
        for one in orjson.loads(owners)
    }


KGRL: dict[str, Any] = {"knytningsform": {"kode": "KGRL", "beskrivelse": "Konsern grunnlag"}}
KMOR: dict[str, Any] = {"knytningsform": {"kode": "KMOR", "beskrivelse": "Konsern mor"}}


def test_a_company_with_several_parents_is_one_company_with_each_link_once() -> None:
    again = a_member(DAUGHTER, "60,0%", a_member(OTHER), nivaa=7)
    record = read_group(
        a_group(
            a_member(HOLDING, "99,71%", again),
            a_member(HOLDING, "99,71%", again),
            {**again, **KGRL, "grunnlag": "1,19%"},
        )
    )

    assert [key.number for key in record.members] == [TOP, HOLDING, DAUGHTER, OTHER]
    assert links_of(record) == {
        (TOP, HOLDING, "parent_company", "99.71"),
        (HOLDING, DAUGHTER, "parent_company", "60"),
        (TOP, DAUGHTER, "shareholder", "1.19"),
        (DAUGHTER, OTHER, "parent_company", "100"),
    }
    assert not record.odd


def test_a_controlling_link_and_a_partial_one_of_the_same_owner_are_two() -> None:
    record = read_group(
        a_group(a_member(DAUGHTER, "66,99%", **KMOR), a_member(DAUGHTER, "1,19%", **KGRL))
    )

    assert links_of(record) == {
        (TOP, DAUGHTER, "parent_company", "66.99"),
        (TOP, DAUGHTER, "shareholder", "1.19"),
    }


@pytest.mark.parametrize(
    "text,share",
    [
        ("100%", "100"),
        ("100 %", "100"),
        ("99,99%", "99.99"),
        ("95,0%", "95"),
        ("95,00%", "95"),
        ("33.333 %", "33.333"),
        ("99,999%", "99.999"),
        ("0,01%", "0.01"),
        ("Indirekte mor", None),
        ("0%", None),
        ("100,01%", None),
        ("over 50%", None),
        ("100", None),
        ("", None),
    ],
)
def test_a_share_is_exact_and_another_text_is_none(text: str, share: str | None) -> None:
    record = read_group(a_group(a_member(DAUGHTER, text)))
    [owner] = orjson.loads(next(iter(record.links.values())))

    assert owner["share"] == (share and {"min": share, "max": share})
    assert owner["role_text"] == ": ".join(
        ["Konsern datter", *([text] if text and share is None else [])]
    )


def test_a_circle_ends_where_its_tree_ends() -> None:
    record = read_group(a_group(a_member(HOLDING, "60%", a_member(TOP, "40%"))))

    assert links_of(record) == {
        (TOP, HOLDING, "parent_company", "60"),
        (HOLDING, TOP, "parent_company", "40"),
    }
    assert [key.number for key in record.members] == [TOP, HOLDING]


def test_a_member_without_a_number_is_an_owner_by_name_and_a_company_owns_not_itself() -> None:
    record = read_group(
        a_group(a_member(None, "100%", a_member(DAUGHTER), navn="UTLANDET LTD"), a_member(TOP))
    )
    [owner] = orjson.loads(record.links[record.members[1]])

    assert (owner["name"], owner["type"], owner["vat"]) == ("UTLANDET LTD", "other", None)
    assert [key.number for key in record.members] == [TOP, DAUGHTER]
    assert set(record.odd) == {"children.organisasjonsnummer", "children"}


def test_an_unknown_kind_of_link_keeps_the_words_of_the_register() -> None:
    kind = {"kode": "KNYE", "beskrivelse": "Konsern annet"}
    record = read_group(a_group(a_member(DAUGHTER, knytningsform=kind)))
    [owner] = orjson.loads(next(iter(record.links.values())))

    assert (owner["role"], owner["role_text"]) == (None, "Konsern annet")
    assert record.odd == ("children.knytningsform",)


def a_chain(levels: int) -> Any:
    member = a_member(DAUGHTER)
    for _ in range(levels - 1):
        member = a_member(HOLDING, "100%", member)
    return a_group(member)


def test_a_company_in_no_group_has_a_record_without_links() -> None:
    record = read_group({"organisasjonsnummer": TOP, "status": 404})

    assert ([key.number for key in record.members], record.links) == ([TOP], {})


@pytest.mark.parametrize(
    "raw,reason",
    [
        ({}, "children: missing"),
        ({"organisasjonsnummer": TOP}, "children: missing"),
        ({"status": 404}, "organisasjonsnummer: missing"),
        ({"organisasjonsnummer": TOP, "status": 500}, "status: an answer"),
        ({"organisasjonsnummer": TOP, "children": "x"}, "children: not a list"),
        ({"organisasjonsnummer": TOP, "children": [1]}, "children: not a list"),
        (a_group(a_member(DAUGHTER), number="12"), "organisasjonsnummer: missing"),
        (a_chain(groups.MAX_DEPTH + 1), "more than 100 levels"),
        (a_group(*[a_member(DAUGHTER)] * groups.MAX_PLACES), "more than 50,000 places"),
        (
            a_group(*(a_member(f"{n:09}") for n in range(groups.MAX_MEMBERS))),
            "more than 5,000 companies",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_answer_that_is_no_group_or_over_a_limit_is_refused(raw: Any, reason: str) -> None:
    with pytest.raises(RecordRejected, match=reason):
        read_group(raw)


def test_answers_in_any_order_give_equal_records() -> None:
    children = [a_member(HOLDING), a_member(DAUGHTER, "1%", **KGRL), a_member(DAUGHTER, "60%")]

    one, other = read_group(a_group(*children)), read_group(a_group(*reversed(children)))

    assert one.links == other.links


#: Shapes of three groups that were captured in public, with invented names. Of the first a company
#: has a controlling owner and one with a stake, both with all that is below it; another one has
#: two owners of different kinds on different levels.
_SERVICES = a_member("310345695", "100%", nivaa=3)
_JOINT = ("310345717", "40,0%", _SERVICES)
_LISTED = (
    a_member("310345733", "70,0%", nivaa=3),
    a_member("310345768", "100%", a_member(*_JOINT, nivaa=2, **KGRL), nivaa=3),
)
SHAPES: dict[str, tuple[Any, set[Found]]] = {
    "repeated subtrees": (
        a_group(
            a_member("310345792"),
            a_member(HOLDING, "99,71%", a_member(DAUGHTER, "66,99%", *_LISTED, nivaa=2, **KMOR)),
            a_member("310345814", "100%", a_member("310345717", "60,0%", _SERVICES, nivaa=2)),
            a_member(DAUGHTER, "1,19%", *_LISTED, nivaa=2, **KGRL),
        ),
        {
            (TOP, "310345792", "parent_company", "100"),
            (TOP, HOLDING, "parent_company", "99.71"),
            (TOP, "310345814", "parent_company", "100"),
            (TOP, DAUGHTER, "shareholder", "1.19"),
            (HOLDING, DAUGHTER, "parent_company", "66.99"),
            (DAUGHTER, "310345733", "parent_company", "70"),
            (DAUGHTER, "310345768", "parent_company", "100"),
            ("310345768", "310345717", "shareholder", "40"),
            ("310345814", "310345717", "parent_company", "60"),
            ("310345717", "310345695", "parent_company", "100"),
        },
    ),
    "a sub-group with companies abroad": (
        a_group(
            a_member(OTHER, "100%", a_member("310345695")),
            a_member(
                HOLDING,
                "100 %",
                a_member("310345717"),
                a_member(
                    DAUGHTER,
                    "100%",
                    a_member("310345768", "99,99%", organisasjonsform={"kode": "UTLA"}),
                    a_member("310345792", "95,0%", organisasjonsform={"kode": "UTLA"}),
                ),
                **KMOR,
            ),
        ),
        {
            (TOP, OTHER, "parent_company", "100"),
            (OTHER, "310345695", "parent_company", "100"),
            (TOP, HOLDING, "parent_company", "100"),
            (HOLDING, "310345717", "parent_company", "100"),
            (HOLDING, DAUGHTER, "parent_company", "100"),
            (DAUGHTER, "310345768", "parent_company", "99.99"),
            (DAUGHTER, "310345792", "parent_company", "95"),
        },
    ),
    "a wide one": (
        a_group(
            *(a_member(f"3103460{n:02}") for n in range(30)),
            a_member(HOLDING, "100%", a_member(DAUGHTER, "100%", a_member(OTHER, "95,00%"))),
        ),
        {
            *((TOP, f"3103460{n:02}", "parent_company", "100") for n in range(30)),
            (TOP, HOLDING, "parent_company", "100"),
            (HOLDING, DAUGHTER, "parent_company", "100"),
            (DAUGHTER, OTHER, "parent_company", "95"),
        },
    ),
}


@pytest.mark.parametrize("raw,links", SHAPES.values(), ids=SHAPES)
def test_groups_in_the_shapes_of_public_captures_have_the_links_counted_by_hand(
    raw: Any, links: set[Found]
) -> None:
    record = read_group(raw)

    assert links_of(record) == links
    assert not record.odd
    assert len(record.members) == len({owned for _, owned, *_ in links}) + 1


def an_owner(vat: str | None, share: str | None, **fields: Any) -> dict[str, Any]:
    type_ = "company" if vat else "person"
    interval = share and {"min": share, "max": share}
    return {"name": "TOPPEN AS", "type": type_, "vat": vat, "share": interval, **fields}


@pytest.mark.parametrize(
    "listed,link,stand",
    [
        # A partner of the role register whom the group has as well is one owner.
        ((TOP, "60"), "60", "the role register's"),
        ((TOP, "60"), None, "the role register's"),
        ((TOP, None), None, "the role register's"),
        # They contradict each other, or the group knows more.
        ((TOP, "60"), "40", "both"),
        ((TOP, None), "60", "both"),
        # Somebody else: another company, or a person, who has no number.
        ((OTHER, "60"), "60", "both"),
        ((None, "60"), "60", "both"),
    ],
)
def test_an_owner_that_both_registers_name_is_one_unless_they_contradict_each_other(
    listed: tuple[str | None, str | None], link: str | None, stand: str
) -> None:
    own = an_owner(*listed)
    of_group = an_owner(TOP, link, source="no-konsern")

    found = orjson.loads(all_owners(orjson.dumps([own]), orjson.dumps([of_group])) or b"null")

    assert found == ([own, of_group] if stand == "both" else [own])


@pytest.mark.parametrize("others", [1, 150])
def test_a_new_day_of_a_link_alone_is_no_change_of_owners(others: int) -> None:
    link = an_owner(TOP, "60", source="no-konsern", since="2021-10-01")
    partner = an_owner(OTHER, "60", source=None, since="2021-10-01")
    rest = [an_owner(None, "1", since=None) | {"name": f"{n}"} for n in range(others)]

    def changes(*new: Any) -> list[Any]:
        lists = ([*rest, link, partner], [*rest, *new])
        events = owners_events(*(orjson.dumps(each) for each in lists))
        return [change.new[-1] for event in events for change in event.changes]

    later, renewed = ({**each, "since": "2025-11-12"} for each in (link, partner))
    other = {**later, "share": {"min": "40", "max": "40"}}

    assert changes(later, partner) == []
    assert changes(later, renewed) == [renewed]
    assert changes(partner, other) == [other]


#: The documents of two groups, by hand.
LINKS = {
    "no-ey.json": {
        ("976389387", "979535058", "parent_company", "100"),
        ("976389387", "946823465", "parent_company", "100"),
    },
    "no-telenor-trimmed.json": {
        ("982463718", "983939724", "parent_company", "100"),
        ("983939724", "976967631", "parent_company", "100"),
        ("976967631", "990440212", "shareholder", "33.33"),
        ("976967631", "876839342", "parent_company", "100"),
        ("982463718", "980003744", "parent_company", "100"),
        ("982463718", "990440212", "parent_company", None),
    },
}


@pytest.mark.skipif(SHARED_DATA is None, reason="SHARED_DATA names no folder of real samples")
@pytest.mark.parametrize("name", LINKS)
def test_the_links_of_real_groups_are_those_counted_by_hand(name: str) -> None:
    [record] = read(Path(SHARED_DATA or ".") / "groups" / name, NO_GROUPS, TODAY)

    assert not isinstance(record, Rejected)
    assert isinstance(record, GroupRecord)
    assert links_of(record) == LINKS[name]
    assert not record.odd
