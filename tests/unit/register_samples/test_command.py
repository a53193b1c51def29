from pathlib import Path

import pytest

from register_samples.__main__ import run


def test_the_command_writes_and_names_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["--out", str(tmp_path), "--companies", "12"])

    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert {"no-enheter", "dk-virksomhed", "peppol"} < {kind for kind, _ in told}
    assert all(Path(path).stat().st_size for _, path in told)
