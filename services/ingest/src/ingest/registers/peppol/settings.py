"""Settings of the Peppol Directory."""

from pydantic import AnyHttpUrl, Field

from common.runtime.settings import Duration, duration
from ingest.following.settings import HttpsRegisterUrl, RegisterSettings


class PeppolSettings(RegisterSettings):
    """The settings of the Peppol Directory."""

    peppol_url: HttpsRegisterUrl = Field(
        default=AnyHttpUrl("https://directory.peppol.eu"), description="the Peppol Directory"
    )
    peppol_interval: Duration = duration("P1D", "time between Peppol exports")
    peppol_max_downloads_per_day: int = Field(
        default=3, ge=1, description="downloads that the directory allows in 24 hours"
    )
