"""The drawing of a company's owners and their owners."""

import itertools
from typing import Any

from company_registry import Company
from portal.domain.chain import BOX_HEIGHT, MAX_BOXES, drawing


def a_company(vat: str, *owners: dict[str, Any]) -> Company:
    return Company.model_validate(
        {
            "country": "dk",
            "vat": vat,
            "name": f"Company {vat}",
            "status": "active",
            "revision": 1,
            "match": {"type": "vat", "score": 100},
            "source": {"register": "cvr"},
            "owners": list(owners),
        }
    )


def owner(vat: str | None = None, **fields: Any) -> dict[str, Any]:
    kind = "person" if vat is None else "company"
    return {"name": f"Owner {vat}", "type": kind, "vat": vat, **fields}


def test_a_company_without_owners_has_no_drawing() -> None:
    assert drawing(a_company("1"), {}) is None


def test_owners_stand_to_the_right_each_joined_by_a_line() -> None:
    shown = drawing(a_company("1", owner("2"), owner()), {"2": a_company("2", owner("3"))})

    assert shown is not None
    own, *others = shown.boxes
    assert [box.vat for box in shown.boxes] == ["1", "2", "3", None]
    assert all(box.x > own.x for box in others)
    assert len(shown.lines) == 3
    assert (shown.lines[0].x2, shown.lines[0].y2) == (others[1].x, others[1].middle)


def test_boxes_of_a_column_do_not_overlap() -> None:
    shown = drawing(a_company("1", *(owner(str(number)) for number in range(2, 12))), {})

    assert shown is not None
    tops = sorted(box.y for box in shown.boxes[1:])
    assert all(below - above >= BOX_HEIGHT for above, below in itertools.pairwise(tops))
    assert shown.height >= tops[-1] + BOX_HEIGHT


def test_companies_that_own_one_another_are_drawn_once() -> None:
    first, second = a_company("1", owner("2")), a_company("2", owner("1"))

    shown = drawing(first, {"1": first, "2": second})

    assert shown is not None
    assert [box.vat for box in shown.boxes] == ["1", "2", "1"]


def test_a_drawing_has_an_upper_bound() -> None:
    shown = drawing(a_company("1", *(owner() for _ in range(500))), {})

    assert shown is not None
    assert len(shown.boxes) == MAX_BOXES


def test_a_share_is_an_interval_unless_it_is_known_exactly() -> None:
    interval, exact = {"min": "25", "max": "33.33"}, {"min": "50", "max": "50"}

    shown = drawing(a_company("1", owner(share=interval), owner(share=exact)), {})

    assert shown is not None
    assert [box.share for box in shown.boxes] == ["", "25–33.33 %", "50 %"]
