"""PostgreSQL's pg_trgm over the same names, the usual choice for a search with typos.

A temporary cluster on loopback with a GIN index (`gin_trgm_ops`), `%` to find candidates and
`similarity` to order them, as PostgreSQL's manual recommends. Statements are prepared, names and
queries are folded as ours, and tables are analysed and read once before. Durability is off and
memory ample.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from local_stack import packages, ports
from local_stack.processes import Process, Program
from lookup.search.folding import fold_name

_BINARIES = Path("/usr/lib/postgresql")
_USER = "postgres"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "1GB",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "8GB",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "jit": "off",
}
_SOON = 60.0
#: Seconds for long statements, such as building the index of 3 million names.
_TIMEOUT = 1800
_WARM_UP = 20
_TIME = re.compile(r"^Time: ([\d.]+) ms", re.MULTILINE)


class PgTrgm:
    def __init__(self, binaries: Path, port: int) -> None:
        self._psql = [
            *(str(binaries / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"),
            *("-h", "127.0.0.1", "-p", str(port), "-U", _USER, "-d", "postgres"),
        ]

    def load(self, names: Path) -> None:
        """Loads and indexes a file of names (`scan.line_of`)."""
        self._run(
            "CREATE EXTENSION pg_trgm;"
            "CREATE UNLOGGED TABLE names"
            " (kind int, rank numeric, company text, key text, name text, places text,"
            " written text);"
            f"\n\\copy names from '{names}' (format csv, delimiter E'\\t', quote E'\\x01')\n"
            "CREATE INDEX ON names USING gin (name gin_trgm_ops);"
            "VACUUM ANALYZE names;"
        )

    def milliseconds(self, questions: Sequence[str]) -> list[float]:
        """Milliseconds of each query as psql measures them, including the round trip."""
        asked = [fold_name(question).spelled.replace("'", "''") for question in questions]
        lines = [f"EXECUTE best('{one}');" for one in (*asked[:_WARM_UP], *asked)]
        statement = (
            "PREPARE best(text) AS SELECT company FROM names"
            " WHERE name % $1 ORDER BY similarity(name, $1) DESC LIMIT 1;\n"
        )
        said = self._run(statement + "\\timing on\n" + "\n".join(lines))
        return [float(found) for found in _TIME.findall(said)][_WARM_UP:]

    def most_word_similar(self, questions: Sequence[str], names: Sequence[str]) -> list[str | None]:
        """The name most similar to each query by `word_similarity`, if above its threshold."""
        script = [
            "CREATE EXTENSION IF NOT EXISTS pg_trgm;",
            "CREATE TEMPORARY TABLE candidates (name text);\n",
            "\\copy candidates from stdin (format csv, delimiter E'\\t', quote E'\\x01')\n",
            *(f"{name or '-'}\n" for name in names),
            "\\.\n",
            "PREPARE best(text) AS SELECT coalesce((SELECT name FROM candidates WHERE $1 <% name",
            " ORDER BY word_similarity($1, name) DESC, length(name) LIMIT 1), '-');\n",
            "\\t on\n\\a\n",
        ]
        asked = (question.replace("'", "''") for question in questions)
        script += (f"EXECUTE best('{one}');\n" for one in asked)
        said = self._run("".join(script)).splitlines()
        return [None if line == "-" else line for line in said]

    def _run(self, script: str) -> str:
        done = subprocess.run(
            self._psql, input=script, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"psql ended with {done.returncode}:\n{done.stderr}")
        return done.stdout


@contextmanager
def pg_trgm() -> Iterator[PgTrgm]:
    """A cluster that runs while the body does."""
    binaries = _binaries()
    with TemporaryDirectory(prefix="bench-postgresql-", ignore_cleanup_errors=True) as folder:
        as_user = _unprivileged(Path(folder))
        data = Path(folder) / "data"
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", _USER, "-A", "trust"]
        subprocess.run(
            [*as_user, *initdb, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
            check=True,
            capture_output=True,
            timeout=_SOON,
            cwd=folder,
        )
        [port] = ports.free_ports(1)
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        location = ["-D", str(data), "-p", str(port), "-k", folder]
        program = Program(
            "PostgreSQL",
            [*as_user, str(binaries / "postgres"), *location, *settings],
            Path(folder) / "postgresql.log",
        )
        process = Process(program)
        try:
            ready = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            process.wait_until(
                lambda: subprocess.run(ready, check=False, timeout=_SOON).returncode == 0,
                seconds=_SOON,
            )
            yield PgTrgm(binaries, port)
        finally:
            process.stop()


def _binaries() -> Path:
    if not any(_BINARIES.glob("*/bin/postgres")):
        packages.install(["postgresql"], why="PostgreSQL, the peer of this benchmark, is missing.")
    return max(_BINARIES.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3])).parent


def _unprivileged(folder: Path) -> list[str]:
    """The prefix of commands that drops root, under which PostgreSQL refuses to run."""
    if os.geteuid() != 0:
        return []
    shutil.chown(folder, _USER, _USER)
    return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--init-groups", "--"]
