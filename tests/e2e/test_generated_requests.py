"""Schemathesis, as its users run it, finds nothing in the API of a running system."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.conftest import Running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

CONFIGURATION: Final = Path(__file__).parents[2] / "schemathesis.toml"
#: Of a longer run; that of `make check` leaves the requests for each part of the document to
#: tests/contract/test_generated_requests.py.
SECONDS: Final = os.environ.get("GENERATED_REQUESTS_SECONDS")
LENGTH: Final = (
    ("--max-time", SECONDS) if SECONDS else ("--phases", "examples,fuzzing", "--max-examples", "5")
)
WORKERS: Final = os.environ.get("GENERATED_REQUESTS_WORKERS", "2")


async def test_schemathesis_finds_no_fault(running: Running, tmp_path: Path) -> None:
    command = (
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION), "run"),
        f"{running.system.base_url}/openapi.json",
        *("--header", f"X-API-Key: {running.key}"),
        *("--seed", "1", *LENGTH, "--workers", WORKERS, "--request-timeout", "60"),
        "--no-color",
    )

    process = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()

    assert process.returncode == 0, output.decode()
