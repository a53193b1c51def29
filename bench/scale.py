"""The size of a run: complete, or just enough to exercise every benchmark."""

from dataclasses import dataclass

#: Of every random choice.
SEED = 1


@dataclass(frozen=True, slots=True)
class Scale:
    #: Rounds in which a benchmark and its peers take turns.
    rounds: int
    #: Companies in the register of lookups and imports.
    companies: int
    #: Seconds of each load of lookups, of the lasting load, and without load.
    load_seconds: int
    lasting_seconds: int
    idle_seconds: int
    #: Names of the accuracy benchmark, and queries of each row.
    names: int
    row_queries: int
    #: Companies in the registers that are searched, smallest first.
    registers: tuple[int, ...]
    #: Queries of each type, and how many of them are compared with the exhaustive scan.
    queries: int
    scanned_queries: int
    #: Deliveries of each rate, and seconds of each figure of latency.
    deliveries: int
    delivery_seconds: float
    #: Deliveries that are due while the dispatcher's memory is measured.
    due_deliveries: int
    #: Numbers of webhooks, and events that are matched with them.
    webhooks: tuple[int, ...]
    matched_events: int
    #: Entries of a register's feed.
    feed_entries: int
    #: Entities in a register's whole file.
    file_entities: int
    #: Clients that wait for an event, and seconds without one.
    waiting_clients: int
    waiting_seconds: int


FULL = Scale(
    rounds=3,
    companies=200_000,
    load_seconds=5,
    lasting_seconds=600,
    idle_seconds=60,
    names=20_000,
    row_queries=150,
    registers=(30_000, 300_000, 3_000_000),
    queries=2_000,
    scanned_queries=300,
    deliveries=30_000,
    delivery_seconds=15,
    due_deliveries=1_000_000,
    webhooks=(10, 100, 1_000, 10_000, 100_000),
    matched_events=2_000,
    feed_entries=20_000,
    file_entities=1_050_000,
    waiting_clients=1_000,
    waiting_seconds=30,
)
QUICK = Scale(
    rounds=1,
    companies=3_000,
    load_seconds=1,
    lasting_seconds=6,
    idle_seconds=3,
    names=1_000,
    row_queries=20,
    registers=(1_000, 3_000),
    queries=60,
    scanned_queries=20,
    deliveries=1_000,
    delivery_seconds=1,
    due_deliveries=5_000,
    webhooks=(10, 1_000),
    matched_events=100,
    feed_entries=300,
    file_entities=2_000,
    waiting_clients=50,
    waiting_seconds=2,
)
