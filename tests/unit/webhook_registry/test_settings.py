"""Settings, their validation and their list in README.md."""

from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_EXCHANGE, WEBHOOKS_QUEUE
from common.runtime.settings import load, shown
from tests.builders.webhooks import encoded_key
from webhook_registry.settings import Settings
from webhook_store.settings import SealedStoreSettings, StoreSettings

README = (Path(__file__).parents[3] / "services" / "webhook-registry" / "README.md").read_text()

NEEDED = {
    "AMQP_URL": "amqp://localhost",
    "MONGO_URL": "mongodb://localhost/?replicaSet=rs0",
    "WEBHOOK_SECRET_KEYS": f"k2:{encoded_key('k2')},k1:{encoded_key('k1')}",
}


@pytest.fixture(autouse=True)
def _needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


def test_the_defaults_match_the_specification() -> None:
    settings = load(Settings)

    assert settings.max_webhooks_per_owner == 50
    assert settings.webhook_secret_overlap == timedelta(hours=24)
    assert settings.idempotency_retention == timedelta(hours=24)
    assert settings.webhook_extra_allowed_networks == ()


def test_networks_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_EXTRA_ALLOWED_NETWORKS", "127.0.0.0/8, ::1/128")

    settings = load(Settings)

    assert settings.webhook_extra_allowed_networks == (
        ip_network("127.0.0.0/8"),
        ip_network("::1/128"),
    )


@pytest.mark.parametrize(
    "name, value",
    [
        ("WEBHOOK_SECRET_KEYS", "k1:c2hvcnQ="),
        ("WEBHOOK_EXTRA_ALLOWED_NETWORKS", "127.0.0.1/8"),
        ("MAX_WEBHOOKS_PER_OWNER", "0"),
        ("RESOLVE_TIMEOUT", "1"),
    ],
)
def test_a_bad_setting_stops_the_start_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit) as stopped:
        load(Settings)

    told = capsys.readouterr().err
    assert stopped.value.code == 2
    assert f"setting {name}" in told
    assert "c2hvcnQ" not in told


def test_logged_settings_contain_no_key() -> None:
    assert encoded_key("k1") not in str(shown(load(Settings)))


def test_creating_indexes_requires_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBHOOK_SECRET_KEYS")

    assert load(StoreSettings).webhooks_db == "webhooks"
    with pytest.raises(SystemExit):
        load(SealedStoreSettings)


def test_the_readme_lists_every_queue() -> None:
    for name in (WEBHOOKS_QUEUE, EVENTS_EXCHANGE, DELIVERIES_QUEUE):
        assert f"| `{name}`" in README
