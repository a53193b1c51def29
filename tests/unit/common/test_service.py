"""Shutdown of a service process."""

import subprocess
import sys

#: A service with a thread that cannot be stopped, such as one that waits for a name server.
STUCK = """
import time
from concurrent.futures import ThreadPoolExecutor

from common.runtime.service import run
from common.runtime.settings import ProcessSettings

async def build(settings, stack, health):
    ThreadPoolExecutor(1).submit(time.sleep, 60)

run("stuck", ProcessSettings(admin_port=0), build)
"""


def test_shutdown_does_not_wait_for_threads() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "service.started" in line)

        process.terminate()

        assert process.wait(20) == 0
        assert "service.stopped" in process.stdout.read()
