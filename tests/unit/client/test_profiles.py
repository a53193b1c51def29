"""Which service and key a command calls with, and how keys are stored."""

import stat
from pathlib import Path

import pytest

from company_registry.cli.session import Options, Profile, Profiles, Service, service_of

URL, OTHER = "https://registry.example.com", "https://other.example.com"
STORED = {"default": Profile(url=URL, key="stored"), "test": Profile(url=OTHER, key="tested")}
ENVIRONMENT = {"BASE_URL": OTHER, "API_KEY": "environment"}


@pytest.mark.parametrize(
    "options, environment, service",
    [
        (Options(), {}, Service(URL, "stored", "default")),
        (Options(), {"COMPANY_REGISTRY_PROFILE": "test"}, Service(OTHER, "tested", "test")),
        (Options(), ENVIRONMENT, Service(OTHER, "environment")),
        (Options(), {"API_KEY": "", "BASE_URL": ""}, Service(URL, "stored", "default")),
        (Options(), {**ENVIRONMENT, "COMPANY_REGISTRY_API_KEY": "own"}, Service(OTHER, "own")),
        (Options(profile="test"), ENVIRONMENT, Service(OTHER, "tested", "test")),
        (Options(key="given"), ENVIRONMENT, Service(OTHER, "given")),
        (Options(key=""), {}, Service(URL, None)),
        (Options(url=URL + "/"), {}, Service(URL, "stored", "default")),
        # The key of a profile goes to no other service.
        (Options(url=OTHER), {}, Service(OTHER, None)),
        (Options(), {"BASE_URL": OTHER}, Service(OTHER, None)),
    ],
)
def test_options_come_before_the_environment_and_that_before_the_profile(
    options: Options, environment: dict[str, str], service: Service
) -> None:
    assert service_of(options, environment, STORED) == service


def test_without_anything_the_service_is_that_of_this_machine() -> None:
    assert service_of(Options(), {}, {}) == Service("http://127.0.0.1:8080", None)


def test_a_profile_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no profile nope \(known: default, test\)"):
        service_of(Options(profile="nope"), {}, STORED)


def test_an_option_after_the_commands_name_counts_over_one_before_it() -> None:
    before, after = Options(url=URL, key="before", as_json=True), Options(key="after")

    assert after.over(before) == Options(url=URL, key="after", as_json=True)


def test_keys_are_stored_for_their_owner_alone(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path / "new" / "profiles.json")

    profiles.save(STORED)

    assert profiles.load() == STORED
    assert stat.S_IMODE(profiles.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(profiles.path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_could_read_is_replaced_and_not_written_to(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path / "profiles.json")
    profiles.path.touch(mode=0o644)
    opened = profiles.path.open()

    profiles.save(STORED)

    with opened:
        assert opened.read() == ""
    assert stat.S_IMODE(profiles.path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["profiles.json"]


def test_a_file_that_cannot_be_replaced_leaves_no_other(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path / "profiles.json")
    profiles.path.mkdir()

    with pytest.raises(IsADirectoryError):
        profiles.save(STORED)

    assert [path.name for path in tmp_path.iterdir()] == ["profiles.json"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"profiles": {"default": {}}}'])
def test_a_file_of_another_form_is_named(tmp_path: Path, content: str) -> None:
    profiles = Profiles(tmp_path / "profiles.json")
    profiles.path.write_text(content)

    with pytest.raises(ValueError, match=r"profiles\.json cannot be read"):
        profiles.load()


def test_no_key_is_in_the_text_of_a_profile() -> None:
    assert "stored" not in repr(STORED["default"])
