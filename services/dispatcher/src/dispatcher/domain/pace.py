"""When the slots of posts that timed out are free again."""

import math

#: Seconds between two moments at which such slots are freed: those of one moment share their
#: queries and writes, and are few enough that their TLS handshakes delay nobody.
TICK = 0.25


class Pace:
    """Spreads them over time, owner by owner.

    Posts that begin together time out together. If their slots were free at once, the next posts
    to hanging receivers would begin together again, and their handshakes and results would delay
    all other owners at each time-out. `step` is the time limit of a post divided by the slots of
    an owner: an owner whose receivers all hang does not free slots faster anyway.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._next: dict[str, float] = {}

    def wait(self, owner: str, now: float) -> float:
        """Seconds until the slot that the owner gives back `now` is free."""
        self._next = {one: at for one, at in self._next.items() if at > now}
        at = self._next.get(owner, now)
        self._next[owner] = at + self._step
        return max(0.0, math.ceil(at / TICK) * TICK - now)
