"""The budget of one search."""

import time

#: Seconds of processor time; a search of 3 million names takes some 20 ms.
_MAX_SECONDS = 1.0


class Budget:
    """The processor time of one search, from `begin` on, in the thread that searches.

    A query cannot be stopped, so a search checks its budget before each.
    """

    def __init__(self, seconds: float = _MAX_SECONDS) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._used = 0.0
        self._abandoned = False

    @property
    def used(self) -> float:
        """Seconds used so far; any thread may read them."""
        return self._used

    def begin(self) -> None:
        """Starts counting, before the text is parsed."""
        self._began = time.thread_time()

    def abandon(self) -> None:
        """Ends the search before its next query; any thread may call this."""
        self._abandoned = True

    def check(self) -> None:
        """Raises TimeoutError if the search was abandoned or its time is over."""
        if self._began is None:
            self.begin()
        self.note()
        if self._abandoned or self._used > self._seconds:
            raise TimeoutError("the search took too long")

    def note(self) -> None:
        """Counts the time used so far."""
        if self._began is not None:
            self._used = time.thread_time() - self._began
