"""Errors of the broker, translated from those of the libraries."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import aiormq.exceptions
import structlog
from aio_pika.exceptions import DeliveryError

from common.contracts.failures import Unavailable

#: Exceptions of the libraries when the broker is unavailable, refuses, or closes a channel.
_BROKER_ERRORS = (aiormq.exceptions.AMQPError, OSError, TimeoutError, RuntimeError)

log = structlog.get_logger()


class BrokerUnavailable(Unavailable):
    """The broker cannot be reached, or did not take a message in time."""


@contextmanager
def broker_calls() -> Iterator[None]:
    """Raise BrokerUnavailable for every error that the libraries raise when a broker call fails.

    Only an unroutable message keeps its own exception, aio_pika's DeliveryError.
    """
    try:
        yield
    except (DeliveryError, BrokerUnavailable):
        raise
    except _BROKER_ERRORS as error:
        _stay_cancelled(error)
        # Clients see this message; the library's, which names hosts and queues, stays internal.
        log.debug("broker.call_failed", reason=repr(error))
        raise BrokerUnavailable("the broker cannot be reached") from error
    except Exception as error:
        # aiormq fails calls in flight with a bare Exception when it is closed without a reason.
        if type(error) is not Exception:
            raise
        _stay_cancelled(error)
        raise BrokerUnavailable("the connection was closed") from error


def reason_of(error: BrokerUnavailable) -> str:
    """Returns the reason for the log, with the library's own error if there is one."""
    return str(error) if error.__cause__ is None else f"{error}: {error.__cause__!r}"


def _stay_cancelled(error: Exception) -> None:
    """Raises CancelledError when it caused the library's error.

    aiormq replaces it when its connection is lost at the same time. A caller that retries after
    an error would otherwise never be cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error
