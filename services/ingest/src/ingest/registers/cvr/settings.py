"""Settings of the Danish register."""

import structlog
from pydantic import AnyHttpUrl, Field, SecretStr, model_validator

from common.runtime.settings import Duration, duration
from ingest.following.settings import RegisterSettings, RegisterUrl


class CvrSettings(RegisterSettings):
    """The settings of the Danish register."""

    cvr_url: RegisterUrl = Field(
        default=AnyHttpUrl("http://distribution.virk.dk/cvr-permanent"),
        description="the Danish register, which is available over plain HTTP",
    )
    cvr_user: str = Field(default="", description="user name issued by the Danish register")
    cvr_password: SecretStr = Field(default=SecretStr(""), description="its password")
    cvr_allow_plaintext: bool = Field(
        default=False, description="allow sending that password if CVR_URL is plain HTTP"
    )
    cvr_overlap: Duration = duration(
        "PT1H", "time after its own time stamp at which a Danish change may still appear"
    )

    def missing(self) -> str | None:
        """Returns a message if the register cannot be followed without more settings, else None."""
        return None if self.cvr_user else "the Danish register needs CVR_USER and CVR_PASSWORD"

    def warn(self) -> None:
        """Logs a warning if the register is reached over plain HTTP."""
        if self.cvr_url.scheme == "http":
            structlog.get_logger().warning("cvr.plaintext", url=str(self.cvr_url))

    @model_validator(mode="after")
    def _password_is_encrypted(self) -> "CvrSettings":
        if self.cvr_url.scheme == "http" and not self.cvr_allow_plaintext and self.cvr_user:
            raise ValueError(
                "CVR_URL is plain HTTP, which exposes the password: "
                "set CVR_ALLOW_PLAINTEXT=true to accept that"
            )
        return self
