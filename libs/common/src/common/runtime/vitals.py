"""Metrics of every process: its build, and how late its event loop is."""

import asyncio
import os
from importlib.metadata import version

import prometheus_client
from prometheus_client import Gauge, Histogram

#: Seconds between measurements; Prometheus scrapes every 15 to 60 seconds.
_INTERVAL = 1.0

_BUILD = Gauge("build_info", "Always 1", ["service", "version", "revision"])
_LAG = Histogram(
    "event_loop_lag_seconds",
    "Delay of a timer in the event loop, measured every second",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)


def describe_build(service: str) -> None:
    """Sets `build_info`; images carry the commit in REVISION, and all packages have one version."""
    # Their time stamps double the series of each counter, and nothing reads them.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    _BUILD.labels(service, version("common"), os.environ.get("REVISION", "unknown")).set(1)


async def measure_loop_lag() -> None:
    """Measures until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _INTERVAL
        await asyncio.sleep(_INTERVAL)
        _LAG.observe(max(0.0, loop.time() - due))
