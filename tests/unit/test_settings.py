"""How the settings of services are read, and values that stop a start.

Their defaults are those of the READMEs, which tests/contract/test_docs.py reads.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from ipaddress import ip_network
from typing import Annotated, Any, get_origin

import pytest
from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from common.runtime.public_port.rates import Rate
from common.runtime.settings import ProcessSettings, load, shown
from dispatcher.settings import Settings as Dispatcher
from gateway.settings import Settings as Gateway
from ingest.app import proxies
from ingest.registers.brreg.sync import BrregSettings
from ingest.registers.cvr.sync import CvrSettings
from ingest.registers.peppol.sync import PeppolSettings
from ingest.settings import RegisterSettings, SyncSettings
from local_stack.settings import StackSettings
from lookup.settings import Settings as Lookup
from portal.settings import Settings as Portal
from tests.builders import durations
from tests.builders.webhooks import encoded_key
from webhook_registry.settings import Settings as Registry
from webhook_store.settings import SealedStoreSettings, StoreSettings

NEEDED = {
    "AMQP_URL": "amqp://localhost",
    "MONGO_URL": "mongodb://localhost/?replicaSet=rs0",
    "WEBHOOK_SECRET_KEYS": f"k2:{encoded_key('k2')},k1:{encoded_key('k1')}",
}
NETWORKS = "WEBHOOK_EXTRA_ALLOWED_NETWORKS"
Kind = type[ProcessSettings] | type[RegisterSettings]


def _all_settings(kind: type[BaseSettings] = BaseSettings) -> Iterator[type[BaseSettings]]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_settings(each)


KINDS: list[type[BaseSettings]] = [StackSettings, Lookup, Portal, *_all_settings()]
DURATIONS = [
    pytest.param(each, id=f"{kind.__module__}.{kind.__name__}.{name}")
    for kind in dict.fromkeys(KINDS)
    for name, each in kind.model_fields.items()
    if "timedelta" in repr(each.annotation)
]


def test_there_are_settings_that_are_durations() -> None:
    assert len(DURATIONS) > 50


@pytest.mark.parametrize("field", DURATIONS)
def test_every_duration_reads_all_of_iso_8601_and_seconds(field: FieldInfo) -> None:
    readers = [each for each in field.metadata if isinstance(each, BeforeValidator)]
    annotation: Any = Annotated[field.annotation, *readers]
    read: TypeAdapter[Any] = TypeAdapter(annotation)
    is_list = get_origin(field.annotation) is tuple

    # Several are separated by commas.
    for text, seconds in durations.SECONDS.items():
        written, span = text.replace(",", "." if is_list else ","), timedelta(seconds=seconds)
        assert read.validate_python(written) == ((span,) if is_list else span), text
    for text in filter(None, durations.REFUSED):
        with pytest.raises(ValidationError):
            read.validate_python(text)


@pytest.fixture(autouse=True)
def _needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "kind, name, value, read",
    [
        (Gateway, "KEY_RATE", "10/second", Rate(10, 1)),
        (
            Gateway,
            "TRUSTED_PROXIES",
            "10.0.0.0/8, fd00::/8",
            (ip_network("10.0.0.0/8"), ip_network("fd00::/8")),
        ),
        (
            Registry,
            NETWORKS,
            "127.0.0.0/8, ::1/128",
            (ip_network("127.0.0.0/8"), ip_network("::1/128")),
        ),
        (Dispatcher, NETWORKS, "127.0.0.0/8", (ip_network("127.0.0.0/8"),)),
        (Dispatcher, NETWORKS, "", ()),
        (
            Dispatcher,
            "WEBHOOK_RETRY_DELAYS",
            "PT0.2S, PT3S",
            (timedelta(milliseconds=200), timedelta(seconds=3)),
        ),
        (
            SyncSettings,
            "REGISTER_FILE_HOSTS",
            "Files.example.com, cdn.example.com",
            ("files.example.com", "cdn.example.com"),
        ),
    ],
)
def test_a_value_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, name: str, value: str, read: object
) -> None:
    monkeypatch.setenv(name, value)

    assert getattr(load(kind), name.lower()) == read


#: The words of the message, which repeats no URL, key or password.
REFUSED: list[tuple[Kind, str, str, str]] = [
    (Gateway, "ANONYMOUS_RATE", "60", "setting ANONYMOUS_RATE: "),
    (Gateway, "TRUSTED_PROXIES", "10.0.0.1/8", "setting TRUSTED_PROXIES: "),
    (Gateway, "HTTP_PORT", "65536", "setting HTTP_PORT: "),
    *(
        (Gateway, "AMQP_URL", url, "setting AMQP_URL: ")
        for url in ("", "http://localhost", "amqp://localhost:99999/")
    ),
    (
        Gateway,
        "AMQP_URL",
        "guest:secret@localhost",
        "setting AMQP_URL: write it as amqp://<host>/…, with / @ ? of a password as %2F %40 %3F",
    ),
    *(
        (Gateway, "MONGO_URL", url, "setting MONGO_URL: ")
        for url in (
            "mongodb://localhost:27017,other:99999/",
            "mongodb://a host/",
            "mongodb:///",
            "localhost:27017",
        )
    ),
    (Registry, "WEBHOOK_SECRET_KEYS", "k1:c2VjcmV0", "setting WEBHOOK_SECRET_KEYS: "),
    (Registry, NETWORKS, "127.0.0.1/8", f"setting {NETWORKS}: "),
    (Registry, "MAX_WEBHOOKS_PER_OWNER", "0", "setting MAX_WEBHOOKS_PER_OWNER: "),
    (Registry, "RESOLVE_TIMEOUT", "1s", "setting RESOLVE_TIMEOUT: "),
    # Would lose or double deliveries.
    (Dispatcher, "WEBHOOK_LEASE", "PT10S", "WEBHOOK_LEASE must be a second longer"),
    (Dispatcher, "WEBHOOK_POST_TIMEOUT", "PT30S", "WEBHOOK_LEASE must be a second longer"),
    (Dispatcher, "BROKER_CONSUMER_TIMEOUT", "PT30S", "WEBHOOK_LEASE must be shorter"),
    (Dispatcher, "WEBHOOK_RETRY_DELAYS", "1m", "ISO 8601"),
    (Dispatcher, "WEBHOOK_RETRY_DELAYS", "P1M", "ISO 8601"),
    (Dispatcher, "WEBHOOK_RETRY_DELAYS", "PT0S", "at least a millisecond"),
    (Dispatcher, "WEBHOOK_SECRET_KEYS", "k1:c2VjcmV0", "base64"),
    (Dispatcher, NETWORKS, "everything", "everything"),
    (Dispatcher, "WEBHOOK_MAX_POSTS_PER_WEBHOOK", "0", "greater than or equal to 1"),
    (SyncSettings, "HTTPS_PROXY", "socks5://user:secret@proxy.example.com", "HTTPS_PROXY"),
    (BrregSettings, "BRREG_URL", "http://register.example.com", "use https"),
    (PeppolSettings, "PEPPOL_URL", "http://register.example.com", "use https"),
    *(
        (
            kind,
            name,
            f"https://{user}register.example.com",
            f"setting {name}: leave user and password out",
        )
        for kind, name in (
            (BrregSettings, "BRREG_URL"),
            (CvrSettings, "CVR_URL"),
            (PeppolSettings, "PEPPOL_URL"),
        )
        for user in ("acme:secret@", "secret@", ":secret@")
    ),
]


@pytest.mark.parametrize("kind, name, value, words", REFUSED)
def test_a_value_that_is_refused_stops_the_start_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: Kind,
    name: str,
    value: str,
    words: str,
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit) as stopped:
        load(kind)

    [sentence] = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2
    assert words in sentence
    assert "secret@" not in sentence
    assert "c2VjcmV0" not in sentence


def test_logged_settings_contain_no_key() -> None:
    assert encoded_key("k1") not in str(shown(load(Registry)))


def test_creating_indexes_requires_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBHOOK_SECRET_KEYS")

    assert load(StoreSettings).webhooks_db == "webhooks"
    with pytest.raises(SystemExit):
        load(SealedStoreSettings)


def test_a_password_is_sent_over_plain_http_only_if_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CVR_USER", "acme")
    monkeypatch.setenv("CVR_PASSWORD", "secret")
    encrypted = load(CvrSettings)
    monkeypatch.setenv("CVR_URL", "http://cvr.example.com/cvr-permanent")

    with pytest.raises(SystemExit):
        load(CvrSettings)

    assert "CVR_ALLOW_PLAINTEXT=true" in capsys.readouterr().err
    monkeypatch.setenv("CVR_ALLOW_PLAINTEXT", "true")
    plain = load(CvrSettings)
    assert (plain.cvr_url.scheme, plain.unreached) == ("http", "")
    assert str(encrypted.cvr_url) == "https://distribution.virk.dk:8443/cvr-permanent"
    assert "CVR_URL=http://distribution.virk.dk/cvr-permanent" in encrypted.unreached


@pytest.mark.parametrize("path", ["cvr-re", "cvr-re/", "CVR-RE/virksomhed", "proxy/cvr-re"])
def test_the_register_of_beneficial_owners_is_refused(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CVR_URL", f"https://distribution.virk.dk:8443/{path}")

    with pytest.raises(SystemExit):
        load(CvrSettings)

    assert "cvr-re has the beneficial owners" in capsys.readouterr().err


def test_a_danish_register_without_a_user_says_how_to_become_one() -> None:
    said = CvrSettings().missing()

    assert said is not None
    assert all(word in said for word in ("CVR_USER", "cvrselvbetjening@erst.dk", "no-enheter"))


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "[::1]:8090"])
def test_a_register_on_the_loopback_interface_may_use_plain_http(host: str) -> None:
    assert BrregSettings(brreg_url=f"http://{host}/api").brreg_url.scheme == "http"


PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"HTTPS_PROXY": PROXY}, {"https": PROXY}),
        ({"https_proxy": "proxy.example.com:3128"}, {"https": PROXY}),
        (
            {
                "HTTPS_PROXY": "http://a:b%40c@proxy.example.com",
                "HTTP_PROXY": "https://other.example",
            },
            {"https": "http://a:b%40c@proxy.example.com", "http": "https://other.example"},
        ),
        ({"HTTPS_PROXY": "", "HTTP_PROXY": " "}, {}),
    ],
)
def test_proxies_are_read_from_the_usual_variables(
    given: Mapping[str, str], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    assert proxies(load(SyncSettings)).urls == expected
