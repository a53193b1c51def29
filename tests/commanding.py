"""Commands of the services in this process, where a test is about what one does and says.

A process of its own takes half a second of a processor to start, in which it only imports. A
command that sets up logging needs one.
"""

import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO

import pytest

from local_stack.system import System


def run_here(system: System, module: str, *arguments: str) -> tuple[int, str, str]:
    """`system.run` without a process: exit status, standard output and error."""
    return run_main(module, *arguments, environment={**os.environ, **system.settings_of(module)})


def run_main(module: str, *arguments: str, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """`python -m <module>` with this environment: exit status, standard output and error."""
    output, error = StringIO(), StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(output),
        redirect_stderr(error),
        # A command runs a loop of its own, which the thread of an asynchronous test has already.
        ThreadPoolExecutor(1) as thread,
    ):
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        status = thread.submit(_status, module, arguments).result()
    return status, output.getvalue(), error.getvalue()


def _status(module: str, arguments: tuple[str, ...]) -> int:
    try:
        import_module(f"{module}.commands").main(arguments)
    except SystemExit as ended:
        if not isinstance(ended.code, str):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")
        return 1
    return 0
