"""The budget of one search."""

import time

#: Seconds of processor time; a search of 3 million names takes some 20 ms.
_MAX_SECONDS = 1.0


class Budget:
    """The processor time of one search; created in the thread that searches, or before it starts.

    A query cannot be stopped, so a search checks its budget before each.
    """

    def __init__(self, seconds: float = _MAX_SECONDS) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._abandoned = False

    def abandon(self) -> None:
        """Ends the search before its next query; any thread may call this."""
        self._abandoned = True

    def check(self) -> None:
        """Raises TimeoutError if the search was abandoned or its time is over."""
        if self._began is None:
            self._began = time.thread_time()
        if self._abandoned or time.thread_time() - self._began > self._seconds:
            raise TimeoutError("the search took too long")
