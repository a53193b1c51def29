"""The ports that `make run` listens on: their defaults, and whether they are free.

`python -m local_stack.listening` checks them before the installation of minutes, so this and what
it imports need the standard library alone. An invalid setting is told by the run itself.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from local_stack import SetupError, ports
from local_stack.alone import alone

RUN_DIR: Final = ".run"

#: By their settings.
PORTS: Final = {
    "HTTP_PORT": 8080,
    "PORTAL_PORT": 8085,
    "MCP_PORT": 8086,
    "REGISTERS_PORT": 8090,
    "RECEIVER_PORT": 8443,
    "GATEWAY_ADMIN_PORT": 9101,
    "LOOKUP_ADMIN_PORT": 9102,
    "REGISTRY_ADMIN_PORT": 9103,
    "DISPATCHER_ADMIN_PORT": 9104,
    "INGEST_ADMIN_PORT": 9105,
    "PORTAL_ADMIN_PORT": 9106,
    "AMQP_MAPPER_PORT": 4379,
    "AMQP_PORT": 5682,
    "AMQP_MANAGEMENT_PORT": 15682,
    "AMQP_DISTRIBUTION_PORT": 25682,
    "MONGO_PORT": 27_027,
}
#: Those that listen on HTTP_HOST.
_PUBLIC: Final = ("HTTP_PORT", "PORTAL_PORT", "MCP_PORT")
#: The ports that a given server takes the place of, by the setting of its URL; the first one is the
#: port of the server's own URL.
_REPLACED: Final = {
    "AMQP_URL": ("AMQP_PORT", "AMQP_MANAGEMENT_PORT", "AMQP_DISTRIBUTION_PORT", "AMQP_MAPPER_PORT"),
    "MONGO_URL": ("MONGO_PORT",),
}
#: Of a program that is started beside the run.
_BESIDE: Final = "RECEIVER_PORT"

#: Moves a default past a port that browsers refuse; no two defaults are this far apart.
_PAST: Final = 20


def moved(name: str, offset: int) -> int:
    """Returns the default of a port with PORT_OFFSET, past those that browsers refuse."""
    port = PORTS[name] + offset
    return port + _PAST if port in ports.REFUSED_BY_BROWSERS else port


def is_given(setting: str, url: str | None, listening: Mapping[str, int]) -> bool:
    """Returns True for the URL of a server to use instead of an own one.

    The `.run/env` of an earlier run names that run's own servers.
    """
    own = listening.get(_REPLACED[setting][0])
    return bool(url) and urlsplit(url or "").netloc.rpartition("@")[2] != f"{ports.HOST}:{own}"


def listened(listening: Mapping[str, int], urls: Mapping[str, str | None]) -> dict[str, int]:
    """Returns those of the ports that a run listens on, with the given servers' URLs."""
    given = [setting for setting in _REPLACED if is_given(setting, urls.get(setting), listening)]
    others = {_BESIDE, *(name for setting in given for name in _REPLACED[setting])}
    return {name: port for name, port in listening.items() if name not in others}


def require_free(listening: Mapping[str, int], http_host: str) -> None:
    """Raises SetupError with the first taken port and the setting that changes it."""
    for name, port in listening.items():
        ports.require_free({name: port}, http_host if name in _PUBLIC else ports.HOST)


def check(environment: Mapping[str, str]) -> None:
    """Raises SetupError when a port is taken, or a run is in the folder already."""
    given = {name.upper(): value for name, value in environment.items()}
    offset = int(given.get("PORT_OFFSET", 0))
    all_ports = {name: int(given.get(name, moved(name, offset))) for name in PORTS}
    # What a killed run has left is ended first, as it will be by the run itself.
    with alone(Path(given.get("RUN_DIR", RUN_DIR))):
        require_free(listened(all_ports, given), given.get("HTTP_HOST", ports.HOST))


def main() -> None:
    try:
        check(os.environ)
    except SetupError as error:
        sys.exit(str(error))
    except (ValueError, OverflowError):
        return


if __name__ == "__main__":
    main()
