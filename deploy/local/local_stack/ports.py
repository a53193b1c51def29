"""Ports of this machine: whether they are free, and HTTP requests to them."""

import atexit
import http.client
import random
import socket
from collections import deque
from collections.abc import Mapping
from itertools import islice

from local_stack import SetupError

HOST = "127.0.0.1"

# Below the range of outgoing connections (from 32768), so that no client takes a server's port
# while the server is being restarted.
_RANGE = range(20_000, 32_000)

#: Datagram sockets on the ports that were given out last: no other process of a test run is given
#: one before its server listens.
_GIVEN_OUT: deque[socket.socket] = deque()
_MOST_GIVEN_OUT = 200


#: Ports that browsers refuse to open: https://fetch.spec.whatwg.org/#port-blocking.
REFUSED_BY_BROWSERS = frozenset(
    {
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
        *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601),
        *(636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000),
        *(6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    }
)


def is_free(port: int, host: str = HOST) -> bool:
    """Returns True if a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> tuple[int, ...]:
    """Returns this many different ports without a listener, lately given to no other process."""
    # Random, so that two test runs seldom choose the same ports; not a secret.
    candidates = random.SystemRandom().sample(_RANGE, k=len(_RANGE))
    free = (port for port in candidates if is_free(port) and _give_out(port))
    found = tuple(islice(free, count))
    if len(found) < count:
        raise SetupError(f"no {count} free ports between {_RANGE.start} and {_RANGE.stop}.")
    return found


def _give_out(port: int) -> bool:
    """Returns False for a port that this or another process has given out lately."""
    held = socket.socket(type=socket.SOCK_DGRAM)
    try:
        held.bind((HOST, port))
    except OSError:
        held.close()
        return False
    _GIVEN_OUT.append(held)
    if len(_GIVEN_OUT) > _MOST_GIVEN_OUT:
        _GIVEN_OUT.popleft().close()
    return True


@atexit.register
def _release() -> None:
    while _GIVEN_OUT:
        _GIVEN_OUT.popleft().close()


def require_free(ports: Mapping[str, int], host: str = HOST) -> None:
    """Raises SetupError with the first taken port and the setting that changes it."""
    for setting, port in ports.items():
        if not is_free(port, host):
            raise SetupError(
                f"Port {port} is taken by another program: stop that one, "
                f"or choose another port with {setting}=…, or move all ports with PORT_OFFSET=…"
            )


def http_get(port: int, path: str) -> tuple[int, bytes]:
    """Returns status and body of an HTTP answer; status 0 without one."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
