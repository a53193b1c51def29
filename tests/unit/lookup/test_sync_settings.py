"""What the sync's settings refuse, before anything is sent."""

from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from common.runtime.settings import load
from lookup.settings import SyncSettings


def settings(**fields: Any) -> SyncSettings:
    return SyncSettings(**{"mongo_url": SecretStr("mongodb://mongo.example.com"), **fields})


def test_a_password_goes_over_plain_http_only_where_that_was_allowed() -> None:
    access = {"cvr_user": "acme", "cvr_password": SecretStr("secret")}

    with pytest.raises(ValidationError, match="CVR_ALLOW_PLAINTEXT=true"):
        settings(**access)

    assert settings(**access, cvr_allow_plaintext=True).cvr_url.scheme == "http"
    assert settings(**access, cvr_url="https://cvr.example.com").cvr_url.scheme == "https"


def test_who_does_not_follow_denmark_need_not_allow_anything() -> None:
    assert settings().cvr_user == ""


@pytest.mark.parametrize("name", ["brreg_url", "peppol_url"])
def test_the_registers_that_offer_tls_are_asked_over_tls(name: str) -> None:
    with pytest.raises(ValidationError, match="that register offers HTTPS"):
        settings(**{name: "http://register.example.com"})


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "[::1]:8090"])
def test_a_register_on_this_machine_may_be_plain(host: str) -> None:
    assert settings(brreg_url=f"http://{host}/api").brreg_url.scheme == "http"


@pytest.mark.parametrize("name", ["BRREG_URL", "CVR_URL", "PEPPOL_URL"])
@pytest.mark.parametrize("user", ["acme:hunter2@", "hunter2@", ":hunter2@"])
def test_an_address_holds_no_password_since_it_is_logged(
    name: str, user: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MONGO_URL", "mongodb://mongo.example.com")
    monkeypatch.setenv(name, f"https://{user}register.example.com")

    with pytest.raises(SystemExit):
        load(SyncSettings)

    told = capsys.readouterr().err
    assert told.startswith(f"setting {name}: leave user and password out")
    assert "hunter2" not in told


def test_hosts_of_files_are_listed_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONGO_URL", "mongodb://mongo.example.com")
    monkeypatch.setenv("REGISTER_FILE_HOSTS", "Files.example.com, cdn.example.com")

    assert load(SyncSettings).register_file_hosts == ("files.example.com", "cdn.example.com")
