"""Turns of clients that share the threads of searches."""

import asyncio

import pytest

from lookup.search.scheduling import FairQueue


class Clients:
    """Searches of clients; each holds its turn until it is ended."""

    def __init__(self, queue: FairQueue) -> None:
        self.queue = queue
        #: The clients in the order in which their searches began.
        self.begun: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, client: str, times: int = 1) -> None:
        self.tasks += [asyncio.create_task(self._ask(client)) for _ in range(times)]
        await self.settle()

    async def _ask(self, client: str) -> None:
        await self.queue.begin(client)
        self.begun.append(client)

    async def end(self, client: str, seconds: float = 1.0) -> None:
        self.queue.end(client, seconds)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    def taken(self) -> str:
        """The clients that began since the last call."""
        begun, self.begun = self.begun, []
        return "".join(begun)


async def test_a_second_client_gets_a_place_beyond_those_of_the_first() -> None:
    clients = Clients(FairQueue(per_client=2))

    await clients.ask("a", 5)
    await clients.ask("b", 2)

    assert clients.taken() == "aab"


async def test_a_quiet_client_is_next_however_many_searches_of_another_wait() -> None:
    clients = Clients(FairQueue(per_client=2))
    await clients.ask("a", 50)
    await clients.ask("b")
    await clients.ask("c")
    clients.taken()

    await clients.end("a")

    assert clients.taken() == "c"


async def test_clients_get_equal_time_and_not_equal_searches() -> None:
    clients = Clients(FairQueue(per_client=1, others=0))
    seconds = {"a": 4.0, "b": 1.0}
    await clients.ask("a", 100)
    await clients.ask("b", 100)
    running = clients.taken()

    served = [running]
    for _ in range(50):
        await clients.end(running, seconds[running])
        running = clients.taken()
        served.append(running)

    assert 4 * served.count("a") == pytest.approx(served.count("b"), abs=4)


async def test_a_client_saves_up_no_time_while_it_is_quiet() -> None:
    clients = Clients(FairQueue(per_client=1, others=0))
    await clients.ask("a", 100)
    for _ in range(20):
        await clients.end("a")
    await clients.ask("b", 100)
    clients.taken()

    running = "a"
    for _ in range(10):
        await clients.end(running)
        running = clients.begun[-1]

    assert 4 <= clients.taken().count("a") <= 6


async def test_a_search_that_is_given_up_takes_no_turn() -> None:
    clients = Clients(FairQueue(per_client=1, others=0))
    await clients.ask("a")
    await clients.ask("b", 2)
    clients.tasks[1].cancel()
    await clients.settle()

    await clients.end("a")
    await clients.end("b")
    await clients.ask("c")

    assert clients.taken() == "abc"


async def test_a_search_that_is_given_up_as_its_turn_comes_passes_it_on() -> None:
    clients = Clients(FairQueue(per_client=1, others=0))
    await clients.ask("a")
    await clients.ask("b")
    await clients.ask("c")

    clients.queue.end("a", 1.0)
    clients.tasks[1].cancel()
    await clients.settle()

    assert clients.taken() == "ac"


async def test_clients_that_have_gone_are_forgotten() -> None:
    queue = FairQueue(per_client=1)
    await queue.begin("busy")

    for number in range(5_000):
        await queue.begin(str(number))
        queue.end(str(number), 0.001)

    assert len(queue._used) <= 1_001
    queue.end("busy", 1.0)
    assert not queue._used


async def test_a_turn_is_not_given_to_a_search_that_was_cancelled_in_the_same_moment() -> None:
    queue = FairQueue(per_client=1, others=0)
    clients = Clients(queue)
    await clients.ask("a")
    await clients.ask("b")

    clients.tasks[1].cancel()
    await clients.end("a")
    await clients.ask("c")

    assert clients.taken() == "ac"
