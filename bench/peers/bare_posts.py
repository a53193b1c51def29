"""`python -m bench.peers.bare_posts CA_FILE SECONDS AT_ONCE SIZE URL…`: the least a sender can do.

Posts SIZE bytes to the URLs in turn, AT_ONCE at a time, over kept connections, and prints how many
were answered a second: no queue, no database, no signature, no log, no limits.
"""

import asyncio
import itertools
import ssl
import sys
import time

import aiohttp
import uvloop


async def post(ca_file: str, seconds: float, at_once: int, size: int, urls: list[str]) -> float:
    body = b"x" * size
    turn = itertools.cycle(urls)
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca_file), limit=0)
    answered = 0
    async with aiohttp.ClientSession(connector=connector) as session:

        async def one_after_another(until: float) -> None:
            nonlocal answered
            while time.monotonic() < until:
                async with session.post(next(turn), data=body) as response:
                    await response.read()
                    answered += response.status == 204

        # Connections are made before the clock runs.
        await asyncio.gather(*(one_after_another(time.monotonic() + 1) for _ in range(at_once)))
        answered, started = 0, time.monotonic()
        await asyncio.gather(*(one_after_another(started + seconds) for _ in range(at_once)))
        return answered / (time.monotonic() - started)


if __name__ == "__main__":
    ca, duration, parallel, length, *targets = sys.argv[1:]
    print(uvloop.run(post(ca, float(duration), int(parallel), int(length), targets)))
