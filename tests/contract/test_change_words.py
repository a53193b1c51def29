"""Changes in words, which portal, command line, e-mails and feeds share, and their look."""

import re
from inspect import getsource
from pathlib import Path

import company_registry.change_words
from common.contracts.company import CompanyAnswer, ProductionUnit
from common.contracts.events import EventCompany, EventType
from common.domain import appearance, change_words
from portal.adapters import http

#: Fields that never change, and those of a lookup alone.
NEVER = {"country", "vat", "number", "revision"}
LISTS = {"owners", "roles", "einvoicing"}
STYLES = Path(http.__file__).parent / "static" / "portal.css"


def test_both_packages_have_the_same_words() -> None:
    client, services = map(getsource, (company_registry.change_words, change_words))

    assert client == services, "copy change_words.py of the client to common.domain (ADR 0108)"


def test_each_field_of_an_event_has_a_kind() -> None:
    fields = {*EventCompany.model_fields, *ProductionUnit.model_fields, *LISTS} - NEVER

    assert fields <= {*CompanyAnswer.model_fields, *ProductionUnit.model_fields}
    assert fields - change_words.KINDS.keys() == set()


def test_each_type_of_event_has_a_heading() -> None:
    assert {type_.value for type_ in EventType} == change_words.HEADINGS.keys()


def test_messages_have_the_colours_of_the_portal() -> None:
    light, dark = STYLES.read_text().split("@media screen and (prefers-color-scheme: dark)", 1)
    tokens = [dict(re.findall(r"--([a-z-]+): (#\w+);", part)) for part in (light, dark)]

    for name, colours in appearance.COLOURS.items():
        assert colours == tuple(scheme[name] for scheme in tokens), name
