"""Processes that share leases and due times share a clock: the database's (ADR 0017)."""

import re

from tests.contract.manifests.reading import ROOT

#: Packages and modules that compare times which other processes wrote.
SHARING = (
    "services/dispatcher/src",
    "services/webhook-registry/src",
    "services/lookup/src/lookup/app.py",
    "services/lookup/src/lookup/events/receipts.py",
    "services/lookup/src/lookup/store/leases.py",
    "services/lookup/src/lookup/events/outbox.py",
    "services/lookup/src/lookup/events/worker.py",
    "services/lookup/src/lookup/events/publisher.py",
    "services/lookup/src/lookup/store",
    "libs/webhook-store/src",
)
WALL_CLOCK = re.compile(r"\b(datetime\.(now|utcnow|today)|time\.time(_ns)?)\(")


def test_processes_that_share_leases_read_no_wall_clock_of_their_own() -> None:
    paths = [ROOT / path for path in SHARING]
    modules = [
        module for path in paths for module in ([path] if path.is_file() else path.rglob("*.py"))
    ]

    assert all(path.exists() for path in paths)
    assert [str(one) for one in modules if WALL_CLOCK.search(one.read_text())] == []
