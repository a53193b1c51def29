"""Each kind of event as it is made of a change, shown to receivers, and described by its schema.

Changing a golden file is changing what receivers of webhooks rely on.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

from common.contracts.accounts import (
    AccountingStandard,
    AccountsFigures,
    AccountsPeriod,
    AccountsScope,
    AccountsSource,
    AnnualAccounts,
    Audit,
    AuditOpinion,
    AuditType,
)
from common.contracts.company import (
    Address,
    Capital,
    CodedText,
    Company,
    CompanyKey,
    Employees,
    LegalForm,
    Share,
    Status,
)
from common.contracts.events import EventType, RegistryEvent, encode_event
from ingest.changes.accounts import FiledAccounts, merged, plan_accounts
from ingest.changes.company_plans import plan_companies
from ingest.changes.differences import removal
from ingest.changes.states import ApplyContext, Plan, StoredState
from ingest.changes.unit_plans import plan_participants, plan_units
from ingest.records.records import SourceVersion
from register_store.events import OutboxEvent, events_of_change
from tests.builders.companies import (
    a_company,
    a_company_record,
    a_participant_record,
    a_unit,
    a_unit_record,
    after,
    an_owner,
)
from webhook_registry.event_types import DESCRIPTIONS, event_types
from webhook_store.recording import events_of

#: The test events of the registry.
FOLDER = Path(str(files("webhook_registry"))) / "examples"
GUIDE = (Path(__file__).parents[2] / "docs" / "webhooks" / "events.md").read_text()
#: `## \`company.created\``, a sentence, and an example in which `{…}` stands for a whole company.
SHOWN = re.compile(
    r"^## `(?P<kind>.+)`\n\n(?P<sentence>.+)\n\n(?:.+\n\n)?```json\n(?P<example>(?:(?!```).*\n)*)",
    re.MULTILINE,
)

KEY = CompanyKey.parse("dk:12345674")
ADDRESS = Address(
    street="Prøvevej 43, 3.",
    postal_code="1112",
    city="København K",
    municipality="KØBENHAVN",
    country="DK",
    text="Prøvevej 43, 3., 1112 København K",
)
FACTS: dict[str, Any] = {
    "trade_names": ("Prøven",),
    "former_names": ("ApS KBIL 17 NR. 0000",),
    "status_text": "NORMAL",
    "form": LegalForm(code="80", description="Anpartsselskab", short="ApS"),
    "address": ADDRESS,
    "phone": "12345678",
    "email": "post@proeven.example",
    "industry": CodedText(code="620100", description="Computerprogrammering"),
    "employees": Employees(min=20, max=49),
    "founded": "1999-11-15",
    "capital": Capital(amount="125000.00", currency="DKK"),
    "advertising_protected": True,
}
OWNER = an_owner(
    name="Prøvefabrikken Holding ApS",
    type="company",
    vat="12345682",
    role="owner",
    role_text="EJERREGISTER",
)


def accounts_of_year(year: str) -> AnnualAccounts:
    document = "http://documents.example/12345674/cHLDuHZl"
    return AnnualAccounts(
        period=AccountsPeriod(start=f"{year}-01-01", end=f"{year}-12-31"),
        scope=AccountsScope.COMPANY,
        currency="DKK",
        standard=AccountingStandard.LOCAL_GAAP,
        size_class="B",
        audit=Audit(
            type=AuditType.EXTENDED_REVIEW, opinion=AuditOpinion.UNMODIFIED, going_concern=False
        ),
        figures=AccountsFigures(
            gross_profit="1335417",
            employee_expense="1285890",
            operating_profit="49527",
            profit_before_tax="41200",
            tax="9100",
            profit="32100",
            non_current_assets="111250",
            current_assets="167775",
            cash="164341",
            assets="279025",
            equity="83118",
            current_liabilities="191438",
            liabilities="195907",
            employees="3",
        ),
        published="2026-03-02T12:00:00Z",
        source=AccountsSource(
            id=f"urn:ofk:oid:{year}0001", document=f"{document}.xml", pdf=f"{document}.pdf"
        ),
    )


class Story:
    """Changes of a company, one a minute."""

    def __init__(self) -> None:
        self.known = StoredState()
        self.told: list[OutboxEvent] = []
        self._moment = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

    def company(self, owners: Sequence[Any] = (OWNER,), **fields: Any) -> None:
        record = a_company_record(
            a_company(**{**FACTS, **fields}), owners=owners, version=self._version()
        )
        self._take(plan_companies([record], self.known, self._given()))

    def unit(self, **fields: Any) -> None:
        record = a_unit_record(a_unit(**fields), version=self._version())
        self._take(plan_units([record], self.known, self._given()))

    def participant(self) -> None:
        record = a_participant_record(
            document_types=("urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice",),
            registered="2026-03-02",
            version=self._version(),
        )
        self._take(plan_participants([record], self.known, self._given()))

    def accounts(self) -> None:
        stored = merged(KEY, {}, [accounts_of_year("2024")])
        filed = FiledAccounts(KEY, [accounts_of_year("2025")])
        shelf = merged(KEY, stored, filed.accounts)
        self._take(
            plan_accounts(
                [filed], self.known, {KEY: stored}, {KEY: shelf}, {KEY: None}, self._given()
            )
        )

    def removal(self) -> None:
        revision = self.known.companies[KEY].revision + 1
        told = events_of_change(
            KEY, None, revision=revision, pending_events=[removal()], at=self._moment
        )
        self.told += told

    def _take(self, plan: Plan) -> None:
        self.known = after(plan, self.known)
        self.told += plan.outbox_events
        self._moment = self._moment.replace(minute=self._moment.minute + 1)

    def _version(self) -> SourceVersion:
        return SourceVersion(self._moment)

    def _given(self) -> ApplyContext:
        return ApplyContext(self._version(), self._moment, publish_events=True)


def the_story() -> dict[EventType, bytes]:
    """A body of each kind."""
    story = Story()
    story.company()
    story.company(name="Prøvefabrikken Danmark ApS", phone="87654321")
    story.company(
        [OWNER.model_copy(update={"share": Share(min="50", max="66.67")})],
        name="Prøvefabrikken Danmark ApS",
        phone="87654321",
    )
    story.unit(address=ADDRESS, started="2026-03-02")
    story.unit(address=ADDRESS, started="2026-03-02", email="nord@proeven.example")
    story.unit(
        address=ADDRESS,
        started="2026-03-02",
        email="nord@proeven.example",
        status=Status.ENDED,
        ended="2026-03-31",
    )
    story.participant()
    story.company(
        [OWNER.model_copy(update={"share": Share(min="50", max="66.67")})],
        name="Prøvefabrikken Danmark ApS",
        phone="87654321",
        status=Status.BANKRUPT,
        status_text="UNDER KONKURS",
    )
    story.accounts()
    story.removal()
    bodies = {told.type: told.body for told in story.told}
    assert len(bodies) == len(story.told), "each kind once"
    of_webhooks = {event.type: encode_event(event) for event in events_of(a_failed_webhook())}
    return {**bodies, EventType.WEBHOOK_TEST: a_test(), **of_webhooks}


def a_failed_webhook() -> dict[str, Any]:
    """A webhook as it is stored with notices that are due."""
    return {
        "_id": "wh_0e9d6c8f8a0e4f4c9d575a3c8f2b1d10",
        "url": "https://hooks.example.com/registry",
        "description": "nightly sync",
        "notices": {
            "failing": {
                "day": "2026-03-02",
                "at": datetime(2026, 3, 2, 12, 6, tzinfo=UTC),
                "delivery_id": "9b1d6c8f-8a0e-5f4c-9d57-5a3c8f2b1d10",
                "event_id": "d80d5383-4cf9-54af-b00a-f5616435396f",
                "event_type": "company.updated",
                "attempt": 3,
                "response_code": 500,
                "error": "http_status",
            },
            "disabled": {
                "at": datetime(2026, 3, 2, 14, 36, tzinfo=UTC),
                "reason": "delivery_failed",
            },
        },
    }


def a_test() -> bytes:
    event = RegistryEvent(
        id="7e9d6c8f-8a0e-4f4c-9d57-5a3c8f2b1d10",
        type=EventType.WEBHOOK_TEST,
        occurred_at="2026-03-02T12:00:00Z",
    )
    return encode_event(event)


def golden(kind: EventType) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads((FOLDER / f"{kind}.json").read_bytes())
    return body


def shown() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Kind, sentence and example of each section of the guide."""
    for name, sentence, example in SHOWN.findall(GUIDE):
        yield name, sentence, orjson.loads(example.replace("{…}", '"…"'))


def test_every_kind_of_event_is_made_of_some_change() -> None:
    assert the_story().keys() == set(EventType)


@pytest.mark.parametrize("kind", EventType)
def test_every_event_equals_its_golden_file(kind: EventType) -> None:
    assert orjson.loads(the_story()[kind]) == golden(kind)


@cache
def validator(kind: EventType) -> jsonschema.Draft202012Validator:
    [schema] = [one.body_schema for one in event_types().event_types if one.name == kind]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("kind", EventType)
def test_an_event_matches_the_schema_of_its_type_and_of_no_other(kind: EventType) -> None:
    assert [other for other in EventType if validator(other).is_valid(golden(kind))] == [kind]


def test_an_event_without_a_field_does_not_match_its_schema() -> None:
    body = golden(EventType.COMPANY_UPDATED)
    del body["data"]["company"]["status"]

    assert not validator(EventType.COMPANY_UPDATED).is_valid(body)


@pytest.mark.parametrize("kind", sorted(set(EventType) - {EventType.WEBHOOK_TEST}))
def test_an_event_is_read_and_written_back_the_same(kind: EventType) -> None:
    body = (FOLDER / f"{kind}.json").read_bytes()

    event = RegistryEvent.model_validate_json(body)

    assert orjson.loads(encode_event(event)) == golden(kind)


def test_the_guide_shows_each_kind_as_it_is_sent() -> None:
    examples = {name: example for name, _, example in shown()}

    assert examples.keys() == set(EventType)
    for kind in EventType:
        sent = golden(kind)
        if examples[kind]["data"].get("company") == "…":
            sent["data"]["company"] = "…"
        assert examples[kind] == sent


def test_the_guide_describes_each_kind_as_the_interface_does() -> None:
    # The guide is Markdown; the descriptions are shown as they are.
    plain = {name: sentence.replace("`", "") for name, sentence, _ in shown()}

    assert plain == DESCRIPTIONS


def test_the_schemas_have_no_raw_backticks() -> None:
    shown_as_it_is = event_types().model_dump_json()

    assert "`" not in shown_as_it_is


def test_the_example_of_a_whole_company_has_all_of_its_fields() -> None:
    created = golden(EventType.COMPANY_CREATED)["data"]["company"]

    assert created.keys() == {*Company.model_fields, "revision"}
