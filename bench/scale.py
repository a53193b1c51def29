"""The size of a run: complete, or just enough to exercise every benchmark."""

from dataclasses import dataclass

#: The seed of every random choice.
SEED = 1


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of all benchmarks; the defaults are those of a complete run."""

    #: Rounds in which a benchmark and its peers take turns.
    rounds: int = 3
    #: Companies in the register of lookups and imports.
    companies: int = 200_000
    #: Seconds of each load of lookups, of the lasting load, and without load.
    load_seconds: int = 5
    lasting_seconds: int = 600
    idle_seconds: int = 60
    #: Names of the accuracy benchmark, and queries of each row.
    names: int = 20_000
    row_queries: int = 150
    #: Companies in the registers that are searched, smallest first.
    registers: tuple[int, ...] = (30_000, 300_000, 3_000_000)
    #: Companies in the registers that are listed by filters.
    listed: tuple[int, ...] = (300_000, 3_000_000)
    #: Queries of each type, and how many of them are compared with the exhaustive scan.
    queries: int = 2_000
    scanned_queries: int = 300
    #: Deliveries of each rate, and seconds of each figure of latency.
    deliveries: int = 30_000
    delivery_seconds: float = 15
    #: Deliveries that are due while the dispatcher's memory is measured.
    due_deliveries: int = 1_000_000
    #: Numbers of webhooks, and events that are matched with them.
    webhooks: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    matched_events: int = 2_000
    #: Watchlists, and companies in each.
    watchlists: int = 1_000
    watched: int = 10_000
    #: Events that wait for their publication, and seconds of events at half of the rate.
    published_events: int = 50_000
    publishing_seconds: float = 15
    #: Entries of a register's feed.
    feed_entries: int = 20_000
    #: Entities in a register's whole file.
    file_entities: int = 1_050_000
    #: Companies of each register with annual accounts.
    accounts: int = 6_000
    #: Companies that are in a group.
    grouped: int = 22_500
    #: Clients that wait for an event, and seconds without one.
    waiting_clients: int = 1_000
    waiting_seconds: int = 30


FULL = Scale()
QUICK = Scale(
    rounds=1,
    companies=3_000,
    load_seconds=1,
    lasting_seconds=6,
    idle_seconds=3,
    names=1_000,
    row_queries=20,
    registers=(1_000, 3_000),
    listed=(3_000,),
    queries=60,
    scanned_queries=20,
    deliveries=1_000,
    delivery_seconds=1,
    due_deliveries=5_000,
    webhooks=(10, 1_000),
    matched_events=100,
    watchlists=10,
    watched=100,
    published_events=2_000,
    publishing_seconds=1,
    feed_entries=300,
    file_entities=2_000,
    accounts=300,
    grouped=600,
    waiting_clients=50,
    waiting_seconds=2,
)
