"""Errors of registers."""

from datetime import timedelta


class RegisterUnavailable(Exception):
    """A register cannot be reached; the message describes the last attempt."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        #: The wait that the register requested.
        self.retry_after = retry_after


class RegisterFault(Exception):
    """A register's answer cannot be used, and a retry would not help."""


class TransientError(Exception):
    """A failed request that may succeed when retried."""

    def __init__(
        self, reason: str, *, result: str, wait: timedelta | None = None, done: bool = True
    ) -> None:
        super().__init__(reason)
        self.result = result
        #: The wait that the register requested.
        self.wait = wait
        #: True if the register may have processed the request.
        self.done = done
