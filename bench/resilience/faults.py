"""The faults, and what must hold during each."""

from bench.resilience.cluster import SERVICES, Cluster
from bench.resilience.harms import (
    CLOCK,
    DISK,
    DOWN,
    FAKETIME,
    MEMORY,
    PARTITION,
    SHORT,
    Fault,
    Harm,
    alarm,
    cut_off_from,
    freeze,
    freeze_all,
    kill,
    maintain,
    nothing,
    occupy_processors,
    rolling_restart,
    slow_zone,
    step_down,
    stop_database,
    wrong_clock,
)

#: The order of a release, as in Kubernetes (deploy/local/release.py).
UPGRADED = ("dispatcher", "lookup", "ingest", "webhook-registry", "gateway")
_INDEXED = ("gateway", "ingest", "webhook-registry")

#: Longest answers in seconds: of a process or a node of RabbitMQ; of an election in MongoDB, or of
#: what is suspended, whose connections stay; and between zones.
_USUAL, _ELECTION, _BETWEEN_ZONES = 1.5, 2.0, 3.0
#: Of both tries of the balancer.
_EVERY = 2.5


def _longest(name: str) -> float:
    return _ELECTION if name.startswith("suspended") else _USUAL


def _of_service(service: str, name: str, harm: Harm) -> Fault:
    async def act(cluster: Cluster) -> None:
        await harm(cluster, (await cluster.containers(service))[0])

    return Fault(f"one {service} {name}", act, _longest(name))


def _of_rabbitmq(rank: int, name: str, harm: Harm) -> Fault:
    """Nodes rank by the number of queues that they lead."""

    async def act(cluster: Cluster) -> None:
        await harm(cluster, (await cluster.rabbitmq_nodes())[rank])

    return Fault(f"RabbitMQ {f'follower {rank}' if rank else 'leader'} {name}", act, _longest(name))


def _of_mongodb(rank: int, name: str, harm: Harm) -> Fault:
    async def act(cluster: Cluster) -> None:
        await harm(cluster, (await cluster.mongodb_members())[rank])

    return Fault(f"MongoDB {f'follower {rank}' if rank else 'primary'} {name}", act, _ELECTION)


async def upgrade(cluster: Cluster) -> None:
    """Upgrades from the running release to the working tree, indexes first."""
    cluster.release = None
    for service in _INDEXED:
        await cluster.compose("run", "--rm", "--no-deps", f"{service}-indexes")
    for service in UPGRADED:
        await cluster.replace(service)


def upgrade_from(revision: str) -> Fault:
    return Fault(f"rolling upgrade from {revision}", upgrade, _USUAL)


def _alarm(name: str, command: str, alarming: str, usual: str) -> Fault:
    harm = alarm(command, alarming, usual)

    async def act(cluster: Cluster) -> None:
        await harm(cluster, (await cluster.rabbitmq_nodes())[0])

    return Fault(f"RabbitMQ leader short of {name}, {SHORT} s", act, _USUAL, may_refuse=True)


_NONE = Fault("none", nothing, _USUAL)
_FROZEN, _CUT_OFF = f"suspended, {PARTITION} s", f"cut off, {PARTITION} s"
_NETWORKS = ("broker", "database")

QUICK = (
    _NONE,
    _of_service("lookup", "killed", kill),
    _of_service("dispatcher", "killed", kill),
    _of_rabbitmq(0, "killed", kill),
    _of_mongodb(0, "killed", kill),
)
ALL = (
    _NONE,
    *(_of_service(service, "killed", kill) for service in SERVICES),
    *(_of_service(service, _FROZEN, freeze()) for service in SERVICES),
    Fault("rolling restart of every service", rolling_restart, _USUAL),
    *(_of_rabbitmq(rank, "killed", kill) for rank in range(3)),
    *(_of_rabbitmq(rank, "restarted", Cluster.restart) for rank in range(2)),
    _of_rabbitmq(0, f"in maintenance mode, {PARTITION} s", maintain),
    *(_of_rabbitmq(rank, _FROZEN, freeze()) for rank in range(2)),
    *(_of_rabbitmq(rank, _CUT_OFF, cut_off_from("broker")) for rank in range(3)),
    *(_of_mongodb(rank, "killed", kill) for rank in range(3)),
    _of_mongodb(0, "stepped down", step_down),
    _of_mongodb(0, "restarted", Cluster.restart),
    *(_of_mongodb(rank, _FROZEN, freeze()) for rank in range(2)),
    *(_of_mongodb(rank, _CUT_OFF, cut_off_from("database")) for rank in range(3)),
    *(
        _of_service(service, f"cut off from the {network}, {PARTITION} s", cut_off_from(network))
        for service in SERVICES
        for network in _NETWORKS
    ),
    _alarm("memory", "set_vm_memory_high_watermark", *MEMORY),
    _alarm("disk", "set_disk_free_limit", *DISK),
    # Every answer is a success or a problem document, never the balancer's own page.
    Fault(
        f"every lookup process suspended, {SHORT} s", freeze_all("lookup"), _EVERY, may_fail=True
    ),
    Fault(f"every member of MongoDB suspended, {SHORT} s", stop_database, _EVERY, may_fail=True),
    Fault(f"every processor busy, {SHORT} s", occupy_processors, _EVERY, may_fail=True),
    Fault(
        f"one zone 200 ms away, with 2 % of packets lost, {PARTITION} s", slow_zone, _BETWEEN_ZONES
    ),
    *(
        _of_service(service, f"with its clock 5 minutes fast, {CLOCK} s", wrong_clock(service))
        for service in (SERVICES if FAKETIME.exists() else ())
    ),
)
#: Faults of a long run, one every half minute: each is over before the next.
RANDOM = (
    *(_of_service(service, f"killed, {DOWN} s", kill) for service in SERVICES),
    *(_of_service(service, "restarted", Cluster.restart) for service in SERVICES),
    *(_of_service(service, f"suspended, {DOWN} s", freeze(DOWN)) for service in SERVICES),
    *(_of_rabbitmq(rank, "killed", kill) for rank in range(3)),
    _of_rabbitmq(0, "restarted", Cluster.restart),
    *(_of_mongodb(rank, "killed", kill) for rank in range(3)),
    _of_mongodb(0, "stepped down", step_down),
    *(
        _of_service(service, f"cut off from the {network}, {DOWN} s", cut_off_from(network, DOWN))
        for service in SERVICES
        for network in _NETWORKS
    ),
    *(_of_rabbitmq(rank, f"cut off, {DOWN} s", cut_off_from("broker", DOWN)) for rank in range(3)),
    *(_of_mongodb(rank, f"cut off, {DOWN} s", cut_off_from("database", DOWN)) for rank in range(3)),
)
