"""Batching of concurrent calls."""

import asyncio
from collections.abc import Sequence

import pytest

from common.contracts.failures import Unavailable
from common.runtime.tasks import Batcher, running


class Doubling:
    """Doubles numbers and records its batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, numbers: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(numbers))
        await self.gate.wait()
        if 13 in numbers:
            raise ValueError("13")
        if 0 in numbers:
            raise Unavailable("away")
        return [2 * number for number in numbers]


async def test_a_single_question_is_sent_at_once() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        assert await batcher(4) == 8

    assert work.batches == [[4]]


async def test_concurrent_questions_share_a_batch_and_get_their_own_answers() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=3)
    async with running(batcher):
        answers = await asyncio.gather(*(batcher(number) for number in range(1, 6)))

    assert answers == [2, 4, 6, 8, 10]
    assert work.batches == [[1, 2, 3], [4, 5]]


async def test_a_failed_batch_fails_only_its_own_questions() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=1)
    async with running(batcher):
        with pytest.raises(ValueError, match="13"):
            await batcher(13)

        assert await batcher(1) == 2


async def test_only_the_faulty_question_of_a_batch_fails() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        answers = await asyncio.gather(batcher(1), batcher(13), batcher(2), return_exceptions=True)

    assert [answers[0], answers[2]] == [2, 4]
    assert isinstance(answers[1], ValueError)


async def test_an_outage_fails_the_whole_batch_without_single_retries() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        answers = await asyncio.gather(batcher(1), batcher(0), return_exceptions=True)

    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert work.batches == [[1, 0]]


async def test_a_cancelled_call_does_not_cancel_its_batch() -> None:
    work = Doubling()
    work.gate.clear()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        impatient, patient = batcher(1), batcher(2)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        impatient.cancel()
        work.gate.set()

        assert await patient == 4
