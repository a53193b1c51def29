"""A service is imported without garbage collections."""

import gc

import pytest

from common.starting import uncollected


def test_a_service_is_imported_without_collections_and_then_left_alone_by_them() -> None:
    frozen = gc.get_freeze_count()

    with uncollected():
        paused = not gc.isenabled()

    assert paused
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen


def test_a_failed_import_ends_the_pause() -> None:
    with pytest.raises(ImportError), uncollected():
        raise ImportError

    assert gc.isenabled()
