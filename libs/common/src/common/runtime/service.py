"""Start and stop of a service process."""

import argparse
import asyncio
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import structlog
import uvloop

from common.runtime import logs, tracing
from common.runtime.health import Health, admin_port, describe_build, measure_loop_lag
from common.runtime.settings import ProcessSettings, shown
from common.runtime.tasks import CannotContinue, background
from common.runtime.workers import spare_the_collector

#: Seconds beyond its delay and grace after which a process that was to stop is ended. A task may
#: hang: drivers have lost cancellations, and a library may wait for a server without a limit.
_OVERTIME = 10.0

S = TypeVar("S", bound=ProcessSettings)

#: Builds the running service onto the stack, in start-up order; leaving undoes it in reverse.
Build = Callable[[S, AsyncExitStack, Health], Awaitable[None]]


class _CannotStart(CannotContinue):
    """A port is taken or a folder is unusable; the message is the system's."""


def chosen_command(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """Parses a command line, `sys.argv` when None; an empty one shows the help and exits with 2."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser.print_help(sys.stderr)
        sys.exit(2)
    return parser.parse_args(given)


def run(name: str, settings: S, build: Build[S]) -> None:
    """Runs a service until SIGTERM or SIGINT at any stage; further signals are ignored.

    Exits with 1 where it cannot start, or cannot continue: a side task that fails ends it.
    """
    write_out_lines = logs.configure(settings.log_level, service=name)
    status = 0
    try:
        uvloop.run(_main(name, settings, build))
    except (CannotContinue, ExceptionGroup) as error:
        fault = _fault_in(error)
        verb = "start" if isinstance(fault, _CannotStart) else "continue"
        if fault is None:
            traceback.print_exception(error)
        else:
            sys.stderr.write(f"{name} cannot {verb}: {fault}\n")
        status = 1
    # Python itself would first wait for every thread, and one that queries an unresponsive name
    # server takes half a minute. Everything has been closed already.
    write_out_lines()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _fault_in(error: Exception) -> CannotContinue | None:
    faults, others = ExceptionGroup("", [error]).split(CannotContinue)
    fault: Exception | None = faults
    while isinstance(fault, ExceptionGroup):
        fault = fault.exceptions[0]
    return fault if others is None and isinstance(fault, CannotContinue) else None


async def _main(name: str, settings: S, build: Build[S]) -> None:
    # The serving task is cancelled rather than an event set, so that a signal also ends a
    # start-up that waits for an unresponsive broker.
    serving = asyncio.create_task(_serve(name, settings, build))

    loop = asyncio.get_running_loop()
    limit = (settings.shutdown_delay + settings.shutdown_grace).total_seconds() + _OVERTIME

    def stop() -> None:
        # Once: a second signal would interrupt the work that the shutdown waits for.
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: None)
        loop.call_later(limit, _end, name)
        serving.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await serving
    except asyncio.CancelledError:
        structlog.get_logger().info("service.stopped")


def _end(name: str) -> None:
    sys.stderr.write(f"{name} did not stop within its grace\n")
    os._exit(1)


async def _serve(name: str, settings: S, build: Build[S]) -> None:
    log = structlog.get_logger()
    log.info("service.starting", name=name, settings=shown(settings))
    describe_build(name)
    health = Health()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(exporting_spans(settings, name))
        try:
            await stack.enter_async_context(
                admin_port(health, host=settings.admin_host, port=settings.admin_port)
            )
            await build(settings, stack, health)
        except OSError as error:
            raise _CannotStart(str(error)) from error
        await stack.enter_async_context(background(measure_loop_lag()))
        # A side task that failed has cancelled this one, and a driver may have lost that.
        if (serving := asyncio.current_task()) is not None and serving.cancelling():
            raise asyncio.CancelledError
        spare_the_collector()
        health.serving = True
        log.info("service.started")
        try:
            await asyncio.Event().wait()
        finally:
            # Readiness fails before anything is closed, so that no new work arrives.
            health.serving = False
            log.info("service.stopping")
            await asyncio.sleep(settings.shutdown_delay.total_seconds())


@asynccontextmanager
async def exporting_spans(settings: ProcessSettings, service: str) -> AsyncIterator[None]:
    """Exports spans during the body, if a collector is configured."""
    if not settings.otel_exporter_otlp_endpoint:
        yield
        return
    # Imported only if needed: the packages take a third of a second and some memory.
    from common.runtime import otlp

    async with otlp.exporting(
        settings.otel_exporter_otlp_endpoint,
        settings.otel_service_name or service,
        share=settings.otel_traces_sampler_arg,
    ) as tracing.tracer:
        try:
            yield
        finally:
            tracing.tracer = None
