"""A virtual environment for each peer, so that its dependencies do not constrain ours."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_TIMEOUT = 300.0


def programs(peer: str) -> Path:
    """The `bin` folder of the peer's environment, made when it is not there or not the same.

    Its packages are pinned, with hashes, in `bench/peers/<peer>.txt`.
    """
    requirements = Path(__file__).parent / "peers" / f"{peer}.txt"
    mark = sha256(requirements.read_bytes()).hexdigest()[:16]
    folder = _ROOT / ".bench" / "environments" / f"{peer}-{mark}"
    if not (folder / "installed").exists():
        print(f"installing {peer} …", file=sys.stderr, flush=True)
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        pip = (str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-qq")
        _run(*pip, "install", "--require-hashes", "-r", str(requirements))
        (folder / "installed").touch()
    return folder / "bin"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL)
