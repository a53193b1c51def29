"""Parsing of requests for copies."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, PlainValidator, ValidationInfo

from common.contracts.company import Country, Include
from common.contracts.find import ExportRequest, FindRequest, FindSort
from common.contracts.lookup import SearchType
from gateway.http.parameters import REQUIRED, Invalid, Parameters, one_country, single
from gateway.lookups.codes import Stored
from gateway.lookups.find import Filters
from gateway.lookups.lookup import included_parts
from gateway.lookups.terms import InvalidTerm, normalise

#: Parts of a company; alternatives are of a search, and subsidiaries have lines of their own.
INCLUDES: Final = tuple(
    part for part in Include if part not in (Include.ALTERNATIVES, Include.SUBSIDIARIES)
)


def _after(values: Sequence[str], info: ValidationInfo) -> str:
    country = info.data.get("country", tuple(Country))[0]
    try:
        return normalise(SearchType.VAT, single(values), country)
    except InvalidTerm as invalid:
        raise Invalid(str(invalid)) from None


class _ExportQuery(Filters):
    country: Annotated[
        tuple[Country, ...], one_country(), AfterValidator(lambda country: (country,))
    ] = REQUIRED
    after: Annotated[str, PlainValidator(_after)] = ""
    include: Annotated[tuple[Include, ...], included_parts(INCLUDES)] = ()


def parse_export(parameters: Parameters, stored: Stored) -> ExportRequest:
    """Returns the request for a copy; raises MissingParameter or InvalidParameter.

    `stored` has the texts of codes, if a filter has words. Without `status` a copy has every
    company, unlike a list.
    """
    query = _ExportQuery.parse(parameters, stored=stored)
    [country] = query.country
    filters = query.request(country, statuses=(), sort=FindSort.NAME, limit=0, after=None)
    is_whole = filters == FindRequest(country=country, limit=0)
    return ExportRequest(
        country=country,
        include=query.include,
        filter=None if is_whole else filters,
        after=query.after,
    )
