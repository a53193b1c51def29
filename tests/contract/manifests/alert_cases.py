"""For each alert, series with which it fires and series with which it just does not.

Values are in promtool's notation, one sample a minute: `0+5x60` rises by 5 a minute for an hour.
"""

from dataclasses import dataclass

Series = dict[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    fires: Series
    quiet: Series
    #: Time of the evaluation.
    at: str = "60m"


_JOBS = ("gateway", "lookup", "lookup-sync", "webhook-registry", "dispatcher", "portal")
_ALL_UP = {f'up{{job="{job}", pod="a"}}': "1x60" for job in _JOBS}
_LOOKUP = 'route="/api/vat"'
_DURATION = "mongodb_command_duration_seconds"
_FAILED_WAITS = "mongodb_pool_wait_failures_total"
_BACKED_UP = "kube_cronjob_status_last_successful_time"
_TIMED_OUT = 'job="lookup", client="lookup", reason="timeout"'


def _lookups(bad: int, good: int) -> Series:
    """Lookups a minute; the bad ones take longer than 250 ms.

    Two hours are enough for every window: earlier samples do not change a ratio of rates.
    """
    steps = 130
    total = bad + good
    return {
        f"http_request_duration_seconds_count{{{_LOOKUP}}}": f"0+{total}x{steps}",
        f'http_request_duration_seconds_bucket{{{_LOOKUP}, le="0.25"}}': f"0+{good}x{steps}",
        f'http_requests_total{{{_LOOKUP}, status="200"}}': f"0+{total}x{steps}",
    }


def _events(late: int, timely: int) -> Series:
    steps = 130
    return {
        "webhook_first_attempt_latency_seconds_count": f"0+{late + timely}x{steps}",
        'webhook_first_attempt_latency_seconds_bucket{le="30.0"}': f"0+{timely}x{steps}",
    }


def _quantile(metric: str, labels: str, *, slow: bool, above: str) -> Series:
    """A histogram whose samples are all within `above`, or all above it."""
    return {
        f'{metric}_bucket{{{labels}le="{above}"}}': "0x60" if slow else "0+100x60",
        f'{metric}_bucket{{{labels}le="+Inf"}}': "0+100x60",
        # A finite upper bound, which is what histogram_quantile then returns.
        f'{metric}_bucket{{{labels}le="1000"}}': "0+100x60",
    }


def _counter(name: str) -> Case:
    return Case({name: "0x50 3x10"}, {name: "3x60"})


def _gauge(name: str, fires: str, quiet: str) -> Case:
    return Case({name: fires}, {name: quiet})


def _disk_of_rabbitmq(*, start: int, lost_a_minute: int) -> Series:
    return {
        'rabbitmq_disk_space_available_bytes{instance="a"}': f"{start}-{lost_a_minute}x500",
        'rabbitmq_disk_space_available_limit_bytes{instance="a"}': "2000x500",
    }


def _memory_of_rabbitmq(percent: int) -> Series:
    return {
        'rabbitmq_process_resident_memory_bytes{instance="a"}': f"{percent}x60",
        'rabbitmq_resident_memory_limit_bytes{instance="a"}': "100x60",
    }


def _members(field: str, *values: int) -> Series:
    """A field of each member of a replica set, as the first one sees them."""
    return {
        f'mongodb_rs_members_{field}{{instance="a", member_idx="{number}"}}': f"{value}x60"
        for number, value in enumerate(values)
    }


def _oplog(*, oldest: str, newest: str) -> Series:
    return {
        'mongodb_oplog_earliestOptime{instance="a"}': oldest,
        'mongodb_oplog_latestOptime{instance="a"}': newest,
    }


def _disk_of_mongodb(*, free: int) -> Series:
    return {
        'hardware_disk_metrics_disk_space_free_bytes{instance="a"}': f"{free}x60",
        'hardware_disk_metrics_disk_space_used_bytes{instance="a"}': f"{100 - free}x60",
    }


def _connections(current: int) -> Series:
    return {
        'mongodb_ss_connections{instance="a", conn_type="current"}': f"{current}x60",
        'mongodb_ss_connections{instance="a", conn_type="available"}': f"{100 - current}x60",
        'mongodb_ss_connections{instance="a", conn_type="totalCreated"}': "1000x60",
    }


CASES: dict[str, Case] = {
    "LookupBudgetBurnsFast": Case(_lookups(20, 980), _lookups(14, 986), at="2h"),
    "LookupBudgetBurnsSlowly": Case(_lookups(7, 993), _lookups(5, 995), at="2h"),
    "LookupBudgetBurnsSteadily": Case(_lookups(2, 998), _lookups(1, 1499), at="2h"),
    "EventBudgetBurnsFast": Case(_events(20, 80), _events(14, 86), at="2h"),
    "EventBudgetBurnsSlowly": Case(_events(7, 93), _events(5, 95), at="2h"),
    "EventBudgetBurnsSteadily": Case(_events(2, 98), _events(1, 149), at="2h"),
    "ServiceDown": Case({**_ALL_UP, 'up{job="gateway", pod="a"}': "1x50 0x10"}, _ALL_UP),
    "DatabaseDown": Case(
        {
            'dependency_up{job="gateway", pod="a", dependency="database"}': "0x60",
            'dependency_up{job="lookup", pod="a", dependency="database"}': "0x60",
        },
        {
            'dependency_up{job="gateway", pod="a", dependency="database"}': "0x60",
            'dependency_up{job="lookup", pod="a", dependency="database"}': "1x60",
        },
    ),
    "BrokerDown": Case(
        {
            'dependency_up{job="dispatcher", pod="a", dependency="broker_publish"}': "0x60",
            'dependency_up{job="lookup", pod="a", dependency="broker"}': "0x60",
        },
        {
            'dependency_up{job="dispatcher", pod="a", dependency="broker_publish"}': "0x60",
            'dependency_up{job="lookup", pod="a", dependency="broker"}': "1x60",
        },
    ),
    "BrokerAlarm": _gauge(
        'rabbitmq_alarms_free_disk_space_watermark{instance="a"}', "0x50 1x10", "0x60"
    ),
    "BrokerNodeDown": Case(
        {'up{job="rabbitmq", pod="a"}': "1x50 0x10", 'up{job="rabbitmq", pod="b"}': "1x60"},
        {
            'up{job="rabbitmq", pod="a"}': "1x60",
            'up{job="gateway", pod="a"}': "0x60",
            'rabbitmq_unreachable_cluster_peers_count{pod="a"}': "0x60",
        },
    ),
    "BrokerDiskFills": Case(
        _disk_of_rabbitmq(start=20_000, lost_a_minute=15),
        _disk_of_rabbitmq(start=20_000, lost_a_minute=5),
        at="8h",
    ),
    "BrokerMemoryIsHigh": Case(_memory_of_rabbitmq(81), _memory_of_rabbitmq(80)),
    "DatabaseHasNoPrimary": Case(_members("state", 2, 2, 8), _members("state", 2, 1, 8)),
    "DatabaseMemberDown": Case(_members("health", 1, 1, 0), _members("health", 1, 1, 1)),
    "DatabaseReplicationLags": Case(
        _members("optimeDate", 100_000, 99_000, 69_000),
        # One that is down has the alert of a member that is down.
        _members("optimeDate", 100_000, 70_000, 0),
    ),
    "DatabaseOplogIsShort": Case(
        _oplog(oldest="0x30 60+60x30", newest="43200+60x60"),
        # Young, and not yet full.
        _oplog(oldest="0x60", newest="43200+60x60"),
    ),
    "DatabaseDiskFills": Case(_disk_of_mongodb(free=14), _disk_of_mongodb(free=16)),
    "DatabaseConnectionsRunOut": Case(_connections(81), _connections(80)),
    "BackupIsOld": Case(
        {f'{_BACKED_UP}{{cronjob="mongodb-backup"}}': "0x800"},
        {
            f'{_BACKED_UP}{{cronjob="mongodb-backup"}}': "0x300 18000x500",
            f'{_BACKED_UP}{{cronjob="another"}}': "0x800",
        },
        at="13h",
    ),
    "DependencyDown": Case(
        {'dependency_up{job="lookup", pod="a", dependency="database"}': "0x60"},
        {
            'dependency_up{job="lookup", pod="a", dependency="database"}': "1x60",
            'dependency_up{job="lookup", pod="a", dependency="index"}': "0x60",
        },
    ),
    "NotReady": Case(
        {'service_ready{job="lookup", pod="a"}': "0x60"},
        {
            'service_ready{job="lookup", pod="a"}': "0x60",
            'service_ready{job="lookup", pod="b"}': "1x60",
        },
    ),
    "ClockIsWrong": _gauge(
        'dependency_up{job="lookup", pod="a", dependency="clock"}', "0x60", "1x60"
    ),
    "EventLoopLags": Case(
        _quantile("event_loop_lag_seconds", 'job="gateway", pod="a", ', slow=True, above="0.25"),
        _quantile("event_loop_lag_seconds", 'job="gateway", pod="a", ', slow=False, above="0.25"),
    ),
    "BrokerConnectionsBreak": Case(
        {'broker_connections_lost_total{job="lookup", connection="lookup"}': "0+1x60"},
        {'broker_connections_lost_total{job="lookup", connection="lookup"}': "0x50 3x10"},
    ),
    "PublishesFail": Case(
        {'broker_messages_published_total{job="lookup", outcome="unroutable"}': "0+1x60"},
        {
            'broker_messages_published_total{job="lookup", outcome="unroutable"}': "5x60",
            'broker_messages_published_total{job="lookup", outcome="confirmed"}': "0+9x60",
        },
    ),
    "MessagesAreHeld": _gauge(
        'broker_messages_held{job="dispatcher", queue="deliveries"}', "1x60", "1x57 0x3"
    ),
    "MessagesCrashTheirConsumer": _counter(
        'broker_messages_consumed_total{job="dispatcher", queue="deliveries", outcome="failed"}'
    ),
    "GatewayRespondsWithErrors": Case(
        {
            f'http_requests_total{{{_LOOKUP}, status="200"}}': "0+97x60",
            f'http_requests_total{{{_LOOKUP}, status="503"}}': "0+3x60",
        },
        {
            f'http_requests_total{{{_LOOKUP}, status="200"}}': "0+99x60",
            f'http_requests_total{{{_LOOKUP}, status="503"}}': "0+1x60",
        },
    ),
    "SearchesWaitForThreads": Case(
        _quantile("search_thread_wait_seconds", 'type="name", ', slow=True, above="0.1"),
        _quantile("search_thread_wait_seconds", 'type="name", ', slow=False, above="0.1"),
    ),
    "PortalRespondsWithErrors": Case(
        {
            'portal_http_requests_total{route="/", status="200"}': "0+93x60",
            'portal_http_requests_total{route="/", status="503"}': "0+7x60",
        },
        {
            'portal_http_requests_total{route="/", status="200"}': "0+96x60",
            'portal_http_requests_total{route="/", status="503"}': "0+4x60",
        },
    ),
    "DatabaseIsSlow": Case(
        _quantile(_DURATION, 'job="lookup", command="find", ', slow=True, above="0.5"),
        {
            **_quantile(_DURATION, 'job="lookup", command="find", ', slow=False, above="0.5"),
            # A change stream waits for a change.
            **_quantile(_DURATION, 'job="lookup", command="getMore", ', slow=True, above="0.5"),
        },
    ),
    "DatabaseConnectionsFail": Case(
        {f"{_FAILED_WAITS}{{{_TIMED_OUT}}}": "0+1x60"},
        {f"{_FAILED_WAITS}{{{_TIMED_OUT}}}": "0x50 3x10"},
    ),
    "GatewayIsSlow": Case(
        _quantile("http_request_duration_seconds", f"{_LOOKUP}, ", slow=True, above="1"),
        {
            **_quantile("http_request_duration_seconds", f"{_LOOKUP}, ", slow=False, above="1"),
            # A client that waits for events is not slow.
            **_quantile(
                "http_request_duration_seconds", 'route="/api/events", ', slow=True, above="1"
            ),
        },
    ),
    "RequestsAreShed": Case(
        {'rpc_request_failures_total{queue="rpc.search.dk", cause="overload"}': "0+1x60"},
        {
            'rpc_request_failures_total{queue="rpc.search.dk", cause="overload"}': "0x60",
            'rpc_request_failures_total{queue="rpc.search.dk", cause="timeout"}': "0+1x60",
        },
    ),
    "IndexIsBehind": _gauge('search_index_lag_seconds{pod="a", country="dk"}', "31x60", "30x60"),
    "IndexIsEmpty": Case(
        {'search_index_companies{pod="a", country="dk"}': "0x60"},
        {
            'search_index_companies{pod="a", country="dk"}': "0x60",
            'search_index_companies{pod="b", country="dk"}': "7x60",
        },
    ),
    "RegisterIsNotFollowed": Case(
        {'sync_cursor_age_seconds{source="brreg-units"}': "901x60"},
        {
            'sync_cursor_age_seconds{source="brreg-units"}': "900x60",
            'sync_cursor_age_seconds{source="peppol"}': "90000x60",
        },
    ),
    "RegisterCannotBeUsed": Case(
        {'sync_pass_failures_total{source="brreg-units", cause="register_fault"}': "0x50 3x10"},
        {
            'sync_pass_failures_total{source="brreg-units", cause="register_fault"}': "3x60",
            'sync_pass_failures_total{source="brreg-units", cause="superseded"}': "0+1x60",
        },
    ),
    "FeedEndsUnreadable": _gauge('sync_unreadable_entries{source="brreg-units"}', "1x60", "0x60"),
    "EinvoicingIsOld": _gauge('sync_cursor_age_seconds{source="peppol"}', "172801x60", "172800x60"),
    "EventsWaitInTheOutbox": _gauge("outbox_oldest_pending_age_seconds", "61x60", "60x60"),
    "EventsWithoutReceipt": _gauge("outbox_oldest_unconfirmed_age_seconds", "901x60", "900x60"),
    "EventsPublishedAgain": _counter("outbox_events_republished_total"),
    "EventsDropped": _counter("outbox_events_dropped_total"),
    "WebhookSecretsCannotBeOpened": Case(
        # Born with its first error: Prometheus sees no increase in it.
        {'webhook_secret_decryption_failures_total{key_id="k1"}': "_x55 1x5"},
        {'webhook_secret_decryption_failures_total{key_id="k1"}': "1x60"},
    ),
    "DeadLetters": _gauge("webhook_dead_letters", "1x60", "0x60"),
    "FirstAttemptsWait": Case(
        {'webhook_deliveries_waiting{delay="0s"}': "5001x60"},
        {
            'webhook_deliveries_waiting{delay="0s"}': "5000x60",
            'webhook_deliveries_waiting{delay="60s"}': "9000x60",
        },
    ),
    "DeliveriesAreOverdue": _gauge("webhook_oldest_due_delivery_age_seconds", "301x60", "300x60"),
    "EventsArriveLate": Case(
        _quantile("webhook_delivery_latency_seconds", "", slow=True, above="30"),
        _quantile("webhook_delivery_latency_seconds", "", slow=False, above="30"),
    ),
    "AttemptsFail": Case(
        {
            'webhook_receivers{outcome="failed"}': "4x60",
            'webhook_receivers{outcome="succeeded"}': "3x60",
        },
        # One dead receiver.
        {
            'webhook_receivers{outcome="failed"}': "1x60",
            'webhook_receivers{outcome="succeeded"}': "0x60",
        },
    ),
    "AttemptsCrash": _counter("webhook_attempts_crashed_total"),
    "WebhooksAreDisabled": Case(
        {'webhooks_disabled_total{reason="delivery_failed"}': "0x50 12x10"},
        {
            'webhooks_disabled_total{reason="delivery_failed"}': "0x50 9x10",
            'webhooks_disabled_total{reason="owner"}': "0x50 50x10",
        },
    ),
    "ManyDeliveriesRequeued": Case(
        {'webhook_deliveries_overdue_total{reason="lost"}': "0x50 1200x10"},
        {
            'webhook_deliveries_overdue_total{reason="lost"}': "0x50 800x10",
            'webhook_deliveries_overdue_total{reason="throttled"}': "0+100x60",
        },
    ),
}
