"""Keys of companies and units across both registers.

A key is its text, `<country>:<number>`, with fields. MongoDB, JSON and logs take it as it is, and
it hashes as fast as a string; a named tuple would be stored by MongoDB as an array.
"""

import re
from collections.abc import Callable
from typing import Self

from common.domain.countries import FORMATS, Country

_COMPANY = re.compile(
    "|".join(f"{country}:[0-9]{{{row.vat_digits}}}" for country, row in FORMATS.items())
)


class RegisterKey(str):
    """The key of a company or a unit."""

    __slots__ = ()

    def __new__(cls, country: Country, number: str) -> Self:
        return str.__new__(cls, f"{country}:{number}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the key with this text, which is trusted: it was stored or validated before."""
        return str.__new__(cls, text)

    @property
    def country(self) -> Country:
        """The country of the register."""
        return Country(self.partition(":")[0])

    @property
    def number(self) -> str:
        """The number without its country."""
        return self.partition(":")[2]

    def __reduce__(self) -> tuple[Callable[..., "RegisterKey"], tuple[type["RegisterKey"], str]]:
        return str.__new__, (type(self), str(self))


class CompanyKey(RegisterKey):
    """A company by its registration number, e.g. `dk:25052943`."""

    __slots__ = ()

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Returns the key that a client wrote, its country in either case; None for no key.

        Check digits are not compared: a filter may name a company that ended.
        """
        folded = text.lower()
        return cls.parse(folded) if _COMPANY.fullmatch(folded) else None

    @property
    def vat(self) -> str:
        """The registration number (CVR or organisation number), digits only."""
        return self.number


class UnitKey(RegisterKey):
    """A production unit by its number: ten digits in Denmark, nine in Norway."""

    __slots__ = ()
