"""The limit of open files."""

import resource
from collections.abc import Iterator

import pytest

from common.runtime.files import raise_file_limit


@pytest.fixture
def low_limit() -> Iterator[int]:
    """A soft limit below the hard one, for the test's time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = soft if hard == resource.RLIM_INFINITY else hard
    low = min(1024, highest // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    yield low
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_limit_is_raised_and_returned(low_limit: int) -> None:
    raised = raise_file_limit()

    assert raised == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert raised > low_limit


@pytest.mark.usefixtures("low_limit")
def test_it_is_raised_once() -> None:
    assert raise_file_limit() == raise_file_limit()
