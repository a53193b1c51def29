import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from register_samples import (
    companies_dk,
    companies_no,
    participants,
    units_no,
    write_registers,
)
from register_samples.__main__ import run

COUNT = 120


def _array(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        found: list[dict[str, Any]] = json.load(file)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_kind_has_a_file_named_after_it(tmp_path: Path) -> None:
    written = write_registers(tmp_path / "new", 12)

    assert {kind: path.name for kind, path in written.items()} == {
        "no-enheter": "no-enheter.json.gz",
        "no-underenheter": "no-underenheter.json.gz",
        "no-roller": "no-roller.json.gz",
        "dk-virksomhed": "dk-virksomhed.jsonl",
        "dk-produktionsenhed": "dk-produktionsenhed.jsonl",
        "peppol": "peppol.json",
    }
    assert set(written.values()) == set((tmp_path / "new").iterdir())


def test_files_hold_the_documents(tmp_path: Path) -> None:
    written = write_registers(tmp_path, COUNT)

    assert _array(written["no-enheter"]) == list(companies_no(COUNT))
    assert _array(written["no-underenheter"]) == list(units_no(COUNT))
    assert _lines(written["dk-virksomhed"]) == list(companies_dk(COUNT))
    export = json.loads(written["peppol"].read_text())
    assert export["version"] == 2
    assert export["bc"] == list(participants(COUNT))


def test_the_same_register_written_twice_is_the_same_bytes(tmp_path: Path) -> None:
    one = write_registers(tmp_path / "one", 40)
    other = write_registers(tmp_path / "other", 40)

    for kind, path in one.items():
        assert path.read_bytes() == other[kind].read_bytes()


def test_the_command_writes_and_names_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["--out", str(tmp_path), "--companies", "12"])

    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert {"no-enheter", "dk-virksomhed", "peppol"} < {kind for kind, _ in told}
    assert all(Path(path).stat().st_size for _, path in told)


@pytest.mark.parametrize("companies", ["0", "-5", "999999999"])
def test_a_number_of_companies_that_no_register_has_is_reported_in_a_sentence(
    companies: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(["--out", str(tmp_path), f"--companies={companies}"])

    assert stopped.value.code == 2
    assert "must be from 1 to 891000" in capsys.readouterr().err
