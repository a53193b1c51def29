import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from register_samples import (
    companies_dk,
    companies_no,
    roles_no,
    units_dk,
    units_no,
)

Stream = Callable[..., Iterator[dict[str, Any]]]

#: Writes a register and prints the peak memory of the process in kilobytes. (Not by `getrusage`,
#: which includes the parent's memory at the start of the process.)
_WRITE = """
import re, sys
from pathlib import Path
from register_samples import write_registers
write_registers(Path(sys.argv[1]), 2500)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.parametrize("stream", [companies_dk, companies_no, roles_no, units_dk, units_no])
def test_a_part_of_a_stream_equals_the_same_part_of_the_whole(
    stream: Stream,
) -> None:
    whole = list(stream(60))
    start, part = list(stream(35)), list(stream(25, start=35))

    assert [*start, *part] == whole


def test_a_stream_of_any_length_starts_at_once() -> None:
    assert len(list(islice(companies_no(7_000_000), 3))) == 3


def test_memory_does_not_grow_with_the_register(tmp_path: Path) -> None:
    # As objects the documents of this register would take some 120 MB.
    command = [sys.executable, "-c", _WRITE, str(tmp_path)]

    told = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120)

    assert int(told.stdout) < 70_000
