"""Counts of values that narrow a list of companies down, with the form that each leads to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from company_registry.models import Company, Facet, FacetCount
from portal.domain.company_form import CompanyForm
from portal.domain.facts import form as form_name
from portal.domain.industries import industry

#: The facets in the order of the page, with their headings.
TITLES: Final[dict[Facet, str]] = {
    "industry": "Industry",
    "municipality": "Municipality",
    "form": "Legal form",
    "status": "Status",
}

#: Digits of a division's code.
_DIVISION: Final = 2
_MAX_VALUES: Final = 60


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value with its count."""

    label: str
    count: int
    is_chosen: bool
    #: The form without it if it is chosen, else with it alone.
    form: CompanyForm


def facets(
    counts: Mapping[str, Sequence[FacetCount]], form: CompanyForm, companies: Iterable[Company]
) -> dict[str, list[FacetValue]]:
    """Returns the values by which the list can be narrowed down, the most frequent first.

    Industries are counted by their divisions until one is chosen. `companies` name their codes.
    """
    names = {each.industry.code: each.industry.description for each in companies if each.industry}
    found: dict[str, list[FacetValue]] = {}
    for name in TITLES:
        given = counts.get(name, ())
        if name == "industry" and name not in form.values:
            given = _divisions(given)
        values = [_value(name, each, form, names) for each in given[:_MAX_VALUES]]
        if len(values) > 1 or any(each.is_chosen for each in values):
            found[name] = values
    return found


def _divisions(counts: Sequence[FacetCount]) -> list[FacetCount]:
    sums = Counter[str]()
    for each in counts:
        sums[each.value[:_DIVISION]] += each.count
    ranked = sorted(sums.items(), key=lambda one: (-one[1], one[0]))
    return [FacetCount(value=value, count=count) for value, count in ranked]


def _value(
    name: str, each: FacetCount, form: CompanyForm, names: Mapping[str, str | None]
) -> FacetValue:
    is_chosen = form.chooses(name, each.value)
    return FacetValue(
        label=_label(name, each.value, names),
        count=each.count,
        is_chosen=is_chosen,
        form=form.without(name, each.value) if is_chosen else form.only(name, each.value),
    )


def _label(name: str, value: str, names: Mapping[str, str | None]) -> str:
    match name:
        case "industry":
            words = names.get(value) or industry(value)
        case "form":
            # Danish codes are numbers, and Norwegian ones letters.
            words = form_name("dk", value) or form_name("no", value)
        case "status":
            return value.replace("_", " ").capitalize()
        case _:
            return value
    return f"{words} ({value})" if words else value
