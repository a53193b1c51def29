"""Keys of companies and units across both registers."""

from typing import NewType

from common.domain.countries import Country

#: `<country>:<registration number>`, e.g. `dk:25052943`.
CompanyKey = NewType("CompanyKey", str)

#: `<country>:<unit number>`: ten digits in Denmark, nine in Norway.
UnitKey = NewType("UnitKey", str)


def company_key(country: Country, vat: str) -> CompanyKey:
    return CompanyKey(f"{country}:{vat}")


def unit_key(country: Country, number: str) -> UnitKey:
    return UnitKey(f"{country}:{number}")
