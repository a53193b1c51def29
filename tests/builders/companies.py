"""Companies with defaults for everything; a test names only what matters to it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

from pydantic import TypeAdapter

from common.contracts.company import (
    Address,
    Company,
    CompanyKey,
    Country,
    EinvoicingEntry,
    Owner,
    ProductionUnit,
    Role,
    RoleCode,
    Status,
    UnitKey,
)
from common.contracts.events import EventType, RegistryEvent, encode_event
from ingest.changes.states import Plan, StoredState
from ingest.records.records import (
    CompanyRecord,
    OwnersRecord,
    ParticipantRecord,
    Raw,
    Record,
    SourceVersion,
    UnitRecord,
)
from ingest.records.source import RegisterSource, parse
from register_store.documents import dump, dump_all

MONDAY = SourceVersion(datetime(2026, 3, 2, 5, 0, tzinfo=UTC))
TUESDAY = SourceVersion(datetime(2026, 3, 3, 5, 0, tzinfo=UTC))
#: The day on which tests read documents.
TODAY = date(2026, 3, 4)


def an_address(text: str = "Prøvevej 43, 1112 København K") -> Address:
    return Address(street=text.partition(",")[0], text=text, country="DK")


def a_company(**fields: Any) -> Company:
    return Company(
        **{
            "country": Country.DK,
            "vat": "12345674",
            "name": "Prøvefabrikken ApS",
            "status": Status.ACTIVE,
            "address": an_address(),
            **fields,
        }
    )


def a_norwegian_company(**fields: Any) -> Company:
    return a_company(**{"country": Country.NO, "vat": "987654321", **fields})


def a_norwegian_record(*, version: SourceVersion | None = MONDAY, **fields: Any) -> CompanyRecord:
    """A company without its owners, which come in a file of their own."""
    return a_company_record(a_norwegian_company(**fields), owners=None, version=version)


def a_renamed_record(
    name: str = "Nyt Navn ApS", *, version: SourceVersion | None = TUESDAY, **fields: Any
) -> CompanyRecord:
    return a_company_record(a_company(name=name, **fields), version=version)


def a_company_record(
    company: Company | None = None, *, version: SourceVersion | None = MONDAY, **fields: Any
) -> CompanyRecord:
    company = company or a_company()
    given = {"phones": (), "units": (), "owners": (), **fields}
    return CompanyRecord.of(company, version=version, **given)


def an_owner(**fields: Any) -> Owner:
    return Owner(**{"name": "Anna Testesen", "type": "person", **fields})


def an_owners_record(
    *owners: Owner,
    roles: Sequence[Role] = (),
    vat: str = "987654321",
    version: SourceVersion | None = MONDAY,
) -> OwnersRecord:
    owner_list = dump_all(owners) if owners else b"null"
    return OwnersRecord(CompanyKey(Country.NO, vat), owner_list, dump_all(roles), version)


def a_held_role(**fields: Any) -> Role:
    return Role(**{"role": RoleCode.DIRECTOR, "name": "Anna Testesen", "type": "person", **fields})


def a_unit(**fields: Any) -> ProductionUnit:
    return ProductionUnit(
        **{
            "number": "1012345678",
            "name": "Prøvefabrikken Nord",
            "status": Status.ACTIVE,
            **fields,
        }
    )


def a_unit_record(
    unit: ProductionUnit | None = None,
    *,
    company: str | None = "12345674",
    country: Country = Country.DK,
    version: SourceVersion | None = MONDAY,
    phones: tuple[str, ...] = (),
) -> UnitRecord:
    unit = unit or a_unit()
    owner = None if company is None else CompanyKey(country, company)
    return UnitRecord(UnitKey(country, unit.number), owner, dump(unit), phones, version)


def a_participant_record(
    identifier: str = "0088:5790000000005",
    *,
    holder: Any = "dk:12345674",
    version: SourceVersion | None = MONDAY,
    **fields: Any,
) -> ParticipantRecord:
    entry = EinvoicingEntry(identifier=identifier, scheme=identifier.partition(":")[0], **fields)
    return ParticipantRecord(identifier, holder, dump(entry), version)


def parsed(source: RegisterSource, raw: Raw, today: date = TODAY) -> Record:
    """The record as which a source's document reads on a day; raises RecordRejected."""
    return parse(source.parse, raw, today)


def company_in(record: CompanyRecord) -> Company:
    return Company.model_validate_json(record.core)


def unit_in(record: UnitRecord) -> ProductionUnit:
    return ProductionUnit.model_validate_json(record.core)


def owners_in(record: CompanyRecord | OwnersRecord) -> tuple[Owner, ...] | None:
    return TypeAdapter(tuple[Owner, ...] | None).validate_json(record.owner_list or b"null")


def roles_in(record: CompanyRecord | OwnersRecord) -> tuple[Role, ...] | None:
    return TypeAdapter(tuple[Role, ...] | None).validate_json(record.role_list or b"null")


def contents(record: Record) -> Any:
    """The fields of a record, and beside them those of its JSON."""
    said = SimpleNamespace(**{name: getattr(record, name) for name in record.__slots__})
    said.searched_phones = getattr(record, "phones", ())
    if isinstance(record, CompanyRecord):
        vars(said).update(company_in(record))
    if isinstance(record, UnitRecord):
        vars(said).update(unit_in(record))
    if isinstance(record, CompanyRecord | OwnersRecord):
        said.owners, said.roles = owners_in(record), roles_in(record)
    return said


def an_outbox_row(event_id: str, **fields: Any) -> dict[str, Any]:
    """A document of an event that waits for its publication."""
    return {
        "_id": event_id,
        "company": "dk:12345674",
        "revision": 1,
        "type": EventType.COMPANY_UPDATED.value,
        "occurred_at": datetime(2026, 3, 4, 12, 0, tzinfo=UTC),
        "body": event_id.encode(),
        "published_at": None,
        **fields,
    }


def an_outbox_row_of(event: RegistryEvent) -> dict[str, Any]:
    """The document of a company's event that waits for its publication."""
    assert event.country is not None
    return an_outbox_row(
        event.id,
        company=CompanyKey(event.country, event.vat or ""),
        revision=event.revision,
        type=event.type.value,
        unit=None,
        occurred_at=datetime.fromisoformat(event.occurred_at),
        body=encode_event(event),
    )


def after(plan: Plan, before: StoredState | None = None) -> StoredState:
    """The stored state after a plan."""
    stored = before or StoredState()
    companies = {**stored.companies, **{write.key: write.state for write in plan.companies}}
    for bump in plan.bumps:
        companies[bump.key] = replace(companies[bump.key], revision=bump.expected + 1)
    dropped = {drop.key for drop in plan.drops}
    left = {key: state for key, state in stored.participants.items() if key not in dropped}
    return StoredState(
        companies,
        tombstones=stored.tombstones,
        units={**stored.units, **{write.key: write.state for write in plan.units}},
        participants={**left, **{write.key: write.state for write in plan.participants}},
    )
