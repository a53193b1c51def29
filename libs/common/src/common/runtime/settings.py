"""Settings come from the environment, once; an invalid one stops the process with a message.

Durations are ISO 8601 (`PT5S`, `P1DT12H`, `P2W`) or a number of seconds; years and months have no
fixed length and are refused.
"""

import re
import sys
from collections.abc import Callable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_AMOUNT = r"[0-9]{1,9}(?:[.,][0-9]{1,9})?"
_DURATION = re.compile(
    rf"(?P<sign>[+-]?)P(?=.*[0-9])(?:(?P<weeks>{_AMOUNT})W)?(?:(?P<days>{_AMOUNT})D)?"
    rf"(?:T(?=[0-9])(?:(?P<hours>{_AMOUNT})H)?(?:(?P<minutes>{_AMOUNT})M)?"
    rf"(?:(?P<seconds>{_AMOUNT})S)?)?"
)
_SECONDS = re.compile(rf"(?P<sign>[+-]?)(?P<seconds>{_AMOUNT})")


def read_duration(value: object) -> timedelta:
    """Returns the duration that a setting's text or number of seconds says; raises ValueError."""
    if isinstance(value, timedelta):
        return value
    text = str(value).strip().upper()
    found = _DURATION.fullmatch(text) or _SECONDS.fullmatch(text)
    if found is None:
        raise ValueError("give a duration in ISO 8601, such as PT5S or P1DT12H, or seconds")
    amounts = {name: float(amount.replace(",", ".")) for name, amount in _amounts(found)}
    span = timedelta(**amounts)
    return -span if found["sign"] == "-" else span


def _amounts(found: re.Match[str]) -> list[tuple[str, str]]:
    return [(name, text) for name, text in found.groupdict().items() if name != "sign" and text]


def listed(value: object) -> object:
    """Returns the parts of a comma-separated text."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _networks(value: object) -> object:
    parts = listed(value)
    return tuple(map(ip_network, parts)) if isinstance(parts, tuple) else parts


_HOST = r"[^\s@/?:,\[\]]+|\[[0-9A-Fa-f:.]+\]"
_PORT = r"6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]?\d{1,4}"
_SERVER = rf"({_HOST})(:({_PORT}))?"


def _url_of(*schemes: str, several: str = "") -> Callable[[SecretStr], SecretStr]:
    written = re.compile(
        rf"({'|'.join(map(re.escape, schemes))})://([^\s@/?]*@)?"
        rf"{_SERVER}(?P<others>(,{_SERVER})*)(/[^\s@?]*)?(\?\S*)?"
    )

    def checked(url: SecretStr) -> SecretStr:
        parts = written.fullmatch(url.get_secret_value())
        if parts is None:
            # The URL itself may hold a password and is not repeated.
            raise ValueError(
                f"write it as {schemes[0]}://<host>/…, with / @ ? of a password as %2F %40 %3F"
            )
        if several and parts["others"]:
            raise ValueError(several)
        return url

    return checked


Duration = Annotated[timedelta, BeforeValidator(read_duration)]
#: Comma-separated.
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_networks)]
#: 0 lets the system choose.
Port = Annotated[int, Field(ge=0, le=65_535)]
AmqpUrl = Annotated[
    SecretStr,
    AfterValidator(
        _url_of("amqp", "amqps", several="name one host, which may resolve to every node")
    ),
]
MongoUrl = Annotated[SecretStr, AfterValidator(_url_of("mongodb", "mongodb+srv"))]


def _proxy(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text and "://" not in text:
        text = f"http://{text}"
    return text or None


ProxyUrl = Annotated[
    Annotated[SecretStr, AfterValidator(_url_of("http", "https"))] | None, BeforeValidator(_proxy)
]


def duration(default: str, description: str) -> Any:
    """Returns the field of a `Duration`."""
    return Field(default=default, validate_default=True, description=description)


class EnvironmentSettings(BaseSettings):
    """Base of all settings, which may be combined."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")


class BrokerSettings(EnvironmentSettings):
    """The settings of a process that uses RabbitMQ."""

    amqp_url: AmqpUrl = Field(description="RabbitMQ, `amqp[s]://user:password@host:port/vhost`")


class DatabaseSettings(EnvironmentSettings):
    """The settings of a process that uses MongoDB."""

    mongo_url: MongoUrl = Field(description="MongoDB replica set, `mongodb://…/?replicaSet=rs0`")
    mongo_primary_timeout: Duration = duration(
        "PT30S",
        "time without a primary, while a new client finds one, after which a service ends, to be "
        "started again",
    )


class ProcessSettings(EnvironmentSettings):
    """Settings of every long-running process."""

    admin_host: str = Field(
        default="127.0.0.1", description="address of the operational port (health, metrics)"
    )
    admin_port: Port = Field(description="operational port: /healthz, /readyz, /metrics")
    log_level: str = Field(
        default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="minimum log level"
    )
    shutdown_delay: Duration = duration(
        "PT0S",
        "time for which a shutdown goes on serving, not ready, until load balancers have noticed",
    )
    shutdown_grace: Duration = duration("PT5S", "time that a shutdown waits for work in flight")
    otel_exporter_otlp_endpoint: str = Field(
        default="",
        pattern=r"^(https?://[^\s@]+)?$",
        description="collector that spans are exported to over OTLP/HTTP, "
        "`http[s]://host:port`; empty exports none",
    )
    otel_service_name: str = Field(
        default="", description="`service.name` of the spans; by default the process's name"
    )
    otel_traces_sampler_arg: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="share of the traces that begin here that is exported; a caller's trace is "
        "exported as its flags say",
    )


class ServiceSettings(ProcessSettings, BrokerSettings, DatabaseSettings):
    """Settings of every service; each adds its own."""


S = TypeVar("S", bound=BaseSettings)


def load(settings: type[S]) -> S:
    """Returns the settings from the environment; exits with 2 and a line for each invalid one.

    Only the first error of each setting is printed.
    """
    try:
        return settings()
    except ValidationError as error:
        faults: dict[str, str] = {}
        for fault in error.errors(include_url=False, include_input=False):
            if fault["type"] == "default_factory_not_called":
                continue  # a default that depends on the invalid setting
            name = str(fault["loc"][0]).upper() if fault["loc"] else ""
            missing = fault["type"] == "missing"
            message = "is not set" if missing else fault["msg"].removeprefix("Value error, ")
            faults.setdefault(name, message)
        for name, message in faults.items():
            # An error of several settings together names them itself.
            where = f"setting {name}" if name else "settings"
            sys.stderr.write(f"{where}: {message}\n")
        raise SystemExit(2) from None


def shown(settings: BaseSettings) -> dict[str, object]:
    """Returns the settings in a form safe to log: of secrets, only whether they are set."""
    return {
        name: bool(value) if isinstance(value, SecretStr) else str(value)
        for name, value in settings
    }
