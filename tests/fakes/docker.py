"""docker without a daemon: the images that it has, those of a registry, and what was built.

Its state is the file `state.json` beside the program: `present` has the digests of each reference,
`registry` has the digest that a reference has there now, `built` the options of each build, and
`pushed` the digest of what one pushes.
"""

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def install(folder: Path, **state: Any) -> dict[str, str]:
    """Puts the program into a folder; returns the environment that finds it."""
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "{folder}" "$@"\n')
    program.chmod(0o755)
    begun = {"present": {}, "registry": {}, "built": [], **state}
    (folder / "state.json").write_text(json.dumps(begun))
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def main(folder: Path, words: Sequence[str]) -> int:
    """Answers one command line."""
    file = folder / "state.json"
    state = json.loads(file.read_text())
    present: dict[str, list[str]] = state["present"]
    match list(words):
        case ["image", "inspect", "--format", _, reference]:
            sys.stdout.write("".join(f"{each}\n" for each in present.get(reference, [])))
            return reference not in present
        case ["image", "inspect", reference]:
            return reference not in present
        case ["pull", "--quiet", reference]:
            if reference not in state["registry"]:
                return 1
            name = re.split(r":(?!.*/)|@", reference)[0]
            named = f"{name}@{state['registry'][reference]}"
            present[reference] = present[named] = [named]
        case ["build", *options]:
            state["built"].append(options)
        case ["buildx", "build", *options]:
            state["built"].append(options)
            told = {"containerimage.digest": state["pushed"]}
            Path(options[options.index("--metadata-file") + 1]).write_text(json.dumps(told))
        case _:
            # `version`: a daemon runs.
            pass
    file.write_text(json.dumps(state))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
