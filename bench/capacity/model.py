"""The resources that a load needs, computed from the measured points of `points.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from typing import Any

import numpy as np

Points = Mapping[str, Any]

#: The share of its core that a process is planned to use.
_BUSY = 0.7
#: Replicas of a service, one of which may fail, and members of RabbitMQ and of MongoDB.
_REPLICAS, _MEMBERS = 2, 3
_SECONDS_OF_A_DAY, _GB, _MB = 86_400, 1e9, 1e6


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a deployment; rates are per second."""

    lookups: float
    companies: int
    webhooks: int
    events: float
    #: Lookups in flight at one gateway: the more, the longer the batches and the cheaper each.
    in_flight: int = 16
    #: Webhooks that an event matches on average.
    fan_out: float = 1.0
    #: Days for which events and deliveries are kept.
    kept_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Part:
    """The resources of one part of a deployment, all its replicas together."""

    name: str
    replicas: int
    cores: float
    memory_gb: float
    disk_gb: float = 0.0


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that more replicas do not lift, and the share of it that a load uses."""

    name: str
    share: float
    remedy: str


def read_points() -> Points:
    """Returns the measured points."""
    return tomllib.loads(Path(__file__).with_name("points.toml").read_text())


def lookup_ms(points: Points, process: str, in_flight: int) -> float:
    """Returns the processor time of a lookup, linear in the logarithm of those in flight."""
    known = points["lookups"]
    places = [log(row["in_flight"]) for row in known]
    return float(np.interp(log(in_flight), places, [row[process] for row in known]))


def parts(load: Load, points: Points) -> list[Part]:
    """Returns what each part needs."""
    size, megabytes = points["bytes"], points["megabytes"]
    index = load.companies * size["index_of_a_company"]
    webhooks = load.webhooks * size["webhook_in_a_dispatcher"]
    # The outbox and the dispatcher each keep an event.
    event = 2 * size["event"] + load.fan_out * size["delivery"]
    kept = load.events * load.kept_days * _SECONDS_OF_A_DAY * event
    disk = load.companies * size["company_on_disk"] + kept
    memory = _GB + load.companies * size["company_in_memory"]

    def asked(process: str) -> float:
        return load.lookups * lookup_ms(points, process, load.in_flight) / 1000

    def sent(process: str) -> float:
        return load.events * load.fan_out * float(points["delivery"][process]) / 1000

    def service(name: str, cores: float, more: float = 0.0, stored: float = 0.0) -> Part:
        replicas = max(_REPLICAS, ceil(cores / _BUSY))
        each = megabytes[name] * _MB + more
        return Part(name, replicas, cores, replicas * each / _GB, replicas * stored / _GB)

    def server(name: str, each: float, stored: float = 0.0) -> Part:
        cores = asked(name) + sent(name)
        return Part(name, _MEMBERS, cores, _MEMBERS * each / _GB, _MEMBERS * stored / _GB)

    return [
        service("gateway", asked("gateway")),
        service("lookup", asked("lookup"), index, index),
        service("dispatcher", sent("dispatcher"), webhooks),
        server("RabbitMQ", megabytes["RabbitMQ"] * _MB),
        server("MongoDB", memory, disk),
    ]


def limits(load: Load, points: Points) -> list[Limit]:
    """Returns the limits that no replica lifts, the most used first."""
    found = {part.name: part for part in parts(load, points)}
    lookup, database = found["lookup"], found["MongoDB"]
    used = {
        "the outbox's publisher": load.events,
        "the leader of a quorum queue": load.events * max(1.0, load.fan_out),
        "the primary of MongoDB": database.cores,
        "the memory of a lookup process": lookup.memory_gb / lookup.replicas,
        "the disk of a MongoDB member": database.disk_gb / database.replicas,
    }
    known = [
        Limit(
            f"{each['name']} ({each['value']:,} {each['unit']})",
            used[each["name"]] / each["value"],
            each["remedy"],
        )
        for each in points["limits"]
    ]
    return sorted(known, key=lambda one: one.share, reverse=True)
