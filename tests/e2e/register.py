"""The registers as these tests change them: files of a few records, loaded by the importer."""

import asyncio
import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from local_stack.system import System
from tests.commanding import run_here


@dataclass(frozen=True)
class Register:
    system: System
    folder: Path
    _numbers: "count[int]" = field(default_factory=count)

    async def load(self, kind: str, *records: dict[str, Any]) -> None:
        """Loads a file of these records, newer than every one before."""
        file = self.folder / f"{kind}-{next(self._numbers)}.json"
        file.write_text(json.dumps(records))
        await self._run("import", kind, str(file))

    async def remove(self, country: str, number: str) -> None:
        """Purges a company as its register ordered."""
        await self._run("remove", country, number)

    async def _run(self, *arguments: str) -> None:
        status, _, said = await asyncio.to_thread(run_here, self.system, "ingest", *arguments)
        assert status == 0, said


def an_entity(number: str, name: str, **fields: Any) -> dict[str, Any]:
    """A Norwegian entity."""
    return {"organisasjonsnummer": number, "navn": name, **fields}
