"""State of a run that spares the next one repeated work."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from local_stack.private_file import write_private


@dataclass(frozen=True, slots=True)
class State:
    """True of one database; another one begins with nothing."""

    database: str
    api_key: str | None = None
    #: The digest of the file that was last loaded whole, by its kind.
    loaded: dict[str, str] = field(default_factory=dict)

    def with_key(self, api_key: str) -> "State":
        return replace(self, api_key=api_key)

    def with_loaded(self, kind: str, digest: str) -> "State":
        return replace(self, loaded={**self.loaded, kind: digest})


def read(path: Path, *, database: str) -> State:
    """The steps completed for a database."""
    try:
        known = State(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return State(database)
    return known if known.database == database else State(database)


def write(path: Path, state: State) -> None:
    """Keeps it."""
    write_private(path, json.dumps(asdict(state)))
