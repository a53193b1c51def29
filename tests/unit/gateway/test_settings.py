"""Settings of the gateway and their error messages."""

from ipaddress import ip_network

import pytest

from common.runtime.settings import load
from gateway.access.keys import Rate
from gateway.settings import Settings

NEEDED = {"AMQP_URL": "amqp://localhost", "MONGO_URL": "mongodb://localhost/?replicaSet=rs0"}


@pytest.fixture(autouse=True)
def _needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


def test_the_defaults_are_those_decided() -> None:
    settings = load(Settings)

    assert settings.anonymous_rate == Rate(60, 60)
    assert settings.key_rate == Rate(1200, 60)
    assert settings.anonymous_lookups
    assert settings.trusted_proxies == ()


def test_rates_and_networks_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_RATE", "10/second")
    monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")

    settings = load(Settings)

    assert settings.key_rate == Rate(10, 1)
    assert settings.trusted_proxies == (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    "name,value",
    [
        ("ANONYMOUS_RATE", "60"),
        ("TRUSTED_PROXIES", "10.0.0.1/8"),
        ("HTTP_PORT", "65536"),
        ("AMQP_URL", ""),
        ("AMQP_URL", "http://localhost"),
        ("AMQP_URL", "amqp://localhost:99999/"),
        ("MONGO_URL", "mongodb://localhost:27017,other:99999/"),
        ("MONGO_URL", "mongodb://a host/"),
        ("MONGO_URL", "mongodb:///"),
        ("MONGO_URL", "localhost:27017"),
    ],
)
def test_an_invalid_setting_stops_the_start_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit) as stopped:
        load(Settings)

    [sentence] = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2
    assert sentence.startswith(f"setting {name}: ")


def test_a_bad_url_is_not_repeated_for_it_may_hold_a_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AMQP_URL", "guest:secret@localhost")

    with pytest.raises(SystemExit):
        load(Settings)

    line = (
        "setting AMQP_URL: write it as amqp://<host>/…, with / @ ? of a password as %2F %40 %3F\n"
    )
    assert capsys.readouterr().err == line
