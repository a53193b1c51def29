"""The services that manifests, images and the compose file run, as the code defines them."""

import importlib.util
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings

import dispatcher.settings
import gateway.settings
import ingest.settings
import lookup.settings
import portal.settings
import webhook_registry.settings
from common.messaging.connection import CONNECT_TIMEOUT
from common.messaging.requests import LOOK_UP, SEARCH, SUGGEST
from common.runtime.settings import BrokerSettings, ProcessSettings
from ingest.registers.brreg.accounts_sync import BrregAccountsSettings
from ingest.registers.brreg.group_sync import GroupSettings
from ingest.registers.cvr.accounts_sync import FilingsSettings
from ingest.registers.cvr.sync import CvrSettings
from ingest.registers.peppol.sync import PeppolSettings
from register_store.settings import StoreSettings as RegisterSettings
from tests.contract.manifests.reading import ROOT
from webhook_store.settings import StoreSettings as WebhookSettings

#: Stands for a Secret's value when settings are made from a manifest's variables.
EXAMPLES = {
    "AMQP_URL": "amqps://user:password@rabbitmq.example:5671/",
    "MONGO_URL": "mongodb://mongodb.example:27017/?replicaSet=rs0",
    "SESSION_KEY": "dHJpYWwtb25seS1ub3QtYS1zZWNyZXQtMzItYnl0ZXM=",
    "SMTP_USERNAME": "example",
    "SMTP_PASSWORD": "example",
    "CVR_USER": "example",
    "CVR_PASSWORD": "example",
    "WEBHOOK_SECRET_KEYS": "example:dHJpYWwtb25seS1ub3QtYS1zZWNyZXQtMzItYnl0ZXM=",
}


#: The lookup service drains these one after the other, each within a limit of its own.
QUEUES_OF_A_COUNTRY = len((LOOK_UP, SEARCH, SUGGEST))


@dataclass(frozen=True)
class Service:
    """A service of this repository: its folder is `name`."""

    name: str
    settings: type[ProcessSettings]
    #: The settings of its commands.
    command_settings: type[BaseSettings]

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")

    @property
    def folder(self) -> Path:
        return ROOT / "services" / self.name

    @property
    def is_runnable(self) -> bool:
        """True if `python -m <module>` exists."""
        return importlib.util.find_spec(f"{self.module}.__main__") is not None

    @cached_property
    def project(self) -> Mapping[str, Any]:
        return dict(tomllib.loads((self.folder / "pyproject.toml").read_text())["project"])

    @property
    def version(self) -> str:
        return str(self.project["version"])

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports it listens on by default, by the names that the manifests give them."""
        fields = self.settings.model_fields
        names = {"http": "http_port", "admin": "admin_port"}
        return {name: fields[field].default for name, field in names.items() if field in fields}

    def longest_stop(self, values: Mapping[str, str | None]) -> timedelta:
        """The maximum time to stop where the broker does not respond and all work takes long."""
        configured = self.configured(values)
        # A process without that setting ends at once.
        grace: timedelta = getattr(configured, "shutdown_grace", timedelta())
        if isinstance(configured, lookup.settings.Settings):
            queues = QUEUES_OF_A_COUNTRY * len(configured.countries)
            grace = queues * (timedelta(seconds=CONNECT_TIMEOUT) + grace)
        return configured.shutdown_delay + grace

    def configured(self, values: Mapping[str, str | None]) -> ProcessSettings:
        """Its settings out of variables; raises ValidationError for bad values."""
        given: dict[str, Any] = {
            name.lower(): EXAMPLES[name] if value is None else value
            for name, value in values.items()
        }
        return self.settings(**given)

    def faults(self, values: Mapping[str, str | None], *, command: bool = False) -> list[str]:
        """Faults of variables: unknown, missing or invalid ones."""
        wanted = self.command_settings if command else self.settings
        known = {name.upper() for name in self.settings.model_fields}
        required = {
            name.upper() for name, field in wanted.model_fields.items() if field.is_required()
        }
        found = [f"{name} is no setting of {self.module}" for name in values.keys() - known]
        found += [f"{name} is missing" for name in required - values.keys()]
        if not found and not command:
            try:
                self.configured(values)
            except ValidationError as error:
                found = [str(fault["loc"]) + fault["msg"] for fault in error.errors()]
        return sorted(found)


class _IngestSettings(
    ingest.settings.Settings,
    GroupSettings,
    BrregAccountsSettings,
    CvrSettings,
    FilingsSettings,
    PeppolSettings,
):
    """The settings of `serve all`."""


SERVICES = {
    service.name: service
    for service in (
        Service("gateway", gateway.settings.Settings, gateway.settings.KeySettings),
        Service("lookup", lookup.settings.Settings, lookup.settings.Settings),
        Service("ingest", _IngestSettings, RegisterSettings),
        Service("webhook-registry", webhook_registry.settings.Settings, WebhookSettings),
        Service("dispatcher", dispatcher.settings.Settings, BrokerSettings),
        Service("portal", portal.settings.Settings, portal.settings.Settings),
    )
}

#: The sender of digests, a command of the registry that serves.
DIGESTS = Service("webhook-registry", webhook_registry.settings.DigestSettings, WebhookSettings)

_IMAGE = re.compile(r"company-registry/(?P<name>[a-z-]+?)(?P<samples>-samples)?:(?P<tag>[^:]+)")


def service_of(image: str, command: Sequence[str] = ()) -> Service:
    """The service that an image runs with a command; the image of the samples is ingest's."""
    match = _IMAGE.fullmatch(image)
    assert match is not None, image
    if list(command) == ["digests"]:
        return DIGESTS
    return SERVICES[match["name"]]


def tag_of(image: str) -> str:
    return image.rpartition(":")[2]
