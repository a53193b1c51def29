"""Records of companies and units that have ended: their last stored state, with the end added."""

from dataclasses import dataclass

import orjson

from common.contracts.company import Company, CompanyKey, ProductionUnit, Status, UnitKey
from ingest.changes.states import CompanyState, Known, UnitState
from ingest.records.records import CompanyRecord, UnitRecord
from register_store.canonical_json import dump


@dataclass(frozen=True, slots=True)
class Ended:
    """The register has deleted a company or unit after its end."""

    #: The last day, `YYYY-MM-DD`; None if the register does not name it.
    on: str | None
    #: The rest of the answer; mostly too little for a record.
    record: CompanyRecord | UnitRecord | None = None
    #: The register's word for the status.
    word: str = "Slettet"


def ended_record(
    key: CompanyKey | UnitKey, ended: Ended, known: Known
) -> CompanyRecord | UnitRecord | None:
    """Returns the last stored record with its end, or else the answer's; None if neither exists.

    The answer has little more than the date, and lookups return name and address as well.
    """
    company = known.companies.get(CompanyKey.parse(key))
    if company is not None and company.core is not None:
        return _ended_company(company, company.core, ended)
    unit = known.units.get(UnitKey.parse(key))
    if unit is not None:
        return _ended_unit(UnitKey.parse(key), unit, ended.on)
    return ended.record


def _ended_company(state: CompanyState, core: bytes, ended: Ended) -> CompanyRecord:
    last = Company.model_validate_json(core)
    on = last.ended or ended.on
    end = {
        "status": Status.ENDED,
        "status_text": ended.word,
        "status_since": on,
        "ended": on,
    }
    return CompanyRecord.of(
        last.model_copy(update=end),
        phones=state.phones,
        units=state.units,
        owners=None,
        version=None,
    )


def _ended_unit(key: UnitKey, state: UnitState, on: str | None) -> UnitRecord:
    last = ProductionUnit.model_validate_json(state.core)
    # A unit that closed before it was deleted keeps the day on which it closed.
    end = {"status": Status.ENDED, "ended": last.ended or on}
    return UnitRecord(
        key, state.company, dump(last.model_copy(update=end)), state.phones, version=None
    )


def has_ended(key: CompanyKey | UnitKey, known: Known) -> bool:
    """Returns True if the stored company or unit has ended: a register's file may lack it."""
    stored = known.companies.get(CompanyKey.parse(key)) or known.units.get(UnitKey.parse(key))
    core = None if stored is None else stored.core
    return core is not None and bool(orjson.loads(core)["status"] == Status.ENDED)
