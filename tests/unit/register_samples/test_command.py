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


@pytest.mark.parametrize("companies", ["0", "-5", "999999999"])
def test_a_number_of_companies_that_no_register_has_is_reported_in_a_sentence(
    companies: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(["--out", str(tmp_path), f"--companies={companies}"])

    assert stopped.value.code == 2
    assert "must be from 1 to 891000" in capsys.readouterr().err
