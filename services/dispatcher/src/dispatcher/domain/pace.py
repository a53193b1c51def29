"""Pacing of slots that timed-out posts release."""

import math

#: Seconds between two releases: slots of one release share their queries and writes, and are few
#: enough that their TLS handshakes cause no delay.
TICK = 0.25


class Pace:
    """Spreads the releases over time, per owner.

    Posts that start together time out together. If their slots were released at once, the next
    posts to hanging receivers would start together again, and their handshakes and results would
    delay all other owners at each timeout. `step` is the post timeout divided by the slots of an
    owner: the rate at which an owner whose receivers all hang releases slots on average.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._next: dict[str, float] = {}

    def wait(self, owner: str, now: float) -> float:
        """Returns the seconds until a slot that the owner returns `now` is released."""
        self._next = {one: at for one, at in self._next.items() if at > now}
        at = self._next.get(owner, now)
        self._next[owner] = at + self._step
        return max(0.0, math.ceil(at / TICK) * TICK - now)
