"""The Python client has every problem code and every field of the service's responses."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from company_registry import errors, models, watchlist_models, webhook_models
from gateway.problems import PROBLEMS
from tests.builders.openapi import DOCUMENT

SCHEMAS: Mapping[str, Any] = DOCUMENT["components"]["schemas"]

#: The client's model of each object that the service answers.
MODELS: Mapping[str, type[BaseModel]] = {
    "Company": models.Company,
    "Address": models.Address,
    "Employees": models.Employees,
    "Capital": models.Capital,
    "Owner": models.Owner,
    "Role": models.Role,
    "ProductionUnit": models.ProductionUnit,
    "EinvoicingEntry": models.EinvoicingEntry,
    "Match": models.Match,
    "Source": models.Source,
    "Alternative": models.CompanySummary,
    "Suggestion": models.Suggestion,
    "SuggestionList": models.SuggestionPage,
    "CompanyList": models.CompanyPage,
    "FacetCount": models.FacetCount,
    "AmbiguousName": models.AmbiguousName,
    "NearValues": models.NearValues,
    "Event": models.Event,
    "EventPage": models.EventPage,
    "Webhook": webhook_models.Webhook,
    "WebhookFilter": webhook_models.WebhookFilter,
    "WebhookHealth": webhook_models.WebhookHealth,
    "WebhookSources": webhook_models.WebhookSources,
    "Key": webhook_models.Key,
    "Watchlist": watchlist_models.Watchlist,
    "WatchlistFeed": watchlist_models.WatchlistFeed,
    "Digest": watchlist_models.Digest,
    "DigestList": watchlist_models.Digests,
    "WatchedCompanies": watchlist_models.WatchedPage,
    "WatchlistChange": watchlist_models.WatchlistChange,
    "Attempt": webhook_models.Attempt,
    "Delivery": webhook_models.Delivery,
    "AcceptedDelivery": webhook_models.AcceptedDelivery,
    "Recovered": webhook_models.Recovered,
    "Code": models.Code,
    "Codes": models.Codes,
    "RegisterSource": models.RegisterSource,
}


def names(model: type[BaseModel]) -> Iterator[str]:
    """The fields of a model as they are called in JSON."""
    return (field.alias or name for name, field in model.model_fields.items())


@pytest.mark.parametrize("schema", MODELS)
def test_a_model_has_the_fields_that_the_service_answers(schema: str) -> None:
    assert set(SCHEMAS[schema]["properties"]) - set(names(MODELS[schema])) == set()


def test_each_problem_code_has_an_error_type() -> None:
    assert PROBLEMS.keys() <= errors.ERRORS.keys()


def test_a_filter_has_the_parameters_of_its_operation() -> None:
    parameters = DOCUMENT["paths"]["/api/companies"]["get"]["parameters"]
    names_ = {each["name"] for each in parameters} - {"sort", "limit", "after", "facets"}

    assert set(models.CompanyFilter.model_fields) == names_
