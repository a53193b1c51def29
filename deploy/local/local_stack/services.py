"""The services that `make run` starts, in this order, and stops in the reverse one."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from local_stack import ports
from local_stack.certificates import Certificates, certificates
from local_stack.run_files import sealing_key, session_key
from local_stack.settings import StackSettings


@dataclass(frozen=True, slots=True)
class Service:
    #: Runs with `python -m <module> <command>`.
    module: str
    #: The setting of its operational port.
    admin_port: str
    #: Settings in addition to the servers' URLs.
    environment: Callable[[StackSettings], Mapping[str, str]] = lambda _settings: {}
    #: True if its command `indexes` prepares a database: that of lookup is prepared by ingest, that
    #: of the dispatcher by the registry.
    has_indexes: bool = True
    command: tuple[str, ...] = ("serve",)

    @property
    def admin_url_name(self) -> str:
        """The name of its operational address in `.run/env`, such as LOOKUP_ADMIN_URL."""
        return self.admin_port.removesuffix("_port").upper() + "_URL"

    def port(self, settings: StackSettings) -> int:
        """The operational port."""
        port: int = getattr(settings, self.admin_port)
        return port


def receiver_certificates(settings: StackSettings) -> Certificates:
    """Issues certificates for a receiver on this machine, which the dispatcher may call."""
    return certificates(settings.run_dir / "receiver")


def _for_gateway(settings: StackSettings) -> Mapping[str, str]:
    return {
        "HTTP_HOST": settings.http_host,
        "HTTP_PORT": str(settings.http_port),
        "PORTAL_URL": settings.portal_url,
    }


def _for_lookup(settings: StackSettings) -> Mapping[str, str]:
    return {"INDEX_DIR": str(settings.run_dir.absolute() / "index")}


def _for_ingest(settings: StackSettings) -> Mapping[str, str]:
    """Returns the settings for built-in registers, which accept any credentials and rate."""
    return {
        "CVR_USER": "sample",
        "CVR_PASSWORD": "sample",
        "CVR_ALLOW_PLAINTEXT": "true",
        "SYNC_INTERVAL": "PT2S",
        # Changes are listed immediately there; a longer overlap would be read again every time.
        "CVR_OVERLAP": "PT1M",
        "CVR_FILINGS_OVERLAP": "PT1M",
        "CVR_FILINGS_INTERVAL": "PT10S",
        "PEPPOL_INTERVAL": "PT10S",
        "PEPPOL_MAX_DOWNLOADS_PER_DAY": "100000",
        "DOWNLOAD_DIR": str(settings.run_dir.absolute()),
    }


def _for_webhooks(settings: StackSettings) -> Mapping[str, str]:
    """Returns settings that permit webhooks to this machine, unless the environment has some."""
    own = {
        "WEBHOOK_SECRET_KEYS": sealing_key(settings.run_dir),
        "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
        "WEBHOOK_EXTRA_CA_FILE": str(receiver_certificates(settings).ca_file),
    }
    return {name: os.environ.get(name) or value for name, value in own.items()}


def _for_portal(settings: StackSettings) -> Mapping[str, str]:
    return {
        "REGISTRY_URL": settings.base_url,
        "API_REFERENCE_URL": f"{settings.base_url}/docs",
        "SESSION_KEY": session_key(settings.run_dir),
        "HTTP_HOST": settings.http_host,
        "HTTP_PORT": str(settings.portal_port),
        # This machine has no certificate.
        "SECURE_COOKIES": "false",
    }


SERVICES = (
    Service("lookup", "lookup_admin_port", _for_lookup, has_indexes=False),
    Service("webhook_registry", "registry_admin_port", _for_webhooks),
    Service("dispatcher", "dispatcher_admin_port", _for_webhooks, has_indexes=False),
    Service("gateway", "gateway_admin_port", _for_gateway),
)

#: Reads the changes of the built-in registers, once the services receive events.
INGEST = Service("ingest", "ingest_admin_port", _for_ingest, command=("serve", "all"))

#: The pages of the API, which call it like any client.
PORTAL = Service("portal", "portal_admin_port", _for_portal, has_indexes=False)


def is_ready(port: int) -> bool:
    """Returns True if the service with that operational port is ready and passes every check.

    The gateway is ready without its dependencies, so each of its checks has to pass too.
    """
    status, body = ports.http_get(port, "/readyz")
    return status == HTTPStatus.OK and all(
        check == "ok" for check in json.loads(body)["checks"].values()
    )
