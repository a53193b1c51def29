"""Turns of clients that share the threads of searches."""

import asyncio

import pytest

from lookup.search.scheduling import FairQueue


class Clients:
    """Searches of clients; each holds its turn until it is ended, one with a capital goes first."""

    def __init__(self, queue: FairQueue) -> None:
        self.queue = queue
        #: The clients in the order in which their searches began.
        self.begun = ""
        self.tasks: list[asyncio.Task[None]] = []

    async def follow(self, script: str) -> None:
        """`a*2` begins two searches of a client, `-a` ends one, and `!1` gives up the second.

        Steps that a comma joins happen at the same moment.
        """
        for moment in script.split():
            for step in moment.split(","):
                if step[0] == "-":
                    self.queue.end(step[1], 1.0)
                elif step[0] == "!":
                    self.tasks[int(step[1])].cancel()
                else:
                    times = int(step[2:] or 1)
                    self.tasks += [asyncio.create_task(self._ask(step[0])) for _ in range(times)]
            for _ in range(3):
                await asyncio.sleep(0)

    async def _ask(self, client: str) -> None:
        await self.queue.begin(client.lower(), first=client.isupper())
        self.begun += client


@pytest.mark.parametrize(
    "per_client,others,script,begun",
    [
        (2, 1, "a*5 b*2", "aab"),
        (2, 1, "a*50 b c -a", "aabc"),
        # A search that is given up takes no turn, and passes on one that just came.
        (1, 0, "a b*2 !1 -a -b c", "abc"),
        (1, 0, "a b c -a,!1", "ac"),
        (1, 0, "a b !1,-a c", "ac"),
        # Of one client, work that ends goes before work that begins; other clients are unaffected.
        (1, 0, "a b a*2 A -a -b -a -a", "abAaa"),
    ],
    ids=[
        "a place beyond",
        "a quiet client is next",
        "given up",
        "as it came",
        "just before",
        "the end first",
    ],
)
async def test_turns_are_given_in_order(
    per_client: int, others: int, script: str, begun: str
) -> None:
    clients = Clients(FairQueue(per_client, others))

    await clients.follow(script)

    assert clients.begun == begun


async def test_clients_get_equal_time_and_not_equal_searches() -> None:
    clients = Clients(FairQueue(per_client=1, others=0))
    await clients.follow("a*100 b*100")

    for _ in range(50):
        running = clients.begun[-1]
        clients.queue.end(running, {"a": 4.0, "b": 1.0}[running])
        await asyncio.sleep(0)

    assert 4 * clients.begun.count("a") == pytest.approx(clients.begun.count("b"), abs=4)


async def test_a_client_saves_up_no_time_while_it_is_quiet() -> None:
    clients = Clients(FairQueue(per_client=1, others=0))
    await clients.follow("a*100 " + "-a " * 20 + "b*100")

    for _ in range(11):
        await clients.follow(f"-{clients.begun[-1]}")

    assert 4 <= clients.begun[21:].count("a") <= 6


async def test_clients_that_have_gone_are_forgotten() -> None:
    queue = FairQueue(per_client=1)
    await queue.begin("busy")

    for number in range(5_000):
        await queue.begin(str(number))
        queue.end(str(number), 0.001)

    assert len(queue._used) <= 1_001
    queue.end("busy", 1.0)
    assert not queue._used
