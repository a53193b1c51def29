"""Values that release 1.1 read otherwise in the same document (ADR 0114).

May be deleted when no deployment has data of that release.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from common.contracts.company import (
    Company,
    Owner,
    OwnerRole,
    RestructuringType,
    Role,
    RoleCode,
)
from ingest.records.records import in_order
from ingest.registers.cvr.codes import BOARD_FUNCTIONS, PROCEDURES, Kind
from ingest.registers.cvr.company_documents import CvrCompany
from ingest.registers.cvr.dated_values import State, fold_word, meaning_of
from ingest.registers.cvr.employees import counted
from ingest.registers.cvr.owners import BESIDE, Present, owners_in_order
from ingest.registers.cvr.reorganisations import GivenReorganisation
from register_store.documents import dump_all

#: The code of the only end of a procedure that was read.
_LIFTED: Final = "2"
#: Bodies by a part of their folded names.
_BOARDS: Final = ("BESTYRELSE", "FORRETNINGSUDVALG")
_BODIES: Final = {
    "DIREKTION": RoleCode.DIRECTOR,
    "DAGLIG LEDELSE": RoleCode.DIRECTOR,
    "FILIALBESTYRER": RoleCode.BRANCH_MANAGER,
    "TILSYNSRAAD": RoleCode.SUPERVISORY_BOARD_MEMBER,
}
#: More than the bodies and functions that occur often.
_MAX_ROLES: Final = 4096


def read_before(
    company: CvrCompany,
    public: Company,
    owners: Sequence[tuple[Present, Owner]],
    roles: Sequence[tuple[Present, Role]],
) -> dict[str, Any] | None:
    """Returns the fields that read otherwise, with their values then; None for most documents."""
    earlier = {
        **_employees(company, public),
        **(_status(company) if company.status else {}),
        **(_merged(company) if company.reorganisations else {}),
        # The register's note on its own record was not read.
        **({"remarks": []} if public.remarks else {}),
        **_owners(owners),
        **_roles(roles),
    }
    return earlier or None


def _owners(owners: Sequence[tuple[Present, Owner]]) -> dict[str, bytes]:
    """Returns the list in which each owner began with the last registration, and once a name.

    Owners of votes alone were not in it.
    """
    then = [
        (entry, one.held if entry.role is OwnerRole.OWNER else one.function)
        for one, entry in owners
    ]
    read = [(entry, last.since) for entry, last in then if last is not None]
    names = {(one.name, one.vat, one.role, one.share, one.votes, since) for one, since in read}
    if len(names) == len(owners) and all(one.since == since for one, since in read):
        return {}
    before = owners_in_order(
        dict.fromkeys(
            one.model_copy(update={**BESIDE[Owner], "since": since}) for one, since in read
        )
    )
    return {"owners": dump_all(before)}


def _roles(roles: Sequence[tuple[Present, Role]]) -> dict[str, bytes]:
    """Returns the list in which each began with the last registration, and once a name.

    Bodies had fewer names by which they were known, and their names were not in the text.
    """
    read = [(entry, _role(one)) for one, entry in roles]
    names = {(one.name, one.vat, *then) for one, then in read}
    if len(names) == len(roles) and all(
        (one.role, one.role_text, one.since) == then for one, then in read
    ):
        return {}
    before = in_order(
        dict.fromkeys(
            one.model_copy(update={**BESIDE[Role], **then._asdict()}) for one, then in read
        )
    )
    return {"roles": dump_all(before)}


class _Role(NamedTuple):
    """What was read otherwise of a role."""

    role: RoleCode
    role_text: str
    since: str | None


def _role(one: Present) -> _Role:
    membership, function = one.membership, one.function
    word = (function and function.vaerdi) or ""
    names = tuple([name.navn or "" for name in membership.organisation.organisations_navn])
    code = _role_code(membership.kind, names, word)
    return _Role(code, word, None if function is None else function.since)


@lru_cache(_MAX_ROLES)
def _role_code(kind: Kind | None, names: Sequence[str], word: str) -> RoleCode:
    """Returns the code of a role by parts of the names that its organisation has ever had."""
    bodies, function = " ".join(map(fold_word, names)), fold_word(word)
    if kind is Kind.AUDIT:
        is_sustainability = "BAEREDYGTIG" in f"{bodies} {function}"
        return RoleCode.SUSTAINABILITY_AUDITOR if is_sustainability else RoleCode.AUDITOR
    if kind is not Kind.BODY:
        return RoleCode.SIGNATORY if kind is Kind.SIGNATORIES else RoleCode.OTHER
    if any(board in bodies for board in _BOARDS):
        found = (code for part, code in BOARD_FUNCTIONS.items() if part in function)
        return next(found, RoleCode.BOARD_MEMBER)
    return next((code for part, code in _BODIES.items() if part in bodies), RoleCode.OTHER)


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
