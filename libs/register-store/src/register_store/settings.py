"""Settings shared by the services that use the database of the registers."""

from pydantic import Field

from common.runtime.settings import DatabaseSettings, Duration, duration


class RegisterDatabaseSettings(DatabaseSettings):
    """The settings of a process that uses the database of the registers."""

    register_db: str = Field(default="register", description="database of the registers")


class StoreSettings(RegisterDatabaseSettings):
    """The settings of a process that also uses the events."""

    outbox_retention: Duration = duration(
        "P30D", "retention of an event after its publication, and maximum wait for it"
    )
