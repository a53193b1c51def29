"""kubectl without a cluster: a program that renders with the real one, and runs Jobs as processes.

Everything it is told is a line of the file `KUBECTL_LOG`. A Job runs with the environment of the
caller, if that has a `MONGO_URL`. The first look at pods finds those of the previous release.

A release starts it some forty times, hence it starts without `site`, and what takes long to import
is imported where it is used.
"""

import json
import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OLD_POD = {
    "metadata": {"name": "lookup-old", "labels": {"app.kubernetes.io/name": "lookup"}},
    "spec": {"containers": [{"image": "registry.example/company-registry/lookup:0.9.0"}]},
    "status": {"phase": "Running"},
}


def install(folder: Path) -> dict[str, str]:
    """Puts the program into a folder; returns the environment that finds it."""
    program = folder / "kubectl"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{__file__}" "$@"\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "REAL_PATH": os.environ["PATH"],
        "KUBECTL_LOG": str(folder / "log"),
        "PACKAGES": sysconfig.get_path("platlib"),
    }


def main(words: Sequence[str]) -> int:
    """Answers one command line."""
    if words[0] == "kustomize":
        import subprocess

        real = {**os.environ, "PATH": os.environ["REAL_PATH"]}
        return subprocess.run(["kubectl", *words], env=real, timeout=60, check=False).returncode
    log = Path(os.environ["KUBECTL_LOG"])
    earlier = log.read_text() if log.exists() else ""
    match words[2:]:
        case ["apply", *_]:
            given = sys.stdin.read()
            names = " ".join(each["metadata"]["name"] for each in _documents(given))
            _note(log, f"apply {names}")
            Path(f"{log}.applied").write_text(given)
        case ["create", *_]:
            [job] = _documents(sys.stdin.read())
            arguments = _run_job(log, job)
            _note(log, f"job {arguments}")
        case ["get", "pods", *_]:
            _note(log, "get pods")
            pods = [] if "get pods" in earlier else [OLD_POD]
            sys.stdout.write(json.dumps({"items": pods}))
        case ["get", "secret", name, *_]:
            sys.stdout.write(json.dumps({"data": {name: os.environ.get("SECRET", "")}}))
        case ["get", name, *_]:
            ended = "Complete" if _of(log, name, "status").read_text() == "0" else "Failed"
            status = {"conditions": [{"type": ended, "status": "True"}]}
            sys.stdout.write(json.dumps({"status": status}))
        case ["logs", name]:
            sys.stdout.write(_of(log, name, "printed").read_text())
        case rest:
            _note(log, " ".join(rest))
    return 0


def _documents(text: str) -> list[Any]:
    sys.path.append(os.environ["PACKAGES"])
    import yaml

    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def _run_job(log: Path, job: Any) -> str:
    import subprocess

    [container] = job["spec"]["template"]["spec"]["containers"]
    service = str(container["image"]).rpartition("/")[2].partition(":")[0]
    command = [sys.executable, "-m", service.replace("-", "_"), *container["args"]]
    name = f"job.batch/{len(list(log.parent.glob('*.status')))}"
    if "MONGO_URL" in os.environ:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    else:
        done = subprocess.CompletedProcess(command, 0, stdout="", stderr="")
    _of(log, name, "status").write_text(str(done.returncode))
    _of(log, name, "printed").write_text(done.stdout or done.stderr)
    sys.stdout.write(f"{name}\n")
    return " ".join([service, *container["args"]])


def _of(log: Path, name: str, what: str) -> Path:
    return log.parent / f"{name.rpartition('/')[2]}.{what}"


def _note(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
