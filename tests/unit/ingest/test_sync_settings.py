"""Validation of the settings of `sync`, before anything is sent."""

from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from common.runtime.settings import load
from ingest.app import proxies
from ingest.registers.brreg.sync import BrregSettings
from ingest.registers.cvr.sync import CvrSettings
from ingest.registers.peppol.sync import PeppolSettings
from ingest.settings import RegisterSettings, SyncSettings

URLS: dict[str, type[RegisterSettings]] = {
    "brreg_url": BrregSettings,
    "cvr_url": CvrSettings,
    "peppol_url": PeppolSettings,
}


def test_a_password_is_sent_over_plain_http_only_if_allowed() -> None:
    access: dict[str, Any] = {"cvr_user": "acme", "cvr_password": SecretStr("secret")}

    with pytest.raises(ValidationError, match="CVR_ALLOW_PLAINTEXT=true"):
        CvrSettings(**access)

    assert CvrSettings(**access, cvr_allow_plaintext=True).cvr_url.scheme == "http"
    assert CvrSettings(**access, cvr_url="https://cvr.example.com").cvr_url.scheme == "https"


def test_a_url_over_plain_http_is_valid_without_a_password() -> None:
    assert CvrSettings().cvr_user == ""


@pytest.mark.parametrize("name", ["brreg_url", "peppol_url"])
def test_a_register_that_offers_https_requires_it(name: str) -> None:
    with pytest.raises(ValidationError, match="use https"):
        URLS[name].model_validate({name: "http://register.example.com"})


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "[::1]:8090"])
def test_a_register_on_the_loopback_interface_may_use_plain_http(host: str) -> None:
    assert BrregSettings(brreg_url=f"http://{host}/api").brreg_url.scheme == "http"


@pytest.mark.parametrize("name", ["BRREG_URL", "CVR_URL", "PEPPOL_URL"])
@pytest.mark.parametrize("user", ["acme:hunter2@", "hunter2@", ":hunter2@"])
def test_a_url_with_a_password_is_refused_without_logging_it(
    name: str, user: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, f"https://{user}register.example.com")

    with pytest.raises(SystemExit):
        load(URLS[name.lower()])

    output = capsys.readouterr().err
    assert output.startswith(f"setting {name}: leave user and password out")
    assert "hunter2" not in output


def test_hosts_of_files_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONGO_URL", "mongodb://mongo.example.com")
    monkeypatch.setenv("REGISTER_FILE_HOSTS", "Files.example.com, cdn.example.com")

    assert load(SyncSettings).register_file_hosts == ("files.example.com", "cdn.example.com")


@pytest.mark.parametrize(
    "given,expected",
    [
        (
            {"HTTPS_PROXY": "http://proxy.example.com:3128"},
            {"https": "http://proxy.example.com:3128"},
        ),
        ({"https_proxy": "proxy.example.com:3128"}, {"https": "http://proxy.example.com:3128"}),
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
    given: dict[str, str], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MONGO_URL": "mongodb://localhost", **given}.items():
        monkeypatch.setenv(name, value)

    assert proxies(load(SyncSettings)).urls == expected


def test_a_proxy_of_another_protocol_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MONGO_URL", "mongodb://localhost")
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@proxy.example.com")

    with pytest.raises(SystemExit):
        load(SyncSettings)

    said = capsys.readouterr().err
    assert "HTTPS_PROXY" in said
    assert "secret" not in said
