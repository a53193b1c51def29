"""The companies of an index that a customer's record may be.

The searches are those of lookups, with two more: for the same name at the address or in the place
of the record, since a chain has hundreds of namesakes, and for the domain of its e-mail address or
web site.
"""

from collections.abc import Iterator

import tantivy

from common.contracts.company import CompanyKey
from common.domain.written import read_contacts
from lookup.search.addresses import ParsedAddress
from lookup.search.index import schema as fields
from lookup.search.index.documents import area_terms, house_terms
from lookup.search.index.names import NameSearch, each_once
from lookup.search.index.schema import IndexedDocument, View, all_of, one_of
from lookup.search.indexed_company import SearchHit, is_active
from lookup.search.match import ReadRecord
from lookup.search.scoring import MAX_WHOLE_EDITS, Query, whole_edits
from lookup.search.similarity import EXACT

#: The score of a company that has only the domain of an e-mail address.
_SAME_DOMAIN = 80.0
#: Candidates of each search.
_NAMED, _HERE, _AT_THE_ADDRESS, _OF_CONTACTS = 8, 8, 16, 8
#: Maximum documents that contain the words of a name in a place, which bounds its time.
_IN_DOCUMENTS = 100_000


def match_candidates(view: View, record: ReadRecord) -> list[CompanyKey]:
    """Returns the companies that a record may be, each once, to be compared with it."""
    found: dict[CompanyKey, None] = {}
    for company in _found(view, record):
        found.setdefault(company)
    return list(found)


def search_contacts(view: View, contact: str, limit: int) -> list[SearchHit]:
    """Returns the companies with an e-mail address or a domain, the largest active one first.

    Where none has the address, those with its domain have a lower score.
    """
    domain = read_contacts(contact, None).email_domain
    for term, score in ((contact, EXACT), (domain, _SAME_DOMAIN)):
        query = view.term(fields.KIND, fields.CONTACT + term)
        found, companies = view.counted(query, limit) if term else ([], 0)
        if found:
            first, *rest = (SearchHit(one.company, score) for one in found)
            return [first._replace(others=companies - 1), *rest]
    return []


def _found(view: View, record: ReadRecord) -> Iterator[CompanyKey]:
    contacts = [fields.CONTACT + term for term in record.contacts.terms]
    if contacts:
        query = view.any_of(fields.KIND, contacts)
        yield from (one.company for one in view.best_ranked(query, _OF_CONTACTS))
    if record.name is not None:
        yield from _by_name(view, record, record.name)
    for address in record.addresses[:1]:
        yield from (one.company for one in _at(view, address))


def _by_name(view: View, record: ReadRecord, query: Query) -> Iterator[CompanyKey]:
    search = NameSearch(view, query)
    exact = search.exact().candidates
    if not exact and query.as_form:
        query = query.as_form
        search = NameSearch(view, query)
        exact = search.exact().candidates
    yield from (one.document.company for one in each_once(exact)[:_NAMED])
    here = [one for each in _here(view, record, query, is_exact=bool(exact)) for one in each]
    yield from (one.company for one in here)
    if not any(is_active(one.document.order) for one in exact):
        near = each_once(search.near(1).candidates)
        yield from (one.document.company for one in near[:_NAMED])


def _here(
    view: View, record: ReadRecord, query: Query, *, is_exact: bool
) -> Iterator[list[IndexedDocument]]:
    key = view.term(fields.NAME, query.name.key)
    street = [view.term(fields.STREET, one.street.key) for one in record.addresses[:1]]
    area = _area(view, record)
    if is_exact:
        for place in filter(None, (*street, area)):
            yield view.best_ranked(all_of([key, place]), _HERE)
    elif area is not None:
        edits = min(MAX_WHOLE_EDITS, whole_edits(len(query.name.key)))
        if edits:
            yield view.best_ranked(
                all_of([view.within(fields.NAME, query.name.key, edits), area]), _HERE
            )
        words = [word for word in NameSearch(view, query).words() if view.frequency(word)]
        if rare := view.rarest(words, _IN_DOCUMENTS) if words else []:
            yield view.best_scored(all_of([view.any_of(fields.WORD, rare), area]), _HERE)


def _area(view: View, record: ReadRecord) -> tantivy.Query | None:
    if record.postal_code:
        return view.term(fields.AREA, record.postal_code)
    return view.term(fields.AREA, record.town) if record.town else None


def _at(view: View, address: ParsedAddress) -> list[IndexedDocument]:
    """Returns the best ranked companies at an address; a street without a house is none."""
    if address.house is None:
        return []
    terms = area_terms(address)
    parts = [view.term(fields.STREET, address.street.key)]
    parts.append(one_of(view.term(fields.HOUSE, one) for one in house_terms(address.house)))
    if terms:
        parts.append(one_of(view.term(fields.AREA, one) for one in terms))
    return view.best_ranked(all_of(parts), _AT_THE_ADDRESS)
