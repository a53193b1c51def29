"""The picture of a group: rows by level, lines between boxes and around others, nested lists."""

import re
from itertools import combinations
from time import process_time
from typing import Any

import pytest

from company_registry.group_models import Group
from portal.domain.groups import BOX_HEIGHT, BOX_WIDTH, Box, Entry, Picture, picture


def drawn(
    levels: dict[str, int], *links: str, holders: tuple[str, ...] = (), **fields: Any
) -> Picture:
    """The picture of a group of company `0`; a link is written `owner>owned`."""
    pairs = [link.split(">") for link in links]
    return picture(
        Group.model_validate(
            {
                "country": "dk",
                "vat": "0",
                "companies": [
                    {"vat": vat, "name": f"Company {vat}", "status": "active", "level": level}
                    for vat, level in levels.items()
                ],
                "holders": [
                    {"id": id_, "name": f"Holder {id_}", "type": "person"} for id_ in holders
                ],
                "links": [{"owner": owner, "owned": owned} for owner, owned in pairs],
                **fields,
            }
        )
    )


def by_id(shown: Picture) -> dict[str, Box]:
    return {box.id: box for box in shown.boxes}


def names(entries: tuple[Entry, ...] | list[Entry]) -> list[Any]:
    return [[entry.box.id, *names(entry.entries)] for entry in entries]


def crossed(path: str, box: Box) -> bool:
    """Whether a curve enters a box, by points of each of its parts."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    at = numbers[:2]
    for start in range(2, len(numbers), 6):
        x1, y1, x2, y2, x3, y3 = numbers[start : start + 6]
        for t in (number / 20 for number in range(21)):
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x = sum(w * v for w, v in zip(weights, (at[0], x1, x2, x3), strict=True))
            y = sum(w * v for w, v in zip(weights, (at[1], y1, y2, y3), strict=True))
            if box.x < x < box.x + BOX_WIDTH and box.y < y < box.y + BOX_HEIGHT:
                return True
        at = [x3, y3]
    return False


def test_owners_stand_above_and_subsidiaries_below_the_company() -> None:
    shown = drawn({"0": 0, "1": -1, "2": 1, "3": 2}, "1>0", "p>1", "0>2", "2>3", holders=("p",))

    boxes = by_id(shown)
    assert shown.boxes[0].id == "0"
    assert [id_ for id_ in sorted(boxes, key=lambda id_: boxes[id_].y)] == ["p", "1", "0", "2", "3"]
    assert len({box.x for box in shown.boxes}) == 1
    assert boxes["p"].level == -2


def test_boxes_do_not_overlap_and_lie_within_the_picture() -> None:
    many = {str(number): 1 + number % 2 for number in range(1, 60)}
    shown = drawn({"0": 0, **many}, *(f"0>{vat}" for vat in many))

    for one, other in combinations(shown.boxes, 2):
        assert abs(one.x - other.x) >= BOX_WIDTH or abs(one.y - other.y) >= BOX_HEIGHT
    assert all(0 <= box.x <= shown.width - BOX_WIDTH for box in shown.boxes)
    assert all(0 <= box.y <= shown.height - BOX_HEIGHT for box in shown.boxes)


def test_a_line_passes_between_the_boxes_of_rows_that_it_crosses() -> None:
    children = {str(number): 1 for number in range(1, 30)}
    shown = drawn({"0": 0, **children, "x": 2}, *(f"0>{vat}" for vat in (*children, "x")))

    assert len({box.row for box in shown.boxes}) > 3
    for line in shown.lines:
        assert not [box.id for box in shown.boxes if crossed(line.path, box)]


def test_a_level_is_in_the_order_of_its_neighbours() -> None:
    levels = {"0": 0, "1": 1, "2": 1, "1a": 2, "2a": 2, "1b": 2}

    shown = drawn(levels, "0>1", "0>2", "2>2a", "1>1a", "1>1b")

    boxes = by_id(shown)
    left, right = sorted((boxes["1"], boxes["2"]), key=lambda box: box.x)
    below = sorted((boxes["1a"], boxes["1b"], boxes["2a"]), key=lambda box: box.x)
    assert [box.id[0] for box in below] == sorted(
        (box.id[0] for box in below), key=[left.id, right.id].index
    )


def test_a_circle_is_drawn_upwards_and_listed_once() -> None:
    shown = drawn(
        {"0": 0, "1": -1},
        links=[
            {"owner": "1", "owned": "0", "circle": True, "share": {"min": "50", "max": "66.67"}},
            {"owner": "0", "owned": "1", "circle": True},
        ],
    )

    assert [line.is_circle for line in shown.lines] == [True, True]
    assert [line.share for line in shown.lines] == ["50–66.67 %", ""]
    assert names(shown.owners) == [["1", ["0"]]]
    assert [shown.owners[0].is_again, shown.owners[0].entries[0].is_again] == [False, True]


def test_a_company_with_two_owners_is_listed_with_its_subsidiaries_once() -> None:
    shown = drawn({"0": 0, "1": 1, "2": 1, "3": 2, "4": 3}, "0>1", "0>2", "1>3", "2>3", "3>4")

    assert names(shown.subsidiaries) == [["1", ["3", ["4"]]], ["2", ["3"]]]
    assert shown.subsidiaries[1].entries[0].is_again


def test_an_ultimate_owner_has_its_computed_share() -> None:
    known = {"owner": "p", "name": "P", "type": "person", "share": {"min": "25", "max": "30"}}
    unknown = {"owner": "1", "name": "One", "type": "company"}

    shown = by_id(
        drawn({"0": 0, "1": -1}, "1>0", "p>0", holders=("p",), ultimate_owners=[known, unknown])
    )

    assert (shown["p"].ultimately, shown["1"].ultimately) == ("25–30 %", "share unknown")
    assert shown["0"].ultimately == ""


@pytest.mark.parametrize(
    "share, truncated, reach",
    [
        ({"min": "25", "max": "25"}, False, "yes"),
        ({"min": "24.99", "max": "24.99"}, False, "no"),
        ({"min": "20", "max": "33.33"}, False, "maybe"),
        # Further paths are not added up.
        ({"min": "10", "max": "10"}, True, "maybe"),
        (None, False, "unknown"),
    ],
)
def test_an_ultimate_owner_reaches_the_threshold_by_the_lower_end_of_its_share(
    share: dict[str, str] | None, *, truncated: bool, reach: str
) -> None:
    owner = {"owner": "p", "name": "P", "type": "person", "share": share}

    shown = drawn(
        {"0": 0},
        "p>0",
        holders=("p",),
        ultimate_owners=[owner],
        shares_truncated=truncated,
    )

    assert by_id(shown)["p"].reach == reach


def test_a_name_takes_two_lines_and_is_cut_where_it_needs_more() -> None:
    names = ("Alfa ApS", "PRØVEFABRIKKEN DANMARK AS", "Prøve " * 9, "prøvefabrik" * 3)

    assert [Box("1", name, "company", 0).name_lines for name in names] == [
        ["Alfa ApS"],
        ["PRØVEFABRIKKEN", "DANMARK AS"],
        ["Prøve Prøve Prøve", "Prøve Prøve Prøve…"],
        ["prøvefabrikprøvefabri…"],
    ]


def test_the_largest_group_is_drawn_at_once() -> None:
    levels = {"0": 0} | {str(number): 1 + number % 5 for number in range(1, 500)}
    owners = (f"{max(0, number - 7)}>{number}" for number in range(1, 500))
    before = process_time()

    shown = drawn(levels, *owners, *(f"0>{number}" for number in range(8, 500)))

    assert (len(shown.boxes), len(shown.lines)) == (500, 991)
    assert process_time() - before < 2
