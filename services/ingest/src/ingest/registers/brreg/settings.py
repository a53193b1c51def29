"""Settings of the Norwegian register."""

from pydantic import AnyHttpUrl, Field

from common.runtime.settings import Duration, duration
from ingest.following.settings import HttpsRegisterUrl, RegisterSettings


class BrregSettings(RegisterSettings):
    """The settings of the Norwegian register."""

    brreg_url: HttpsRegisterUrl = Field(
        default=AnyHttpUrl("https://data.brreg.no/enhetsregisteret/api"),
        description="the Norwegian register",
    )
    brreg_reconcile_interval: Duration = duration(
        "P7D", "interval of the comparison with Norway's whole files"
    )
