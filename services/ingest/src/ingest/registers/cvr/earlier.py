"""Values that release 1.1 read otherwise in the same document (ADR 0114).

May be deleted when no deployment has data of that release.
"""

from collections.abc import Sequence
from typing import Any, Final

from common.contracts.company import Company, Owner, RestructuringType, Role
from ingest.records.records import in_order
from ingest.registers.cvr.codes import PROCEDURES
from ingest.registers.cvr.company_documents import CvrCompany
from ingest.registers.cvr.dated_values import State, meaning_of
from ingest.registers.cvr.employees import counted
from ingest.registers.cvr.owners import Participants, owners_in_order
from ingest.registers.cvr.reorganisations import GivenReorganisation
from register_store.documents import dump_all

#: The code of the only end of a procedure that was read.
_LIFTED: Final = "2"


def read_before(
    company: CvrCompany,
    public: Company,
    owners: Sequence[Owner] | None,
    roles: Sequence[Role] | None,
) -> dict[str, Any] | None:
    """Returns the fields that read otherwise, with their values then; None for most documents."""
    earlier = {
        **_employees(company, public),
        **(_status(company) if company.status else {}),
        **(_merged(company) if company.reorganisations else {}),
        # The register's note on its own record was not read.
        **({"remarks": []} if public.remarks else {}),
    }
    participants = company.participants
    if participants is not None and owners is not None and roles is not None:
        earlier |= _holders(participants, owners, roles)
    return earlier or None


def _holders(
    participants: Participants, owners: Sequence[Owner], roles: Sequence[Role]
) -> dict[str, bytes]:
    """Returns the lists in which each holder began with the last registration, and once a name."""
    if not participants.may_read_otherwise(owners, roles):
        return {}
    before = list(participants.read_before())
    then = owners_in_order(dict.fromkeys(owner for owner in before if isinstance(owner, Owner)))
    held = in_order(dict.fromkeys(role for role in before if isinstance(role, Role)))
    return {
        **({} if then == owners else {"owners": dump_all(then)}),
        **({} if held == roles else {"roles": dump_all(held)}),
    }


def _employees(company: CvrCompany, public: Company) -> dict[str, Any]:
    """Returns the employees with rounded full-time equivalents."""
    full_time = None if public.employees is None else public.employees.full_time_equivalents
    found = None if full_time is None or full_time.exact is None else counted(company)
    if found is None or full_time is None:
        return {}
    count, employees = found
    if count.antal_aarsvaerk is None:
        return {}
    rounded = round(count.antal_aarsvaerk)
    if rounded == full_time.exact:
        return {}
    fields = full_time.model_dump(mode="json")
    is_class = count.interval_kode_antal_aarsvaerk is not None
    fields |= {"exact": rounded} if is_class else dict.fromkeys(("min", "max", "exact"), rounded)
    return {"employees": {**employees.model_dump(mode="json"), "full_time_equivalents": fields}}


def _status(company: CvrCompany) -> dict[str, Any]:
    """Returns the status by the newest notice of a court that is in force, whatever it says."""
    state = company.state_by_words
    found = company.as_of.current(company.status)
    newest = [one for one in found if one.since == found[0].since]
    if newest and not any(one.statuskode == _LIFTED for one in newest):
        code, text = newest[0].kreditoplysningkode, newest[0].kreditoplysningtekst
        known = PROCEDURES.get(code or "")
        status = known[1] if known else meaning_of(text or "")
        if status is not None:
            state = State(status, text, newest[0].since)
    return {"status": state.status.value, "status_text": state.text, "status_since": state.since}


def _merged(company: CvrCompany) -> dict[str, Any]:
    """Returns the lists without names, by the sides as they were understood."""
    found: dict[str, list[dict[str, Any]]] = {"merged_into": [], "merged_from": []}
    by_type: Sequence[tuple[RestructuringType, Sequence[GivenReorganisation]]] = (
        (RestructuringType.MERGER, company.fusioner),
        (RestructuringType.DEMERGER, company.spaltninger),
    )
    numbers = {(one.type, one.number): one.date for one in company.reorganisations}
    for type_, given in by_type:
        for one in given:
            if (type_, one.enheds_nummer_organisation) not in numbers:
                continue
            day = numbers[type_, one.enheds_nummer_organisation]
            went_in = bool(one.indgaaende and not one.udgaaende)
            is_demerger = type_ is RestructuringType.DEMERGER
            gone = went_in and (company.ended is not None or is_demerger)
            entry = {"type": type_.value, "name": None, "vat": None, "date": day}
            found["merged_into" if gone else "merged_from"].append(entry)
    return found
