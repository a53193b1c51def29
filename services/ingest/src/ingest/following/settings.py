"""Settings of a register; each package of `ingest.registers` derives its own."""

from typing import Annotated, Final

from pydantic import AfterValidator, AnyHttpUrl

from common.runtime.settings import EnvironmentSettings

#: Requests to these hosts do not leave the machine.
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


def _without_credentials(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.username is not None or url.password is not None:
        # URLs are logged, so neither the URL nor this message may contain a password.
        raise ValueError("leave user and password out of the URL, which is logged")
    return url


def _encrypted(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.scheme == "http" and url.host not in _LOOPBACK:
        raise ValueError("use https, which this register offers")
    return url


RegisterUrl = Annotated[AnyHttpUrl, AfterValidator(_without_credentials)]
HttpsRegisterUrl = Annotated[RegisterUrl, AfterValidator(_encrypted)]


class RegisterSettings(EnvironmentSettings):
    """Settings of one register; a register without settings uses this class."""

    def missing(self) -> str | None:
        """Returns an error message if a setting that `sync` requires is missing."""
        return None

    def warn(self) -> None:
        """Logs unsafe settings."""
