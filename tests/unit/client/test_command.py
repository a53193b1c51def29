"""`company-registry` refuses what it cannot use before it asks the service."""

import subprocess
import sys

import pytest

CLOSED = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    "arguments, rows, message",
    [
        (("--url", "http://localhost:port", "lookup", "dk", "12345674"), "", "must be a URL"),
        (("listen", "--forward", "http://localhost:port"), "", "--forward must be a URL"),
        (("--json", "events", "follow", "--cursor", "/"), "", "/: Is a directory"),
        (("batch", "-"), "country,number\ndk,1\n", "exactly one of the columns vat"),
        # Excel writes a byte order mark.
        (("batch", "-"), "\ufeffvat,country\n1,se\n", "row 1: country must be dk or no"),
        (("batch", "-"), "vat,country\n1\n", "row 1 and the header differ in length"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: tuple[str, ...], rows: str, message: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from company_registry.cli import main; main()", *arguments],
        env={"BASE_URL": CLOSED, "COLUMNS": "200"},
        input=rows.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )

    [line] = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2, b"")
    assert line.startswith("Error: ")
    assert message in line
