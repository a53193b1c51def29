"""Profiles: services and their keys that `login` has stored."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

DEFAULT_URL: Final = "http://127.0.0.1:8080"
DEFAULT_PROFILE: Final = "default"

#: The first one that is set counts.
URL_VARIABLES: Final = ("COMPANY_REGISTRY_URL", "BASE_URL")
KEY_VARIABLES: Final = ("COMPANY_REGISTRY_API_KEY", "API_KEY")
PROFILE_VARIABLE: Final = "COMPANY_REGISTRY_PROFILE"


class Profile(BaseModel):
    """A service and the API key that is used there."""

    model_config = ConfigDict(frozen=True)

    url: str
    key: str = Field(repr=False)


class _File(BaseModel):
    profiles: dict[str, Profile] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profiles:
    """The file of all profiles, which only its owner can read."""

    path: Path

    def load(self) -> dict[str, Profile]:
        """Profiles by name. Raises ValueError for a file that is not one of profiles."""
        try:
            return _File.model_validate_json(self.path.read_bytes()).profiles
        except FileNotFoundError:
            return {}
        except ValidationError:
            raise ValueError(f"{self.path} cannot be read: delete it, and log in again") from None

    def save(self, profiles: Mapping[str, Profile]) -> None:
        """Replaces the file as a whole; it has mode 600 from its first byte."""
        document = {"profiles": {name: each.model_dump() for name, each in profiles.items()}}
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, written = tempfile.mkstemp(dir=folder)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2) + "\n")
                file.flush()
                os.fsync(descriptor)
            Path(written).replace(self.path)
        except BaseException:
            with suppress(OSError):
                Path(written).unlink()
            raise


@dataclass(frozen=True, slots=True)
class Options:
    """The options of every command that were given; None is not given."""

    url: str | None = None
    key: str | None = None
    profile: str | None = None
    as_json: bool = False

    def over(self, earlier: "Options") -> "Options":
        """These, and where they are not given the earlier ones."""
        return Options(
            self.url if self.url is not None else earlier.url,
            self.key if self.key is not None else earlier.key,
            self.profile if self.profile is not None else earlier.profile,
            self.as_json or earlier.as_json,
        )


@dataclass(frozen=True, slots=True)
class Service:
    """The service to call, and the key to call it with."""

    url: str
    key: str | None
    #: The profile that the key is of.
    profile: str | None = None


def service_of(
    options: Options, environment: Mapping[str, str], profiles: Mapping[str, Profile]
) -> Service:
    """Chooses by options, then environment, then profile; `--profile` is an option.

    The key of a profile is sent to the profile's own URL, and to no other.
    Raises ValueError for a profile that does not exist.
    """
    name = options.profile or environment.get(PROFILE_VARIABLE)
    if name and name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise ValueError(
            f"there is no profile {name} (known: {known}); the command login makes one"
        )
    stored = profiles.get(name or DEFAULT_PROFILE)
    if options.profile:
        environment = {}
    url = options.url or first(environment, URL_VARIABLES) or (stored and stored.url) or DEFAULT_URL
    url = url.rstrip("/")
    key = first(environment, KEY_VARIABLES) if options.key is None else options.key
    if key is None and stored is not None and stored.url == url:
        return Service(url, stored.key, name or DEFAULT_PROFILE)
    return Service(url, key or None)


def first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The value of the first variable that is set and not empty."""
    return next((value for name in names if (value := environment.get(name))), None)
