"""Deliveries from the event to their record, on servers of their own."""

import asyncio
import logging

import structlog

from bench.deliveries import latency, matching, throughput
from bench.figures import Figure
from bench.scale import Scale
from bench.setup import Servers, servers


def measure(scale: Scale) -> list[Figure]:
    # Only failures are logged: the benchmarks have figures of their own.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with servers() as own:
        return asyncio.run(_measure(own, scale))


async def _measure(own: Servers, scale: Scale) -> list[Figure]:
    figures = [figure async for figure in throughput.measure(own, scale)]
    half = figures[0].value / 2
    for measured in (
        latency.measure(own, scale, half=half),
        latency.measure_with_hanging_receiver(own, scale),
        matching.measure(own, scale),
        throughput.measure_memory(own, scale),
    ):
        figures += [figure async for figure in measured]
    return figures
