"""Parsing of requests for copies."""

from typing import Final

from common.contracts.company import CompanyKey, Country, Include
from common.contracts.export import ExportRequest
from common.contracts.find import FindRequest
from common.contracts.lookup import SearchType
from gateway.http.parameters import Parameters
from gateway.lookups.codes import Stored
from gateway.lookups.find_queries import NO_CODES, FindReading
from gateway.lookups.queries import AFTER, read_include
from gateway.lookups.terms import InvalidTerm, normalise

#: Parts of a company; alternatives are of a search, and subsidiaries have lines of their own.
INCLUDES: Final = tuple(
    part for part in Include if part not in (Include.ALTERNATIVES, Include.SUBSIDIARIES)
)


def parse_export(parameters: Parameters, stored: Stored = NO_CODES) -> ExportRequest:
    """Returns the request for a copy; raises MissingParameter or InvalidParameter.

    `stored` has the texts of codes, if a filter has words.
    """
    reading = _ExportReading(parameters, stored)
    country = reading.country()
    countries = tuple(Country) if country is None else (country,)
    owner = reading.owner()
    if owner is not None and owner.country not in countries:
        reading.invalid("owned_by", f"needs country={owner.country}, the register of both")
    filters = reading.companies(countries, owner)
    after = reading.place(countries)
    include = read_include(reading, INCLUDES)
    if reading.faults or country is None:
        raise reading.problem()
    return ExportRequest(
        country=country,
        include=include,
        filter=None if filters == _all(countries[0]) else filters,
        after=after,
    )


class _ExportReading(FindReading):
    def companies(self, countries: tuple[Country, ...], owner: CompanyKey | None) -> FindRequest:
        """Returns the filters; without `status` a copy has every company, unlike a list."""
        fields = self.filters(countries, owner)
        is_given = "status" in self.parameters or fields["ended"] is not None
        statuses = self.statuses(fields["ended"]) if is_given else ()
        return _all(countries[0]).model_copy(update={**fields, "statuses": statuses})

    def place(self, countries: tuple[Country, ...]) -> str:
        """Returns the registration number to go on after."""
        value = self.single(AFTER)
        if value is None:
            return ""
        try:
            return normalise(SearchType.VAT, value, countries[0])
        except InvalidTerm as invalid:
            self.invalid(AFTER, str(invalid))
        return ""


def _all(country: Country) -> FindRequest:
    return FindRequest(country=country, limit=0)
