"""PostgreSQL's pg_trgm, the usual choice for a search with typos, in a temporary cluster."""

import shutil
import subprocess
from collections.abc import Sequence

from local_stack import packages

#: Seconds for all queries.
_TIMEOUT = 1800
_NONE = "-"
#: Precedes the results; pg_virtualenv prints lines of its own.
_RESULTS = "results:"


def most_word_similar(queries: Sequence[str], names: Sequence[str]) -> list[str | None]:
    """The name most similar to each query by `word_similarity`, if above its threshold."""
    script = [
        "CREATE EXTENSION pg_trgm;",
        "CREATE TEMPORARY TABLE candidates (name text);",
        r"\copy candidates from stdin (format csv, delimiter E'\t', quote E'\x01')",
        *(name or _NONE for name in names),
        r"\.",
        "PREPARE best(text) AS SELECT coalesce((SELECT name FROM candidates WHERE $1 <% name",
        f" ORDER BY word_similarity($1, name) DESC, length(name) LIMIT 1), '{_NONE}');",
        r"\pset tuples_only",
        r"\pset format unaligned",
        rf"\echo {_RESULTS}",
        *(f"EXECUTE best('{_escaped(query)}');" for query in queries),
    ]
    lines = _psql("\n".join(script)).splitlines()
    first = lines.index(_RESULTS) + 1
    found = lines[first : first + len(queries)]
    return [None if name == _NONE else name for name in found]


def _escaped(text: str) -> str:
    return text.replace("'", "''")


def _psql(script: str) -> str:
    if shutil.which("pg_virtualenv") is None:
        packages.install(["postgresql"], why="PostgreSQL, a peer of this benchmark, is missing.")
    temporary_cluster = ("pg_virtualenv", "-t", "-o", "fsync=off", "--")
    done = subprocess.run(
        [*temporary_cluster, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres"],
        input=script,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"psql ended with {done.returncode}:\n{done.stderr}")
    return done.stdout
