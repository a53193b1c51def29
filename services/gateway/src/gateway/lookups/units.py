"""Parsing of a request for a page of production units."""

from common.contracts.lookup import MAX_UNITS, SearchType, UnitsRequest
from gateway.http.parameters import COUNTRY, Parameters, Reading
from gateway.lookups.terms import InvalidTerm, normalise

VAT, LIMIT, AFTER = "vat", "limit", "after"


def parse_units(country: str, vat: str, parameters: Parameters) -> UnitsRequest:
    """Parse the path's country and registration number, and the page; raises InvalidParameter."""
    reading = Reading({**parameters, COUNTRY: (country,), VAT: (vat,)})
    chosen, number = reading.country(), reading.single(VAT)
    if chosen is not None and number is not None:
        try:
            number = normalise(SearchType.VAT, number, chosen)
        except InvalidTerm as invalid:
            reading.invalid(VAT, str(invalid))
    limit = reading.number(LIMIT, 1, MAX_UNITS, MAX_UNITS)
    after = reading.single(AFTER) or ""
    if reading.faults or chosen is None or number is None:
        raise reading.problem()
    return UnitsRequest(country=chosen, vat=number, limit=limit, after=after)
