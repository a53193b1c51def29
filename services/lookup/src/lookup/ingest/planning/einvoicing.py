"""A company's list of e-invoicing identifiers: its own and those of its units."""

from common.contracts.company import CompanyKey, EinvoicingEntry
from lookup.ingest.changes import PendingEvent, einvoicing_events
from lookup.ingest.planning.states import Known


def einvoicing_changes(
    company: CompanyKey, before: Known, after: Known
) -> tuple[PendingEvent, ...]:
    """The events of a changed list; both states must contain all of its identifiers."""
    return einvoicing_events(_entries(company, before), _entries(company, after))


def _entries(company: CompanyKey, known: Known) -> list[EinvoicingEntry]:
    """In the order of lookups."""
    own = sorted(
        (state.holder != company, identifier)
        for identifier, state in known.participants.items()
        if known.company_of(state.holder) == company
    )
    return [
        EinvoicingEntry.model_validate_json(known.participants[identifier].entry)
        for _, identifier in own
    ]
