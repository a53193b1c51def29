"""Events of companies of which a part changed: their units and e-invoicing identifiers."""

from collections.abc import Callable, Iterable, Sequence

import orjson

from common.contracts.company import CompanyKey
from lookup.changes.differences import Version, einvoicing_events
from lookup.changes.states import ApplyContext, Bump, Known
from lookup.events.event import OutboxEvent, PendingEvent, events_of_change


def events_of_bumps(
    bumps: Sequence[Bump],
    known: Known,
    context: ApplyContext,
    pending_events: Callable[[CompanyKey], Iterable[PendingEvent]],
) -> tuple[OutboxEvent, ...]:
    """Returns the events of each company; none if changes are not published."""
    if not context.publish_events:
        return ()
    return tuple(
        event
        for bump in bumps
        for event in events_of_change(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            pending_events=pending_events(bump.key),
            at=context.at,
        )
    )


def einvoicing_changes(
    company: CompanyKey, before: Known, after: Known
) -> tuple[PendingEvent, ...]:
    """Returns the events of a changed list; both states must contain all of its identifiers."""
    return einvoicing_events(_entries(company, before), _entries(company, after))


def _entries(company: CompanyKey, known: Known) -> list[Version]:
    """A company's own identifiers and those of its units, in the order of lookups."""
    own = sorted(
        (state.holder != company, identifier)
        for identifier, state in known.participants.items()
        if known.company_of(state.holder) == company
    )
    return [orjson.loads(known.participants[identifier].entry) for _, identifier in own]
