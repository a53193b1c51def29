"""Settings of the Norwegian register."""

from pydantic import AnyHttpUrl, Field

from common.runtime.settings import Duration
from lookup.ingest.register_settings import HttpsRegisterUrl, RegisterSettings


class BrregSettings(RegisterSettings):
    brreg_url: HttpsRegisterUrl = Field(
        default=AnyHttpUrl("https://data.brreg.no/enhetsregisteret/api"),
        description="the Norwegian register",
    )
    brreg_reconcile_interval: Duration = Field(
        default="P7D",
        validate_default=True,
        description="interval of the comparison with Norway's whole files",
    )
