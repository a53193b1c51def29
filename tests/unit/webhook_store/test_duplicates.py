"""Duplicate keys in bulk writes."""

from typing import Any

import pytest
from pymongo.errors import BulkWriteError

from common.contracts.failures import Unavailable
from webhook_store.collections import duplicates

STEPPED_DOWN = {"code": 189, "errmsg": "the primary stepped down"}


def a_fault(index: int, *, code: int = 11000) -> dict[str, Any]:
    return {"index": index, "code": code, "errmsg": "why"}


def an_error(*faults: dict[str, Any], lacking: tuple[dict[str, Any], ...] = ()) -> BulkWriteError:
    return BulkWriteError({"writeErrors": list(faults), "writeConcernErrors": list(lacking)})


def test_duplicate_ids_are_returned_by_index() -> None:
    assert duplicates(an_error(a_fault(1), a_fault(3))) == [1, 3]


def test_another_write_error_is_raised() -> None:
    with pytest.raises(BulkWriteError):
        duplicates(an_error(a_fault(1), a_fault(2, code=121)))


@pytest.mark.parametrize("faults", [(), (a_fault(1),), (a_fault(1, code=121),)])
def test_writes_without_a_majority_are_unavailable(faults: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(Unavailable):
        duplicates(an_error(*faults, lacking=(STEPPED_DOWN,)))
