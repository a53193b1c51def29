"""Rendering of large XML documents in worker processes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from multiprocessing import active_children

import orjson
import pytest

from common.runtime.processes import workers
from gateway.http.rendering import company_xml
from gateway.http.xml_processes import INLINE, MAX_PENDING, XmlRenderer
from gateway.problems import ServiceUnavailable
from tests.builders.openapi import example
from tests.delivery.waiting import eventually

pytestmark = pytest.mark.integration

COMPANY = example("CompanyWithEverything")
SMALL = orjson.dumps(example("Company"))
LARGE = orjson.dumps({**COMPANY, "production_units": COMPANY["production_units"] * 300})
#: Rendered in a process, in so few milliseconds that a crowd of them is ready in time.
SMALLEST_LARGE = orjson.dumps({**COMPANY, "description": "x" * INLINE})


@pytest.fixture
async def renderer() -> AsyncIterator[XmlRenderer]:
    async with workers(1) as processes:
        yield XmlRenderer(processes)


async def test_a_small_document_needs_no_process(renderer: XmlRenderer) -> None:
    document = await renderer.company(SMALL)

    assert document == company_xml(SMALL)
    assert active_children() == []


async def test_a_large_document_is_identical_to_one_rendered_in_process(
    renderer: XmlRenderer,
) -> None:
    document = await renderer.company(LARGE)

    assert document == company_xml(LARGE)
    assert len(active_children()) == 1


async def test_the_process_ends_with_the_renderer() -> None:
    async with workers(1) as processes:
        await XmlRenderer(processes).company(LARGE)

    assert active_children() == []


async def test_an_idle_process_ends_and_a_later_call_starts_another() -> None:
    async def none_left() -> bool:
        return not active_children()

    async with workers(1, idle=0.0) as processes:
        renderer = XmlRenderer(processes)
        await renderer.company(LARGE)
        await eventually(none_left, bool)

        assert await renderer.company(LARGE) == company_xml(LARGE)


async def test_a_killed_process_is_a_503_and_then_replaced(renderer: XmlRenderer) -> None:
    await renderer.company(LARGE)
    (process,) = active_children()
    assert process.pid is not None

    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with pytest.raises(ServiceUnavailable):
        await renderer.company(LARGE)

    assert await renderer.company(LARGE) == company_xml(LARGE)


async def test_too_many_large_documents_are_refused(renderer: XmlRenderer) -> None:
    crowd = [renderer.company(SMALLEST_LARGE) for _ in range(MAX_PENDING + 1)]

    outcomes = await asyncio.gather(*crowd, return_exceptions=True)

    refused = [each for each in outcomes if isinstance(each, ServiceUnavailable)]
    assert len(refused) == 1
    assert await renderer.company(SMALLEST_LARGE)
