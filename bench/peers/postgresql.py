"""A private PostgreSQL on a Unix socket, driven by `psql`, whose clock times the queries."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path


def is_installed() -> bool:
    """Returns True if the server's programs are installed."""
    return any(_folders())


def _folders() -> list[Path]:
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _programs() -> Path:
    return _folders()[-1]


class PostgreSql:
    """A private cluster; its processes end with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.chmod(0o755)
        self._bin = _programs()
        self._data = folder / "data"
        #: PostgreSQL refuses to run as root.
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", str(self._data), "-E", "UTF8", "--locale=C")
        options = (
            f"-k {folder} -c listen_addresses='' -c shared_buffers=1GB -c work_mem=64MB "
            "-c max_wal_size=8GB -c fsync=off"
        )
        log = str(folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-o", options, "-l", log, "start")

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as, str(self._bin / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def sql(self, text: str) -> str:
        """Runs a script; returns what psql prints."""
        script = self._folder / "script.sql"
        script.write_text(text)
        psql = [str(self._bin / "psql"), "-h", str(self._folder), "-d", "postgres", "-qAt"]
        command = [*self._as, *psql, "-v", "ON_ERROR_STOP=1", "-f", str(script)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")
        return done.stdout

    def load(self, table: str, rows: Iterable[str]) -> None:
        """Copies tab-separated rows into a table."""
        file = self._folder / f"{table}.tsv"
        with file.open("w") as out:
            out.writelines(rows)
        file.chmod(0o644)
        self.sql(f"copy {table} from '{file}'")
        file.unlink()

    def size(self, *tables: str) -> float:
        """Returns the megabytes of tables with their indexes."""
        sizes = " + ".join(f"pg_total_relation_size('{each}')" for each in tables)
        return int(self.sql(f"select {sizes}")) / 1e6

    def timed(self, queries: Sequence[Sequence[str]]) -> tuple[list[float], list[list[str]]]:
        """Returns the milliseconds and the answers of each group of queries."""
        lines = ["\\timing on"]
        for group in queries:
            lines += ["\\echo GROUP", *(f"{query};" for query in group)]
        milliseconds, answers = [], []
        for part in self.sql("\n".join(lines)).split("GROUP\n")[1:]:
            milliseconds.append(
                sum(float(each) for each in re.findall(r"^Time: ([0-9.]+) ms", part, re.M))
            )
            answers.append([line for line in part.splitlines() if not line.startswith("Time:")])
        return milliseconds, answers

    def stop(self) -> None:
        """Ends the cluster."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")
