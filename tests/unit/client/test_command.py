"""`company-registry` refuses what it cannot use before it asks the service."""

import subprocess
import sys
from pathlib import Path

import pytest

CLOSED = "http://127.0.0.1:1"


CREATE = ("webhooks", "create", "https://example.com")


@pytest.mark.parametrize(
    "arguments, rows, message",
    [
        (("--url", "http://localhost:port", "lookup", "dk", "12345674"), "", "must be a URL"),
        (("listen", "--forward", "http://localhost:port"), "", "--forward must be a URL"),
        (("--json", "events", "follow", "--cursor", "/"), "", "/: Is a directory"),
        (("batch", "-"), "country,number\ndk,1\n", "must have one of the columns vat, name"),
        (("batch", "-"), "vat\n1\n", "give --country dk or no"),
        (("batch", "missing.csv"), "", "missing.csv: there is no such file"),
        (("batch", "."), "", ".: Is a directory"),
        (("batch", "-", "--country", "no", "--by", "x"), "vat\n", "--by must be a known column"),
        (
            (*CREATE, "--filter", "-"),
            "x",
            "the JSON of a filter",
        ),
        (
            (*CREATE, "--filter", "-"),
            '{"contries": ["dk"]}',
            "a filter has no contries",
        ),
        ((*CREATE, "--company", "@gone"), "", "gone: No such"),
        (("webhooks", "update", "wh_1"), "", "give what to change"),
        (("webhooks", "rotate-secret", "wh_1"), "y\n", "give --yes"),
        (("webhooks", "rotate", "wh_1"), "y\n", "give --yes"),
        (("webhooks", "delete", "wh_1"), "y\n", "give --yes"),
        (("login", "--profile", "a/b"), "", "--profile must be letters"),
        (("login",), "", "standard input must hold the key"),
        (("lookup", "dk", "1", "--profile", "nope"), "", "there is no profile nope"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: tuple[str, ...], rows: str, message: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from company_registry.cli import main; main()", *arguments],
        env={"BASE_URL": CLOSED, "XDG_CONFIG_HOME": str(tmp_path)},
        input=rows.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )

    line = done.stderr.decode().splitlines()[-1]
    assert (done.returncode, done.stdout) == (2, b"")
    assert line.startswith("Error: ")
    assert message in line
