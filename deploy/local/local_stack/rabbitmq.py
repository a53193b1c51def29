"""A private RabbitMQ from Debian's package: own folder, node name, ports and port mapper.

It is separate from a RabbitMQ that runs system-wide, and leaves nothing behind.
"""

import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from local_stack import packages, ports
from local_stack.management import Management, ManagementError
from local_stack.processes import Process, Program, Server, complete

# The script of this name in /usr/sbin changes user; this one runs as its caller.
_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_PROGRAMS = Path("/usr/lib/rabbitmq/bin")
_EPMD = "epmd"

#: Seconds; it takes 5 to 6 on an idle machine.
START_TIMEOUT = 90.0
#: Seconds for a command of rabbitmqctl.
_CONTROL_TIMEOUT = 60.0

#: The maximum message size is RabbitMQ 4's default, an eighth of that of 3.10.
_CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{amqp}
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
max_message_size = 16777216
log.file = false
log.console = true
"""
#: The cluster that a new node joins at its start.
_CLUSTER = "cluster_formation.classic_config.nodes.1 = {name}\n"

#: The plugin for Prometheus, where a port is given.
_METRICS = "prometheus.tcp.ip = 127.0.0.1\nprometheus.tcp.port = {port}\n"

_ON_LOOPBACK = "-kernel inet_dist_use_interface {127,0,0,1}"

# Erlang would otherwise start a resolver process of its own, which outlives a killed broker.
_NAMES = '{host, {127,0,0,1}, ["localhost"]}.\n{lookup, [file]}.\n'


@dataclass(frozen=True, slots=True)
class RabbitPorts:
    amqp: int
    management: int
    #: Erlang's distribution, which RabbitMQ requires, and its port mapper (epmd).
    distribution: int
    mapper: int

    @classmethod
    def free(cls) -> "RabbitPorts":
        return cls(*ports.free_ports(4))


def ensure_installed() -> None:
    """Installs the package if it is missing."""
    if not _SERVER.exists() or shutil.which(_EPMD) is None:
        packages.install(["rabbitmq-server"], why="RabbitMQ is missing.")


class RabbitMQ(Server):
    """The broker and its port mapper.

    RabbitMQ 3.10 that is killed, as by a power failure, loses a quorum queue that was declared up
    to two seconds before: the queue still exists but never has a leader. A second node `joins` the
    cluster of a first one, whose port mapper and cookie it uses.
    """

    def __init__(
        self,
        where: Path,
        ports: RabbitPorts,
        *,
        joins: "RabbitMQ | None" = None,
        metrics_port: int | None = None,
    ) -> None:
        super().__init__()
        self.ports: RabbitPorts = (
            ports if joins is None else replace(ports, mapper=joins.ports.mapper)
        )
        self._where = where.absolute()
        self._joins = joins
        #: Of the plugin for Prometheus, if it is enabled.
        self.metrics_port = metrics_port
        self._home = self._where if joins is None else joins._where
        self._name = "company-registry@localhost" if joins is None else "second@localhost"

    @property
    def amqp_url(self) -> str:
        """The URL without a virtual host: `amqp_url + "/" + vhost` is complete."""
        return f"amqp://guest:guest@127.0.0.1:{self.ports.amqp}"

    @property
    def management_url(self) -> str:
        return f"http://guest:guest@127.0.0.1:{self.ports.management}"

    def begin(self) -> None:
        self._write_files()
        if self._joins is None:
            # Started here, because Erlang would leave it running.
            mapper = Process(
                Program(
                    "epmd",
                    [_EPMD, "-port", str(self.ports.mapper), "-address", "127.0.0.1"],
                    self._where / "epmd.log",
                )
            )
            self._running = [mapper]
            mapper.wait_until(self._mapper_answers, seconds=10)
        self._running.append(
            Process(
                Program(
                    "RabbitMQ", [str(_SERVER)], self._where / "rabbitmq.log", self._environment()
                )
            )
        )

    def ready(self) -> None:
        """Waits until clients may connect."""
        self._running[-1].wait_until(self._serves, seconds=START_TIMEOUT)

    def set_memory_alarm(self, *, raised: bool) -> None:
        """Raises or ends a memory alarm, during which the broker accepts no messages."""
        watermark = "0.000001" if raised else "0.4"
        self.control("rabbitmqctl", "set_vm_memory_high_watermark", watermark)

    def control(self, program: str, *arguments: str) -> str:
        """Returns the output of a program of RabbitMQ about this node, or raises SetupError."""
        command = [str(_PROGRAMS / program), *arguments]
        return complete(command, self._environment(), seconds=_CONTROL_TIMEOUT)

    def _mapper_answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.ports.mapper), 1):
            return True
        return False

    def _serves(self) -> bool:
        try:
            return Management(self.management_url).is_listening(self.ports.amqp)
        except ManagementError:
            return False

    def _write_files(self) -> None:
        self._where.mkdir(parents=True, exist_ok=True)
        configuration = _CONFIGURATION.format(
            amqp=self.ports.amqp, management=self.ports.management
        )
        plugins = "rabbitmq_management"
        if self._joins is not None:
            configuration += _CLUSTER.format(name=self._joins._name)
        if self.metrics_port is not None:
            configuration += _METRICS.format(port=self.metrics_port)
            plugins += ",rabbitmq_prometheus"
        (self._where / "rabbitmq.conf").write_text(configuration)
        (self._where / "enabled_plugins").write_text(f"[{plugins}].\n")
        (self._where / "inetrc").write_text(_NAMES)

    def _environment(self) -> dict[str, str]:
        where = self._where
        return {
            "HOME": str(self._home),  # the Erlang cookie lives there
            "ERL_INETRC": str(where / "inetrc"),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.ports.mapper),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_NODENAME": self._name,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.ports.amqp),
            "RABBITMQ_DIST_PORT": str(self.ports.distribution),
            # RABBITMQ_NODE_IP_ADDRESS does not bind the distribution.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ON_LOOPBACK,
            "RABBITMQ_MNESIA_BASE": str(where / "data"),
            "RABBITMQ_LOG_BASE": str(where / "log"),
            "RABBITMQ_LOG": "-color",
            "RABBITMQ_CONFIG_FILE": str(where / "rabbitmq"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(where / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(where / "enabled_plugins"),
            "RABBITMQ_FEATURE_FLAGS_FILE": str(where / "feature_flags"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(where / "generated"),
            "RABBITMQ_PID_FILE": str(where / "pid"),
        }
