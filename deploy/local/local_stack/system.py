"""The system as it is deployed: each service as a process, started by its entry point."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local_stack import ports
from local_stack.processes import Process, Program, complete

#: Seconds for a process to be ready or to end on this machine.
SOON = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    """A running service and its operational port."""

    process: Process
    admin_port: int

    @property
    def admin_url(self) -> str:
        return f"http://127.0.0.1:{self.admin_port}"

    def is_ready(self) -> bool:
        return ports.http_get(self.admin_port, "/readyz")[0] == 200

    def wait_until_ready(self) -> None:
        self.process.wait_until(self.is_ready, seconds=SOON)


@dataclass
class System:
    """Starts services against one broker and one set of databases, and ends them all."""

    folder: Path
    amqp_url: str
    mongo_url: str
    #: Further settings of every service, such as the names of the databases.
    environment: Mapping[str, str]
    #: Further settings of single services by module, such as another user of a server.
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    services: dict[str, Service] = field(default_factory=dict)
    base_port: int = field(default_factory=lambda: ports.free_ports(1)[0])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.base_port}"

    def start(
        self,
        module: str,
        *,
        name: str | None = None,
        command: Sequence[str] = ("serve",),
        **settings: str,
    ) -> Service:
        """Starts a service, or one of its commands that serve, without waiting for it.

        Settings are given by their names, which may be in lower case.
        """
        given = {setting.upper(): value for setting, value in settings.items()}
        port = int(given.get("ADMIN_PORT") or ports.free_ports(1)[0])
        program = Program(
            name or module,
            [sys.executable, "-m", module, *command],
            self.folder / f"{name or module}.log",
            {**self.settings_of(module), "ADMIN_PORT": str(port), **given},
        )
        service = Service(Process(program), port)
        self.services[name or module] = service
        return service

    def run(self, module: str, *arguments: str) -> tuple[int, str, str]:
        """Runs a command of a service to its end; returns exit status, output and errors."""
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            env={**os.environ, **self.settings_of(module)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def demand(self, module: str, *arguments: str, seconds: float = SOON) -> str:
        """Returns the output of a service's command; raises SetupError if it failed."""
        command = [sys.executable, "-m", module, *arguments]
        return complete(command, self.settings_of(module), seconds=seconds).strip()

    def issue_key(self, owner: str) -> str:
        """Returns a key with every scope."""
        every = ("lookup", "webhooks", "events", "export")
        scopes = [part for scope in every for part in ("--scope", scope)]
        issue = ("keys", "issue", "--owner", owner, "--name", "every scope", *scopes)
        return self.demand("gateway", *issue)

    def full_environment(self) -> dict[str, str]:
        """Returns this process's environment with the settings that all services share."""
        return {**os.environ, **self._shared()}

    def log_of(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def close(self) -> None:
        for service in reversed(self.services.values()):
            service.process.terminate()
        for service in reversed(self.services.values()):
            service.process.stop()

    def settings_of(self, module: str) -> dict[str, str]:
        """Returns the further environment of a service and of its commands."""
        return {**self._shared(), **self.own.get(module, {})}

    def _shared(self) -> dict[str, str]:
        return {
            "AMQP_URL": self.amqp_url,
            "MONGO_URL": self.mongo_url,
            "HTTP_PORT": str(self.base_port),
            "INDEX_DIR": str(self.folder / "index"),
            **self.environment,
        }
