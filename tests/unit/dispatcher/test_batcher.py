"""Questions that wait at the same moment share a list."""

import asyncio
from collections.abc import Sequence

import pytest

from common.contracts.failures import Unavailable
from dispatcher.adapters.batcher import Batcher, running


class Doubling:
    """Answers numbers with their doubles, and notes the lists that it was given."""

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


async def test_a_question_that_comes_alone_goes_alone() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        assert await batcher(4) == 8

    assert work.batches == [[4]]


async def test_those_that_wait_at_the_same_moment_go_together_and_get_their_own_answers() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=3)
    async with running(batcher):
        answers = await asyncio.gather(*(batcher(number) for number in range(1, 6)))

    assert answers == [2, 4, 6, 8, 10]
    assert work.batches == [[1, 2, 3], [4, 5]]


async def test_a_list_that_fails_fails_for_those_who_are_in_it_alone() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=1)
    async with running(batcher):
        with pytest.raises(ValueError, match="13"):
            await batcher(13)

        assert await batcher(1) == 2


async def test_of_a_list_only_the_question_fails_that_is_to_blame() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        answers = await asyncio.gather(batcher(1), batcher(13), batcher(2), return_exceptions=True)

    assert [answers[0], answers[2]] == [2, 4]
    assert isinstance(answers[1], ValueError)


async def test_an_outage_is_everybodys_and_is_not_tried_again_for_each() -> None:
    work = Doubling()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        answers = await asyncio.gather(batcher(1), batcher(0), return_exceptions=True)

    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert work.batches == [[1, 0]]


async def test_who_gives_up_takes_nobody_along() -> None:
    work = Doubling()
    work.gate.clear()
    batcher = Batcher(work, max_batch_size=10)
    async with running(batcher):
        impatient, patient = asyncio.create_task(batcher(1)), asyncio.create_task(batcher(2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        impatient.cancel()
        work.gate.set()

        assert await patient == 4
