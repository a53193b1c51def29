"""The resources that a load needs, computed from the measured points of `points.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from bench.capacity.costs import (
    SERVERS,
    SERVICES,
    Costs,
    Rates,
    cores,
    fitted,
)

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


def costs_of(points: Points) -> dict[str, Costs]:
    """Returns what each part costs."""
    return {part: fitted(part, points["measured"]) for part in (*SERVICES, *SERVERS)}


def rates(load: Load, processes: Mapping[str, int]) -> Rates:
    """Returns what happens a second under a load in a deployment of so many processes."""
    deliveries = load.events * load.fan_out
    return Rates(load.lookups, load.events, deliveries, processes)


def replicas(load: Load, costs: Mapping[str, Costs]) -> dict[str, int]:
    """Returns the fewest processes of each service that use their cores no more than planned."""
    return {part: _replicas(part, costs[part], load) for part in SERVICES}


def _replicas(part: str, costs: Costs, load: Load) -> int:
    # What each process adds by itself, and what all share.
    none, one = (
        cores(part, costs, rates(load, dict.fromkeys(SERVICES, count))) for count in (0, 1)
    )
    return max(_REPLICAS, ceil(none / (_BUSY - (one - none))))


def parts(load: Load, points: Points) -> list[Part]:
    """Returns what each part needs."""
    size, megabytes, costs = points["bytes"], points["megabytes"], costs_of(points)
    processes = replicas(load, costs)
    used = {part: cores(part, costs[part], rates(load, processes)) for part in costs}
    index = load.companies * size["index_of_a_company"]
    webhooks = load.webhooks * size["webhook_in_a_dispatcher"]
    # The outbox and the dispatcher each keep an event.
    event = 2 * size["event"] + load.fan_out * size["delivery"]
    kept = load.events * load.kept_days * _SECONDS_OF_A_DAY * event
    disk = load.companies * size["company_on_disk"] + kept
    memory = _GB + load.companies * size["company_in_memory"]

    def part(name: str, each: float, stored: float = 0.0) -> Part:
        count = processes.get(name, _MEMBERS)
        return Part(name, count, used[name], count * each / _GB, count * stored / _GB)

    return [
        part("gateway", megabytes["gateway"] * _MB),
        part("lookup", megabytes["lookup"] * _MB + index, index),
        part("dispatcher", megabytes["dispatcher"] * _MB + webhooks),
        part("RabbitMQ", megabytes["RabbitMQ"] * _MB),
        part("MongoDB", memory, disk),
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
