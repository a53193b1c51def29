"""Additions of a later release (`docs/compatibility.md`), read by the clients of this one."""

from typing import Any

import orjson
import pytest

from company_registry import models, watchlist_models, webhook_models
from company_registry.change_words import in_words
from company_registry.errors import ApiError, problem_error
from company_registry.group_models import Group
from company_registry.matching import MatchCandidate
from tests.builders.openapi import DOCUMENT, example

#: By example, the model of the client that reads it.
READ: dict[str, type[models.Model]] = {
    "Company": models.Company,
    "CompanyWithEverything": models.Company,
    "CompanyList": models.CompanyPage,
    "Codes": models.Codes,
    "RegisterSources": models.RegisterSources,
    "UnitPage": models.UnitPage,
    "EinvoicingPage": models.EinvoicingPage,
    "OwnerPage": models.OwnerPage,
    "RolePage": models.RolePage,
    "HistoryPage": models.HistoryPage,
    "SuggestionList": models.SuggestionPage,
    "Event": models.Event,
    "EventPage": models.EventPage,
    "GroupAnswer": Group,
    "Webhook": webhook_models.Webhook,
    "WebhookWithSecret": webhook_models.NewWebhook,
    "WebhookList": webhook_models.Webhooks,
    "AttemptList": webhook_models.Attempts,
    "Delivery": webhook_models.Delivery,
    "EventTypeList": webhook_models.EventTypes,
    "Key": webhook_models.Key,
    "Watchlist": watchlist_models.Watchlist,
    "WatchlistList": watchlist_models.Watchlists,
    "Digest": watchlist_models.Digest,
    "DigestList": watchlist_models.Digests,
    "WatchlistChange": watchlist_models.WatchlistChange,
}

#: Every code of an open list.
CODES = {
    code
    for schema in DOCUMENT["components"]["schemas"].values()
    for code in schema.get("x-extensible-enum", ())
}
NEW = "code_of_a_later_release"
#: Objects whose members are no fields.
MAPS = {"facets", "headers", "evidence", "schema"}


def later(value: Any) -> Any:
    """An answer of a later release: another code for each, and a new field in each object."""
    if isinstance(value, dict):
        of_later = {name: each if name in MAPS else later(each) for name, each in value.items()}
        return {**of_later, "a_new_field": [{"a": NEW}]}
    if isinstance(value, list):
        return [later(each) for each in value]
    return NEW if isinstance(value, str) and value in CODES else value


@pytest.mark.parametrize("name", READ)
def test_the_client_reads_an_answer_of_a_later_release(name: str) -> None:
    answer = later(example(name))

    read = READ[name].model_validate_json(orjson.dumps(answer))

    assert read.model_extra == {"a_new_field": answer["a_new_field"]}
    kept = orjson.dumps(read.model_dump(mode="json", exclude_unset=True))
    assert kept.count(NEW.encode()) == orjson.dumps(answer).count(NEW.encode())


def test_the_client_reads_matches_of_a_later_release() -> None:
    [candidate, *_] = example("MatchResults")["results"][0]["candidates"]

    assert MatchCandidate.model_validate(later(candidate)).country == NEW


def test_an_event_of_a_new_type_has_words() -> None:
    event = {**example("Event"), "type": NEW, "a_new_field": {}}

    assert in_words(event).title


def test_a_problem_with_a_new_code_goes_by_its_status() -> None:
    error = problem_error({"code": NEW, "detail": "why", "a_new_field": 1}, status=409)

    assert (type(error), error.status, error.code) == (ApiError, 409, NEW)
