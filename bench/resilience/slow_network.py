"""Runs in a network namespace: python slow_network.py <seconds of delay> <share lost> <seed>.

Delays the packets that iptables gives to the queue `QUEUE`, and loses some, as `tc netem` does; not
every kernel has that. The environment `.tools` of `make chaos-cluster` has fnfqueue.
"""

import random
import sys
import threading
import time
from queue import SimpleQueue
from typing import Any

QUEUE = 7
_MAX_WAITING = 1 << 16


def _accept(waiting: SimpleQueue[tuple[float, Any]]) -> None:
    """Lets each packet pass when its time has come; all have the same delay."""
    while True:
        due, packet = waiting.get()
        time.sleep(max(0.0, due - time.monotonic()))
        packet.accept()


def main() -> None:
    import fnfqueue

    delay, lost, chance = float(sys.argv[1]), float(sys.argv[2]), random.Random(sys.argv[3])
    waiting: SimpleQueue[tuple[float, Any]] = SimpleQueue()
    threading.Thread(target=_accept, args=[waiting], daemon=True).start()
    # Only the heads of packets are read.
    connection = fnfqueue.Connection(packet_size=4096)
    queue = connection.bind(QUEUE)
    queue.set_mode(0, fnfqueue.COPY_META)
    queue.set_maxlen(_MAX_WAITING)
    print("ready", flush=True)
    while True:
        try:
            for packet in connection:
                if chance.random() < lost:
                    packet.drop()
                else:
                    waiting.put((time.monotonic() + delay, packet))
        except fnfqueue.BufferOverflowException:  # those packets are lost
            connection.reset()


if __name__ == "__main__":
    main()
