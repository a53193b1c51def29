"""Settings of the lookup service; `python -m lookup settings` is the README's table."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AnyHttpUrl, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from common.contracts.company import Country
from common.runtime.settings import Duration, MongoUrl, Port, ProcessSettings, ServiceSettings


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def _hosts(value: object) -> object:
    hosts = value.lower().replace(",", " ").split() if isinstance(value, str) else value
    return tuple(hosts) if isinstance(hosts, list) else hosts


Countries = Annotated[tuple[Country, ...], NoDecode, BeforeValidator(_listed)]


class StoreSettings(BaseSettings):
    """What the commands need: the database alone."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    mongo_url: MongoUrl = Field(description="MongoDB replica set, `mongodb://…/?replicaSet=rs0`")
    register_db: str = Field(default="register", description="database of the registers")


class Settings(ServiceSettings):
    register_db: str = Field(default="register", description="database of the registers")
    admin_port: Port = Field(default=9102, description="operational port")
    countries: Countries = Field(
        default=(Country.DK, Country.NO), description="the registers this process answers for"
    )
    index_dir: Path = Field(description="where the search index keeps its saved copy")
    search_threads: int = Field(
        default=2, ge=1, le=64, description="searches by name or address that run at once"
    )
    commit_interval: Duration = Field(
        default="PT0.5S",
        validate_default=True,
        description="longest time before a change is found by name and address",
    )
    outbox_retention: Duration = Field(
        default="P30D",
        validate_default=True,
        description="how long an event is kept after it was published",
    )
    event_receipt_timeout: Duration = Field(
        default="PT2M",
        validate_default=True,
        description="how long the dispatcher's receipt of an event may take before the event is "
        "published again",
    )
    webhooks_db: str = Field(
        default="webhooks", description="the dispatcher's database; its receipts are read"
    )
    stop_limit: Duration = Field(
        default="PT5S", validate_default=True, description="how long a stop waits for running work"
    )


def _without_user(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.username is not None or url.password is not None:
        # The address is logged, so it is not the place for either, nor is this message.
        raise ValueError("leave user and password out of the address, which is no secret")
    return url


RegisterUrl = Annotated[AnyHttpUrl, AfterValidator(_without_user)]

#: Requests to these do not leave the machine.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class SyncSettings(ProcessSettings):
    """What `lookup sync` reads."""

    mongo_url: MongoUrl = Field(description="MongoDB replica set, `mongodb://…/?replicaSet=rs0`")
    register_db: str = Field(default="register", description="database of the registers")
    admin_port: Port = Field(default=9105, description="operational port, with `--follow`")
    brreg_url: RegisterUrl = Field(
        default=AnyHttpUrl("https://data.brreg.no/enhetsregisteret/api"),
        description="the Norwegian register",
    )
    cvr_url: RegisterUrl = Field(
        default=AnyHttpUrl("http://distribution.virk.dk/cvr-permanent"),
        description="the Danish register, which is offered over plain HTTP",
    )
    cvr_user: str = Field(default="", description="user that the Danish register has issued")
    cvr_password: SecretStr = Field(default=SecretStr(""), description="and the password")
    cvr_allow_plaintext: bool = Field(
        default=False, description="send that password over plain HTTP where CVR_URL is that"
    )
    peppol_url: RegisterUrl = Field(
        default=AnyHttpUrl("https://directory.peppol.eu"), description="the Peppol Directory"
    )
    register_ca_file: Path | None = Field(
        default=None, description="certificates (PEM) to trust beside the system's"
    )
    register_file_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_hosts)] = Field(
        default=(),
        description="other hosts that a register may redirect a whole file to, with commas between",
    )
    register_user_agent: str = Field(
        default="company-registry-lookup/0.1",
        min_length=1,
        description="what the registers are told of us; add whom to write to",
    )
    register_timeout: Duration = Field(
        default="PT30S", validate_default=True, description="limit of each wait for a register"
    )
    register_tries: int = Field(
        default=5, ge=1, description="how often a request is made before the pass is given up"
    )
    register_delay: Duration = Field(
        default="PT1S",
        validate_default=True,
        description="longest wait before a second try, doubled for each further one up to PT1M",
    )
    sync_interval: Duration = Field(
        default="PT1M",
        validate_default=True,
        description="from one pass to the next, with `--follow`",
    )
    sync_page_size: int = Field(
        default=1000,
        ge=1,
        le=3000,
        description="entries or documents asked for at a time; of Danish ones 100 at most",
    )
    cvr_overlap: Duration = Field(
        default="PT1H",
        validate_default=True,
        description="how long after its own time a Danish change may turn up",
    )
    reconcile_interval: Duration = Field(
        default="P7D",
        validate_default=True,
        description="from one comparison with Norway's whole files to the next",
    )
    peppol_interval: Duration = Field(
        default="P1D", validate_default=True, description="from one Peppol export to the next"
    )
    peppol_downloads_a_day: int = Field(
        default=3, ge=1, description="how often the directory lets it be downloaded in 24 hours"
    )
    download_dir: Path | None = Field(
        default=None, description="where whole files are kept while read; else the system's place"
    )

    @model_validator(mode="after")
    def _keep_secrets_off_the_wire(self) -> "SyncSettings":
        if self.cvr_url.scheme == "http" and not self.cvr_allow_plaintext and self.cvr_user:
            raise ValueError(
                "CVR_URL is plain HTTP, so the password could be read on its way: "
                "set CVR_ALLOW_PLAINTEXT=true if that is accepted"
            )
        for name, url in (("BRREG_URL", self.brreg_url), ("PEPPOL_URL", self.peppol_url)):
            if url.scheme == "http" and url.host not in _LOOPBACK:
                raise ValueError(f"{name} is plain HTTP: that register offers HTTPS")
        return self
