"""The schemas of events hold for the bodies that are really sent."""

from typing import Any

import jsonschema
import orjson
import pytest

from common.contracts.company import Country
from common.contracts.events import (
    Change,
    EventCompany,
    EventData,
    EventType,
    RegistryEvent,
    encode_event,
)
from tests.builders.companies import a_company, a_unit
from webhook_registry.adapters.examples import example_events
from webhook_registry.domain.event_types import DESCRIPTIONS, event_types

COMPANY = EventCompany(**dict(a_company()), revision=3)
CHANGES = (Change(field="name", old="Prøven", new="Prøvefabrikken ApS"),)


def schema_of(kind: EventType) -> dict[str, Any]:
    [found] = [one.body_schema for one in event_types().event_types if one.name == kind]
    return found


def an_event(kind: EventType) -> dict[str, Any]:
    """An event of the kind, as it is sent."""
    facts: dict[str, Any] = {}
    if kind in (EventType.WEBHOOK_FAILING, EventType.WEBHOOK_DISABLED):
        facts = {"data": example_events()[kind].data}
    elif kind is not EventType.WEBHOOK_TEST:
        facts = {
            "country": Country.DK,
            "vat": "12345674",
            "revision": 3,
            "data": EventData(
                company=None if kind is EventType.COMPANY_REMOVED else COMPANY,
                changes=CHANGES,
                production_unit=a_unit() if kind.startswith("production_unit.") else None,
            ),
        }
    event = RegistryEvent(
        id="5b6f2c0e-5a1b-5e0f-9a52-8d3f4f1f7c11",
        type=kind,
        occurred_at="2026-03-02T05:00:00Z",
        **facts,
    )
    body: dict[str, Any] = orjson.loads(encode_event(event))
    return body


@pytest.mark.parametrize("kind", EventType)
def test_a_body_matches_its_schema(kind: EventType) -> None:
    schema = schema_of(kind)

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(an_event(kind))


@pytest.mark.parametrize("kind", EventType)
@pytest.mark.parametrize("other", EventType)
def test_a_schema_matches_no_other_type(kind: EventType, other: EventType) -> None:
    if kind is not other:
        assert not jsonschema.Draft202012Validator(schema_of(kind)).is_valid(an_event(other))


def test_a_body_without_a_field_does_not_match_its_schema() -> None:
    body = an_event(EventType.COMPANY_UPDATED)
    del body["data"]["company"]["status"]

    validator = jsonschema.Draft202012Validator(schema_of(EventType.COMPANY_UPDATED))

    assert not validator.is_valid(body)


def test_every_event_type_is_listed() -> None:
    assert DESCRIPTIONS.keys() == set(EventType)
