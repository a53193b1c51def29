"""Timeouts of the dispatcher's receipts."""

from datetime import timedelta

import pytest

from ingest.publishing.publisher import MAX_RECEIPT_TIMEOUT, receipt_timeout

FIRST = timedelta(minutes=2)


@pytest.mark.parametrize(
    "publications, timeout",
    [
        (1, FIRST),
        (2, 2 * FIRST),
        (5, 16 * FIRST),
        (6, MAX_RECEIPT_TIMEOUT),
        (10_000, MAX_RECEIPT_TIMEOUT),
    ],
)
def test_each_publication_doubles_the_timeout_up_to_a_maximum(
    publications: int, timeout: timedelta
) -> None:
    assert receipt_timeout(FIRST, publications=publications) == timeout


def test_a_longer_timeout_than_the_maximum_is_kept() -> None:
    day = timedelta(days=1)

    assert receipt_timeout(day, publications=7) == day
